// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/store/store.h"

#include <algorithm>
#include <set>

#include "gradfuzz/program/emit.h"
#include "gradfuzz/program/json.h"
#include "gradfuzz/store/schema.h"
#include "gradfuzz/support/check.h"
#include "gradfuzz/support/clock.h"
#include "gradfuzz/support/paths.h"

namespace gradfuzz::store {
namespace {

using nlohmann::json;

std::string Dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

struct Work {
  int64_t gradients = 0, outputs = 0;
  double torch_seconds = 0;
};

// What was compared on the rungs above eager. A comparison is the worst of all draws.
Work WorkOf(const Outcome& outcome, const RunOptions& run) {
  Work work;
  for (const RungOutcome& rung : outcome.rungs) {
    work.torch_seconds += rung.seconds;
    if (rung.rung == "eager") continue;
    for (const Comparison& c : rung.comparisons) {
      if (c.what.rfind("grad", 0) == 0) work.gradients += run.draws;
      if (c.what.rfind("out", 0) == 0) work.outputs += run.draws;
    }
  }
  return work;
}

// True when Inductor ran the whole program and its gradients were compared.
bool HasInductorGradient(const Outcome& outcome) {
  for (const RungOutcome& rung : outcome.rungs) {
    if (rung.rung != "inductor" || rung.graph_breaks > 0) continue;
    for (const Comparison& c : rung.comparisons) {
      if (c.what.rfind("grad", 0) == 0) return true;
    }
  }
  return false;
}

// Features of the program, and what was really done with it: "op_gradient.X" only where a gradient
// through X was compared under Inductor.
std::set<std::string> FeaturesOf(const CaseResult& result) {
  std::set<std::string> features;
  const json& stats = result.outcome.stats;
  if (stats.is_object() && stats.contains("features") && stats["features"].is_array()) {
    for (const json& feature : stats["features"]) {
      if (feature.is_string()) features.insert(feature.get<std::string>());
    }
    if (!HasInductorGradient(result.outcome)) {
      std::erase_if(features, [](const std::string& f) { return f.rfind("op_gradient.", 0) == 0; });
    }
  } else if (result.program) {
    for (const program::Statement& s : result.program->statements) features.insert("op." + s.op);
  }
  for (const RungOutcome& rung : result.outcome.rungs) features.insert("rung." + rung.rung);
  if (!result.outcome.lane.empty()) features.insert("lane." + result.outcome.lane);
  return features;
}

const char* FateName(Judgement::Fate fate) {
  switch (fate) {
    case Judgement::Fate::kFinding:
      return "finding";
    case Judgement::Fate::kRepeat:
      return "repeat";
    case Judgement::Fate::kUnconfirmed:
      return "unconfirmed";
    case Judgement::Fate::kUndecided:
      return "pending";
  }
  return "";
}

}  // namespace

struct Store::Statements {
  explicit Statements(Database* db)
      : record(db,
               "INSERT INTO programs VALUES (?1, ?2, ?3, ?4, ?5, ?6, NULL, ?7, ?8, ?9, ?10, ?11, "
               "?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)"),
        settle(db, "UPDATE programs SET fate = ?3, finding = ?4 WHERE seed = ?1 AND device = ?2"),
        features(db, "SELECT features FROM programs WHERE seed = ?1 AND device = ?2"),
        yield(db,
              "INSERT INTO yields VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (axis, name) DO UPDATE "
              "SET programs = programs + ?3, mismatches = mismatches + ?4, findings = findings + "
              "?5"),
        finding(db,
                "INSERT INTO findings VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO "
                "UPDATE SET signature = ?2, status = ?3, json = ?7"),
        hit(db,
            "UPDATE findings SET hits = hits + 1, first_seed = min(ifnull(first_seed, ?2), ?2) "
            "WHERE id = ?1"),
        event(db, "INSERT INTO events VALUES (?1, ?2, ?3, ?4)"),
        set_meta(db, "INSERT OR REPLACE INTO meta VALUES (?1, ?2)"),
        get_meta(db, "SELECT value FROM meta WHERE key = ?1") {}

