// SPDX-License-Identifier: BSD-3-Clause
// Programs and rungs for the oracle's tests: small builders, eager by the interpreter, and faults
// written into observations by hand.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gradfuzz/evaluate/interpret.h"
#include "gradfuzz/oracle/judge.h"
#include "gradfuzz/oracle/quantity.h"
#include "gradfuzz/program/program.h"

namespace gradfuzz::oracle {

using program::Arg;
using program::DType;
using program::Program;
using program::ValueRecipe;
using KwArgs = std::vector<std::pair<std::string, Arg>>;

inline ValueRecipe Ints(double low, double high, uint64_t seed) {
  return {.kind = ValueRecipe::Kind::kInts, .seed = seed, .low = low, .high = high};
}
inline ValueRecipe Normal(uint64_t seed, double scale = 1, double shift = 0) {
  return {.kind = ValueRecipe::Kind::kNormal, .seed = seed, .scale = scale, .shift = shift};
}
inline ValueRecipe Values(std::vector<double> values) {
  return {.kind = ValueRecipe::Kind::kLiteral, .values = std::move(values)};
}

class Build {
 public:
  explicit Build(DType dtype = DType::kFloat32) : dtype_(dtype) {}

  // A contiguous leaf with a storage of its own.
  Arg Leaf(std::vector<int64_t> sizes, ValueRecipe values, bool requires_grad = true) {
    return Leaf(std::move(sizes), std::move(values), requires_grad, dtype_);
  }
  Arg Leaf(std::vector<int64_t> sizes, ValueRecipe values, bool requires_grad, DType dtype) {
    EXPECT_TRUE(p_.statements.empty()) << "leaves are numbered first";
    int64_t numel = 1;
    for (int64_t s : sizes) numel *= s;
    std::vector<int64_t> strides(sizes.size());
    int64_t stride = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
      strides[d] = stride;
      stride *= sizes[d];
    }
    p_.storages.push_back({dtype, numel, std::move(values)});
    p_.leaves.push_back({static_cast<int>(p_.storages.size()) - 1, std::move(sizes),
                         std::move(strides), 0, requires_grad});
    return Arg::Value(static_cast<int>(p_.leaves.size()) - 1);
  }
  Arg Op(std::string op, program::ArgList args, KwArgs kwargs = {}, int results = 1) {
    p_.statements.push_back({std::move(op), std::move(args), std::move(kwargs), results});
    return Arg::Value(program::FirstResult(p_, p_.statements.size() - 1));
  }
  Build& Out(const Arg& value, ValueRecipe cotangent = Ints(1, 4, 99)) {
    p_.outputs.push_back({value.As<program::ValueRef>().id, {std::move(cotangent)}});
    return *this;
  }
  Build& OutExpanded(const Arg& value) {
    p_.outputs.push_back({value.As<program::ValueRef>().id,
                          {Ints(1, 4, 99), program::Cotangent::Layout::kExpanded}});
    return *this;
  }
  Program Done() const {
    EXPECT_EQ(program::Validate(p_), "");
    return p_;
  }

 private:
  DType dtype_;
  Program p_;
};

// A rung that is eager, with everything that the oracle may ask of it.
inline RungRun EagerRung(const Program& program, const std::string& name = "eager", int draws = 1) {
  RungRun run;
  run.rung = name;
  run.device = "cpu";
  const auto execute = [program](int draw, const std::vector<at::Tensor>* cotangents) {
    evaluate::InterpretOptions options;
    options.draw = draw;
    options.cotangents = cotangents;
    return evaluate::Interpret(program, options);
  };
  for (int d = 0; d < draws; ++d) {
    run.draws.push_back(execute(d, nullptr));
    EXPECT_EQ(run.draws.back().error, "");
  }
  run.repeats.push_back(execute(0, nullptr));
  run.rerun = [execute](Law, const std::vector<at::Tensor>& cotangents) {
    return execute(0, &cotangents);
  };
  return run;
}

using Edit = std::function<void(evaluate::Observation&)>;

// The same with a fault in every observation, whatever the draw or cotangent.
inline RungRun FaultyRung(const Program& program, const Edit& edit,
                          const std::string& name = "inductor", int draws = 1) {
  RungRun run = EagerRung(program, name, draws);
  for (auto& draw : run.draws) edit(draw);
  for (auto& repeat : run.repeats) edit(repeat);
  run.rerun = [honest = run.rerun, edit](Law law, const std::vector<at::Tensor>& cotangents) {
    auto observation = honest(law, cotangents);
    edit(observation);
    return observation;
  };
  return run;
}

inline Outcome JudgeTwo(const Program& program, RungRun got, const std::string& lane = "real",
                        JudgeOptions options = {}) {
  const int draws = static_cast<int>(got.draws.size());
  std::vector<RungRun> rungs = {EagerRung(program, "eager", draws > 0 ? draws : 1), std::move(got)};
  return Judge(program, lane, rungs, options);
}

// Judges a rung whose results are those of eager with one edit; self-checks off, so that the
// comparison alone decides.
inline Outcome JudgeEdit(const Program& program, const Edit& edit,
                         const std::string& lane = "real") {
  JudgeOptions options;
  options.self_checks = false;
  return JudgeTwo(program, FaultyRung(program, edit), lane, options);
}

inline const Comparison& Find(const Outcome& outcome, const std::string& what) {
  for (const Comparison& c : outcome.rungs.back().comparisons) {
    if (c.what == what) return c;
  }
  ADD_FAILURE() << "no comparison " << what;
  static const Comparison none;
  return none;
}

// x moved by n representable numbers (away from 0 for n > 0), float32 and float64; zeros stay.
inline at::Tensor Ulps(const at::Tensor& x, int n) {
  at::Tensor moved = x.clone();
  const at::Tensor far = at::sign(x) * std::numeric_limits<double>::infinity();
  const at::Tensor to = n > 0 ? far : at::zeros_like(x);
  for (int i = 0; i < std::abs(n); ++i) moved = at::nextafter(moved, to.to(x.dtype()));
  return at::where(x.eq(0), x, moved);
}

}  // namespace gradfuzz::oracle
