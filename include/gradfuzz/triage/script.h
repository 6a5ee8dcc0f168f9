// SPDX-License-Identifier: BSD-3-Clause
// The script of a report, wherever it stands: a Python file, standard input, an issue in Markdown.
#pragma once

#include <string>

#include "gradfuzz/support/result.h"

namespace gradfuzz::triage {

struct ScriptSource {
  std::string name;  // for people: the path, or "standard input"
  // Python. What is no Python in a Markdown text is there as empty lines: its line numbers are
  // those of the file.
  std::string text;
};

// The first block fenced as Python, else the first one without a language that reads like a script
// for torch, else the first one of all, of a Markdown text; of a session with prompts (>>>) what
// was typed. A text without any fence at the start of a line is a script as it is. RETURNS: a
// UsageError when there is nothing to run.
Result<ScriptSource> ScriptFrom(const std::string& text, const std::string& name);

// `path`: a file, or "-" for standard input.
Result<ScriptSource> ReadScript(const std::string& path);

}  // namespace gradfuzz::triage
