// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/campaign/run_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "gradfuzz/support/clock.h"
#include "gradfuzz/support/paths.h"

namespace gradfuzz::campaign {
namespace {

constexpr const char* kPrefix = "gradfuzz-run-";
constexpr const char* kLock = "lock";

}  // namespace

Result<RunFolder> MakeRunFolder(const std::string& temp_folder) {
  auto path = MakeTempFolder(temp_folder, kPrefix);
  if (!path) return path.error();
  auto lock = FileLock::TryLock(JoinPath(*path, kLock));
  if (!lock) return lock.error();
  if (*lock == nullptr) return EnvironmentError("somebody else holds the lock in " + *path);
  return RunFolder{std::move(*path), std::move(*lock)};
}

void RemoveStaleRunFolders(const std::string& temp_folder, double min_age) {
  std::error_code fault;
  std::filesystem::directory_iterator entries(temp_folder, fault);
  if (fault) return;
  for (const auto& entry : entries) {
    if (entry.path().filename().string().rfind(kPrefix, 0) != 0) continue;
    struct stat info;
    if (lstat(entry.path().c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) continue;
    if (info.st_uid != getuid()) continue;
    if (UnixSeconds() - static_cast<double>(info.st_mtim.tv_sec) < min_age) continue;
    const auto lock = FileLock::TryLock(JoinPath(entry.path().string(), kLock));
    if (lock && *lock != nullptr) RemoveTree(entry.path().string());
  }
}

}  // namespace gradfuzz::campaign