  Statement record, settle, features, yield, finding, hit, event, set_meta, get_meta;
};

Store::Store(std::string folder, std::unique_ptr<Database> database)
    : folder_(std::move(folder)), database_(std::move(database)), opened_(MonotonicSeconds()) {}

Store::~Store() = default;

std::string Store::FindingFolder(const std::string& id) const {
  return JoinPath(JoinPath(folder_, kFindingsFolder), id);
}

Status Store::TakeLock() {
  const std::string path = JoinPath(folder_, "lock");
  auto lock = FileLock::TryLock(path);
  if (!lock) return lock.error();
  if (*lock == nullptr) {
    const long holder = FileLock::Holder(path);
    return EnvironmentError(folder_ + " is in use by another gradfuzz" +
                            (holder > 0 ? " (process " + std::to_string(holder) + ")" : ""));
  }
  lock_ = std::move(*lock);
  return {};
}

Result<std::unique_ptr<Store>> Store::Create(const std::string& folder,
                                             const CampaignRecord& record) {
  const std::string path = JoinPath(folder, kDatabaseName);
  if (Status made = MakeWritableFolder(folder); !made) return made.error();
  std::unique_ptr<Store> store(new Store(folder, nullptr));
  if (Status locked = store->TakeLock(); !locked) return locked.error();
  if (Exists(path)) {
    return UsageError(folder + " holds a campaign already: go on with --resume " + folder +
                      ", or name another folder");
  }
  auto database = Database::Open(path, Database::Mode::kCreate);
  if (!database) return database.error();
  store->database_ = std::move(*database);
  Database* db = store->database_.get();
  // One transaction: a file without a whole schema never exists.
  db->Execute("BEGIN IMMEDIATE");
  db->Execute(kSchema);
  db->Execute("PRAGMA user_version = " + std::to_string(kSchemaVersion));
  db->Execute("PRAGMA application_id = " + std::to_string(kApplicationId));
  if (Status status = db->TakeError(); !status) return status.error();
  store->statements_ = std::make_unique<Statements>(db);
  store->record_ = record;
  const json facts = {
      {"gradfuzz_version", record.gradfuzz_version},
      {"command", record.command},
      {"started", record.started},
      {"first_seed", record.first_seed},
      {"programs", record.programs ? json(*record.programs) : json(nullptr)},
      {"duration", record.duration ? json(*record.duration) : json(nullptr)},
      {"shard", record.shard},
      {"devices", record.devices},
      {"workers", record.workers},
      {"generate", ToJson(record.generate)},
      {"run", ToJson(record.run)},
      {"environment", record.environment},
      {"end", "running"},
      {"elapsed", 0},
  };
  for (const auto& [key, value] : facts.items()) store->SetMeta(key, value);
  db->Execute("COMMIT");
  if (Status status = db->TakeError(); !status) return status.error();
  return store;
}

Result<std::unique_ptr<Store>> Store::OpenExisting(const std::string& folder, Database::Mode mode) {
  const std::string path = JoinPath(folder, kDatabaseName);
  if (!Exists(path)) return UsageError(folder + " holds no campaign: " + path + " is missing");
  std::unique_ptr<Store> store(new Store(folder, nullptr));
  if (mode == Database::Mode::kWrite) {
    if (Status locked = store->TakeLock(); !locked) return locked.error();
  }
  auto database = Database::Open(path, mode);
  if (!database) return database.error();
  store->database_ = std::move(*database);
  Statement version(store->database_.get(),
                    "SELECT (SELECT application_id FROM pragma_application_id), (SELECT "
                    "user_version FROM pragma_user_version)");
  const bool read = version.Step();
  if (Status status = store->database_->TakeError(); !status) return status.error();
  if (!read || version.Int(0) != kApplicationId) {
    return UsageError(path + " is no database of gradfuzz");
  }
  if (version.Int(1) != kSchemaVersion) {
    return UsageError(path + " has schema version " + std::to_string(version.Int(1)) +
                      ", this gradfuzz knows " + std::to_string(kSchemaVersion));
  }
  store->statements_ = std::make_unique<Statements>(store->database_.get());
  if (Status loaded = store->LoadRecord(); !loaded) return loaded.error();
  return store;
}

Result<std::unique_ptr<Store>> Store::Resume(const std::string& folder) {
  auto store = OpenExisting(folder, Database::Mode::kWrite);
  if (store) {
    (*store)->SetMeta("end", "running");
    if (Status status = (*store)->Finish(); !status) return status.error();
  }
  return store;
}

Result<std::unique_ptr<Store>> Store::Read(const std::string& folder) {
  return OpenExisting(folder, Database::Mode::kRead);
}

Status Store::LoadRecord() {
  try {
    record_.gradfuzz_version = Meta("gradfuzz_version").get<std::string>();
    record_.command = Meta("command").get<std::string>();
    record_.started = Meta("started").get<std::string>();
    record_.first_seed = Meta("first_seed").get<uint64_t>();
    if (const json value = Meta("programs"); !value.is_null()) {
      record_.programs = value.get<uint64_t>();
    }
    if (const json value = Meta("duration"); !value.is_null()) {
      record_.duration = value.get<double>();
    }
    record_.shard = Meta("shard").get<std::string>();
    record_.devices = Meta("devices").get<std::vector<std::string>>();
    record_.workers = Meta("workers").get<int>();
    auto generate = GenerateOptionsFromJson(Meta("generate"));
    if (!generate) return generate.error();
    record_.generate = std::move(*generate);
    auto run = RunOptionsFromJson(Meta("run"));
    if (!run) return run.error();
    record_.run = std::move(*run);
    record_.environment = Meta("environment");
    elapsed_before_ = Meta("elapsed").get<double>();
  } catch (const json::exception& e) {
    return EnvironmentError("cannot use " + database_->path() + ": " + e.what());
  }
  // A part that was killed did not write what it had spent.
  for (const char* sql : {"SELECT max(at) FROM programs", "SELECT max(at) FROM events"}) {
    Statement last(database_.get(), sql);
    if (last.Step()) elapsed_before_ = std::max(elapsed_before_, last.Double(0));
  }
  return database_->TakeError();
}

double Store::Elapsed() const { return elapsed_before_ + MonotonicSeconds() - opened_; }

void Store::SetMeta(const std::string& key, const json& value) {
  statements_->set_meta.Bind(key, Dump(value)).Run();
}

json Store::Meta(const std::string& key) {
  Statement& get = statements_->get_meta.Bind(key);
  if (!get.Step()) return nullptr;
  json value = json::parse(get.Text(0), nullptr, false);
  get.Bind(key);  // ends the read: an open one would hold up checkpoints
  return value.is_discarded() ? json() : value;
}

void Store::Begin() {
  if (writing_) return;
  database_->Execute("BEGIN IMMEDIATE");
  writing_ = true;
}

Status Store::Finish() {
  if (Status status = database_->TakeError(); !status) {
    failed_ = true;
    if (writing_) database_->Execute("ROLLBACK");  // of no use when SQLite did it by itself
    (void)database_->TakeError();
    writing_ = false;
    return status;
  }
  return {};
}

Status Store::Commit() {
  if (Status status = Finish(); !status || !writing_) return status;
  for (const auto& [key, count] : yields_) {
    statements_->yield.Bind(key.first, key.second, count.programs, count.mismatches, count.findings)
        .Run();
  }
  yields_.clear();
  database_->Execute("COMMIT");
  if (Status status = Finish(); !status) return status;
  writing_ = false;
  return {};
}

void Store::CountYield(const std::string& feature, const YieldCount& count) {
  const size_t point = feature.find('.');
  const bool plain = point == std::string::npos;
  YieldCount& total = yields_[{plain ? "feature" : feature.substr(0, point),
                               plain ? feature : feature.substr(point + 1)}];
  total.programs += count.programs;
  total.mismatches += count.mismatches;
  total.findings += count.findings;
}

Status Store::Record(const CaseResult& result, const RunOptions& run, bool pending) {
  GF_CHECK(result.seed.has_value(), "a campaign records seeds");
  if (failed_) return EnvironmentError("cannot use " + database_->path() + " after an error");
  Begin();
  const Outcome& outcome = result.outcome;
  const Work work = WorkOf(outcome, run);
  const std::set<std::string> features = FeaturesOf(result);
  std::optional<std::string> program_text, features_text;
  if (pending) {
    features_text = Dump(json(features));
    if (result.program) program_text = Dump(program::ToJson(*result.program));
  }
  statements_->record
      .Bind(*result.seed, run.device, Elapsed(), Name(outcome.verdict), outcome.first_wrong_rung,
            pending ? "pending" : "", outcome.lane, outcome.calibrated,
            static_cast<int64_t>(result.program ? result.program->statements.size() : 0),
            result.program ? program::OpChain(*result.program) : std::string(), work.gradients,
            work.outputs, result.seconds, result.cpu_seconds, work.torch_seconds, result.worker,
            outcome.note, program_text, features_text)
      .Run();
  for (const std::string& feature : features) {
    CountYield(feature, {1, IsFinding(outcome.verdict) ? 1 : 0, 0});
  }
  return Commit();
}

void Store::SaveFinding(const Finding& finding, int64_t hits) {
  std::optional<std::string> no_text;
  Statement& save = statements_->finding;
  const std::string status = finding.known_issue.empty() ? "new" : "known";
  if (finding.first_seed) {
    save.Bind(finding.id, finding.signature, status, hits, *finding.first_seed, Elapsed(),
              Dump(ToJson(finding)));
  } else {
    save.Bind(finding.id, finding.signature, status, hits, no_text, Elapsed(),
              Dump(ToJson(finding)));
  }
  save.Run();
}

Status Store::Settle(uint64_t seed, const std::string& device, const Judgement& judgement) {
  if (failed_) return EnvironmentError("cannot use " + database_->path() + " after an error");
  Begin();
  std::optional<std::string> id;
  if (judgement.fate == Judgement::Fate::kFinding) {
    GF_CHECK(judgement.finding.has_value(), "a finding without a finding");
    id = judgement.finding->id;
    SaveFinding(*judgement.finding, 1);
    Statement& read = statements_->features.Bind(seed, device);
    if (read.Step()) {
      const json features = json::parse(read.Text(0), nullptr, false);
      if (features.is_array()) {
        for (const json& feature : features) CountYield(feature.get<std::string>(), {0, 0, 1});
      }
    }
    read.Bind(seed, device);
  } else if (judgement.fate == Judgement::Fate::kRepeat) {
    id = judgement.id;
    if (judgement.finding) SaveFinding(*judgement.finding, 1);
    statements_->hit.Bind(judgement.id, seed).Run();
  }
  statements_->settle.Bind(seed, device, FateName(judgement.fate), id).Run();
  return Commit();
}

Status Store::LogEvent(const std::string& kind, int worker, const std::string& detail) {
  if (failed_) return {};
  Begin();
  statements_->event.Bind(Elapsed(), kind, worker, detail).Run();
  return Commit();
}

Status Store::SetGoal(std::optional<uint64_t> programs, std::optional<double> duration) {
  record_.programs = programs;
  record_.duration = duration;
  Begin();
  SetMeta("programs", programs ? json(*programs) : json(nullptr));
  SetMeta("duration", duration ? json(*duration) : json(nullptr));
  return Commit();
}

Status Store::SetKnownBugs(const std::vector<report::KnownBug>& bugs) {
  json list = json::array();
  for (const report::KnownBug& bug : bugs) {
    list.push_back(
        {{"name", bug.name}, {"link", bug.link}, {"hits", bug.hits}, {"tried", bug.tried}});
  }
  Begin();
  SetMeta("known_bugs", list);
  return Commit();
}

Status Store::AddWarning(const std::string& warning) {
  json list = Meta("warnings");
  if (!list.is_array()) list = json::array();
  if (std::find(list.begin(), list.end(), json(warning)) != list.end()) return {};
  list.push_back(warning);
  Begin();
  SetMeta("warnings", list);
  return Commit();
}

Status Store::SetEnd(const std::string& end) {
  if (failed_) return {};
  Begin();
  SetMeta("end", end);
  SetMeta("finished", UtcTimestamp());
  SetMeta("elapsed", Elapsed());
  return Commit();
}

Result<std::vector<uint64_t>> Store::SeedsDone(const std::string& device) {
  std::vector<uint64_t> seeds;
  Statement rows(database_.get(), "SELECT seed FROM programs WHERE device = ?1 ORDER BY seed");
  rows.Bind(device);
  while (rows.Step()) seeds.push_back(static_cast<uint64_t>(rows.Int(0)));
  if (Status status = database_->TakeError(); !status) return status.error();
  return seeds;
}

Result<std::vector<PendingMismatch>> Store::Pending() {
  std::vector<PendingMismatch> pending;
  Statement rows(database_.get(),
                 "SELECT seed, device, program FROM programs WHERE fate = 'pending' AND program "
                 "IS NOT NULL ORDER BY at");
  while (rows.Step()) {
    auto program = program::FromJson(json::parse(rows.Text(2), nullptr, false));
    if (!program) return program.error();
    pending.push_back({static_cast<uint64_t>(rows.Int(0)), rows.Text(1), std::move(*program)});
  }
  if (Status status = database_->TakeError(); !status) return status.error();
  return pending;
}

Result<std::vector<Finding>> Store::Findings() {
  std::vector<Finding> findings;
  Statement rows(database_.get(), "SELECT json, hits, first_seed FROM findings ORDER BY at, id");
  while (rows.Step()) {
    auto finding = FindingFromJson(json::parse(rows.Text(0), nullptr, false));
    if (!finding) return finding.error();
    finding->hits = static_cast<int>(rows.Int(1));
    if (!rows.IsNull(2)) finding->first_seed = static_cast<uint64_t>(rows.Int(2));
    findings.push_back(std::move(*finding));
  }
  if (Status status = database_->TakeError(); !status) return status.error();
  return findings;
}

}  // namespace gradfuzz::store
