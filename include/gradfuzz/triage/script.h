// SPDX-License-Identifier: BSD-3-Clause
// The script of a report, wherever it stands: a Python file, standard input, an issue in Markdown.
#pragma once

#include <string>

#include "gradfuzz/support/result.h"

namespace gradfuzz::triage {

struct ScriptSource {
  std::string name;  // for people: the path, or "standard input"
  std::string text;  // Python
  // Where the text starts in the file: 0 for a script, the line above its first one in Markdown.
  int lines_before = 0;
};

// The first block fenced as Python, else the first fenced block, of a Markdown text; a text without
// any fence at the start of a line is a script as it is.
// RETURNS: a UsageError when there is nothing to run.
Result<ScriptSource> ScriptFrom(const std::string& text, const std::string& name);

// `path`: a file, or "-" for standard input.
Result<ScriptSource> ReadScript(const std::string& path);

}  // namespace gradfuzz::triage
