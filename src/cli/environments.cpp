// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/cli/environments.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <vector>

namespace gradfuzz::cli {
namespace {

namespace fs = std::filesystem;

// A file's folder followed to its end, its name kept: an environment's python is a link to the
// system's, and tells its environment by where the link is.
fs::path Canonical(const std::string& path) {
  std::error_code failure;
  return fs::weakly_canonical(fs::absolute(path, failure).parent_path(), failure) /
         fs::path(path).filename();
}

// The value of an entry in a build folder's CMakeCache.txt: "NAME:TYPE=value".
std::string CacheEntry(const fs::path& build, const std::string& name) {
  std::ifstream file(build / "CMakeCache.txt");
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with(name + ":")) continue;
    const size_t at = line.find('=');
    return at == std::string::npos ? "" : line.substr(at + 1);
  }
  return "";
}

std::string NameWithoutVersion(const fs::path& path) {  // "python3.11" -> "python"
  std::string name = path.filename().string();
  while (!name.empty() &&
         (std::isdigit(static_cast<unsigned char>(name.back())) != 0 || name.back() == '.')) {
    name.pop_back();
  }
  return name;
}

bool SamePython(const std::string& a, const std::string& b) {
  const fs::path x = Canonical(a);
  const fs::path y = Canonical(b);
  return x.parent_path() == y.parent_path() && NameWithoutVersion(x) == NameWithoutVersion(y);
}

}  // namespace

Result<std::string> WorkerFor(const std::string& python, const std::string& program_folder) {
  const fs::path build = fs::path(program_folder).parent_path();
  std::vector<fs::path> builds;
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(build.parent_path(), failure)) {
    if (entry.path() != build) builds.push_back(entry.path());
  }
  std::sort(builds.begin(), builds.end());
  builds.insert(builds.begin(), build);
  for (const fs::path& candidate : builds) {
    const fs::path worker = candidate / "bin" / "gradfuzz-worker";
    if (!fs::exists(worker, failure)) continue;
    const std::string built_for = CacheEntry(candidate, "Python_EXECUTABLE");
    if (!built_for.empty() && SamePython(built_for, python)) return worker.string();
  }
  return EnvironmentError("no worker is built for " + python +
                          "; build one with: scripts/setup --python " + python);
}

}  // namespace gradfuzz::cli
