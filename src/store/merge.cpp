// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/store/merge.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "gradfuzz/report/text.h"
#include "gradfuzz/store/store.h"
#include "gradfuzz/support/paths.h"

namespace gradfuzz::store {
namespace {

using nlohmann::json;

std::string Environment(const CampaignRecord& record, const char* key) {
  const json& environment = record.environment;
  if (!environment.is_object() || !environment.contains(key)) return "unknown";
  const json& value = environment.at(key);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// What must be equal for the union to mean something.
std::vector<std::pair<std::string, std::string>> Identity(const CampaignRecord& record) {
  return {{"gradfuzz version", record.gradfuzz_version},
          {"torch version", Environment(record, "torch")},
          {"generator options", ToJson(record.generate).dump()},
          {"run options", ToJson(record.run).dump()}};
}

}  // namespace

class Merger {
 public:
  Merger(const std::vector<std::string>& from, const std::string& into)
      : from_(from), into_(into) {}

  Result<MergeReport> Run() {
    for (const std::string& folder : from_) {
      auto store = Store::Read(folder);
      if (!store) return store.error();
      stores_.push_back(std::move(*store));
    }
    auto target = Store::Create(into_, United());
    if (!target) return target.error();
    target_ = std::move(*target);
    CompareIdentities();
    for (auto& store : stores_) {
      if (Status taken = Take(store.get()); !taken) return taken.error();
    }
    for (auto& [id, finding] : findings_) {
      target_->Begin();
      target_->SaveFinding(finding, finding.hits);
      Statement at(target_->database_.get(), "UPDATE findings SET at = ?2 WHERE id = ?1");
      at.Bind(id, found_at_[id]).Run();
      CopyFolder(id);
    }
    if (report_.overlaps > 0) {
      report_.warnings.push_back(
          report::Count(report_.overlaps, "program was", "programs were") +
          " in more than one shard and counted once; yields, events and hits count them all");
    }
    for (const std::string& warning : report_.warnings) {
      if (Status added = target_->AddWarning(warning); !added) return added.error();
    }
    target_->Begin();
    target_->SetMeta("end", "merged");
    target_->SetMeta("finished", finished_);
    target_->SetMeta("elapsed", elapsed_);
    if (!known_bugs_.empty()) {
      std::vector<report::KnownBug> bugs;
      for (const auto& [name, bug] : known_bugs_) bugs.push_back(bug);
      if (Status set = target_->SetKnownBugs(bugs); !set) return set.error();
    }
    if (Status done = target_->Commit(); !done) return done.error();
    Statement count(target_->database_.get(), "SELECT count(*) FROM programs");
    if (count.Step()) report_.programs = count.Int(0);
    report_.findings = static_cast<int64_t>(findings_.size());
    return report_;
  }

 private:
  // The campaign that the shards are parts of.
  CampaignRecord United() const {
    CampaignRecord record = stores_.front()->record();
    std::set<std::string> devices;
    record.shard.clear();
    record.workers = 0;
    record.command = "gradfuzz merge";
    for (const auto& store : stores_) {
      const CampaignRecord& part = store->record();
      record.started = std::min(record.started, part.started);
      record.first_seed = std::min(record.first_seed, part.first_seed);
      if (part.programs != record.programs) record.programs.reset();
      if (part.duration != record.duration) record.duration.reset();
      devices.insert(part.devices.begin(), part.devices.end());
      record.workers += part.workers;
      record.command += " " + store->folder();
    }
    record.devices.assign(devices.begin(), devices.end());
    return record;
  }

  void CompareIdentities() {
    const auto first = Identity(stores_.front()->record());
    for (size_t i = 1; i < stores_.size(); ++i) {
      const auto other = Identity(stores_[i]->record());
      for (size_t k = 0; k < first.size(); ++k) {
        if (first[k].second == other[k].second) continue;
        report_.warnings.push_back(from_[0] + " and " + from_[i] + " differ in " + first[k].first +
                                   ": " + first[k].second + ", " + other[k].second);
      }
    }
  }

