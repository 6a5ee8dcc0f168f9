// SPDX-License-Identifier: BSD-3-Clause
// Swarm testing (Groce et al., ISSTA 2012): in some slices of seeds a random half of the features
// is switched off, so that what the others crowd out or hide gets its turn.
//
//  1. Follows from the seed and the weights alone: a seed is still a program, in any campaign.
//  2. Never switches off what a user gave a weight, nor what every program needs.
#pragma once

#include <cstdint>

#include "gradfuzz/message/request.h"

namespace gradfuzz::generate {

// Seeds of one slice share what is switched off.
inline constexpr uint64_t kSliceSeeds = 256;
// How a program is compiled and called beside its config is drawn by shorter ones: as many seeds as
// a pack holds on the CPU, since only programs that are called in the same way share one.
inline constexpr uint64_t kCallSliceSeeds = 32;
// Of the slices, those that are swarms; times the weight of this name. Also the feature of their
// programs.
inline constexpr double kSwarmShare = 0.25;
inline constexpr const char* kSwarm = "feature.swarm";

// `options` itself outside swarms; else with factor 0 for what the slice of `seed` goes without.
GenerateOptions WithSwarm(uint64_t seed, const GenerateOptions& options);

}  // namespace gradfuzz::generate
