// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/cli/environments.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "gradfuzz/support/file.h"
#include "gradfuzz/support/paths.h"

namespace gradfuzz::cli {
namespace {

namespace fs = std::filesystem;

class WorkerForTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = *MakeTempFolder(TempFolder(), "environments-test-");
    Build("ours", root_ + "/venv-a/bin/python3.11");
    Build("theirs", root_ + "/venv-b/bin/python");
    fs::create_directories(root_ + "/build/no-worker");
  }
  void TearDown() override { RemoveTree(root_); }
  void Build(const std::string& name, const std::string& python) {
    fs::create_directories(root_ + "/build/" + name + "/bin");
    ASSERT_TRUE(WriteFileAtomic(root_ + "/build/" + name + "/bin/gradfuzz-worker", "").ok());
    ASSERT_TRUE(WriteFileAtomic(root_ + "/build/" + name + "/CMakeCache.txt",
                                "X:BOOL=ON\nPython_EXECUTABLE:UNINITIALIZED=" + python + "\n")
                    .ok());
    fs::create_directories(fs::path(python).parent_path());
    ASSERT_TRUE(WriteFileAtomic(python, "").ok());
  }
  std::string root_;
};

TEST_F(WorkerForTest, FindsTheBuildOfThatPython) {
  const std::string own = root_ + "/build/ours/bin";
  EXPECT_EQ(*WorkerFor(root_ + "/venv-a/bin/python", own), own + "/gradfuzz-worker");
  EXPECT_EQ(*WorkerFor(root_ + "/venv-b/bin/python3", own),
            root_ + "/build/theirs/bin/gradfuzz-worker");
}

TEST_F(WorkerForTest, LinkedFolderIsTheSamePython) {
  fs::create_directory_symlink(root_ + "/venv-b", root_ + "/link");
  EXPECT_TRUE(WorkerFor(root_ + "/link/bin/python", root_ + "/build/ours/bin").ok());
}

TEST_F(WorkerForTest, UnknownPythonSaysHowToBuild) {
  auto worker = WorkerFor("/usr/bin/python3", root_ + "/build/ours/bin");
  ASSERT_FALSE(worker.ok());
  EXPECT_EQ(worker.error().kind, ErrorKind::kEnvironment);
  EXPECT_NE(worker.error().message.find("scripts/setup --python /usr/bin/python3"),
            std::string::npos);
}

}  // namespace
}  // namespace gradfuzz::cli
