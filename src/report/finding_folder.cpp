// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/report/finding_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "gradfuzz/program/json.h"
#include "gradfuzz/report/html.h"
#include "gradfuzz/report/junit.h"
#include "gradfuzz/report/markdown.h"
#include "gradfuzz/report/repro.h"
#include "gradfuzz/support/file.h"
#include "gradfuzz/support/paths.h"

namespace gradfuzz::report {
namespace {

std::string Pretty(const nlohmann::json& value) {
  return value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Status WriteFiles(const std::string& folder,
                  const std::vector<std::pair<const char*, std::string>>& files) {
  for (const auto& [name, content] : files) {
    if (Status written = WriteFileAtomic(JoinPath(folder, name), content); !written) {
      return written;
    }
  }
  return {};
}

// Puts `made` where `target` is. RETURNS: whether it is there; `made` then holds what was there
// before, if anything.
bool MoveInto(const std::string& made, const std::string& target) {
  if (std::rename(made.c_str(), target.c_str()) == 0) return true;
  if (errno != ENOTEMPTY && errno != EEXIST) return false;
#ifdef RENAME_EXCHANGE
  if (renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) {
    return true;
  }
#endif
  // A file system that cannot exchange: for a moment there is none.
  const std::string old = made + ".old";
  if (std::rename(target.c_str(), old.c_str()) != 0) return false;
  const bool moved = std::rename(made.c_str(), target.c_str()) == 0;
  if (!moved) std::rename(old.c_str(), target.c_str());
  RemoveTree(old);
  return moved;
}

}  // namespace

Status WriteFindingFolder(const std::string& folder, const Finding& finding) {
  std::string target = folder;
  while (target.size() > 1 && target.back() == '/') target.pop_back();
  const size_t slash = target.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : target.substr(0, slash);
  if (Status made = MakeWritableFolder(parent); !made) return made;
  // A dot keeps it out of sight of whoever lists the findings meanwhile.
  Result<std::string> temporary = MakeTempFolder(parent, ".new-");
  if (!temporary) return temporary.error();
  Status status =
      WriteFiles(*temporary, {{"repro.py", EmitRepro(finding)},
                              {"report.md", RenderReport(finding)},
                              {"program.json", Pretty(program::ToJson(finding.reduced))},
                              {"finding.json", Pretty(ToJson(finding))},
                              {"environment.json", Pretty(finding.environment)}});
  if (status.ok()) {
    // Temporary folders are private; what people share is not.
    chmod(temporary->c_str(), 0755);
    if (!MoveInto(*temporary, target)) {
      status = EnvironmentError("cannot write " + target + ": " + std::strerror(errno));
    }
  }
  RemoveTree(*temporary);
  return status;
}

Status WriteRunReports(const RunSummary& summary, const std::string& folder) {
  if (Status made = MakeWritableFolder(folder); !made) return made;
  return WriteFiles(folder, {{"report.html", RenderHtml(summary)},
                             {"junit.xml", RenderJunit(summary)},
                             {"summary.md", RenderSummary(summary)}});
}

}  // namespace gradfuzz::report
