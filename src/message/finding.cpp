// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/message/finding.h"

#include "gradfuzz/program/json.h"

namespace gradfuzz {
namespace {

using nlohmann::json;

Verdict VerdictFrom(const json& value) {
  const std::string& name = value.get_ref<const std::string&>();
  if (auto verdict = VerdictFromName(name)) return *verdict;
  throw std::invalid_argument("unknown verdict '" + name + "'");
}

// A nested Result, unwrapped inside the one try block of FindingFromJson.
template <typename T>
T Unwrap(Result<T> result) {
  if (!result) throw std::invalid_argument(result.error().message);
  return std::move(*result);
}

}  // namespace

json ToJson(const Finding& f) {
  json ablation = json::array();
  for (const KnobResult& k : f.ablation) {
    ablation.push_back({{"knob", k.knob},
                        {"value", k.value},
                        {"meaning", k.meaning},
                        {"verdict", Name(k.verdict)},
                        {"removes", k.removes},
                        {"exists", k.exists}});
  }
  json triggers = json::array();
  for (const TriggerRow& t : f.triggers) {
    triggers.push_back({{"axis", t.axis},
                        {"change", t.change},
                        {"verdict", Name(t.verdict)},
                        {"wrong", t.wrong},
                        {"tried", t.tried},
                        {"detail", t.detail}});
  }
  const ReductionStats& r = f.reduction;
  json out = {{"id", f.id},
              {"signature", f.signature},
              {"title", f.title},
              {"verdict", Name(f.verdict)},
              {"first_wrong_rung", f.first_wrong_rung},
              {"device", f.device},
              {"hits", f.hits},
              {"original", program::ToJson(f.original)},
              {"reduced", program::ToJson(f.reduced)},
              {"outcome", ToJson(f.outcome)},
              {"run", ToJson(f.run)},
              {"ablation", std::move(ablation)},
              {"workaround", f.workaround},
              {"triggers", std::move(triggers)},
              {"reduction",
               {{"status", r.status},
                {"queries", r.queries},
                {"unresolved", r.unresolved},
                {"slipped", r.slipped},
                {"seconds", r.seconds},
                {"statements_before", r.statements_before},
                {"statements_after", r.statements_after}}},
              {"confirmed", f.confirmed},
              {"confirmations", f.confirmations},
              {"known_issue", f.known_issue},
              {"bisect", f.bisect},
              {"environment", f.environment}};
  if (f.first_seed) out["first_seed"] = *f.first_seed;
  return out;
}

Result<Finding> FindingFromJson(const json& value) {
  Finding f;
  try {
    f.id = value.at("id").get<std::string>();
    f.signature = value.at("signature").get<std::string>();
    f.title = value.at("title").get<std::string>();
    f.verdict = VerdictFrom(value.at("verdict"));
    f.first_wrong_rung = value.at("first_wrong_rung").get<std::string>();
    f.device = value.at("device").get<std::string>();
    f.hits = value.at("hits").get<int>();
    if (value.contains("first_seed")) f.first_seed = value.at("first_seed").get<uint64_t>();
    f.original = Unwrap(program::FromJson(value.at("original")));
    f.reduced = Unwrap(program::FromJson(value.at("reduced")));
    f.outcome = Unwrap(OutcomeFromJson(value.at("outcome")));
    f.run = Unwrap(RunOptionsFromJson(value.at("run")));
    for (const json& k : value.at("ablation")) {
      f.ablation.push_back({k.at("knob").get<std::string>(), k.at("value"),
                            k.at("meaning").get<std::string>(), VerdictFrom(k.at("verdict")),
                            k.at("removes").get<bool>(), k.at("exists").get<bool>()});
    }
    f.workaround = value.at("workaround").get<std::string>();
    for (const json& t : value.at("triggers")) {
      f.triggers.push_back({t.at("axis").get<std::string>(), t.at("change").get<std::string>(),
                            VerdictFrom(t.at("verdict")), t.at("wrong").get<bool>(),
                            t.at("tried").get<bool>(), t.at("detail").get<std::string>()});
    }
    const json& r = value.at("reduction");
    f.reduction = {r.at("status").get<std::string>(),  r.at("queries").get<int>(),
                   r.at("unresolved").get<int>(),      r.at("slipped").get<int>(),
                   r.at("seconds").get<double>(),      r.at("statements_before").get<int>(),
                   r.at("statements_after").get<int>()};
    f.confirmed = value.at("confirmed").get<int>();
    f.confirmations = value.at("confirmations").get<int>();
    f.known_issue = value.at("known_issue").get<std::string>();
    f.bisect = value.at("bisect");
    f.environment = value.at("environment");
  } catch (const std::exception& e) {
    return UsageError("not a gradfuzz finding: " + std::string(e.what()));
  }
  return f;
}

}  // namespace gradfuzz
