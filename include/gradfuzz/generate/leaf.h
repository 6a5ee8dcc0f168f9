// SPDX-License-Identifier: BSD-3-Clause
// New leaves: sizes, layout in memory, values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gradfuzz/generate/harvest.h"
#include "gradfuzz/generate/profile.h"
#include "gradfuzz/generate/weights.h"
#include "gradfuzz/generate/workspace.h"
#include "gradfuzz/ops/record.h"

namespace gradfuzz::generate {

// What all draws of one program share.
struct Context {
  const Weights& weights;
  const Profile& profile;
  Workspace& workspace;
  const Harvest* harvest = nullptr;  // none: the catalogue's operators alone
};

struct LeafWish {
  std::vector<int64_t> sizes;
  ops::Domain domain = ops::Domain::kAny;
  bool contiguous = false;  // no other layout will do
  bool writable = false;    // no element may share memory with another
  bool no_grad = false;     // must not require a gradient
  bool grad = false;        // must require one, unless the program is forward only
  std::string_view layout;  // this one where the sizes allow it; empty = drawn
  std::optional<std::pair<double, double>> range;  // values uniform in it; REQUIRES: domain kAny
};

// One size of the lattice.
int64_t DrawSize(Rng& rng, const Profile& profile);
// low <= number of dimensions <= high, within the limit on elements.
std::vector<int64_t> DrawSizes(Rng& rng, const Profile& profile, int64_t low, int64_t high);

// Adds a leaf of the program's dtype. RETURNS: its workspace number.
int AddFloatLeaf(Rng& rng, Context& context, const LeafWish& wish);
// Adds int64 indices in [0, below). Unique: no value twice along `dim`; REQUIRES then
// sizes[dim] <= below.
int AddIndexLeaf(Rng& rng, Context& context, const std::vector<int64_t>& sizes, int64_t below,
                 bool unique, int64_t dim);
// Adds an int64 leaf with these values; not usable as an index by others.
int AddIntLeaf(Context& context, const std::vector<int64_t>& sizes, std::vector<double> values,
               std::string tag);
// Adds a leaf with these values (complex dtypes: as real parts); not usable as an index by others.
int AddLiteralLeaf(Context& context, const std::vector<int64_t>& sizes, program::DType dtype,
                   const std::vector<double>& values, bool requires_grad, std::string tag);
int AddMaskLeaf(Rng& rng, Context& context, const std::vector<int64_t>& sizes);
// Elements +1 and -1, of the program's dtype, without gradient.
int AddSignLeaf(Rng& rng, Context& context, const std::vector<int64_t>& sizes);

// True when all elements of `value` lie in `domain`, with a margin, on every draw.
bool InDomain(const Value& value, ops::Domain domain);

// Appends the names of weights that new leaves look up in tables.
void AppendLeafNames(std::vector<std::string>* names);

}  // namespace gradfuzz::generate
