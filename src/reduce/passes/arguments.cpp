// SPDX-License-Identifier: BSD-3-Clause
// Leaves optional arguments out.
//
//   sum(v1, dim=[0, 1], keepdim=True) -> sum(v1)
#include "all.h"

namespace gradfuzz::reduce {
namespace {

bool HoldsValue(const program::Arg& arg) {
  program::Statement probe;
  probe.args = {arg};
  return !program::Uses(probe).empty();
}

}  // namespace

std::vector<Candidate> Arguments(const program::Program& program, const Facts&) {
  std::vector<Candidate> out;
  const auto propose = [&](program::Program simpler, std::string change) {
    out.push_back({program::DropDead(simpler), std::move(change)});
  };
  for (size_t i = 0; i < program.statements.size(); ++i) {
    const program::Statement& statement = program.statements[i];
    const std::string name = std::to_string(i) + " ";
    if (statement.kwargs.size() > 1) {
      program::Program simpler = program;
      simpler.statements[i].kwargs.clear();
      propose(std::move(simpler), name + "no keywords");
    }
    for (size_t k = 0; k < statement.kwargs.size(); ++k) {
      program::Program simpler = program;
      auto& kwargs = simpler.statements[i].kwargs;
      kwargs.erase(kwargs.begin() + static_cast<std::ptrdiff_t>(k));
      propose(std::move(simpler), name + "no " + statement.kwargs[k].first);
    }
    // Trailing positional arguments, all down to the first value and then one by one. An index and
    // what is written to it have no default.
    const bool has_defaults = !statement.op.ends_with("item__");
    for (size_t keep = 1; has_defaults && keep < statement.args.size(); ++keep) {
      if (HoldsValue(statement.args[keep])) continue;
      bool rest_is_plain = true;
      for (size_t a = keep; a < statement.args.size(); ++a) {
        rest_is_plain = rest_is_plain && !HoldsValue(statement.args[a]);
      }
      if (!rest_is_plain) continue;
      program::Program simpler = program;
      simpler.statements[i].args.resize(keep);
      propose(std::move(simpler), name + "first " + std::to_string(keep) + " arguments");
    }
    // Shorter lists: of numbers, and of tensors (cat, stack).
    for (size_t a = 0; a < statement.args.size(); ++a) {
      if (!statement.args[a].Is<program::ArgList>()) continue;
      const size_t length = statement.args[a].As<program::ArgList>().size();
      for (size_t item = length; length > 1 && item-- > 0;) {
        program::Program simpler = program;
        auto& list = simpler.statements[i].args[a].As<program::ArgList>();
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(item));
        propose(std::move(simpler),
                name + "argument " + std::to_string(a) + " without item " + std::to_string(item));
      }
    }
    for (size_t k = 0; k < statement.kwargs.size(); ++k) {
      if (!statement.kwargs[k].second.Is<program::ArgList>()) continue;
      const size_t length = statement.kwargs[k].second.As<program::ArgList>().size();
      for (size_t item = length; length > 1 && item-- > 0;) {
        program::Program simpler = program;
        auto& list = simpler.statements[i].kwargs[k].second.As<program::ArgList>();
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(item));
        propose(std::move(simpler),
                name + statement.kwargs[k].first + " without item " + std::to_string(item));
      }
    }
  }
  return out;
}

}  // namespace gradfuzz::reduce
