// SPDX-License-Identifier: BSD-3-Clause
// `gradfuzz [fuzz]`: one seed, or a campaign.
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "gradfuzz/campaign/campaign.h"
#include "gradfuzz/campaign/dedup_sink.h"
#include "gradfuzz/cli/command.h"
#include "gradfuzz/cli/options.h"
#include "gradfuzz/program/json.h"
#include "gradfuzz/report/finding_folder.h"
#include "gradfuzz/store/store.h"
#include "gradfuzz/support/clock.h"
#include "gradfuzz/support/file.h"
#include "gradfuzz/support/interrupt.h"
#include "gradfuzz/support/paths.h"
#include "gradfuzz/support/version.h"

namespace gradfuzz::cli {
namespace {

// CPU seconds a program, 96 programs on 2.15.0: 0.60, 0.41 and 0.34 at 8, 16 and 32; the same
// verdicts. CUDA kernels are compiled one by one: a pack saves tracing alone, and what does not
// compile costs more. CPU seconds of 2,048 programs on an H200, 16 workers, 2.11.0: 2450, 2310 and
// 2570 at 4, 8 and 16.
constexpr int kPack = 32;
constexpr int kCudaPack = 8;

struct FuzzFlags {
  PoolFlags pool;
  RunFlags run;
  std::optional<uint64_t> seed;
  std::optional<uint64_t> programs;
  std::string duration, out, resume, shard, known_bugs;
  std::string fail_on = "new";
  GenerateOptions generate;
  std::vector<std::string> weights;
  std::optional<int> pack;
  bool exact_flags = false;
  bool no_reduce = false;
  bool no_judge = false;
  bool json = false;
};

void AddFlags(CLI::App& app, FuzzFlags* f) {
  AddRunFlags(app, &f->run);
  AddPoolFlags(app, &f->pool);
  app.add_option("--seed", f->seed,
                 "Alone: that one program. With --programs or --duration: the first")
      ->check(WholeNumber(0));
  app.add_option("--programs", f->programs, "How many programs")->check(WholeNumber(1));
  app.add_option("--duration", f->duration, "How long, as in 90s, 15m, 2h");
  app.add_option("--out", f->out, "Folder for the store, findings and reports");
  app.add_option("--shard", f->shard, "i/n: take every n-th seed; default from the scheduler");
  app.add_option("--max-statements", f->generate.max_statements, "Longest program")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  app.add_option("--weight", f->weights, "NAME=FACTOR for a feature, as in op.amin=5 (0: never)");
  app.add_option("--pack", f->pack,
                 "Programs compiled together while screening (default: " + std::to_string(kPack) +
                     ", with CUDA " + std::to_string(kCudaPack) + ")")
      ->check(CLI::Range(1, 64));
  app.add_option("--batch", f->pool.batch, "Programs sent to a worker at a time")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_flag("--default-flags", f->exact_flags, "Screen with the compiler's default flags, too");
  app.add_flag("--no-reduce", f->no_reduce, "Confirm findings, but do not reduce them");
  app.add_flag("--no-judge", f->no_judge,
               "Compare only: whether mismatches are findings is for a later --resume to say");
  app.add_option("--known-bugs", f->known_bugs, "JSON of known bugs (default: the corpus)");
  app.add_option("--fail-on", f->fail_on, "Exit 1 on: new findings, any finding, never")
      ->check(CLI::IsMember({"new", "any", "never"}))
      ->capture_default_str();
  app.add_flag("--json", f->json, "Print the result as JSON");
  CLI::Option* resume = app.add_option(
      "--resume", f->resume,
      "Go on with the campaign in this folder, as it was begun; --programs and --duration count "
      "from its beginning, and one that is not given is no end any more when the other is");
  for (const char* fixed :
       {"--seed", "--out", "--shard", "--device", "--rungs", "--draws", "--knob",
        "--max-statements", "--weight", "--pack", "--default-flags"}) {
    resume->excludes(app.get_option(fixed));
  }
}

Status ParseWeights(const std::vector<std::string>& texts, GenerateOptions* generate) {
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    char* end = nullptr;
    const double factor =
        equals == std::string::npos ? -1 : std::strtod(text.c_str() + equals + 1, &end);
    if (factor < 0 || end == text.c_str() + equals + 1 || *end != '\0') {
      return UsageError("a weight is NAME=FACTOR with a factor >= 0, not '" + text + "'");
    }
    generate->weights.emplace_back(text.substr(0, equals), factor);
  }
  return {};
}

isolate::InvestigateOptions InvestigateFlags(const FuzzFlags& f) {
  isolate::InvestigateOptions options;
  options.reduce = !f.no_reduce;
  return options;
}

// Where a single seed's finding goes when the user names no folder.
std::string FindingFolder(const FuzzFlags& f, const Finding& finding) {
  return JoinPath(f.out.empty() ? "gradfuzz-out/findings" : JoinPath(f.out, "findings"),
                  finding.id);
}

// Of a campaign whose user named none: one per run, so that none is in the way of the next.
std::string NewFolder() {
  std::string stamp = UtcTimestamp();
  stamp.erase(std::remove(stamp.begin(), stamp.end(), ':'), stamp.end());
  return JoinPath("gradfuzz-out", stamp);
}

// One seed on one device. RETURNS: the exit code.
int RunSeed(const FuzzFlags& f, uint64_t seed, const RunOptions& run, campaign::WorkerPool& pool,
            const isolate::KnownBugs& known) {
  WorkItem item;
  item.seed = seed;
  const CaseResult result = pool.Run({item}, f.generate, run).front();
  if (pool.Interrupted()) return kExitInterrupted;
  if (const auto failure = pool.Failure()) return Fail(*failure);
  if (!f.json) std::fputs(report::RenderCase(result, run, Style()).c_str(), stdout);
  std::fflush(stdout);
  const bool wrong = IsFinding(result.outcome.verdict);
  nlohmann::json out = {
      {"seed", seed}, {"device", run.device}, {"outcome", ToJson(result.outcome)}};
  if (result.program) out["program"] = program::ToJson(*result.program);
  int code = wrong ? kExitFindings : kExitClean;
  if (wrong && !f.no_judge && campaign::IsMismatch(result)) {
    isolate::InvestigateOptions options = InvestigateFlags(f);
    options.known = &known;
    if (isatty(STDERR_FILENO) != 0) {
      options.on_progress = [](const std::string& what) {
        std::fprintf(stderr, "\r\033[K%s", what.c_str());
      };
    }
    const auto investigation = isolate::Investigate(pool, result, run, options);
    if (options.on_progress) std::fputs("\r\033[K", stderr);
    const Finding& finding = investigation.finding;
    if (finding.reduction.status == "lost" || finding.confirmed < finding.confirmations) {
      if (!f.json) {
        std::puts("It did not show every time in fresh processes with empty caches: no finding.");
      }
      code = kExitClean;
    } else {
      const std::string folder = FindingFolder(f, finding);
      if (Status made = report::WriteFindingFolder(folder, finding); !made.ok())
        return Fail(made.error());
      if (!f.json) std::fputs(report::RenderFinding(finding, Style(), folder).c_str(), stdout);
      out["finding"] = ToJson(finding);
      if (f.fail_on == "new" && !finding.known_issue.empty()) code = kExitClean;
    }
  }
  if (f.json) std::puts(out.dump(2).c_str());
  if (pool.Interrupted()) return kExitInterrupted;
  return f.fail_on == "never" ? kExitClean : code;
}

// The store holds seeds as 64-bit integers with a sign.
Status CheckSeeds(const FuzzFlags& f) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  const uint64_t first = f.seed.value_or(0);
  if (first > kMost || f.programs.value_or(1) > kMost - first) {
    return UsageError("seeds go up to " + std::to_string(kMost));
  }
  return {};
}

