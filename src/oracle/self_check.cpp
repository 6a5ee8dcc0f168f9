// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/oracle/self_check.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include "gradfuzz/evaluate/dispatch.h"
#include "gradfuzz/evaluate/materialise.h"
#include "gradfuzz/oracle/elements.h"
#include "gradfuzz/oracle/pattern.h"
#include "gradfuzz/support/rng.h"

namespace gradfuzz::oracle {
namespace {

using evaluate::Observation;
using Tensors = std::vector<at::Tensor>;

// Twice the values in the same layout: another layout may add up in another order.
at::Tensor Doubled(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.numel() == 0) return tensor;
  int64_t extent = 1;
  for (int64_t d = 0; d < tensor.dim(); ++d) extent += (tensor.size(d) - 1) * tensor.stride(d);
  return tensor.as_strided({extent}, {1}, tensor.storage_offset())
      .mul(2)
      .as_strided(tensor.sizes(), tensor.strides(), 0);
}

// Of its size alone.
at::Tensor RandomMask(const at::Tensor& like) {
  Rng rng = Rng(static_cast<uint64_t>(like.numel())).Fork("split");
  at::Tensor mask = at::empty({like.numel()}, at::TensorOptions().dtype(at::kBool));
  bool* data = mask.data_ptr<bool>();
  for (int64_t i = 0; i < mask.numel(); ++i) data[i] = rng.Chance(0.5);
  return mask.reshape(like.sizes()).to(like.device());
}

bool Deterministic(const program::Program& program, const RungRun& run) {
  for (const Observation& repeat : run.repeats) {
    for (const Quantity& quantity : Quantities(program)) {
      const at::Tensor* a = Find(run.draws[0], quantity);
      const at::Tensor* b = Find(repeat, quantity);
      if ((a == nullptr) != (b == nullptr)) return false;
      if (a != nullptr && (a->sizes() != b->sizes() || !SameValues(*a, *b))) return false;
    }
  }
  return true;
}

class Checker {
 public:
  Checker(const program::Program& program, const Precision& precision, const RungRun& run,
          uint64_t seed)
      : program_(program), precision_(precision), run_(run), seed_(seed) {
    for (const Quantity& quantity : Quantities(program)) {
      if (quantity.kind == Quantity::Kind::kGradient && Find(run.draws[0], quantity) != nullptr) {
        gradients_.push_back(quantity);
      }
    }
    cotangents_ = RecipeCotangents(program, run.draws[0]);
  }

  SelfCheckReport Run() {
    bool applies = false;
    const std::string fault = PartitionFault(program_, run_.draws[0], cotangents_, &applies);
    if (applies) ++report_.checks;
    if (!fault.empty()) {
      Comparison comparison;
      comparison.what = "self-check partition";
      comparison.verdict = Verdict::kSelfCheckFailed;
      comparison.note = fault;
      report_.failures.push_back(std::move(comparison));
    }
    const bool any = std::any_of(cotangents_.begin(), cotangents_.end(),
                                 [](const at::Tensor& c) { return c.defined(); });
    if (run_.rerun && any && !gradients_.empty()) {
      Zero();
      Scaling();
      Split();
    }
    return std::move(report_);
  }

 private:
  std::shared_ptr<Envelope> MakeEnvelope(const Tensors* cotangents) {
    ReplayOptions base;
    for (const at::Tensor& output : run_.draws[0].outputs) {
      base.cotangent_types.push_back(output.scalar_type());
    }
    cpu_.push_back(std::make_unique<Tensors>());
    if (cotangents != nullptr) {
      for (const at::Tensor& c : *cotangents) {
        cpu_.back()->push_back(c.defined() ? c.cpu() : c);
      }
      base.cotangents = cpu_.back().get();
    }
    auto envelope = std::make_shared<Envelope>(program_, precision_, base, seed_);
    ++report_.replays;
    return envelope;
  }

