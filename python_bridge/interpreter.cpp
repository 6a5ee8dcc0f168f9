// SPDX-License-Identifier: BSD-3-Clause
#include "interpreter.h"

#include <pybind11/embed.h>

namespace gradfuzz::bridge {

namespace py = pybind11;

Status StartInterpreter(const std::string& python_executable, const std::string& bridge_dir) {
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  PyConfig_SetBytesString(&config, &config.executable, python_executable.c_str());
  PyConfig_SetBytesString(&config, &config.program_name, python_executable.c_str());
  config.install_signal_handlers = 0;  // Ctrl-C is the parent's to handle
  try {
    py::initialize_interpreter(&config, 0, nullptr, /*add_program_dir_to_path=*/false);
  } catch (const std::exception& e) {
    return EnvironmentError("cannot start " + python_executable + ": " + e.what());
  }
  try {
    py::module_::import("sys").attr("path").attr("insert")(0, bridge_dir);
    // What imports leave behind stays: no cycle among it to look for (setup.py goes on with this).
    py::module_::import("gc").attr("disable")();
    py::module_::import("torch");
  } catch (const std::exception& e) {
    return EnvironmentError("cannot import torch in " + python_executable + ": " + e.what());
  }
  // Everything from here on takes the GIL where it needs it; autograd must not hold it.
  PyEval_SaveThread();
  return {};
}

}  // namespace gradfuzz::bridge
