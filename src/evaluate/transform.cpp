// SPDX-License-Identifier: BSD-3-Clause
#include "transform.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/forward_grad.h>

#include <stdexcept>

#include "gradfuzz/support/check.h"

namespace gradfuzz::evaluate {
namespace {

using Tensors = std::vector<at::Tensor>;  // also torch::autograd::variable_list

// The sum so far may be undefined: of nothing.
void AddTo(at::Tensor* sum, const at::Tensor& term) { *sum = sum->defined() ? *sum + term : term; }

class Function : public torch::autograd::Function<Function> {
 public:
  static Tensors forward(torch::autograd::AutogradContext* context, at::TensorList takes,
                         const Block& block) {
    context->save_for_backward(takes.vec());
    return block(takes.vec());
  }

  static Tensors backward(torch::autograd::AutogradContext* context, const Tensors& cotangents) {
    at::Tensor sum;
    for (const at::Tensor& cotangent : cotangents) AddTo(&sum, cotangent.sum());
    Tensors gradients;
    for (const at::Tensor& x : context->get_saved_variables()) {
      gradients.push_back(x.is_floating_point() ? x * sum : at::Tensor());
    }
    gradients.emplace_back();  // of the block
    return gradients;
  }
};

// torch.func takes no others.
void RequireDifferentiable(const Tensors& tensors) {
  for (const at::Tensor& t : tensors) {
    if (!t.is_floating_point() && !t.is_complex()) {
      throw std::runtime_error("torch.func differentiates floating-point tensors alone");
    }
  }
}

// The level of forward-mode derivatives for the life of the object.
class DualLevel {
 public:
  DualLevel() : index_(torch::autograd::ForwardADLevel::get_next_idx()) {}
  ~DualLevel() { torch::autograd::ForwardADLevel::release_idx(index_); }
  DualLevel(const DualLevel&) = delete;
  DualLevel& operator=(const DualLevel&) = delete;
  int64_t index() const { return static_cast<int64_t>(index_); }

 private:
  uint64_t index_;
};

Tensors Jvp(const Tensors& takes, const Block& block) {
  RequireDifferentiable(takes);
  const DualLevel level;
  Tensors duals;
  for (const at::Tensor& x : takes) duals.push_back(at::_make_dual(x, x, level.index()));
  Tensors tangents;
  const Tensors gives = block(duals);
  RequireDifferentiable(gives);
  for (const at::Tensor& v : gives) {
    const auto [primal, tangent] = at::_unpack_dual(v, level.index());
    tangents.push_back(tangent.defined() ? tangent : at::zeros_like(primal));
  }
  return tangents;
}

Tensors Vjp(const Tensors& takes, const Block& block) {
  RequireDifferentiable(takes);
  const at::AutoGradMode on(true);
  // Others than what is taken: the gradient stops here.
  Tensors inside;
  for (const at::Tensor& x : takes) {
    inside.push_back(x.requires_grad() ? x.view_as(x) : x.detach().requires_grad_());
  }
  Tensors gives = block(inside);
  RequireDifferentiable(gives);
  Tensors roots, ones;
  for (const at::Tensor& v : gives) {
    if (!v.requires_grad()) continue;
    roots.push_back(v);
    ones.push_back(at::ones_like(v));
  }
  Tensors gradients(takes.size());
  if (!roots.empty()) {
    gradients = torch::autograd::grad(roots, inside, ones, /*retain_graph=*/true,
                                      /*create_graph=*/true, /*allow_unused=*/true);
  }
  at::Tensor sum;
  for (size_t i = 0; i < takes.size(); ++i) {
    const at::Tensor g = gradients[i].defined() ? gradients[i] : at::zeros_like(takes[i]);
    AddTo(&sum, (takes[i] * g).sum());
  }
  for (at::Tensor& v : gives) v = v + sum;
  return gives;
}

}  // namespace

Tensors Transform(program::Region::Kind kind, const Tensors& takes, const Block& block) {
  switch (kind) {
    case program::Region::Kind::kFunction:
      return Function::apply(at::TensorList(takes), block);
    case program::Region::Kind::kJvp:
      return Jvp(takes, block);
    case program::Region::Kind::kVjp:
      return Vjp(takes, block);
    default:
      GF_CHECK(false, "no transformation");
      return {};
  }
}

}  // namespace gradfuzz::evaluate
