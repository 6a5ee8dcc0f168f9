// SPDX-License-Identifier: BSD-3-Clause
// Files: whole-file reads and atomic writes, JSON files, folders, locks.
//
// Errors are EnvironmentErrors that name the path and the system's reason, except where said.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "gradfuzz/support/fd.h"
#include "gradfuzz/support/result.h"

namespace gradfuzz {

// A file that is missing or unreadable is a UsageError: the user named it.
Result<std::string> ReadFile(const std::string& path);

// The old content or the new, never a part: written beside the target, synced, renamed.
Status WriteFileAtomic(const std::string& path, std::string_view content);

// Not JSON: a UsageError that names the path and the position.
Result<nlohmann::json> ReadJsonFile(const std::string& path);
Status WriteJsonFile(const std::string& path, const nlohmann::json& value);

bool Exists(const std::string& path);
// Creates the folder and its parents; fine when it is there. Checks that it is writable.
Status MakeWritableFolder(const std::string& path);
// Whether MakeWritableFolder would work, as far as can be told without creating anything.
Status CheckWritableFolder(const std::string& path);
// A new folder `parent`/`prefix`XXXXXX that only we may enter.
Result<std::string> MakeTempFolder(const std::string& parent, const std::string& prefix);
// Removes a file or folder with all that it holds; best effort, never follows links.
void RemoveTree(const std::string& path);

// An exclusive flock(2) on a file, held until destruction or the end of the process, however it
// ends. The file itself stays: removing it would let a third party lock another of that name.
class FileLock {
 public:
  // RETURNS: null when somebody else holds it. The file then says who: see Holder().
  static Result<std::unique_ptr<FileLock>> TryLock(const std::string& path);
  // The process that wrote its number into the lock file last, 0 = unknown.
  static long Holder(const std::string& path);

 private:
  explicit FileLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace gradfuzz