  void Fail(const std::string& law, const Quantity& quantity, const Elements& expected,
            const Elements& got, const std::vector<uint8_t>& wrong, double tolerance,
            std::string note) {
    Comparison c;
    c.what = "self-check " + law + " " + NameOf(program_, quantity);
    c.verdict = Verdict::kSelfCheckFailed;
    c.sizes = got.sizes;
    c.numel = static_cast<int64_t>(got.size());
    c.wrong = std::count(wrong.begin(), wrong.end(), uint8_t{1});
    for (size_t i = 0; i < got.size(); ++i) {
      if (wrong[i] == 0) continue;
      const double error = Distance(got, expected, i);
      if (std::isfinite(error)) c.max_error = std::max(c.max_error, error);
    }
    c.tolerance = tolerance;
    c.reference_scale = Scale(expected);
    c.pattern = DescribePattern(got.sizes, expected.Values(), got.Values(), wrong);
    c.wrong_at = SampledPositions(wrong);
    c.eager = c.reference = expected.Values(kMaxSample);
    c.got = got.Values(kMaxSample);
    c.note = std::move(note);
    report_.failures.push_back(std::move(c));
  }

  void Zero() {
    const Tensors zeros = CotangentsUnder(Law::kZero, cotangents_);
    const Observation observed = run_.rerun(Law::kZero, zeros);
    if (!observed.ok()) return;
    ++report_.checks;
    std::shared_ptr<Envelope> envelope;
    for (const Quantity& quantity : gradients_) {
      const at::Tensor* gradient = Find(observed, quantity);
      if (gradient == nullptr) continue;
      const Elements got = Flatten(*gradient);
      std::vector<uint8_t> wrong(got.size(), 0);
      bool any = false;
      for (size_t i = 0; i < got.size(); ++i) {
        if (got.Class(i) == ValueClass::kFinite && got.Modulus(i) == 0) continue;
        if (got.Class(i) != ValueClass::kFinite) {
          // 0 * inf: right where the reference has it too, or where the dtype overflows.
          if (!envelope) envelope = MakeEnvelope(&zeros);
          const Elements* reference = envelope->Reference(quantity);
          if (!envelope->ok() || envelope->reference().range_edge || reference == nullptr ||
              reference->Class(i) != ValueClass::kFinite || DeclaredNonFinite(quantity, i)) {
            continue;
          }
        }
        wrong[i] = 1;
        any = true;
      }
      if (!any) continue;
      Elements expected = got;
      std::fill(expected.re.begin(), expected.re.end(), 0.0);
      std::fill(expected.im.begin(), expected.im.end(), 0.0);
      Fail("zero", quantity, expected, got, wrong, 0,
           "a zero cotangent gives a gradient that is not zero");
    }
  }

  // The gradient for the recipe's cotangent is not finite there either.
  bool DeclaredNonFinite(const Quantity& quantity, size_t i) const {
    return Flatten(*Find(run_.draws[0], quantity)).Class(i) != ValueClass::kFinite;
  }

  // A run that a law speaks of: its cotangents (nullptr: the recipe's), how often it counts.
  struct Part {
    const Tensors* cotangents;
    double weight;
  };
  using Envelopes = std::vector<std::shared_ptr<Envelope>>;

  // What rounding may do to the parts together; nothing when no reference can be had.
  std::optional<double> Allowed(const std::vector<Part>& parts, const Quantity& quantity, size_t i,
                                Envelopes* envelopes) {
    for (size_t p = envelopes->size(); p < parts.size(); ++p) {
      envelopes->push_back(MakeEnvelope(parts[p].cotangents));
      if (!envelopes->back()->ok()) return std::nullopt;
      envelopes->back()->Sample(kMaxSamples);
      report_.replays += kMaxSamples;
    }
    double allowed = 0;
    for (size_t p = 0; p < parts.size(); ++p) {
      allowed += parts[p].weight * (*envelopes)[p]->Tolerance(quantity, i);
    }
    return allowed;
  }

  // Fails the law where `got` is not `expected`. `size`: of the terms that element i is made of.
  void Hold(const std::string& law, const std::string& note, const Quantity& quantity,
            const Elements& expected, const Elements& got,
            const std::function<double(size_t)>& size, const std::vector<Part>& parts,
            Envelopes* envelopes) {
    const at::ScalarType type = Find(run_.draws[0], quantity)->scalar_type();
    const double close = std::max(Band(type), AssertCloseDefaults(type).rtol);
    std::vector<uint8_t> wrong(got.size(), 0);
    double tolerance = 0;
    bool any = false;
    for (size_t i = 0; i < got.size(); ++i) {
      // NaN unless both are finite.
      if (!(Distance(got, expected, i) > close * size(i))) continue;
      const auto allowed = Allowed(parts, quantity, i, envelopes);
      if (!allowed) return;
      if (Distance(got, expected, i) <= *allowed) continue;
      wrong[i] = 1;
      any = true;
      tolerance = std::max(tolerance, *allowed);
    }
    // Where values overflow or underflow, each part does so at its own place.
    if (!any || envelopes->front()->reference().range_edge) return;
    Fail(law, quantity, expected, got, wrong, tolerance, note);
  }