Result<campaign::Shard> ShardOf(const FuzzFlags& f) {
  if (!f.shard.empty()) return campaign::ParseShard(f.shard);
  return campaign::ShardFromEnvironment([](const char* name) { return EnvOr(name, ""); });
}

// The campaign's record from the flags; the pool is not needed for a resumed one.
Result<store::CampaignRecord> NewRecord(const FuzzFlags& f, const RunOptions& run,
                                        const std::vector<std::string>& devices,
                                        const campaign::WorkerPool& pool,
                                        const std::string& command) {
  store::CampaignRecord record;
  record.gradfuzz_version = Version();
  record.command = command;
  record.started = UtcTimestamp();
  record.first_seed = f.seed.value_or(0);
  record.programs = f.programs;
  if (!f.duration.empty()) {
    auto seconds = ParseDuration(f.duration);
    if (!seconds) return seconds.error();
    record.duration = *seconds;
  }
  if (!record.programs && !record.duration) record.programs = 100;
  auto shard = ShardOf(f);
  if (!shard) return shard.error();
  record.shard = shard->Text();
  record.devices = devices;
  record.workers = pool.Parallelism();
  record.generate = f.generate;
  record.run = run;
  const bool cuda = std::ranges::find(devices, "cuda") != devices.end();
  record.run.pack = f.pack.value_or(cuda ? kCudaPack : kPack);
  record.run.fast = !f.exact_flags;
  record.environment = pool.description();
  return record;
}

