// SPDX-License-Identifier: BSD-3-Clause
// gradfuzz-worker: generates, runs and judges programs for a parent (src/campaign/pool.h).
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "bridge.h"
#include "gradfuzz/support/frame.h"
#include "interpreter.h"
#include "service.h"

namespace {

// What the child processes and libraries of torch read from the environment before they start.
void SetEnvironment(const std::string& cache_dir) {
  if (!cache_dir.empty()) {
    setenv("TORCHINDUCTOR_CACHE_DIR", cache_dir.c_str(), 1);
    setenv("TRITON_CACHE_DIR", (cache_dir + "/triton").c_str(), 1);
  }
  setenv("TORCHINDUCTOR_COMPILE_THREADS", "1", 1);  // in-process: one worker is one process
  setenv("OMP_NUM_THREADS", "1", 0);
  setenv("PYTHONHASHSEED", "0", 1);
  setenv("TOKENIZERS_PARALLELISM", "false", 1);
  // Other torch settings of the user's shell would change what is tested.
  for (const char* name : {"TORCH_LOGS", "TORCH_COMPILE_DEBUG", "TORCHDYNAMO_DISABLE",
                           "TORCH_COMPILE_DISABLE", "TORCHDYNAMO_SUPPRESS_ERRORS"}) {
    unsetenv(name);
  }
}

int Fail(int fd, const gradfuzz::Error& error) {
  (void)gradfuzz::WriteFrame(
      fd, {{"type", "error"}, {"kind", "environment"}, {"message", error.message}});
  std::fprintf(stderr, "gradfuzz-worker: %s\n", error.message.c_str());
  return 3;
}

int Run(const std::map<std::string, std::string>& options) {
  const int fd = std::atoi(options.at("--fd").c_str());
  SetEnvironment(options.at("--cache-dir"));
  gradfuzz::Status status =
      gradfuzz::bridge::StartInterpreter(options.at("--python"), GRADFUZZ_BRIDGE_DIR);
  if (!status.ok()) return Fail(fd, status.error());
  status = gradfuzz::bridge::Prepare(options.at("--machine-cache"));
  if (!status.ok()) return Fail(fd, status.error());
  return gradfuzz::bridge::Service(fd).Serve();
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> options = {{"--fd", ""},
                                                {"--cache-dir", ""},
                                                {"--machine-cache", ""},
                                                {"--python", GRADFUZZ_PYTHON_EXECUTABLE}};
  for (int i = 1; i + 1 < argc; i += 2) {
    const auto option = options.find(argv[i]);
    if (option == options.end()) {
      std::fprintf(stderr, "gradfuzz-worker: unknown option %s\n", argv[i]);
      return 2;
    }
    option->second = argv[i + 1];
  }
  if (options.at("--fd").empty() || options.at("--machine-cache").empty()) {
    std::fprintf(stderr, "gradfuzz-worker is started by gradfuzz, not by hand.\n");
    return 2;
  }
  const int code = Run(options);
  std::fflush(nullptr);
  _exit(code);  // no teardown: see interpreter.h
}
