// SPDX-License-Identifier: BSD-3-Clause
// The temporary folder of one run of gradfuzz: caches of programs, one sub-folder per worker.
//
// It is removed at the end of the run. A run that was killed leaves it behind; the next run finds
// it by its free lock and removes it, so that a nightly job never fills the disk.
#pragma once

#include <memory>
#include <string>

#include "gradfuzz/support/file.h"
#include "gradfuzz/support/result.h"

namespace gradfuzz::campaign {

struct RunFolder {
  std::string path;
  std::unique_ptr<FileLock> lock;  // held as long as the run lasts
};

Result<RunFolder> MakeRunFolder(const std::string& temp_folder);

// Removes what killed runs of this user left, if older than `min_age` seconds: younger ones may be
// in the making, not yet locked.
void RemoveStaleRunFolders(const std::string& temp_folder, double min_age = 60);

}  // namespace gradfuzz::campaign
