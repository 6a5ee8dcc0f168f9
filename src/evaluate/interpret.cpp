// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/evaluate/interpret.h"

#include <ATen/ATen.h>

#include <stdexcept>

#include "gradfuzz/evaluate/autocast.h"
#include "gradfuzz/evaluate/dispatch.h"
#include "gradfuzz/evaluate/execute.h"
#include "gradfuzz/evaluate/materialise.h"
#include "gradfuzz/program/reference.h"
#include "transform.h"

namespace gradfuzz::evaluate {
namespace {

using program::Arg;
using program::DType;
using program::Program;
using program::Region;
using program::Statement;

using Tensors = std::vector<at::Tensor>;

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

// Runs statement `index` and appends its results to the values, which are all those before it.
void RunStatement(const Program& program, size_t index, at::DeviceType device,
                  std::vector<at::Tensor>* values) {
  const Statement& statement = program.statements[index];
  const RegionScope scope(program, static_cast<int>(index), device);
  auto results = Call(statement, *values);
  if (!results) throw std::runtime_error(results.error().message);
  if (results->size() != static_cast<size_t>(statement.results) && statement.results != 0) {
    throw std::runtime_error(statement.op + " returns " + std::to_string(results->size()) +
                             " tensors, the program expects " + std::to_string(statement.results));
  }
  for (int r = 0; r < statement.results; ++r) {
    values->push_back((*results)[static_cast<size_t>(r)]);
  }
}

// Runs the statements of a transformed part and appends their results.
void RunTransform(const Program& program, const Region& region, at::DeviceType device,
                  Tensors* values) {
  const program::RegionEnds ends = program::EndsOf(program, region);
  const auto at = [&](program::ValueId id) -> at::Tensor& {
    return (*values)[static_cast<size_t>(id)];
  };
  Tensors takes;
  for (const program::ValueId id : ends.takes) takes.push_back(at(id));
  const auto block = [&](const Tensors& inside) {
    for (size_t i = 0; i < inside.size(); ++i) at(ends.takes[i]) = inside[i];
    for (auto i = static_cast<size_t>(region.first); i <= static_cast<size_t>(region.last); ++i) {
      RunStatement(program, i, device, values);
    }
    Tensors gives;
    for (const program::ValueId id : ends.gives) gives.push_back(at(id));
    return gives;
  };
  const Tensors gives = Transform(region.kind, takes, block);
  for (size_t i = 0; i < takes.size(); ++i) at(ends.takes[i]) = takes[i];
  for (size_t i = 0; i < gives.size(); ++i) at(ends.gives[i]) = gives[i];
}

// All values of the program, by id. Throws what eager said when it rejects a statement.
Tensors RunStatements(const Program& program, const Tensors& leaves, at::DeviceType device) {
  Tensors values = leaves;
  values.reserve(static_cast<size_t>(program::ValueCount(program)));
  const Region* transform = program::TransformOf(program);
  for (size_t i = 0; i < program.statements.size(); ++i) {
    if (transform != nullptr && static_cast<size_t>(transform->first) == i) {
      RunTransform(program, *transform, device, &values);
      i = static_cast<size_t>(transform->last);
    } else {
      RunStatement(program, i, device, &values);
    }
  }
  return values;
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

Observation Reference(const Program& program, const InterpretOptions& options) {
  ExecuteOptions execute;
  execute.draw = options.draw;
  execute.device = options.device;
  execute.cotangents = options.cotangents;
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
  return Run(program::ToReference(program), execute);
}

}  // namespace gradfuzz::evaluate