  void Scaling() {
    if (!Deterministic(program_, run_)) return;
    const Tensors doubled = CotangentsUnder(Law::kDoubled, cotangents_);
    const Observation observed = run_.rerun(Law::kDoubled, doubled);
    if (!observed.ok()) return;
    ++report_.checks;
    Envelopes envelopes;
    for (const Quantity& quantity : gradients_) {
      const at::Tensor* gradient = Find(observed, quantity);
      const at::Tensor* once = Find(run_.draws[0], quantity);
      if (gradient == nullptr || gradient->sizes() != once->sizes()) continue;
      Elements expected = Flatten(*once);
      for (double& v : expected.re) v *= 2;
      for (double& v : expected.im) v *= 2;
      Hold(
          "scaling", "twice the cotangent does not give twice the gradient", quantity, expected,
          Flatten(*gradient), [&](size_t i) { return expected.Modulus(i); },
          {{nullptr, 2}, {&doubled, 1}}, &envelopes);
    }
  }

  void Split() {
    const Tensors first = CotangentsUnder(Law::kMasked, cotangents_);
    const Tensors second = CotangentsUnder(Law::kRest, cotangents_);
    const Observation a = run_.rerun(Law::kMasked, first);
    const Observation b = run_.rerun(Law::kRest, second);
    if (!a.ok() || !b.ok()) return;
    ++report_.checks;
    Envelopes envelopes;
    for (const Quantity& quantity : gradients_) {
      const at::Tensor* ga = Find(a, quantity);
      const at::Tensor* gb = Find(b, quantity);
      const at::Tensor* whole = Find(run_.draws[0], quantity);
      if (ga == nullptr || gb == nullptr || ga->sizes() != whole->sizes() ||
          gb->sizes() != whole->sizes()) {
        continue;
      }
      const Elements got = Flatten(*whole), part_a = Flatten(*ga), part_b = Flatten(*gb);
      Elements sum = part_a;
      for (size_t i = 0; i < sum.re.size(); ++i) sum.re[i] += part_b.re[i];
      for (size_t i = 0; i < sum.im.size(); ++i) sum.im[i] += part_b.im[i];
      Hold(
          "linearity",
          "the gradients for the two parts of the cotangent do not add up to that for the whole",
          quantity, sum, got,
          [&](size_t i) { return got.Modulus(i) + part_a.Modulus(i) + part_b.Modulus(i); },
          {{nullptr, 1}, {&first, 1}, {&second, 1}}, &envelopes);
    }
  }

  const program::Program& program_;
  const Precision& precision_;
  const RungRun& run_;
  uint64_t seed_;
  std::vector<Quantity> gradients_;
  Tensors cotangents_;
  std::vector<std::unique_ptr<Tensors>> cpu_;  // what the envelopes point to
  SelfCheckReport report_;
};

// Where the source stands among the arguments of a pure placement.
int SourceArgument(const program::Statement& statement) {
  struct Row {
    std::string_view op;
    size_t source;
  };
  static constexpr Row kRows[] = {
      {"slice_scatter", 1}, {"select_scatter", 1}, {"diagonal_scatter", 1},
      {"index_copy", 3},    {"scatter", 3},        {"Tensor.slice_scatter", 1},
  };
  for (const Row& row : kRows) {
    if (statement.op == row.op && statement.args.size() > row.source) {
      return static_cast<int>(row.source);
    }
  }
  return -1;
}

// The leaf that an argument is, if it is used nowhere else and shares its storage with no other.
int LoneLeaf(const program::Program& program, const program::Arg& arg) {
  if (!arg.Is<program::ValueRef>()) return -1;
  const int id = arg.As<program::ValueRef>().id;
  if (id >= static_cast<int>(program.leaves.size())) return -1;
  int uses = 0;
  for (const auto& statement : program.statements) {
    const auto ids = program::Uses(statement);
    uses += static_cast<int>(std::count(ids.begin(), ids.end(), id));
  }
  for (const auto& output : program.outputs) uses += output.value == id ? 1 : 0;
  const auto& leaf = program.leaves[static_cast<size_t>(id)];
  const auto shared =
      std::count_if(program.leaves.begin(), program.leaves.end(),
                    [&](const auto& other) { return other.storage == leaf.storage; });
  return uses == 1 && shared == 1 && leaf.requires_grad ? id : -1;
}

at::Tensor CotangentUnder(Law law, const at::Tensor& recipe) {
  switch (law) {
    case Law::kZero:
      return at::zeros(recipe.sizes(), recipe.options());
    case Law::kDoubled:
      return Doubled(recipe);
    case Law::kMasked:
      return recipe.masked_fill(RandomMask(recipe), 0).contiguous();
    case Law::kRest:
      return recipe.masked_fill(RandomMask(recipe).logical_not(), 0).contiguous();
  }
  return recipe;
}

}  // namespace

