// SPDX-License-Identifier: BSD-3-Clause
// Fewer leaves: one where two were; an alias gets a storage of its own.
//
//   atan2(x0, x1) -> atan2(x0, x0)
#include "all.h"

namespace gradfuzz::reduce {

std::vector<Candidate> Leaves(const program::Program& program, const Facts&) {
  std::vector<Candidate> out;
  for (size_t j = program.leaves.size(); j-- > 1;) {
    const program::Leaf& gone = program.leaves[j];
    for (size_t i = 0; i < j; ++i) {
      const program::Leaf& stays = program.leaves[i];
      if (stays.sizes != gone.sizes ||
          program.storages[static_cast<size_t>(stays.storage)].dtype !=
              program.storages[static_cast<size_t>(gone.storage)].dtype) {
        continue;
      }
      program::Program merged = program;
      if (gone.requires_grad && !stays.requires_grad) {
        merged.leaves[i].requires_grad = true;
        if (!merged.call.second_leaves.empty()) {
          merged.call.second_leaves[i].requires_grad = true;
        }
      }
      program::ReplaceUses(&merged, static_cast<program::ValueId>(j),
                           static_cast<program::ValueId>(i), 0);
      out.push_back(
          {program::DropDead(merged), "x" + std::to_string(i) + " for x" + std::to_string(j)});
    }
  }
  for (size_t i = 0; i < program.leaves.size(); ++i) {
    if (!program::IsAliased(program, i)) continue;
    program::Program apart = program;
    const auto old = static_cast<size_t>(program.leaves[i].storage);
    apart.leaves[i].storage = static_cast<int>(apart.storages.size());
    apart.storages.push_back(program.storages[old]);
    if (!apart.call.second_leaves.empty()) {
      apart.call.second_leaves[i].storage = apart.leaves[i].storage;
      apart.call.second_storages.push_back(program.call.second_storages[old]);
    }
    program::CompactStorages(&apart);
    out.push_back({std::move(apart), "x" + std::to_string(i) + " without alias"});
  }
  return out;
}

}  // namespace gradfuzz::reduce
