// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/support/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "gradfuzz/support/paths.h"

namespace gradfuzz {
namespace {

class FileTest : public testing::Test {
 protected:
  void SetUp() override { folder_ = *MakeTempFolder(TempFolder(), "gradfuzz-file-test-"); }
  void TearDown() override { RemoveTree(folder_); }
  std::string folder_;
};

TEST_F(FileTest, WritesAndReadsBack) {
  const std::string path = folder_ + "/a.txt";
  ASSERT_TRUE(WriteFileAtomic(path, "one").ok());
  ASSERT_TRUE(WriteFileAtomic(path, std::string("two\0three", 9)).ok());
  EXPECT_EQ(*ReadFile(path), std::string("two\0three", 9));
  // Nothing half-written is left beside it.
  int entries = 0;
  for ([[maybe_unused]] const auto& e : std::filesystem::directory_iterator(folder_)) ++entries;
  EXPECT_EQ(entries, 1);
}

TEST_F(FileTest, FaultsNameThePathAndTheReason) {
  const auto missing = ReadFile(folder_ + "/none");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::kUsage);
  EXPECT_EQ(missing.error().message, "cannot read " + folder_ + "/none: No such file or directory");
  const Status unwritable = WriteFileAtomic(folder_ + "/no/such/x", "text");
  ASSERT_FALSE(unwritable.ok());
  EXPECT_EQ(unwritable.error().kind, ErrorKind::kEnvironment);
  ASSERT_FALSE(ReadFile(folder_).ok());
}

TEST_F(FileTest, JsonFiles) {
  const std::string path = folder_ + "/a.json";
  ASSERT_TRUE(WriteJsonFile(path, {{"a", 1}}).ok());
  EXPECT_EQ((*ReadJsonFile(path))["a"], 1);
  ASSERT_TRUE(WriteFileAtomic(path, "{\"a\": ").ok());
  const auto broken = ReadJsonFile(path);
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().kind, ErrorKind::kUsage);
  EXPECT_NE(broken.error().message.find(path), std::string::npos);
}

TEST_F(FileTest, Folders) {
  EXPECT_TRUE(MakeWritableFolder(folder_ + "/x/y/z").ok());
  EXPECT_TRUE(MakeWritableFolder(folder_ + "/x/y/z").ok());
  ASSERT_TRUE(WriteFileAtomic(folder_ + "/file", "").ok());
  EXPECT_FALSE(MakeWritableFolder(folder_ + "/file").ok());
  EXPECT_FALSE(MakeWritableFolder(folder_ + "/file/below").ok());
  RemoveTree(folder_ + "/x");
  EXPECT_FALSE(Exists(folder_ + "/x"));
}

TEST_F(FileTest, WhetherAFolderCouldBeMadeIsToldWithoutMakingIt) {
  EXPECT_TRUE(CheckWritableFolder(folder_ + "/a/b/c").ok());
  EXPECT_TRUE(CheckWritableFolder(folder_ + "/a/b/c/").ok());
  EXPECT_FALSE(Exists(folder_ + "/a"));
  EXPECT_TRUE(CheckWritableFolder(folder_).ok());
  EXPECT_TRUE(CheckWritableFolder("relative/path").ok());
  ASSERT_TRUE(WriteFileAtomic(folder_ + "/file", "").ok());
  for (const char* below : {"/file", "/file/x", "/file/x/y"}) {
    const Status status = CheckWritableFolder(folder_ + below);
    ASSERT_FALSE(status.ok()) << below;
    EXPECT_EQ(status.error().message,
              "cannot create folder " + folder_ + below + ": Not a directory");
  }
}

TEST_F(FileTest, RemoveTreeDoesNotFollowLinks) {
  ASSERT_TRUE(MakeWritableFolder(folder_ + "/keep").ok());
  ASSERT_TRUE(WriteFileAtomic(folder_ + "/keep/file", "x").ok());
  ASSERT_TRUE(MakeWritableFolder(folder_ + "/drop").ok());
  ASSERT_EQ(symlink((folder_ + "/keep").c_str(), (folder_ + "/drop/link").c_str()), 0);
  RemoveTree(folder_ + "/drop");
  EXPECT_TRUE(Exists(folder_ + "/keep/file"));
}

TEST_F(FileTest, ALockIsHeldByOneUntilItEnds) {
  const std::string path = folder_ + "/lock";
  auto first = FileLock::TryLock(path);
  ASSERT_TRUE(first.ok());
  ASSERT_NE(*first, nullptr);
  EXPECT_EQ(FileLock::Holder(path), getpid());
  auto second = FileLock::TryLock(path);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(*second, nullptr);
  first->reset();
  auto third = FileLock::TryLock(path);
  ASSERT_TRUE(third.ok());
  EXPECT_NE(*third, nullptr);
}

TEST(Paths, CacheFolderFollowsXdg) {
  setenv("XDG_CACHE_HOME", "/x/cache", 1);
  EXPECT_EQ(CacheFolder(), "/x/cache/gradfuzz");
  setenv("XDG_CACHE_HOME", "relative", 1);
  setenv("HOME", "/home/someone", 1);
  EXPECT_EQ(CacheFolder(), "/home/someone/.cache/gradfuzz");
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(CacheFolder(), "/home/someone/.cache/gradfuzz");
  EXPECT_FALSE(ProgramFolder().empty());
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("a", "/b"), "/b");
}

}  // namespace
}  // namespace gradfuzz
