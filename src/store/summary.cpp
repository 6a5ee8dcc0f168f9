// SPDX-License-Identifier: BSD-3-Clause
// The tables of the store as the plain data that reports are made of.
#include <algorithm>
#include <cstdlib>

#include "gradfuzz/store/store.h"

namespace gradfuzz::store {
namespace {

constexpr int kRateSamples = 100;

report::RunTotals Totals(Database* db) {
  report::RunTotals totals;
  Statement sums(db,
                 "SELECT count(*), sum(gradients > 0), sum(gradients), sum(outputs), "
                 "sum(fate = 'repeat'), sum(fate = 'unconfirmed'), sum(torch_seconds), "
                 "sum(seconds), sum(note LIKE 'internal error%'), sum(fate = 'pending') "
                 "FROM programs");
  if (sums.Step()) {
    totals.programs = sums.Int(0);
    totals.with_gradients = sums.Int(1);
    totals.gradients_compared = sums.Int(2);
    totals.outputs_compared = sums.Int(3);
    totals.muted = sums.Int(4);
    totals.unconfirmed = sums.Int(5);
    totals.torch_seconds = sums.Double(6);
    totals.worker_seconds = sums.Double(7);
    totals.programs_lost = sums.Int(8);
    totals.waiting = sums.Int(9);
  }
  Statement verdicts(db, "SELECT verdict, count(*) FROM programs GROUP BY verdict");
  while (verdicts.Step()) {
    const auto verdict = VerdictFromName(verdicts.Text(0));
    if (!verdict) continue;
    totals.verdicts.emplace_back(*verdict, verdicts.Int(1));
    if (*verdict == Verdict::kInvalid) totals.invalid = verdicts.Int(1);
    if (IsFinding(*verdict)) totals.mismatches += verdicts.Int(1);
  }
  std::sort(totals.verdicts.begin(), totals.verdicts.end());
  Statement lost(db, "SELECT count(*) FROM events WHERE kind = 'lost'");
  if (lost.Step()) totals.workers_lost = lost.Int(0);
  return totals;
}

// Cumulative counts at kRateSamples equal steps of time.
std::vector<report::RateSample> Rate(Database* db, double elapsed) {
  std::vector<report::RateSample> samples(kRateSamples);
  if (!(elapsed > 0)) return {};
  const double step = elapsed / kRateSamples;
  auto bin = [&](double at) {
    return static_cast<size_t>(std::clamp(at / step, 0.0, kRateSamples - 1.0));
  };
  Statement rows(db, "SELECT at, gradients, verdict FROM programs");
  while (rows.Step()) {
    report::RateSample& sample = samples[bin(rows.Double(0))];
    ++sample.programs;
    sample.gradients_compared += rows.Int(1);
    const auto verdict = VerdictFromName(rows.Text(2));
    sample.mismatches += verdict && IsFinding(*verdict);
  }
  Statement findings(db, "SELECT at FROM findings");
  while (findings.Step()) ++samples[bin(findings.Double(0))].findings;
  Statement memory(db, "SELECT at, detail FROM events WHERE kind = 'memory'");
  while (memory.Step()) {
    report::RateSample& sample = samples[bin(memory.Double(0))];
    sample.worker_rss_mb = std::max(sample.worker_rss_mb, std::atof(memory.Text(1).c_str()));
  }
  for (size_t i = 0; i < samples.size(); ++i) {
    samples[i].seconds = step * static_cast<double>(i + 1);
    if (i == 0) continue;
    samples[i].programs += samples[i - 1].programs;
    samples[i].gradients_compared += samples[i - 1].gradients_compared;
    samples[i].mismatches += samples[i - 1].mismatches;
    samples[i].findings += samples[i - 1].findings;
  }
  return samples;
}

}  // namespace

Result<report::RunSummary> Store::Summary() {
  report::RunSummary summary;
  summary.gradfuzz_version = record_.gradfuzz_version;
  summary.command = record_.command;
  summary.started = record_.started;
  const nlohmann::json finished = Meta("finished"), end = Meta("end");
  if (finished.is_string()) summary.finished = finished.get<std::string>();
  if (end.is_string()) summary.end = end.get<std::string>();
  if (summary.end == "running") summary.finished.clear();
  summary.first_seed = record_.first_seed;
  summary.shard = record_.shard;
  summary.devices = record_.devices;
  summary.workers = record_.workers;
  summary.run = record_.run;
  summary.generate = record_.generate;
  summary.environment = record_.environment;

  Database* db = database_.get();
  // A reader knows only what was written; a writer knows the time.
  const double elapsed = lock_ != nullptr ? Elapsed() : elapsed_before_;
  summary.totals = Totals(db);
  summary.totals.seconds = elapsed;
  summary.rate = Rate(db, elapsed);
  Statement yields(db,
                   "SELECT axis, name, programs, mismatches, findings FROM yields ORDER BY axis, "
                   "programs DESC, name");
  while (yields.Step()) {
    summary.yields.push_back(
        {yields.Text(0), yields.Text(1), yields.Int(2), yields.Int(3), yields.Int(4)});
  }
  auto findings = Findings();
  if (!findings) return findings.error();
  summary.findings = std::move(*findings);
  const nlohmann::json bugs = Meta("known_bugs"), warnings = Meta("warnings");
  if (bugs.is_array()) {
    for (const nlohmann::json& bug : bugs) {
      summary.known_bugs.push_back({bug.value("name", ""), bug.value("link", ""),
                                    bug.value("hits", int64_t{0}), bug.value("tried", false)});
    }
  }
  if (warnings.is_array()) summary.warnings = warnings.get<std::vector<std::string>>();
  if (Status status = db->TakeError(); !status) return status.error();
  return summary;
}

}  // namespace gradfuzz::store
