// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/generate/generator.h"

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "builder.h"
#include "gradfuzz/evaluate/interpret.h"
#include "gradfuzz/evaluate/materialise.h"
#include "gradfuzz/evaluate/unset_memory.h"
#include "gradfuzz/generate/compile_config.h"
#include "gradfuzz/generate/exactness.h"
#include "gradfuzz/generate/swarm.h"
#include "gradfuzz/program/emit.h"

namespace gradfuzz::generate {
namespace {

using program::CallPlan;
using program::Output;
using program::Program;

constexpr int kMaxAttempts = 60;
// Of programs without a motif, against the motifs' own weights. Weights are kept flat: of 29,000
// programs the half with the rarer operators held 67 of 106 first hits of a finding, in the same
// CPU time (scripts/measure_novelty). To prefer what is new to a campaign found hardly more than
// that (73), and would cost that a seed is a program: nothing that ran before has a say.
constexpr double kFreeWeight = 60;

class Silence : public c10::WarningHandler {
 public:
  void process(const c10::Warning&) override {}
};

// The motif of a program, or nullptr for none.
const Motif* DrawMotif(Rng& rng, const Weights& weights) {
  std::vector<Alternative> rows = {{"none", kFreeWeight}};
  for (const Motif& motif : Motifs()) rows.push_back({motif.name, motif.weight});
  const auto row = Draw(rng, weights, "motif.", rows);
  return !row || *row == 0 ? nullptr : &Motifs()[*row - 1];
}

// What all programs of a slice of seeds are called like, but for those that it does not suit: they
// can be compiled together.
struct CallSlice {
  CallPlan plan;
  bool second_call = false, second_float = false;  // whether there may be one in a plain plan
};

CallSlice CallSliceOf(uint64_t seed, const Weights& weights) {
  const Rng slice = Rng(seed / kCallSliceSeeds).Fork("call");
  const auto chance = [&](const char* feature, double p) {
    Rng own = slice.Fork(feature);
    return Chance(own, weights, feature, p);
  };
  CallSlice call;
  if (chance("feature.dynamic", 0.03)) call.plan.dynamic = CallPlan::Dynamic::kYes;
  if (chance("feature.accumulate", 0.005)) call.plan.backward = CallPlan::Backward::kAccumulate;
  call.plan.no_grad_first = chance("feature.no_grad_first", 0.01);
  call.plan.autocast = chance("feature.autocast", 0.02);
  call.second_call = chance("feature.second_call", 0.03);
  call.second_float = chance("feature.second_float", 0.08);
  return call;
}

void DrawCallPlan(Rng& rng, const Context& context, const Motif* motif, CallPlan* call,
                  std::set<std::string>* features) {
  const bool dynamic = motif != nullptr && motif->dynamic;
  if (dynamic && Chance(rng, context.weights, "feature.dynamic", 0.5)) {
    call->dynamic = CallPlan::Dynamic::kYes;
  }
  if (context.profile.forward_only) {
    call->backward = CallPlan::Backward::kNone;
    features->insert("feature.forward_only");
  }
  if (call->dynamic == CallPlan::Dynamic::kYes) features->insert("feature.dynamic");
  if (call->backward == CallPlan::Backward::kAccumulate) features->insert("feature.accumulate");
  if (call->no_grad_first) features->insert("feature.no_grad_first");
}

// Any statements in a row. REQUIRES: the program has some.
program::Region DrawRegion(Rng& rng, const program::Program& program, program::Region::Kind kind) {
  const int count = static_cast<int>(program.statements.size());
  const int first = static_cast<int>(rng.Below(static_cast<uint64_t>(count)));
  const int last = static_cast<int>(rng.Between(first, count - 1));
  return {kind, first, last};
}

// Whether a part of it may be called as a function of its own: nothing is written in place, since
// what is computed again must be what it was, and it is the only part that is other than the rest.
bool TakesPart(const Context& context, const program::Program& program) {
  return !context.profile.forward_only && !context.workspace.mutates() &&
         !program.statements.empty() && program.regions.empty() && !program.call.autocast;
}

// Whether eager takes it and some gradient is left.
bool HasUsableGradient(const program::Program& program) {
  const evaluate::Observation run = evaluate::Interpret(program, {});
  const auto usable = [](const std::optional<at::Tensor>& gradient) {
    return gradient && at::isfinite(*gradient).all().item<bool>();
  };
  return run.ok() && std::ranges::any_of(run.gradients, usable);
}

// Any part of the program as a region, where that is valid and suits. RETURNS: whether it does.
bool AddRegion(Rng& rng, program::Region::Kind kind, bool (*suits)(const program::Program&),
               program::Program* program) {
  program::Program changed = *program;
  changed.regions.push_back(DrawRegion(rng, *program, kind));
  if (!program::Validate(changed).empty() || !suits(changed)) return false;
  *program = std::move(changed);
  return true;
}

// Whether autocast around the call, which the slice asks for, narrows anything, and eager takes it:
// it refuses operands of two dtypes.
bool SuitsAutocast(const Context& context, const program::Program& program) {
  const Profile& profile = context.profile;
  return !profile.forward_only && !profile.exact && profile.dtype == program::DType::kFloat32 &&
         program.statements.size() >= 2 && HasUsableGradient(program);
}

// Autocast around the call, in some programs switched off for a part; or, without it, a part
// without gradients.
void DrawModes(Rng& rng, const Context& context, program::Program* program,
               std::set<std::string>* features) {
  using program::Region;
  if (program->call.autocast) {
    program->call.autocast = SuitsAutocast(context, *program);
    if (!program->call.autocast) return;
    features->insert("feature.autocast");
    if (rng.Chance(0.4)) AddRegion(rng, Region::Kind::kAutocastOff, HasUsableGradient, program);
    return;
  }
  if (context.profile.forward_only || program->statements.size() < 2) return;
  if (!Chance(rng, context.weights, "feature.no_grad_region", 0.015)) return;
  if (AddRegion(rng, Region::Kind::kNoGrad, HasUsableGradient, program)) {
    features->insert("feature.no_grad_region");
  }
}

// A part of the program that is computed again in the backward.
void DrawCheckpoint(const Rng& rng, const Context& context, program::Program* program,
                    std::set<std::string>* features) {
  Rng own = rng.Fork("checkpoint");
  if (!Chance(own, context.weights, "feature.checkpoint", 0.02)) return;
  if (!TakesPart(context, *program)) return;
  program->regions.push_back(DrawRegion(own, *program, program::Region::Kind::kCheckpoint));
  features->insert("feature.checkpoint");
}

// A part of the program that is differentiated, or given another derivative, as a whole.
struct TransformRow {
  const char* feature;
  program::Region::Kind kind;
};
constexpr TransformRow kTransforms[] = {
    // The compiler must take the backward as it is written, whatever it knows of the forward.
    {"feature.custom_function", program::Region::Kind::kFunction},
    // A derivative and its own derivative in one graph.
    {"feature.jvp", program::Region::Kind::kJvp},
    {"feature.vjp", program::Region::Kind::kVjp},
};
constexpr double kTransformChance = 0.015;  // of each

// Whether all that a call yields is finite, a gradient among it.
bool IsFiniteThroughout(const program::Program& program) {
  const evaluate::Observation run = evaluate::Interpret(program, {});
  const auto finite = [](const at::Tensor& t) { return at::isfinite(t).all().item<bool>(); };
  return run.ok() && std::ranges::all_of(run.outputs, finite) &&
         std::ranges::all_of(run.gradients, [&](const auto& g) { return !g || finite(*g); }) &&
         std::ranges::any_of(run.gradients, [](const auto& g) { return g.has_value(); });
}

// What is known of the program's values does not hold behind the part; so no exact programs.
void DrawTransform(const Rng& rng, const Context& context, GeneratedProgram* generated,
                   std::set<std::string>* features) {
  for (const TransformRow& row : kTransforms) {
    Rng own = rng.Fork(row.feature);
    if (!Chance(own, context.weights, row.feature, kTransformChance)) continue;
    const program::Program& program = generated->program;
    if (!TakesPart(context, program) || context.profile.non_finite ||
        program::Info(context.profile.dtype).is_complex || generated->lane == "exact") {
      return;
    }
    if (AddRegion(own, row.kind, IsFiniteThroughout, &generated->program)) {
      features->insert(row.feature);
    }
    return;
  }
}

// What is compiled for any size is worth little until it meets another one.
void DrawSecondCall(Rng& rng, const Context& context, const std::vector<Output>& outputs,
                    bool in_slice, GeneratedProgram* generated, std::set<std::string>* features) {
  const CallPlan& call = generated->program.call;
  if (!generated->program.regions.empty() || call.autocast) return;
  if (!in_slice && call.dynamic != CallPlan::Dynamic::kYes) return;
  if (!Chance(rng, context.weights, "feature.second_call", 0.4)) return;
  auto program =
      WithSecondCall(rng, context, outputs, generated->program, generated->lane == "exact");
  if (!program) return;
  generated->program = std::move(*program);
  features->insert("feature.second_call");
}

// Dynamo makes a float a constant at first, and an input once it meets another one.
void DrawFloats(const Rng& rng, const Context& context, const std::vector<Output>& outputs,
                bool in_slice, GeneratedProgram* generated, std::set<std::string>* features) {
  Rng own = rng.Fork("floats");
  const CallPlan& call = generated->program.call;
  if (!in_slice && call.dynamic != CallPlan::Dynamic::kYes) return;
  if (!Chance(own, context.weights, "feature.second_float", 0.3)) return;
  // What is tried below knows no other regions.
  const auto changes_values = [](const program::Region& region) {
    return region.kind != program::Region::Kind::kCheckpoint;
  };
  if (call.autocast || std::ranges::any_of(generated->program.regions, changes_values)) return;
  auto program =
      WithSecondFloats(own, context, outputs, generated->program, generated->lane == "exact");
  if (!program) return;
  generated->program = std::move(*program);
  features->insert("feature.second_float");
}

// The operators that a gradient goes through on its way from the outputs to the leaves.
void CollectGradientPath(const Context& context, const std::vector<Output>& outputs,
                         std::set<std::string>* features) {
  const Workspace& workspace = context.workspace;
  std::set<int> seen;
  std::vector<int> open;
  for (const Output& output : outputs) open.push_back(output.value);
  while (!open.empty()) {
    const Value& value = workspace.value(open.back());
    open.pop_back();
    if (value.statement < 0 || !value.first().requires_grad()) continue;
    if (!seen.insert(value.statement).second) continue;
    const Step& step = workspace.steps()[static_cast<size_t>(value.statement)];
    features->insert("op_gradient." + std::string(step.record->name));
    open.insert(open.end(), step.operands.begin(), step.operands.end());
  }
}

void CollectFeatures(const Context& context, const std::vector<Output>& outputs,
                     std::set<std::string>* features) {
  const Workspace& workspace = context.workspace;
  std::set<int> statements;
  std::set<int> used;
  for (const int id : workspace.Kept(outputs)) {
    const Value& value = workspace.value(id);
    features->insert(value.tags.begin(), value.tags.end());
    if (value.statement >= 0) statements.insert(value.statement);
  }
  for (size_t s = 0; s < workspace.steps().size(); ++s) {
    const Step& step = workspace.steps()[s];
    if (!workspace.mutates() && statements.count(static_cast<int>(s)) == 0) continue;
    features->insert("op." + ops::Id(*step.record));
    features->insert("family." + std::string(ops::Name(step.record->family)));
    if (step.record->Has(ops::kInPlace)) features->insert("feature.in_place");
    for (const int id : step.operands) {
      const bool again = !used.insert(id).second;
      if (again) features->insert("feature.fan_out");
    }
  }
  features->insert("dtype." + std::string(program::Info(context.profile.dtype).name));
  if (outputs.size() > 1) features->insert("feature.several_outputs");
  for (const Output& output : outputs) {
    if (workspace.value(output.value).first().dim() == 0) {
      features->insert("feature.scalar_output");
    }
  }
}

void AddFeature(const std::string& feature, GeneratedProgram* generated) {
  auto& features = generated->features;
  features.insert(std::ranges::upper_bound(features, feature), feature);
}

// Ends the program in a full sum or mean: ones come back expanded, with stride 0.
void AddFinalAggregation(const Rng& rng, Context& context, Counters* counters) {
  std::vector<Choice> choices;
  for (const ops::OpRecord& record : ops::Catalogue()) {
    if (!record.Has(ops::kFullAggregation)) continue;
    if (context.profile.exact && !record.Has(ops::kExactOnIntegers)) continue;
    const double weight = context.weights.Factor("op." + ops::Id(record));
    if (weight > 0) choices.push_back({&record, weight});
  }
  Wish wish;
  wish.plain = true;
  AddStatement(rng, context, choices, wish, 4, counters);
}

// `call`: what the slice says of it.
std::optional<GeneratedProgram> Attempt(const Rng& rng, const Weights& weights, int max_statements,
                                        const CallSlice& call, const Harvest* harvest,
                                        Counters* counters) {
  Rng profile_rng = rng.Fork("profile");
  Profile profile = DrawProfile(profile_rng, weights, max_statements);
  Rng motif_rng = rng.Fork("motif");
  const Motif* motif = DrawMotif(motif_rng, weights);
  int free_statements = profile.statements;
  if (motif != nullptr) {
    profile.exact = profile.exact && !motif->real;
    // Complex numbers have no order: no extrema.
    if (motif->real && program::Info(profile.dtype).is_complex) {
      profile.dtype = program::DType::kFloat32;
    }
    // Their operators are about gradients or rounding, all but those that only write.
    if (profile.integers() && (motif->real || !motif->mutation)) {
      profile.dtype = program::DType::kFloat32;
      profile.forward_only = false;
    }
    profile.mutation = profile.mutation || motif->mutation;
    profile.forward_only = profile.forward_only || motif->forward_only;
    free_statements = motif_rng.Chance(motif->tail) ? static_cast<int>(motif_rng.Between(1, 2)) : 0;
  }
  // Gradients of a few operators in a row leave the range of float16 and the patience of bfloat16.
  const bool narrow = program::Info(profile.dtype).bytes == 2 ||
                      (profile.other && program::Info(*profile.other).bytes == 2);
  Workspace workspace({.numel = 4096,
                       .magnitude = narrow ? 500.0 : 1e4,
                       .empty = profile.empty,
                       .non_finite = profile.non_finite,
                       .integers = profile.integers()});
  Context context{weights, profile, workspace, harvest};
  if (motif != nullptr && !RunMotif(rng.Fork("steps"), context, *motif, counters)) return {};
  if (free_statements > 0) {
    const std::vector<Choice> choices = FreeChoices(context);
    for (int i = 0; i < free_statements; ++i) {
      Wish wish;
      wish.chain = true;
      const Rng fork = rng.Fork("statement", static_cast<uint64_t>(i));
      if (!AddStatement(fork, context, choices, wish, 30, counters)) break;
    }
  }
  if (workspace.steps().empty()) return {};
  Rng end = rng.Fork("end");
  if (motif == nullptr && Chance(end, weights, "feature.scalar_output", 0.2)) {
    AddFinalAggregation(rng.Fork("aggregation"), context, counters);
  }
  GeneratedProgram generated;
  std::vector<std::string> cotangent_features;
  Rng outputs_rng = rng.Fork("outputs");
  const std::vector<Output> outputs = DrawOutputs(
      outputs_rng, context, motif != nullptr && motif->all_results, &cotangent_features);
  if (outputs.empty()) return {};
  // What writes into inputs often has no gradient to give; the inputs are compared all the same.
  const auto has_gradient = [&](const Output& output) {
    return workspace.value(output.value).first().requires_grad();
  };
  if (motif != nullptr && motif->mutation &&
      std::none_of(outputs.begin(), outputs.end(), has_gradient)) {
    profile.forward_only = true;
  }
  if (!profile.forward_only && !BackwardSuits(context, outputs)) return {};
  std::set<std::string> features(cotangent_features.begin(), cotangent_features.end());
  if (profile.forward_only) features.clear();
  if (profile.non_finite) features.insert("feature.non_finite");
  Rng call_rng = rng.Fork("call");
  generated.program = workspace.Take(outputs);
  generated.program.call = call.plan;
  DrawCallPlan(call_rng, context, motif, &generated.program.call, &features);
  Rng modes_rng = rng.Fork("modes");
  DrawModes(modes_rng, context, &generated.program, &features);
  DrawCheckpoint(rng, context, &generated.program, &features);
  if (!program::Validate(generated.program).empty()) return {};
  generated.lane = IsExact(context, outputs) ? "exact" : "real";
  DrawTransform(rng, context, &generated, &features);
  Rng second_rng = rng.Fork("second_call");
  DrawSecondCall(second_rng, context, outputs, call.second_call, &generated, &features);
  DrawFloats(rng, context, outputs, call.second_float, &generated, &features);
  CollectFeatures(context, outputs, &features);
  if (!profile.forward_only && generated.program.regions.empty()) {
    CollectGradientPath(context, outputs, &features);
  }
  features.insert("motif." + std::string(motif == nullptr ? "none" : motif->name));
  features.insert("lane." + generated.lane);
  generated.features.assign(features.begin(), features.end());
  return generated;
}

}  // namespace

std::vector<std::string> WeightNames() {
  std::vector<std::string> names = {"feature.exact_lane",
                                    "feature.mutation",
                                    "feature.empty",
                                    "feature.forward_only",
                                    "feature.non_finite",
                                    "feature.second_call",
                                    "feature.second_float",
                                    "feature.dynamic",
                                    "feature.accumulate",
                                    "feature.no_grad_first",
                                    "feature.alias_inputs",
                                    "feature.scalar_output",
                                    "feature.autocast",
                                    "feature.no_grad_region",
                                    "feature.checkpoint",
                                    "feature.mixed_dtypes",
                                    kSwarm,
                                    "values.wrap",
                                    "motif.none"};
  for (const Motif& motif : Motifs()) names.push_back("motif." + std::string(motif.name));
  AppendProfileNames(&names);
  AppendLeafNames(&names);
  AppendCotangentNames(&names);
  AppendConfigNames(&names);
  for (const TransformRow& row : kTransforms) names.emplace_back(row.feature);
  return names;
}

Result<GeneratedProgram> Generate(uint64_t seed, const GenerateOptions& options,
                                  const Harvest* harvest) {
  // Eager warns of what proposals try (degrees of freedom below 1, beta operators): no one's news.
  Silence silence;
  const c10::WarningUtils::WarningHandlerGuard guard(&silence);
  // A result that unset memory has a part in is NaN, and its program is not made.
  const evaluate::UnsetMemory unset(evaluate::UnsetMemory::kNan);
  const GenerateOptions slice = WithSwarm(seed, options);
  const Weights swarm(slice);
  const Weights weights(options);
  const bool is_swarm = slice != options;
  const ConfigRow* config = ConfigOfSlice(seed, swarm);
  const CallSlice call = CallSliceOf(seed, swarm);
  const Rng root(seed);
  Counters counters;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    // A swarm that leaves too little, given the weights of the user, is none.
    const bool in_swarm = is_swarm && attempt < kMaxAttempts / 2;
    const Rng rng = root.Fork("attempt", static_cast<uint64_t>(attempt));
    auto generated =
        Attempt(rng, in_swarm ? swarm : weights, options.max_statements, call, harvest, &counters);
    if (!generated) continue;
    if (in_swarm) AddFeature(kSwarm, &*generated);
    if (config != nullptr) {
      generated->program.call.config.insert(config->entries.begin(), config->entries.end());
      AddFeature(kConfigFeature, &*generated);
      AddFeature("config." + std::string(config->name), &*generated);
    }
    generated->proposals = counters.proposals;
    generated->refused = counters.refused;
    generated->unsuitable = counters.unsuitable;
    generated->attempts = attempt + 1;
    return std::move(*generated);
  }
  return UsageError("no program could be generated for seed " + std::to_string(seed) +
                    ": the weights leave too little to draw from");
}

}  // namespace gradfuzz::generate
