// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/triage/script.h"

#include <algorithm>
#include <cctype>
#include <iostream>
#include <iterator>
#include <optional>
#include <sstream>
#include <vector>

#include "gradfuzz/support/file.h"

namespace gradfuzz::triage {
namespace {

struct Block {
  std::string language;
  std::string text;
  int lines_before = 0;
};

// The fence that a line opens or closes: its length and what follows it. 0 = no fence.
size_t FenceLength(const std::string& line, std::string* info) {
  const size_t start = line.find_first_not_of(' ');
  if (start == std::string::npos || start > 3) return 0;
  const char mark = line[start];
  if (mark != '`' && mark != '~') return 0;
  size_t end = start;
  while (end < line.size() && line[end] == mark) ++end;
  if (end - start < 3) return 0;
  *info = line.substr(end);
  const auto blank = [](unsigned char c) { return std::isspace(c) != 0; };
  info->erase(info->begin(), std::find_if_not(info->begin(), info->end(), blank));
  info->erase(std::find_if_not(info->rbegin(), info->rend(), blank).base(), info->end());
  return end - start;
}

// What was typed at the prompts of a Python session; what was printed becomes empty lines.
std::string Typed(const std::string& text) {
  std::string typed;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const bool prompt = line.starts_with(">>> ") || line.starts_with("... ");
    typed += (prompt ? line.substr(4) : "") + "\n";
  }
  return typed;
}

std::vector<Block> Blocks(const std::string& text) {
  std::vector<Block> blocks;
  std::istringstream stream(text);
  std::string line;
  std::string info;
  std::optional<size_t> open;  // length of the fence that opened the block
  for (int number = 1; std::getline(stream, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const size_t fence = FenceLength(line, &info);
    if (open) {
      if (fence >= *open && info.empty()) {
        open.reset();
      } else {
        blocks.back().text += line + "\n";
      }
    } else if (fence > 0) {
      open = fence;
      const std::string language = info.substr(0, info.find_first_of(" \t{"));
      blocks.push_back({language, "", number});
      std::transform(language.begin(), language.end(), blocks.back().language.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    }
  }
  return blocks;
}

bool IsSession(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\n");
  return first != std::string::npos && text.compare(first, 4, ">>> ") == 0;
}

bool ReadsLikeAScript(const Block& block) {
  return block.language.empty() && block.text.find("import torch") != std::string::npos;
}

bool IsPython(const Block& block) {
  return block.language == "python" || block.language == "py" || block.language == "python3" ||
         block.language == "pycon";
}

}  // namespace

Result<ScriptSource> ScriptFrom(const std::string& text, const std::string& name) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    return UsageError(name + " is empty");
  }
  const std::vector<Block> blocks = Blocks(text);
  const bool markdown = name.ends_with(".md") || name.ends_with(".markdown");
  if (blocks.empty() && markdown) return UsageError(name + " holds no block of code");
  // A fence at the start of a line is no Python, but may stand in a docstring of a script.
  if (blocks.empty() || name.ends_with(".py")) return ScriptSource{name, text};
  auto found = std::find_if(blocks.begin(), blocks.end(), IsPython);
  if (found == blocks.end()) found = std::find_if(blocks.begin(), blocks.end(), ReadsLikeAScript);
  const Block& block = found != blocks.end() ? *found : blocks.front();
  if (block.text.find_first_not_of(" \t\r\n") == std::string::npos) {
    return UsageError(name + ": the block of code at line " + std::to_string(block.lines_before) +
                      " is empty");
  }
  return ScriptSource{name, std::string(static_cast<size_t>(block.lines_before), '\n') +
                                (IsSession(block.text) ? Typed(block.text) : block.text)};
}

Result<ScriptSource> ReadScript(const std::string& path) {
  if (path == "-") {
    return ScriptFrom(std::string(std::istreambuf_iterator<char>(std::cin), {}), "standard input");
  }
  auto text = ReadFile(path);
  if (!text) return text.error();
  return ScriptFrom(*text, path);
}

}  // namespace gradfuzz::triage
