// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/support/paths.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace gradfuzz {
namespace {

std::string HomeFolder() {
  const std::string home = EnvOr("HOME", "");
  if (!home.empty()) return home;
  const passwd* entry = getpwuid(getuid());
  return entry != nullptr && entry->pw_dir != nullptr ? entry->pw_dir : "/";
}

}  // namespace

std::string EnvOr(const char* name, const std::string& fallback) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : fallback;
}

std::string ProgramFolder() {
  std::error_code fault;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", fault);
  return fault ? "." : program.parent_path().string();
}

std::string CacheFolder() {
  const std::string base = EnvOr("XDG_CACHE_HOME", "");
  // The XDG specification: a relative path there is to be ignored.
  if (!base.empty() && base[0] == '/') return JoinPath(base, "gradfuzz");
  return JoinPath(HomeFolder(), ".cache/gradfuzz");
}

std::string TempFolder() { return EnvOr("TMPDIR", "/tmp"); }

std::string JoinPath(const std::string& folder, const std::string& name) {
  return (std::filesystem::path(folder) / name).string();
}

}  // namespace gradfuzz
