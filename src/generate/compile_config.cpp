// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/generate/compile_config.h"

#include "gradfuzz/generate/swarm.h"
#include "gradfuzz/support/rng.h"

namespace gradfuzz::generate {

// Entries that torch 2.11.0 and 2.15.0 have and that change no result by design. Where a row names
// settings of the CPU and of CUDA, they are the same thing on either; the other one does nothing.
// Left out: aggressive_fusion, which takes minutes for a pack; max_autotune and its kin, for the
// same reason; what is known to change strides or precision (keep_output_stride, unsafe math).
std::span<const ConfigRow> ConfigRows() {
  static const std::vector<ConfigRow> rows = {
      {"no_vectors", 1, {{"inductor.cpp.simdlen", 1}}},
      {"narrow_vectors", 1, {{"inductor.cpp.simdlen", 256}}},
      {"other_tiles",
       1,
       {{"inductor.cpp.enable_tiling_heuristics", false},
        {"inductor.triton.prefer_nd_tiling", true},
        {"inductor.triton.tile_reductions", true}}},
      {"threads", 1.5, {{"inductor.cpp.min_chunk_size", 1}, {"runtime.num_threads", 4}}},
      {"reductions",
       1,
       {{"inductor.unroll_reductions_threshold", 1},
        {"inductor.triton.persistent_reductions", false},
        {"inductor.triton.cooperative_reductions", true}}},
      {"little_fusion",
       1,
       {{"inductor.max_fusion_size", 1}, {"inductor.realize_opcount_threshold", 0}}},
      {"combo_kernels", 1, {{"inductor.combo_kernels", true}}},
      {"no_reuse",
       1,
       {{"inductor.allow_buffer_reuse", false}, {"inductor.inplace_buffers", false}}},
      {"precision_casts", 1, {{"inductor.emulate_precision_casts", true}}},
      {"recompute_all", 2, {{"functorch.activation_memory_budget", 0.0}}},
      {"recompute_more",
       1.5,
       {{"functorch.aggressive_recomputation", true},
        {"functorch.ban_recompute_reductions", false},
        {"functorch.recompute_views", true}}},
      {"recompute_nothing", 1, {{"functorch.max_dist_from_bw", 0}}},
      {"dynamic_sizes", 1, {{"dynamo.assume_static_by_default", false}}},
  };
  return rows;
}

namespace {

std::vector<Alternative> Alternatives() {
  std::vector<Alternative> alternatives;
  for (const ConfigRow& row : ConfigRows()) alternatives.push_back({row.name, row.weight});
  return alternatives;
}

}  // namespace

const ConfigRow* ConfigOfSlice(uint64_t seed, const Weights& weights) {
  Rng rng = Rng(seed / kSliceSeeds).Fork("settings");
  if (!Chance(rng, weights, kConfigFeature, kConfigShare)) return nullptr;
  const auto row = Draw(rng, weights, "config.", Alternatives());
  return row ? &ConfigRows()[*row] : nullptr;
}

void AppendConfigNames(std::vector<std::string>* names) {
  names->emplace_back(kConfigFeature);
  AppendNames("config.", Alternatives(), names);
}

}  // namespace gradfuzz::generate
