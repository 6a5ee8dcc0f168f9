// SPDX-License-Identifier: BSD-3-Clause
// Makes leaves contiguous, without offset, in storages that are no larger than they need.
//
//   x0 = s0.as_strided((2, 3), (1, 4), 5) -> x0 = s0.as_strided((2, 3), (3, 1), 0)
#include "all.h"

namespace gradfuzz::reduce {
namespace {

using program::Leaf;
using program::Program;
using program::Storage;
using program::ValueRecipe;

// Storages grow where a leaf now reaches further; a literal grows by repeating itself, an integer
// one by going on counting (indices must not repeat).
void FitStorages(std::vector<Storage>* storages, const std::vector<Leaf>& leaves) {
  for (const Leaf& leaf : leaves) {
    Storage& storage = (*storages)[static_cast<size_t>(leaf.storage)];
    const int64_t needed = program::Extent(leaf);
    if (needed <= storage.numel) continue;
    if (storage.values.kind == ValueRecipe::Kind::kLiteral) {
      const int64_t parts = program::Info(storage.dtype).is_complex ? 2 : 1;
      auto& values = storage.values.values;
      const size_t before = values.size();
      while (static_cast<int64_t>(values.size()) < needed * parts) {
        values.push_back(program::IsDifferentiable(storage.dtype) && before > 0
                             ? values[values.size() - before]
                             : static_cast<double>(values.size()));
      }
    }
    storage.numel = needed;
  }
}

Program Finish(Program program) {
  FitStorages(&program.storages, program.leaves);
  FitStorages(&program.call.second_storages, program.call.second_leaves);
  program::CompactStorages(&program);
  return program;
}

void MakeContiguous(Leaf* leaf) {
  leaf->strides = program::ContiguousStrides(leaf->sizes);
  leaf->offset = 0;
}

}  // namespace

std::vector<Candidate> Layouts(const Program& program, const Facts&) {
  std::vector<Candidate> out;
  Program plain = program;
  for (Leaf& leaf : plain.leaves) MakeContiguous(&leaf);
  for (Leaf& leaf : plain.call.second_leaves) MakeContiguous(&leaf);
  out.push_back({Finish(std::move(plain)), "all contiguous"});
  for (size_t i = 0; i < program.leaves.size(); ++i) {
    const Leaf& leaf = program.leaves[i];
    const std::string name = "x" + std::to_string(i);
    if (!program::IsContiguous(leaf)) {
      Program simpler = program;
      MakeContiguous(&simpler.leaves[i]);
      if (!simpler.call.second_leaves.empty()) MakeContiguous(&simpler.call.second_leaves[i]);
      out.push_back({Finish(std::move(simpler)), name + " contiguous"});
    }
    if (leaf.offset != 0) {
      Program simpler = program;
      simpler.leaves[i].offset = 0;
      if (!simpler.call.second_leaves.empty()) simpler.call.second_leaves[i].offset = 0;
      out.push_back({Finish(std::move(simpler)), name + " without offset"});
    }
  }
  out.push_back({Finish(program), "storages cut"});
  return out;
}

}  // namespace gradfuzz::reduce