  Status Take(Store* store) {
    Database* db = target_->database_.get();
    Statement(db, "ATTACH ?1 AS part").Bind(store->database_->path()).Run();
    db->Execute("BEGIN IMMEDIATE");
    {
      Statement count(db, "SELECT count(*) FROM part.programs");
      const int64_t theirs = count.Step() ? count.Int(0) : 0;
      Statement before(db, "SELECT count(*) FROM main.programs");
      const int64_t had = before.Step() ? before.Int(0) : 0;
      db->Execute("INSERT OR IGNORE INTO main.programs SELECT * FROM part.programs");
      Statement after(db, "SELECT count(*) FROM main.programs");
      const int64_t has = after.Step() ? after.Int(0) : 0;
      report_.overlaps += theirs - (has - had);
    }
    db->Execute(
        "INSERT INTO main.events SELECT * FROM part.events;"
        "INSERT INTO main.yields SELECT * FROM part.yields WHERE true ON CONFLICT (axis, name) DO "
        "UPDATE SET programs = programs + excluded.programs, mismatches = mismatches + "
        "excluded.mismatches, findings = findings + excluded.findings");
    db->Execute("COMMIT");
    db->Execute("DETACH part");
    if (Status status = db->TakeError(); !status) return status;

    auto findings = store->Findings();
    if (!findings) return findings.error();
    for (Finding& finding : *findings) TakeFinding(std::move(finding), store);
    const json finished = store->Meta("finished"), bugs = store->Meta("known_bugs");
    if (finished.is_string()) finished_ = std::max(finished_, finished.get<std::string>());
    elapsed_ = std::max(elapsed_, store->elapsed_before_);
    if (bugs.is_array()) {
      for (const json& bug : bugs) {
        report::KnownBug& total = known_bugs_[bug.value("name", "")];
        total.name = bug.value("name", "");
        total.link = bug.value("link", "");
        total.hits += bug.value("hits", int64_t{0});
        total.tried |= bug.value("tried", false);
      }
    }
    const json warnings = store->Meta("warnings");
    if (warnings.is_array()) {
      for (const json& warning : warnings) report_.warnings.push_back(warning.get<std::string>());
    }
    return {};
  }

  void TakeFinding(Finding finding, const Store* store) {
    Statement at(store->database_.get(), "SELECT at FROM findings WHERE id = ?1");
    at.Bind(finding.id);
    const double when = at.Step() ? at.Double(0) : 0;
    const std::string id = finding.id;
    const auto known = findings_.find(id);
    if (known == findings_.end()) {
      source_[id] = store->FindingFolder(id);
      found_at_[id] = when;
      findings_.emplace(id, std::move(finding));
      return;
    }
    Finding& kept = known->second;
    const int hits = kept.hits + finding.hits;
    std::optional<uint64_t> first_seed = kept.first_seed;
    if (finding.first_seed && (!first_seed || *finding.first_seed < *first_seed)) {
      first_seed = finding.first_seed;
    }
    found_at_[id] = std::min(found_at_[id], when);
    if (finding.reduced.statements.size() < kept.reduced.statements.size()) {
      kept = std::move(finding);
      source_[id] = store->FindingFolder(id);
    }
    kept.hits = hits;
    kept.first_seed = first_seed;
  }

  void CopyFolder(const std::string& id) {
    namespace fs = std::filesystem;
    std::error_code fault;
    if (!fs::is_directory(source_[id], fault)) return;
    const std::string target = target_->FindingFolder(id);
    fs::create_directories(fs::path(target).parent_path(), fault);
    fs::copy(source_[id], target, fs::copy_options::recursive, fault);
    if (fault) report_.warnings.push_back("cannot copy " + source_[id] + ": " + fault.message());
  }

  std::vector<std::string> from_;
  std::string into_;
  std::vector<std::unique_ptr<Store>> stores_;
  std::unique_ptr<Store> target_;
  std::map<std::string, Finding> findings_;  // by id
  std::map<std::string, std::string> source_;
  std::map<std::string, double> found_at_;
  std::map<std::string, report::KnownBug> known_bugs_;
  std::string finished_;
  double elapsed_ = 0;
  MergeReport report_;
};

Result<MergeReport> Merge(const std::vector<std::string>& from, const std::string& into) {
  const bool existed = Exists(into);
  const bool had_store = Exists(JoinPath(into, kDatabaseName));
  auto merged = Merger(from, into).Run();
  if (!merged && !had_store) {
    if (existed) {
      for (const char* name : {kDatabaseName, "campaign.db-wal", "campaign.db-shm", "lock"}) {
        RemoveTree(JoinPath(into, name));
      }
    } else {
      RemoveTree(into);
    }
  }
  return merged;
}

}  // namespace gradfuzz::store
