// SPDX-License-Identifier: BSD-3-Clause
// Where things are on this machine.
#pragma once

#include <string>

namespace gradfuzz {

// The value of an environment variable, or `fallback` when it is unset or empty.
std::string EnvOr(const char* name, const std::string& fallback);

// The folder of the running program.
std::string ProgramFolder();

// ${XDG_CACHE_HOME:-~/.cache}/gradfuzz: what is known of the machine, kept between runs.
std::string CacheFolder();

// ${TMPDIR:-/tmp}
std::string TempFolder();

// "a/b" from "a" and "b"; `name` alone when it is absolute.
std::string JoinPath(const std::string& folder, const std::string& name);

}  // namespace gradfuzz
