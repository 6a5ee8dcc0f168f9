// SPDX-License-Identifier: BSD-3-Clause
// Makes inputs short lists of small whole numbers; where that hides the bug, of short decimals;
// else random whole numbers, else uniform ones.
//
//   s0 = normal(6, 1.0, 0.0, seed=91) -> x0 = [[1, 2, 3], [4, 5, 6]]
#include <cmath>
#include <optional>
#include <span>

#include "all.h"
#include "gradfuzz/program/resize.h"

namespace gradfuzz::reduce {
namespace {

using program::DType;
using program::Program;
using program::Storage;
using program::ValueRecipe;

constexpr int64_t kMaxLiteral = 32;  // elements; a longer list is harder to read than a recipe

ValueRecipe Literal(const Storage& storage, double (*element)(int64_t)) {
  ValueRecipe recipe;
  recipe.kind = ValueRecipe::Kind::kLiteral;
  const int64_t parts = program::Info(storage.dtype).is_complex ? 2 : 1;
  for (int64_t i = 0; i < storage.numel * parts; ++i) recipe.values.push_back(element(i));
  return recipe;
}

ValueRecipe Random(ValueRecipe::Kind kind, double low, double high) {
  ValueRecipe recipe;
  recipe.kind = kind;
  recipe.low = low;
  recipe.high = high;
  return recipe;
}

struct Pattern {
  const char* name;
  bool short_only;  // a literal
  ValueRecipe (*make)(const Storage& storage);
};

// The simplest first. Lists of different numbers, so that neither ties nor equal gradients hide
// anything; both signs; decimals whose sines, logarithms, ... round in many ways.
constexpr Pattern kFloating[] = {
    {"ones", false, [](const Storage&) { return Random(ValueRecipe::Kind::kInts, 1, 1); }},
    {"1, 2, 3, ...", true,
     [](const Storage& s) {
       return Literal(s, [](int64_t i) { return static_cast<double>(i + 1); });
     }},
    {"2, 5, 1, ...", true,
     [](const Storage& s) {
       return Literal(s, [](int64_t i) { return static_cast<double>((i * 7 + 1) % 37 % 10 + 1); });
     }},
    {"1, -2, 3, ...", true,
     [](const Storage& s) {
       return Literal(s,
                      [](int64_t i) { return static_cast<double>(i % 2 == 0 ? i + 1 : -i - 1); });
     }},
    {"tenths", true,
     [](const Storage& s) {
       return Literal(s, [](int64_t i) { return static_cast<double>((i * 37 + 11) % 97) / 10; });
     }},
    {"hundredths", true,
     [](const Storage& s) {
       return Literal(s, [](int64_t i) { return static_cast<double>((i * 61 + 37) % 199) / 100; });
     }},
    {"signed hundredths", true,
     [](const Storage& s) {
       return Literal(
           s, [](int64_t i) { return static_cast<double>((i * 83 + 29) % 397 - 198) / 100; });
     }},
    {"whole numbers 1 to 9", false,
     [](const Storage&) { return Random(ValueRecipe::Kind::kInts, 1, 9); }},
    {"whole numbers -4 to 4", false,
     [](const Storage&) { return Random(ValueRecipe::Kind::kInts, -4, 4); }},
    {"uniform 0 to 1", false,
     [](const Storage&) { return Random(ValueRecipe::Kind::kUniform, 0, 1); }},
    {"uniform -2 to 2", false,
     [](const Storage&) { return Random(ValueRecipe::Kind::kUniform, -2, 2); }},
};
constexpr Pattern kBool[] = {
    {"all true", false, [](const Storage&) { return Random(ValueRecipe::Kind::kInts, 1, 1); }},
    {"all false", false, [](const Storage&) { return Random(ValueRecipe::Kind::kInts, 0, 0); }},
    {"first true", true,
     [](const Storage& s) { return Literal(s, [](int64_t i) { return i == 0 ? 1.0 : 0.0; }); }},
    {"true, false, ...", true,
     [](const Storage& s) { return Literal(s, [](int64_t i) { return i % 2 == 0 ? 1.0 : 0.0; }); }},
};
// Integers may be indices that must not repeat: only lists without repetition are proposed, unless
// the recipe repeats already (random ones do).
constexpr Pattern kIntegers[] = {
    {"0, 1, 2, ...", true,
     [](const Storage& s) { return Literal(s, [](int64_t i) { return static_cast<double>(i); }); }},
};
constexpr Pattern kRepeatingIntegers[] = {
    {"zeros", false, [](const Storage&) { return Random(ValueRecipe::Kind::kInts, 0, 0); }},
    {"ones", false, [](const Storage&) { return Random(ValueRecipe::Kind::kInts, 1, 1); }},
    {"0, 1, 0, 1, ...", true,
     [](const Storage& s) {
       return Literal(s, [](int64_t i) { return static_cast<double>(i % 2); });
     }},
    {"0, 1, 2, ...", true,
     [](const Storage& s) { return Literal(s, [](int64_t i) { return static_cast<double>(i); }); }},
};

std::span<const Pattern> PatternsFor(const Storage& storage) {
  if (program::IsDifferentiable(storage.dtype)) return kFloating;
  if (storage.dtype == DType::kBool) return kBool;
  if (storage.values.kind == ValueRecipe::Kind::kLiteral) return kIntegers;
  return kRepeatingIntegers;
}

bool Applies(const Pattern& pattern, const Storage& storage) {
  return !pattern.short_only || storage.numel <= kMaxLiteral;
}

}  // namespace

std::vector<Candidate> Values(const Program& program, const Facts&) {
  std::vector<Candidate> out;
  const auto set = [](Program* p, size_t s, const ValueRecipe& recipe) {
    p->storages[s].values = recipe;
  };
  // All floating-point inputs at once.
  for (const Pattern& pattern : kFloating) {
    Program all = program;
    bool applies = true;
    for (size_t s = 0; s < all.storages.size(); ++s) {
      if (!program::IsDifferentiable(all.storages[s].dtype)) continue;
      applies = applies && Applies(pattern, all.storages[s]);
      if (applies) set(&all, s, pattern.make(all.storages[s]));
    }
    if (applies) out.push_back({std::move(all), std::string("all ") + pattern.name});
  }
  out.push_back({program::WithRankedIntegers(program), "indices ranked"});
  for (size_t s = 0; s < program.storages.size(); ++s) {
    const Storage& storage = program.storages[s];
    const std::string name = "s" + std::to_string(s) + " ";
    for (const Pattern& pattern : PatternsFor(storage)) {
      if (!Applies(pattern, storage)) continue;
      Program one = program;
      set(&one, s, pattern.make(storage));
      out.push_back({std::move(one), name + pattern.name});
    }
    if (storage.values.kind != ValueRecipe::Kind::kLiteral && storage.values.seed != 0) {
      Program one = program;
      one.storages[s].values.seed = 0;
      out.push_back({std::move(one), name + "seed 0"});
    }
  }
  // The second call gets random whole numbers wherever it has anything else.
  if (!program.call.second_storages.empty()) {
    Program second = program;
    for (Storage& storage : second.call.second_storages) {
      if (program::IsDifferentiable(storage.dtype)) {
        storage.values = Random(ValueRecipe::Kind::kInts, 1, 9);
      }
    }
    out.push_back({std::move(second), "second call: whole numbers"});
  }
  return out;
}

}  // namespace gradfuzz::reduce
