// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/evaluate/dispatched.h"

#include <ATen/record_function.h>

#include <memory>
#include <mutex>
#include <regex>
#include <string_view>
#include <utility>

#include "gradfuzz/evaluate/interpret.h"

namespace gradfuzz::evaluate {
namespace {

constexpr std::string_view kNamespace = "aten::";

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
  if (name.starts_with(kNamespace)) {
    Seen& seen = SeenOperators();
    const std::lock_guard lock(seen.mutex);
    seen.names.emplace(name.substr(kNamespace.size()));
  }
  return nullptr;
}

}  // namespace

std::set<std::string> DispatchedOperators(const program::Program& program,
                                          const at::Device& device) {
  const at::CallbackHandle handle =
      at::addGlobalCallback(at::RecordFunctionCallback(Note).scopes({at::RecordScope::FUNCTION}));
  InterpretOptions options;
  options.device = device;
  (void)Interpret(program, options);
  at::removeCallback(handle);
  return std::exchange(SeenOperators().names, {});
}

std::set<std::string> OperatorsNamed(const std::string& error) {
  static const std::regex kName(R"(aten\.(\w+))");
  std::set<std::string> names;
  for (std::sregex_iterator it(error.begin(), error.end(), kName), end; it != end; ++it) {
    names.insert((*it)[1]);
  }
  return names;
}

}  // namespace gradfuzz::evaluate