// The known bugs with what this campaign saw of each.
std::vector<report::KnownBug> Listed(const isolate::KnownBugs& known,
                                     const std::vector<Finding>& findings) {
  std::vector<report::KnownBug> bugs;
  for (const isolate::KnownBug& bug : known.entries()) {
    report::KnownBug listed{bug.title, bug.issue};
    for (const Finding& finding : findings) {
      const bool same = finding.known_issue == (bug.issue.empty() ? bug.title : bug.issue);
      if (same) listed.hits += finding.hits;
    }
    listed.tried = listed.hits > 0;
    bugs.push_back(std::move(listed));
  }
  return bugs;
}

// A seed means one program within one version of gradfuzz, and a verdict is that of one torch.
Status CheckSameEnvironment(const store::CampaignRecord& record,
                            const nlohmann::json& description) {
  const std::string before = record.environment.value("torch", "");
  const std::string now = description.value("torch", "");
  if (before != now) {
    return UsageError("the campaign was begun with torch " + before + ", this is torch " + now);
  }
  if (record.gradfuzz_version != Version()) {
    return UsageError("the campaign was begun with gradfuzz " + record.gradfuzz_version +
                      ", this is " + Version());
  }
  return {};
}

// The campaign in an open store. RETURNS: the exit code.
int RunCampaign(const FuzzFlags& f, store::Store& store, campaign::WorkerPool& pool,
                campaign::EventQueue& events, const isolate::KnownBugs& known) {
  const store::CampaignRecord& record = store.record();
  campaign::CampaignOptions options;
  options.first_seed = record.first_seed;
  options.programs = record.programs;
  options.duration = record.duration;
  if (!record.shard.empty()) {
    auto shard = campaign::ParseShard(record.shard);
    if (!shard) return Fail(shard.error());
    options.shard = *shard;
  }
  options.devices = record.devices;
  options.generate = record.generate;
  options.run = record.run;
  options.batch = std::max(f.pool.batch, record.run.pack);
  options.judge = !f.no_judge;
  campaign::DedupSink sink(&known, pool.description().value("torch", ""), InvestigateFlags(f));
  const bool terminal = isatty(STDERR_FILENO) != 0;
  campaign::Progress progress(
      stderr, terminal ? campaign::Progress::Style::kLive : campaign::Progress::Style::kPlain);
  campaign::Campaign campaign(options, &pool, &store, &sink, &events, &progress);
  const campaign::CampaignEnd end = campaign.Run();
  progress.Clear();
  if (!end.error) {
    auto findings = store.Findings();
    if (!findings) return Fail(findings.error());
    if (Status set = store.SetKnownBugs(Listed(known, *findings)); !set) return Fail(set.error());
  }
  auto summary = store.Summary();
  if (!summary) return Fail(end.error ? *end.error : summary.error());
  const Status written = report::WriteRunReports(*summary, store.folder());
  if (f.json) {
    std::puts(report::ToJson(*summary).dump(2).c_str());
  } else {
    for (const Finding* finding : report::InReportOrder(*summary)) {
      std::fputs(report::RenderFinding(*finding, Style(), store.FindingFolder(finding->id)).c_str(),
                 stdout);
    }
    std::fputs(report::RenderTotals(*summary, Style()).c_str(), stdout);
  }
  std::fflush(stdout);
  if (end.error || end.interrupted) {
    std::fprintf(stderr, "gradfuzz: what was done is in %s; go on with: gradfuzz --resume %s\n",
                 store.folder().c_str(), store.folder().c_str());
  }
  if (end.error) return Fail(*end.error);
  if (end.interrupted) return kExitInterrupted;
  if (!written) return Fail(written.error());
  const bool any = !summary->findings.empty();
  const bool fresh =
      std::any_of(summary->findings.begin(), summary->findings.end(),
                  [](const Finding& finding) { return finding.known_issue.empty(); });
  const bool failed = f.fail_on == "any" ? any : f.fail_on == "new" && fresh;
  return failed ? kExitFindings : kExitClean;
}

