// SPDX-License-Identifier: BSD-3-Clause
// What reduction asks of the world: does this program still show the bug, and what shapes have its
// values. isolate/runner_tester.h answers by running programs; the tests answer by a predicate.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gradfuzz/program/program.h"

namespace gradfuzz::reduce {

enum class Answer : uint8_t {
  kYes,         // shows the bug
  kNo,          // does not: right, or rejected by eager
  kSlipped,     // shows another bug
  kUnresolved,  // could not be told: lost worker, time limit, ill-conditioned
};

// What running a program in eager says of one of its values.
struct ValueInfo {
  program::DType dtype = program::DType::kFloat32;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  int64_t offset = 0;
  bool is_tensor = true;  // false: a Python number, a list
};

class Tester {
 public:
  virtual ~Tester() = default;

  // The quick test, used while searching. RETURNS: one answer per candidate, in order.
  virtual std::vector<Answer> Test(const std::vector<program::Program>& candidates) = 0;

  // The strict test: default flags, nothing shared between the runs.
  virtual std::vector<Answer> Confirm(const program::Program& program, int times) = 0;

  // How many candidates like `program` one call of Test answers at about the price of one; >= 1.
  virtual int BatchSize(const program::Program& program) const = 0;

  // From now on Test is as strict as Confirm, if slower: the quick test was seen to err.
  virtual void BeStrict() = 0;

  // One entry per value of the program, or nothing when eager rejects it.
  virtual std::optional<std::vector<ValueInfo>> Shapes(const program::Program& program) = 0;

  virtual bool Interrupted() const = 0;
};

}  // namespace gradfuzz::reduce
