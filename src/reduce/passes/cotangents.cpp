// SPDX-License-Identifier: BSD-3-Clause
// Makes the vector for backward all ones, contiguous.
//
//   c0 = normal(n, ...).expand(...) -> c0 = ones
#include "all.h"

namespace gradfuzz::reduce {
namespace {

using program::Cotangent;
using program::Program;
using program::ValueRecipe;

ValueRecipe Whole(double low, double high) {
  ValueRecipe recipe;
  recipe.low = low;
  recipe.high = high;
  return recipe;
}

}  // namespace

std::vector<Candidate> Cotangents(const Program& program, const Facts&) {
  std::vector<Candidate> out;
  const std::vector<std::pair<std::string, Cotangent>> simpler = {
      {"ones", {Whole(1, 1), Cotangent::Layout::kContiguous}},
      {"1 to 4", {Whole(1, 4), Cotangent::Layout::kContiguous}},
      {"-4 to 4", {Whole(-4, 4), Cotangent::Layout::kContiguous}},
      {"expanded ones", {Whole(1, 1), Cotangent::Layout::kExpanded}},
  };
  for (const auto& [name, cotangent] : simpler) {
    Program all = program;
    for (program::Output& output : all.outputs) output.cotangent = cotangent;
    out.push_back({std::move(all), "all " + name});
  }
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const std::string output = "c" + std::to_string(i) + " ";
    for (const auto& [name, cotangent] : simpler) {
      Program one = program;
      one.outputs[i].cotangent = cotangent;
      out.push_back({std::move(one), output + name});
    }
    Program plain = program;
    plain.outputs[i].cotangent.layout = Cotangent::Layout::kContiguous;
    out.push_back({std::move(plain), output + "contiguous"});
  }
  return out;
}

}  // namespace gradfuzz::reduce
