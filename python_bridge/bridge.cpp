// SPDX-License-Identifier: BSD-3-Clause
#include "bridge.h"

#include <ATen/ATen.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>
#include <unistd.h>

#include <cstdio>
#include <span>

#include "gradfuzz/evaluate/dispatch.h"
#include "gradfuzz/support/file.h"

namespace gradfuzz::bridge {
namespace {

namespace py = pybind11;
using nlohmann::json;
using program::Arg;

py::module_ Module(const char* name) {
  return py::module_::import((std::string("gradfuzz_bridge.") + name).c_str());
}

py::object ToPython(const json& value) {
  return py::module_::import("json").attr("loads")(value.dump());
}

json FromPython(const py::handle& value) {
  return json::parse(py::module_::import("json").attr("dumps")(value).cast<std::string>());
}

py::list ToPython(const Knobs& knobs) {
  py::list list;
  for (const auto& [name, value] : knobs) list.append(py::make_tuple(name, ToPython(value)));
  return list;
}

py::object ToPython(const Arg& arg, std::span<const at::Tensor> values) {
  struct Visitor {
    std::span<const at::Tensor> values;
    py::object Items(const program::ArgList& items) const {
      py::list list;
      for (const Arg& item : items) list.append(ToPython(item, values));
      return list;
    }
    py::object operator()(const program::None&) const { return py::none(); }
    py::object operator()(bool v) const { return py::bool_(v); }
    py::object operator()(int64_t v) const { return py::int_(v); }
    py::object operator()(double v) const { return py::float_(v); }
    py::object operator()(const std::complex<double>& v) const { return py::cast(v); }
    py::object operator()(const std::string& v) const { return py::str(v); }
    py::object operator()(program::DType v) const {
      return py::module_::import("torch").attr(std::string(program::Info(v).name).c_str());
    }
    py::object operator()(const program::ValueRef& v) const {
      return py::cast(values[static_cast<size_t>(v.id)]);
    }
    py::object operator()(const program::ArgList& v) const { return Items(v); }
    py::object operator()(const program::Tuple& v) const { return py::tuple(Items(v.items)); }
    py::object operator()(const program::Slice& v) const {
      return py::module_::import("builtins").attr("slice")(*py::tuple(Items(v.bounds)));
    }
    py::object operator()(const program::Constant& v) const {
      return py::module_::import("torch").attr(v.name.c_str());
    }
    py::object operator()(const program::Ellipsis&) const { return py::ellipsis(); }
  };
  return std::visit(Visitor{values}, arg.data);
}

// None becomes an undefined tensor.
std::vector<at::Tensor> TensorsFrom(const py::handle& list) {
  std::vector<at::Tensor> tensors;
  for (const py::handle& item : list) {
    tensors.push_back(item.is_none() ? at::Tensor() : item.cast<at::Tensor>());
  }
  return tensors;
}

Result<std::vector<at::Tensor>> CallOperator(const program::Statement& statement,
                                             std::span<const at::Tensor> values) {
  py::gil_scoped_acquire gil;
  try {
    py::list args;
    for (const Arg& arg : statement.args) args.append(ToPython(arg, values));
    py::dict kwargs;
    for (const auto& [name, arg] : statement.kwargs) kwargs[name.c_str()] = ToPython(arg, values);
    return TensorsFrom(Module("rungs").attr("call_operator")(statement.op, args, kwargs));
  } catch (const py::error_already_set& e) {
    return UsageError(statement.op + ": " + std::string(py::str(e.value())));
  }
}

// Turns a Python exception into one that Execute understands. REQUIRES: the GIL is held.
[[noreturn]] void Rethrow(const py::error_already_set& e) {
  std::string kind = "runtime";
  std::string text;
  try {
    py::object value = py::reinterpret_borrow<py::object>(e.value());
    if (e.trace()) value.attr("__traceback__") = e.trace();
    const py::dict facts = Module("rungs").attr("explain")(value);
    kind = facts["kind"].cast<std::string>();
    text = facts["text"].cast<std::string>();
    const std::string trace = facts["trace"].cast<std::string>();
    if (!trace.empty()) text += "\n" + trace;
  } catch (const std::exception&) {
    text = "an exception that cannot be shown";
  }
  throw evaluate::RungError(kind, text);
}

class PythonRung : public CompiledRung {
 public:
  PythonRung(py::object function, py::object scope, std::string name, bool compiles)
      : function_(std::move(function)),
        scope_(std::move(scope)),
        name_(std::move(name)),
        compiles_(compiles) {}

  ~PythonRung() override {
    py::gil_scoped_acquire gil;
    function_ = py::object();
    scope_ = py::object();
    Module("rungs").attr("forget")(name_);
  }

