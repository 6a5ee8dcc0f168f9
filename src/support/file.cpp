// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/support/file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace gradfuzz {
namespace {

namespace fs = std::filesystem;

Error Fault(const char* what, const std::string& path, int number = errno) {
  return EnvironmentError(std::string("cannot ") + what + " " + path + ": " + strerror(number));
}

Status WriteAll(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t sent = write(fd, content.data(), content.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return Fault("write", path);
    content.remove_prefix(static_cast<size_t>(sent));
  }
  return {};
}

}  // namespace

Result<std::string> ReadFile(const std::string& path) {
  Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return UsageError(Fault("read", path).message);
  std::string content;
  char chunk[64 * 1024];
  for (;;) {
    const ssize_t got = read(fd.get(), chunk, sizeof chunk);
    if (got == 0) return content;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return UsageError(Fault("read", path).message);
    content.append(chunk, static_cast<size_t>(got));
  }
}

Status WriteFileAtomic(const std::string& path, std::string_view content) {
  const std::string temporary = path + ".tmp" + std::to_string(getpid());
  Fd fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd.valid()) return Fault("write", path);
  Status status = WriteAll(fd.get(), content, path);
  if (status.ok() && fsync(fd.get()) != 0) status = Fault("write", path);
  fd.Reset();
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) status = Fault("write", path);
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

Result<nlohmann::json> ReadJsonFile(const std::string& path) {
  auto text = ReadFile(path);
  if (!text) return text.error();
  try {
    return nlohmann::json::parse(*text);
  } catch (const nlohmann::json::parse_error& e) {
    return UsageError(path + " is not JSON: " + e.what());
  }
}

Status WriteJsonFile(const std::string& path, const nlohmann::json& value) {
  return WriteFileAtomic(
      path, value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

bool Exists(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0;
}

Status MakeWritableFolder(const std::string& path) {
  std::error_code fault;
  fs::create_directories(path, fault);
  if (fault) return Fault("create folder", path, fault.value());
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return Fault("read", path);
  if (!S_ISDIR(info.st_mode)) return Fault("use as a folder", path, ENOTDIR);
  if (access(path.c_str(), W_OK | X_OK) != 0) return Fault("write into", path);
  return {};
}

Status CheckWritableFolder(const std::string& path) {
  fs::path there = fs::path(path).lexically_normal();
  struct stat info;
  while (lstat(there.empty() ? "." : there.c_str(), &info) != 0) {
    if (errno != ENOENT) return Fault("create folder", path);
    if (there.empty() || there == there.parent_path()) break;
    there = there.parent_path();
  }
  const std::string existing = there.empty() ? "." : there.string();
  if (stat(existing.c_str(), &info) != 0) return Fault("create folder", path);
  if (!S_ISDIR(info.st_mode)) return Fault("create folder", path, ENOTDIR);
  if (access(existing.c_str(), W_OK | X_OK) != 0) return Fault("write into", existing);
  return {};
}

Result<std::string> MakeTempFolder(const std::string& parent, const std::string& prefix) {
  std::string path = parent + "/" + prefix + "XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return Fault("create a temporary folder in", parent);
  return path;
}

void RemoveTree(const std::string& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

Result<std::unique_ptr<FileLock>> FileLock::TryLock(const std::string& path) {
  Fd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!fd.valid()) return Fault("write", path);
  int locked;
  do {
    locked = flock(fd.get(), LOCK_EX | LOCK_NB);
  } while (locked != 0 && errno == EINTR);
  if (locked != 0 && errno == EWOULDBLOCK) return std::unique_ptr<FileLock>();
  if (locked != 0) return Fault("lock", path);
  // For people only: a lock is no less held when this cannot be written.
  const std::string note = std::to_string(getpid()) + "\n";
  if (ftruncate(fd.get(), 0) == 0) (void)WriteAll(fd.get(), note, path);
  return std::unique_ptr<FileLock>(new FileLock(std::move(fd)));
}

long FileLock::Holder(const std::string& path) {
  const auto text = ReadFile(path);
  return text ? atol(text->c_str()) : 0;
}

}  // namespace gradfuzz
