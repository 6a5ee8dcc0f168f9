// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <string>
#include <vector>

namespace gradfuzz::report {

inline size_t CountOf(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++n;
  return n;
}

// Reads HTML or XML as a tokenizer would and checks that elements are properly nested, that
// attributes are quoted and ids unique.
inline void ExpectWellFormed(const std::string& text, const std::set<std::string>& without_end) {
  std::vector<std::string> open;
  std::set<std::string> ids;
  for (size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at)) {
    if (text.compare(at, 2, "<!") == 0 || text.compare(at, 2, "<?") == 0) {
      ASSERT_EQ(at, 0U) << "a comment or doctype inside the page";
      ++at;
      continue;
    }
    const bool closing = text[at + 1] == '/';
    size_t end = at + (closing ? 2 : 1);
    std::string name;
    while (std::isalnum(static_cast<unsigned char>(text[end])) != 0) name += text[end++];
    ASSERT_FALSE(name.empty()) << "a stray '<' at " << text.substr(at, 60);
    bool self_closing = false;
    while (text[end] != '>') {
      ASSERT_LT(end, text.size());
      if (text[end] == '"') {
        const size_t quote = text.find('"', end + 1);
        ASSERT_NE(quote, std::string::npos);
        const std::string value = text.substr(end + 1, quote - end - 1);
        EXPECT_EQ(value.find('<'), std::string::npos);
        if (text.compare(end - 4, 4, " id=") == 0) {
          EXPECT_TRUE(ids.insert(value).second) << "id used twice: " << value;
        }
        end = quote + 1;
        continue;
      }
      ASSERT_NE(text[end], '<') << text.substr(at, 80);
      self_closing = text[end] == '/';
      ++end;
    }
    if (closing) {
      ASSERT_FALSE(open.empty());
      ASSERT_EQ(open.back(), name) << text.substr(at > 200 ? at - 200 : 0, 260);
      open.pop_back();
    } else if (!self_closing && !without_end.contains(name)) {
      open.push_back(name);
    }
    at = end;
    if (!closing && (name == "script" || name == "style")) {
      at = text.find("</" + name, end);
    }
  }
  EXPECT_TRUE(open.empty());
}

}  // namespace gradfuzz::report
