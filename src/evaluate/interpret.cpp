// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/evaluate/interpret.h"

#include <ATen/ATen.h>

#include <stdexcept>

#include "gradfuzz/evaluate/autocast.h"
#include "gradfuzz/evaluate/dispatch.h"
#include "gradfuzz/evaluate/execute.h"
#include "gradfuzz/evaluate/materialise.h"

namespace gradfuzz::evaluate {
namespace {

using program::Arg;
using program::DType;
using program::Program;
using program::Region;
using program::Statement;

// Applies the regions that hold one statement for the life of the object; inner ones win.
class RegionScope {
 public:
  RegionScope(const Program& program, int index, at::DeviceType device)
      : autocast_(Autocast(program, index), device) {
    for (const Region& region : program.regions) {
      if (Holds(region, index) && region.kind == Region::Kind::kNoGrad) no_grad_.emplace();
    }
  }

 private:
  static bool Holds(const Region& region, int index) {
    return region.first <= index && index <= region.last;
  }
  static std::optional<bool> Autocast(const Program& program, int index) {
    std::optional<bool> enabled;
    for (const Region& region : program.regions) {
      if (!Holds(region, index)) continue;
      if (region.kind == Region::Kind::kAutocast) enabled = true;
      if (region.kind == Region::Kind::kAutocastOff) enabled = false;
    }
    return enabled;
  }

  AutocastScope autocast_;
  std::optional<at::NoGradGuard> no_grad_;
};

// All values of the program, by id. Throws what eager said when it rejects a statement.
std::vector<at::Tensor> RunStatements(const Program& program, const std::vector<at::Tensor>& leaves,
                                      at::DeviceType device) {
  std::vector<at::Tensor> values = leaves;
  values.reserve(static_cast<size_t>(program::ValueCount(program)));
  for (size_t i = 0; i < program.statements.size(); ++i) {
    const Statement& statement = program.statements[i];
    const RegionScope scope(program, static_cast<int>(i), device);
    auto results = Call(statement, values);
    if (!results) throw std::runtime_error(results.error().message);
    if (results->size() != static_cast<size_t>(statement.results) && statement.results != 0) {
      throw std::runtime_error(statement.op + " returns " + std::to_string(results->size()) +
                               " tensors, the program expects " +
                               std::to_string(statement.results));
    }
    for (int r = 0; r < statement.results; ++r) {
      values.push_back((*results)[static_cast<size_t>(r)]);
    }
  }
  return values;
}

void WidenArg(Arg* arg) {
  if (arg->Is<DType>()) {
    *arg = program::Info(arg->As<DType>()).reference;
  } else if (arg->Is<program::ArgList>()) {
    for (Arg& item : arg->As<program::ArgList>()) WidenArg(&item);
  } else if (arg->Is<program::Tuple>()) {
    for (Arg& item : arg->As<program::Tuple>().items) WidenArg(&item);
  }
}

// Casts whose name says the dtype: to that of the reference.
void WidenCast(Statement* statement) {
  for (const char* cast : {"Tensor.half", "Tensor.bfloat16", "Tensor.float"}) {
    if (statement->op == cast) statement->op = "Tensor.double";
  }
  if (statement->op == "Tensor.cfloat") statement->op = "Tensor.cdouble";
}

Observation Run(const Program& program, const ExecuteOptions& options) {
  return Execute(
      program,
      [&](const std::vector<at::Tensor>& leaves) {
        const auto values = RunStatements(program, leaves, options.device.type());
        std::vector<at::Tensor> outputs;
        for (const program::Output& output : program.outputs) {
          outputs.push_back(values[static_cast<size_t>(output.value)]);
        }
        return outputs;
      },
      options);
}

}  // namespace

Observation Interpret(const Program& program, const InterpretOptions& options) {
  ExecuteOptions execute;
  execute.draw = options.draw;
  execute.device = options.device;
  execute.cotangents = options.cotangents;
  execute.second_call = options.second_call;
  execute.on_phase = options.on_phase;
  return Run(program, execute);
}

Result<std::vector<at::Tensor>> Values(const Program& program, int draw) {
  try {
    const Inputs inputs = MakeInputs(program.storages, program.leaves, draw, at::kCPU);
    return RunStatements(program, inputs.leaves, at::kCPU);
  } catch (const std::exception& e) {
    return UsageError(e.what());
  }
}

Program ToReference(const Program& program) {
  Program wide = program;
  for (program::Storage& storage : wide.storages) {
    storage.dtype = program::Info(storage.dtype).reference;
  }
  for (program::Storage& storage : wide.call.second_storages) {
    storage.dtype = program::Info(storage.dtype).reference;
  }
  for (Statement& statement : wide.statements) {
    WidenCast(&statement);
    for (Arg& arg : statement.args) WidenArg(&arg);
    for (auto& [name, arg] : statement.kwargs) WidenArg(&arg);
  }
  wide.call.autocast = false;
  std::erase_if(wide.regions, [](const Region& region) {
    return region.kind == Region::Kind::kAutocast || region.kind == Region::Kind::kAutocastOff;
  });
  return wide;
}

Observation Reference(const Program& program, const InterpretOptions& options) {
  ExecuteOptions execute;
  execute.draw = options.draw;
  execute.device = options.device;
  execute.cotangents = options.cotangents;
  execute.second_call = options.second_call;
  execute.on_phase = options.on_phase;
  execute.cotangent_types = options.cotangent_types;
  execute.reference = true;
  if (options.cotangents == nullptr && options.cotangent_types.empty()) {
    // The cotangents are rounded to the dtypes that the program itself returns.
    InterpretOptions plain = options;
    plain.on_phase = nullptr;
    const Observation own = Interpret(program, plain);
    for (const at::Tensor& output : own.outputs) {
      execute.cotangent_types.push_back(output.scalar_type());
    }
  }
  Program wide = ToReference(program);
  // Execute makes the leaves in the program's own dtypes and widens them itself.
  wide.storages = program.storages;
  wide.call.second_storages = program.call.second_storages;
  return Run(wide, execute);
}

}  // namespace gradfuzz::evaluate
