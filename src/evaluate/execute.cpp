// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/evaluate/execute.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <typeinfo>

#include "gradfuzz/evaluate/autocast.h"
#include "gradfuzz/evaluate/materialise.h"

namespace gradfuzz::evaluate {
namespace {

using program::CallPlan;
using program::Program;

at::ScalarType Widened(at::ScalarType type) {
  return ToScalarType(program::Info(FromScalarType(type)).reference);
}

// A copy that keeps sizes and strides to the letter, overlapping ones too.
at::Tensor Snapshot(const at::Tensor& tensor) {
  const at::Tensor t = tensor.detach().resolve_conj().resolve_neg();
  if (t.layout() != at::kStrided || t.numel() == 0) return t.clone();
  int64_t extent = 1;
  for (int64_t d = 0; d < t.dim(); ++d) extent += (t.size(d) - 1) * t.stride(d);
  return t.as_strided({extent}, {1}, t.storage_offset())
      .clone()
      .as_strided(t.sizes(), t.strides(), 0);
}

const void* StorageOf(const at::Tensor& tensor) {
  return tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
}

void RecordOutputs(const std::vector<at::Tensor>& outputs, const Inputs& inputs,
                   Observation* observation) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const at::Tensor& output = outputs[i];
    int from_storage = -1;
    int from_output = static_cast<int>(i);
    if (output.numel() > 0) {
      for (size_t s = 0; s < inputs.storages.size(); ++s) {
        if (StorageOf(inputs.storages[s]) == StorageOf(output)) from_storage = static_cast<int>(s);
      }
      for (size_t j = i; j-- > 0;) {
        if (StorageOf(outputs[j]) == StorageOf(output)) from_output = static_cast<int>(j);
      }
    }
    observation->aliases_storage.push_back(from_storage);
    observation->aliases_output.push_back(from_output);
    observation->output_requires_grad.push_back(output.requires_grad());
    observation->outputs.push_back(Snapshot(output));
  }
}

struct BackwardTask {
  torch::autograd::variable_list outputs, cotangents, leaves;
};

// What takes part in the backward: outputs that require a gradient, leaves that ask for one.
BackwardTask MakeBackwardTask(const Program& program, const std::vector<at::Tensor>& outputs,
                              const std::vector<at::Tensor>& leaves,
                              const ExecuteOptions& options) {
  BackwardTask task;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].requires_grad()) continue;
    at::Tensor cotangent;
    if (options.cotangents != nullptr) {
      cotangent = (*options.cotangents)[i];
      if (!cotangent.defined()) continue;
      cotangent = cotangent.to(outputs[i].scalar_type());
    } else {
      at::Tensor like = outputs[i].detach();
      if (i < options.cotangent_types.size()) {
        like = at::empty(like.sizes(), like.options().dtype(options.cotangent_types[i]));
      }
      cotangent = MakeCotangent(program.outputs[i].cotangent, like, options.draw)
                      .to(outputs[i].scalar_type());
    }
    task.outputs.push_back(outputs[i]);
    task.cotangents.push_back(std::move(cotangent));
  }
  for (const at::Tensor& leaf : leaves) {
    if (leaf.requires_grad()) task.leaves.push_back(leaf);
  }
  return task;
}

torch::autograd::variable_list RunBackward(const BackwardTask& task, CallPlan::Backward mode,
                                           const Grad& hook) {
  const auto grad = [&](const auto& outputs, const auto& leaves, const auto& cotangents,
                        bool retain_graph, bool create_graph) {
    if (hook) return hook(outputs, leaves, cotangents, retain_graph, create_graph);
    return torch::autograd::grad(outputs, leaves, cotangents, retain_graph, create_graph,
                                 /*allow_unused=*/true);
  };
  switch (mode) {
    case CallPlan::Backward::kAccumulate: {
      auto first = grad(task.outputs, task.leaves, task.cotangents, true, false);
      auto second = grad(task.outputs, task.leaves, task.cotangents, false, false);
      for (size_t i = 0; i < first.size(); ++i) {
        if (first[i].defined() && second[i].defined()) first[i] = first[i] + second[i];
      }
      return first;
    }
    case CallPlan::Backward::kDouble: {
      auto first = grad(task.outputs, task.leaves, task.cotangents, true, true);
      torch::autograd::variable_list sums;
      for (const at::Tensor& g : first) {
        if (g.defined() && g.requires_grad()) sums.push_back(g);
      }
      if (sums.empty()) return first;
      torch::autograd::variable_list ones;
      for (const at::Tensor& g : sums) ones.push_back(at::ones_like(g));
      return grad(sums, task.leaves, ones, false, false);
    }
    default:
      return grad(task.outputs, task.leaves, task.cotangents, false, false);
  }
}

void RecordGradients(const std::vector<at::Tensor>& leaves,
                     const torch::autograd::variable_list& gradients, Observation* observation) {
  size_t next = 0;
  for (const at::Tensor& leaf : leaves) {
    std::optional<at::Tensor> gradient;
    if (leaf.requires_grad() && next < gradients.size()) {
      const at::Tensor& g = gradients[next++];
      if (g.defined()) gradient = Snapshot(g);
    }
    observation->gradients.push_back(std::move(gradient));
  }
}

}  // namespace

Observation Execute(const Program& program, const Forward& forward, const ExecuteOptions& options) {
  Observation observation;
  try {
    Inputs inputs = MakeInputs(program.storages, program.leaves, options.draw, options.device);
    if (options.reference) {
      const auto& leaves = program.leaves;
      for (at::Tensor& storage : inputs.storages) {
        storage = storage.to(Widened(storage.scalar_type()));
      }
      for (size_t i = 0; i < leaves.size(); ++i) {
        inputs.leaves[i] = inputs.storages[static_cast<size_t>(leaves[i].storage)]
                               .as_strided(leaves[i].sizes, leaves[i].strides, leaves[i].offset)
                               .detach()
                               .requires_grad_(leaves[i].requires_grad);
      }
    }
    const auto enter = [&](Phase phase) {
      if (options.on_phase) options.on_phase(phase, inputs);
    };
    enter(Phase::kForward);
    const bool want_grad = program.call.backward != CallPlan::Backward::kNone;
    std::vector<at::Tensor> outputs;
    {
      at::AutoGradMode grad_mode(want_grad);
      const bool autocast = program.call.autocast && !options.reference;
      AutocastScope scope(autocast ? std::optional(true) : std::nullopt, options.device.type());
      outputs = forward(inputs.leaves);
    }
    enter(Phase::kDone);
    RecordOutputs(outputs, inputs, &observation);
    torch::autograd::variable_list gradients;
    if (want_grad) {
      const BackwardTask task = MakeBackwardTask(program, outputs, inputs.leaves, options);
      enter(Phase::kBackward);
      if (!task.outputs.empty() && !task.leaves.empty()) {
        gradients = RunBackward(task, program.call.backward, options.grad);
      }
    }
    enter(Phase::kDone);
    RecordGradients(inputs.leaves, gradients, &observation);
    for (const at::Tensor& storage : inputs.storages) {
      observation.storages_after.push_back(storage.detach().clone());
    }
  } catch (const RungError& e) {
    observation.error = e.what();
    observation.error_kind = e.kind();
  } catch (const c10::Error& e) {
    observation.error_kind = "runtime";
    observation.error = "RuntimeError: " + std::string(e.what_without_backtrace());
  } catch (const std::exception& e) {
    observation.error_kind = "runtime";
    observation.error = e.what();
    if (observation.error.empty()) observation.error = typeid(e).name();
  }
  return observation;
}

}  // namespace gradfuzz::evaluate