Tensors RecipeCotangents(const program::Program& program, const Observation& observation) {
  Tensors cotangents(program.outputs.size());
  for (size_t i = 0; i < cotangents.size() && i < observation.outputs.size(); ++i) {
    if (i < observation.output_requires_grad.size() && observation.output_requires_grad[i]) {
      cotangents[i] = evaluate::MakeCotangent(program.outputs[i].cotangent, observation.outputs[i],
                                              /*draw=*/0);
    }
  }
  return cotangents;
}

Tensors CotangentsUnder(Law law, const Tensors& recipe) {
  Tensors made(recipe.size());
  for (size_t i = 0; i < made.size(); ++i) {
    if (recipe[i].defined()) made[i] = CotangentUnder(law, recipe[i]);
  }
  return made;
}

std::string PartitionFault(const program::Program& program,
                           const evaluate::Observation& observation,
                           const std::vector<at::Tensor>& cotangents, bool* applies) {
  *applies = false;
  if (program.call.backward != program::CallPlan::Backward::kGrad || !program.regions.empty()) {
    return "";
  }
  for (size_t s = 0; s < program.statements.size(); ++s) {
    const program::Statement& statement = program.statements[s];
    const int source = SourceArgument(statement);
    if (source < 0 || statement.results != 1) continue;
    const int self = LoneLeaf(program, statement.args[0]);
    const int src = LoneLeaf(program, statement.args[static_cast<size_t>(source)]);
    const program::ValueId result = program::FirstResult(program, s);
    if (self < 0 || src < 0 || self == src) continue;
    int outputs = 0;
    size_t output = 0;
    for (size_t o = 0; o < program.outputs.size(); ++o) {
      if (program.outputs[o].value != result) continue;
      ++outputs;
      output = o;
    }
    bool used = false;
    for (const auto& other : program.statements) {
      const auto ids = program::Uses(other);
      used = used || std::find(ids.begin(), ids.end(), result) != ids.end();
    }
    if (outputs != 1 || used || !cotangents[output].defined()) continue;
    const auto& grad_self = observation.gradients[static_cast<size_t>(self)];
    const auto& grad_src = observation.gradients[static_cast<size_t>(src)];
    if (!grad_self || !grad_src) continue;
    // Index operands are taken from the leaves themselves.
    auto inputs = evaluate::MakeInputs(program.storages, program.leaves, 0, at::kCPU);
    std::vector<at::Tensor> values = inputs.leaves;
    values.resize(static_cast<size_t>(program::ValueCount(program)));
    values[static_cast<size_t>(self)] = grad_self->cpu();
    values[static_cast<size_t>(src)] = grad_src->cpu();
    const auto placed = evaluate::Call(statement, values);
    if (!placed || placed->size() != 1) continue;
    const at::Tensor cotangent = cotangents[output].cpu();
    if ((*placed)[0].sizes() != cotangent.sizes() ||
        (*placed)[0].scalar_type() != cotangent.scalar_type()) {
      continue;
    }
    *applies = true;
    if (!SameValues((*placed)[0], cotangent)) {
      return statement.op +
             ": the gradients of its two operands, put together, are not the cotangent";
    }
    // What the source covers is not the target's.
    values[static_cast<size_t>(src)] = at::zeros_like(values[static_cast<size_t>(src)]);
    const auto target_only = evaluate::Call(statement, values);
    if (target_only && !SameValues((*target_only)[0], values[static_cast<size_t>(self)])) {
      return statement.op + ": the target has a gradient where the source covers it";
    }
  }
  return "";
}

SelfCheckReport SelfCheck(const program::Program& program, const Precision& precision,
                          const RungRun& run, uint64_t seed) {
  using Backward = program::CallPlan::Backward;
  if (program.call.backward == Backward::kNone) return {};
  return Checker(program, precision, run, seed).Run();
}

}  // namespace gradfuzz::oracle
