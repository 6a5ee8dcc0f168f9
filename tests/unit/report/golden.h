// SPDX-License-Identifier: BSD-3-Clause
// Golden files: tests/unit/report/golden/<name>. GRADFUZZ_BLESS=1 rewrites them.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace gradfuzz::report {

inline std::string ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

inline void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = std::string(GRADFUZZ_SOURCE_DIR) + "/tests/unit/report/golden/" + name;
  if (std::getenv("GRADFUZZ_BLESS") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  EXPECT_EQ(text, ReadText(path)) << "differs from " << path << "; GRADFUZZ_BLESS=1 rewrites it";
}

}  // namespace gradfuzz::report