std::string CommandLine(int argc, char** argv) {
  std::string text = "gradfuzz";
  for (int i = 1; i < argc; ++i) text += std::string(" ") + argv[i];
  return text;
}

}  // namespace

int RunFuzz(int argc, char** argv) {
  CLI::App app{"Generates programs and compares eager, aot_eager and Inductor", "gradfuzz fuzz"};
  FuzzFlags f;
  AddFlags(app, &f);
  if (const auto code = Parse(app, argc, argv)) return *code;
  if (Status parsed = ParseWeights(f.weights, &f.generate); !parsed.ok())
    return Fail(parsed.error());
  if (f.run.device != "cpu" && f.run.device != "cuda" && f.run.device != "all") {
    return Fail(UsageError("unknown device '" + f.run.device + "': cpu, cuda or all"));
  }
  std::optional<double> duration;
  if (!f.duration.empty()) {
    auto seconds = ParseDuration(f.duration);
    if (!seconds) return Fail(seconds.error());
    duration = *seconds;
  }
  if (Status seeds = CheckSeeds(f); !seeds) return Fail(seeds.error());
  if (auto shard = ShardOf(f); !shard) return Fail(shard.error());
  auto known = LoadKnownBugs(f.known_bugs);
  if (!known) return Fail(known.error());
  const bool single = f.seed && !f.programs && f.duration.empty() && f.resume.empty();
  // A resumed campaign is what its store says; its folder is checked before a worker is started.
  std::unique_ptr<store::Store> store;
  if (!f.resume.empty()) {
    auto opened = store::Store::Resume(f.resume);
    if (!opened) return Fail(opened.error());
    store = std::move(*opened);
  } else if (!single || !f.out.empty()) {
    if (f.out.empty()) f.out = NewFolder();
    if (Status writable = CheckWritableFolder(f.out); !writable) return Fail(writable.error());
    if (!single && Exists(JoinPath(f.out, store::kDatabaseName))) {
      return Fail(UsageError(f.out + " holds a campaign already: go on with --resume " + f.out +
                             ", or name another folder"));
    }
  }
  campaign::EventQueue events;
  auto pool = MakePool(f.pool, [&](const campaign::PoolEvent& event) { events.Push(event); });
  if (!pool) return Fail(pool.error());
  auto run = MakeRunOptions(f.run, (*pool)->description());
  if (!run) return Fail(run.error());
  auto devices = Devices(f.run.device, (*pool)->description());
  if (!devices) return Fail(devices.error());
  if (single) {
    int worst = kExitClean;
    for (const std::string& device : *devices) {
      run->device = device;
      worst = std::max(worst, RunSeed(f, *f.seed, *run, **pool, *known));
    }
    return worst;
  }
  if (!store) {
    auto record = NewRecord(f, *run, *devices, **pool, CommandLine(argc, argv));
    if (!record) return Fail(record.error());
    auto created = store::Store::Create(f.out, *record);
    if (!created) return Fail(created.error());
    store = std::move(*created);
    std::fprintf(stderr, "gradfuzz: results go to %s\n", f.out.c_str());
  } else {
    if (Status same = CheckSameEnvironment(store->record(), (*pool)->description()); !same) {
      return Fail(same.error());
    }
    if (f.programs || duration) {
      // What is not given anew is no end any more: the user has just named another.
      if (Status set = store->SetGoal(f.programs, duration); !set) return Fail(set.error());
    }
  }
  return RunCampaign(f, *store, **pool, events, *known);
}

}  // namespace gradfuzz::cli