  evaluate::Observation Run(const program::Program& program,
                            evaluate::ExecuteOptions options) override {
    options.grad = [](const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& leaves,
                      const std::vector<at::Tensor>& cotangents, bool retain_graph,
                      bool create_graph) {
      py::gil_scoped_acquire gil;
      try {
        return TensorsFrom(
            Module("rungs").attr("grad")(outputs, leaves, cotangents, retain_graph, create_graph));
      } catch (const py::error_already_set& e) {
        Rethrow(e);
      }
    };
    const evaluate::Forward forward = [&](const std::vector<at::Tensor>& leaves) {
      py::gil_scoped_acquire gil;
      try {
        return TensorsFrom(
            Module("rungs").attr("call")(function_, leaves, program::Floats(program)));
      } catch (const py::error_already_set& e) {
        Rethrow(e);
      }
    };
    Enter();
    evaluate::Observation observation = evaluate::Execute(program, forward, options);
    if (!observation.ok()) LeaveIfLost(options.device, observation.error);
    Exit();
    return observation;
  }

  int graphs() const override { return graphs_; }
  int graph_breaks() const override { return graph_breaks_; }

 private:
  // Ends this process where no later program could run on the device: whoever waits for it runs
  // what is left in another one, and the program that did it alone.
  static void LeaveIfLost(const at::Device& device, const std::string& error) {
    py::gil_scoped_acquire gil;
    if (!Module("rungs").attr("device_is_lost")(device.str()).cast<bool>()) return;
    std::fprintf(stderr, "gradfuzz-worker: %s is lost to this process: %s\n", device.str().c_str(),
                 error.c_str());
    _exit(1);
  }
  void Enter() {
    py::gil_scoped_acquire gil;
    scope_.attr("enter")();
  }
  void Exit() {
    py::gil_scoped_acquire gil;
    scope_.attr("exit")();
    if (!compiles_) return;
    const py::dict counters = Module("rungs").attr("counters")();
    graphs_ = counters["graphs"].cast<int>();
    graph_breaks_ = counters["graph_breaks"].cast<int>();
  }

  py::object function_;
  py::object scope_;
  std::string name_;
  bool compiles_;
  int graphs_ = 0;
  int graph_breaks_ = 0;
};

std::string& MachineCache() {
  static std::string folder;  // set once, when the worker starts
  return folder;
}

Result<generate::Harvest> ReadHarvest() {
  std::string path;
  {
    py::gil_scoped_acquire gil;
    try {
      path = Module("harvest").attr("ensure")(MachineCache()).cast<std::string>();
    } catch (const py::error_already_set& e) {
      return EnvironmentError(py::str(e.value()));
    }
  }
  auto parsed = ReadJsonFile(path);
  if (!parsed) return parsed.error();
  return generate::Harvest::FromJson(*parsed);
}

}  // namespace

Result<const generate::Harvest*> LoadHarvest() {
  static const auto* const harvest = new Result<generate::Harvest>(ReadHarvest());
  if (!*harvest) return harvest->error();
  return &**harvest;
}

Status Prepare(const std::string& machine_cache) {
  MachineCache() = machine_cache;
  py::gil_scoped_acquire gil;
  try {
    Module("setup").attr("prepare")(machine_cache);
  } catch (const std::exception& e) {
    return EnvironmentError("cannot prepare torch.compile: " + std::string(e.what()));
  }
  evaluate::SetPythonCall(CallOperator);
  return {};
}

Result<json> Describe(const std::vector<std::string>& knobs) {
  py::gil_scoped_acquire gil;
  try {
    return FromPython(Module("setup").attr("describe")(knobs));
  } catch (const std::exception& e) {
    return EnvironmentError("cannot describe the environment: " + std::string(e.what()));
  }
}

Result<json> Parse(const std::string& text, const std::string& path) {
  py::gil_scoped_acquire gil;
  try {
    return FromPython(Module("parse").attr("parse")(text, path));
  } catch (const py::error_already_set& e) {
    return UsageError(path + ": " + std::string(py::str(e.value())));
  }
}

Result<std::unique_ptr<CompiledRung>> CompiledRung::Make(const CompileRequest& request) {
  py::gil_scoped_acquire gil;
  try {
    const py::object dynamic =
        request.dynamic ? py::object(py::bool_(*request.dynamic)) : py::object(py::none());
    const py::tuple made = Module("rungs").attr("compile_rung")(
        request.source, request.name, request.rung, ToPython(request.knobs), dynamic,
        request.substitute, request.fast, request.whole);
    return std::unique_ptr<CompiledRung>(
        new PythonRung(made[0], made[1], request.name, request.rung != "eager"));
  } catch (const py::error_already_set& e) {
    return InternalError("rung " + request.rung + ": " + std::string(py::str(e.value())));
  }
}

void Reset() {
  py::gil_scoped_acquire gil;
  Module("rungs").attr("reset")();
}

bool Same(const at::Tensor& reference, const at::Tensor& result, const at::Tensor& fp64) {
  py::gil_scoped_acquire gil;
  try {
    return Module("rungs").attr("same")(reference, result, fp64).cast<bool>();
  } catch (const py::error_already_set&) {
    return false;
  }
}

Result<json> CallJson(const std::string& module, const std::string& function,
                      const json& argument) {
  py::gil_scoped_acquire gil;
  try {
    return FromPython(Module(module.c_str()).attr(function.c_str())(ToPython(argument)));
  } catch (const py::error_already_set& e) {
    return UsageError(std::string(py::str(e.value())));
  }
}

}  // namespace gradfuzz::bridge
