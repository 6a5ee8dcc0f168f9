// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/report/summary.h"

#include <algorithm>
#include <stdexcept>

namespace gradfuzz::report {
namespace {

using nlohmann::json;

json TotalsToJson(const RunTotals& t) {
  json verdicts = json::object();
  for (const auto& [verdict, count] : t.verdicts) verdicts[Name(verdict)] = count;
  return {{"programs", t.programs},
          {"invalid", t.invalid},
          {"with_gradients", t.with_gradients},
          {"gradients_compared", t.gradients_compared},
          {"outputs_compared", t.outputs_compared},
          {"mismatches", t.mismatches},
          {"muted", t.muted},
          {"unconfirmed", t.unconfirmed},
          {"waiting", t.waiting},
          {"workers_lost", t.workers_lost},
          {"programs_lost", t.programs_lost},
          {"seconds", t.seconds},
          {"torch_seconds", t.torch_seconds},
          {"worker_seconds", t.worker_seconds},
          {"verdicts", std::move(verdicts)}};
}

RunTotals TotalsFromJson(const json& value) {
  RunTotals t;
  t.programs = value.at("programs").get<int64_t>();
  t.invalid = value.at("invalid").get<int64_t>();
  t.with_gradients = value.at("with_gradients").get<int64_t>();
  t.gradients_compared = value.at("gradients_compared").get<int64_t>();
  t.outputs_compared = value.at("outputs_compared").get<int64_t>();
  t.mismatches = value.at("mismatches").get<int64_t>();
  t.muted = value.at("muted").get<int64_t>();
  t.unconfirmed = value.at("unconfirmed").get<int64_t>();
  t.waiting = value.at("waiting").get<int64_t>();
  t.workers_lost = value.at("workers_lost").get<int64_t>();
  t.programs_lost = value.at("programs_lost").get<int64_t>();
  t.seconds = value.at("seconds").get<double>();
  t.torch_seconds = value.at("torch_seconds").get<double>();
  t.worker_seconds = value.at("worker_seconds").get<double>();
  for (const auto& [name, count] : value.at("verdicts").items()) {
    const auto verdict = VerdictFromName(name);
    if (!verdict) throw std::invalid_argument("unknown verdict '" + name + "'");
    t.verdicts.emplace_back(*verdict, count.get<int64_t>());
  }
  std::sort(t.verdicts.begin(), t.verdicts.end());
  return t;
}

template <typename T>
T Unwrap(Result<T> result) {
  if (!result) throw std::invalid_argument(result.error().message);
  return std::move(*result);
}

}  // namespace

std::vector<const Finding*> InReportOrder(const RunSummary& summary) {
  std::vector<const Finding*> order;
  for (const Finding& f : summary.findings) order.push_back(&f);
  std::sort(order.begin(), order.end(), [](const Finding* a, const Finding* b) {
    if (a->known_issue.empty() != b->known_issue.empty()) return a->known_issue.empty();
    if (a->hits != b->hits) return a->hits > b->hits;
    return a->id < b->id;
  });
  return order;
}

json ToJson(const RunSummary& s) {
  json rate = json::array();
  for (const RateSample& r : s.rate) {
    rate.push_back({{"seconds", r.seconds},
                    {"programs", r.programs},
                    {"gradients_compared", r.gradients_compared},
                    {"mismatches", r.mismatches},
                    {"findings", r.findings},
                    {"worker_rss_mb", r.worker_rss_mb}});
  }
  json yields = json::array();
  for (const Yield& y : s.yields) {
    yields.push_back({{"axis", y.axis},
                      {"name", y.name},
                      {"programs", y.programs},
                      {"mismatches", y.mismatches},
                      {"findings", y.findings}});
  }
  json findings = json::array();
  for (const Finding* f : InReportOrder(s)) findings.push_back(ToJson(*f));
  json known = json::array();
  for (const KnownBug& k : s.known_bugs) {
    known.push_back({{"name", k.name}, {"link", k.link}, {"hits", k.hits}, {"tried", k.tried}});
  }
  json out = {{"gradfuzz_version", s.gradfuzz_version},
              {"command", s.command},
              {"started", s.started},
              {"finished", s.finished},
              {"end", s.end},
              {"shard", s.shard},
              {"devices", s.devices},
              {"workers", s.workers},
              {"run", ToJson(s.run)},
              {"generate", ToJson(s.generate)},
              {"environment", s.environment},
              {"totals", TotalsToJson(s.totals)},
              {"rate", std::move(rate)},
              {"yields", std::move(yields)},
              {"findings", std::move(findings)},
              {"known_bugs", std::move(known)},
              {"warnings", s.warnings}};
  if (s.first_seed) out["first_seed"] = *s.first_seed;
  return out;
}

Result<RunSummary> RunSummaryFromJson(const json& value) {
  RunSummary s;
  try {
    s.gradfuzz_version = value.at("gradfuzz_version").get<std::string>();
    s.command = value.at("command").get<std::string>();
    s.started = value.at("started").get<std::string>();
    s.finished = value.at("finished").get<std::string>();
    s.end = value.at("end").get<std::string>();
    s.shard = value.at("shard").get<std::string>();
    s.devices = value.at("devices").get<std::vector<std::string>>();
    s.workers = value.at("workers").get<int>();
    s.run = Unwrap(RunOptionsFromJson(value.at("run")));
    s.generate = Unwrap(GenerateOptionsFromJson(value.at("generate")));
    s.environment = value.at("environment");
    s.totals = TotalsFromJson(value.at("totals"));
    for (const json& r : value.at("rate")) {
      s.rate.push_back({r.at("seconds").get<double>(), r.at("programs").get<int64_t>(),
                        r.at("gradients_compared").get<int64_t>(),
                        r.at("mismatches").get<int64_t>(), r.at("findings").get<int64_t>(),
                        r.at("worker_rss_mb").get<double>()});
    }
    for (const json& y : value.at("yields")) {
      s.yields.push_back({y.at("axis").get<std::string>(), y.at("name").get<std::string>(),
                          y.at("programs").get<int64_t>(), y.at("mismatches").get<int64_t>(),
                          y.at("findings").get<int64_t>()});
    }
    for (const json& f : value.at("findings")) s.findings.push_back(Unwrap(FindingFromJson(f)));
    for (const json& k : value.at("known_bugs")) {
      s.known_bugs.push_back({k.at("name").get<std::string>(), k.at("link").get<std::string>(),
                              k.at("hits").get<int64_t>(), k.at("tried").get<bool>()});
    }
    s.warnings = value.at("warnings").get<std::vector<std::string>>();
    if (value.contains("first_seed")) s.first_seed = value.at("first_seed").get<uint64_t>();
  } catch (const std::exception& e) {
    return UsageError("not a gradfuzz summary: " + std::string(e.what()));
  }
  return s;
}

}  // namespace gradfuzz::report
