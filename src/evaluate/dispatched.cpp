// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/evaluate/dispatched.h"

#include <ATen/record_function.h>

#include <cctype>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "gradfuzz/evaluate/interpret.h"

namespace gradfuzz::evaluate {
namespace {

constexpr std::string_view kNamespace = "aten";

// What the callback writes to; backwards on a GPU run in a thread of autograd's.
struct Seen {
  std::mutex mutex;
  std::set<std::string> names;
};

Seen& SeenOperators() {
  static Seen seen;
  return seen;
}

std::unique_ptr<at::ObserverContext> Note(const at::RecordFunction& function) {
  const std::string_view name = function.name();
  if (name.starts_with(kNamespace) && name.substr(kNamespace.size()).starts_with("::")) {
    Seen& seen = SeenOperators();
    const std::lock_guard lock(seen.mutex);
    seen.names.emplace(name.substr(kNamespace.size() + 2));
  }
  return nullptr;
}

}  // namespace

std::set<std::string> DispatchedOperators(const program::Program& program,
                                          const at::Device& device) {
  Seen& seen = SeenOperators();
  seen.names.clear();
  const at::CallbackHandle handle =
      at::addGlobalCallback(at::RecordFunctionCallback(Note).scopes({at::RecordScope::FUNCTION}));
  InterpretOptions options;
  options.device = device;
  (void)Interpret(program, options);
  at::removeCallback(handle);
  return std::move(seen.names);
}

std::set<std::string> OperatorsNamed(const std::string& error) {
  std::set<std::string> names;
  const std::string mark = std::string(kNamespace) + ".";
  for (size_t at = error.find(mark); at != std::string::npos; at = error.find(mark, at + 1)) {
    const size_t begin = at + mark.size();
    size_t end = begin;
    while (end < error.size() &&
           (std::isalnum(static_cast<unsigned char>(error[end])) != 0 || error[end] == '_')) {
      ++end;
    }
    if (end > begin) names.insert(error.substr(begin, end - begin));
  }
  return names;
}

}  // namespace gradfuzz::evaluate
