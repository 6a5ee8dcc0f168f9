// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/oracle/fused.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace gradfuzz::oracle {
namespace {

using at::Tensor;
using c10::IValue;
using Args = std::span<const IValue>;

std::optional<Tensor> MaybeTensor(const IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined()) return std::nullopt;
  return value.toTensor();
}

// Shorthands: every use of a value is an operand edge, every step rounds.
struct Steps {
  Noise& noise;

  Tensor N(const Tensor& t) const { return noise.Nudged(t, kFullModel.nudge); }
  Tensor Wide(const Tensor& t) const { return noise.Nudged(t, kFullModel.wide); }
  Tensor Sum(const Tensor& t, at::IntArrayRef dims) const {
    double terms = 1;
    for (int64_t d : dims) terms *= static_cast<double>(t.size(d));
    return noise.Nudged(N(t).sum(dims, /*keepdim=*/true),
                        std::max(kFullModel.nudge, kFullModel.per_root_terms * std::sqrt(terms)));
  }
  Tensor Mean(const Tensor& t, at::IntArrayRef dims) const {
    double terms = 1;
    for (int64_t d : dims) terms *= static_cast<double>(t.size(d));
    return N(Sum(t, dims) / terms);
  }
  Tensor Times(const Tensor& a, const Tensor& b) const { return N(N(a) * N(b)); }
  Tensor Minus(const Tensor& a, const Tensor& b) const { return N(N(a) - N(b)); }
};

// Everything over the dimensions `dims` of x, statistics kept at size 1.
struct Normalised {
  Tensor out, mean, rstd;
};

Normalised Normalise(const Steps& s, const Tensor& x, at::IntArrayRef dims, double eps) {
  const Tensor mean = s.Mean(x, dims);
  const Tensor centred = s.Minus(x, mean);
  const Tensor var = s.Mean(s.Times(centred, centred), dims);
  const Tensor rstd = s.N((var + eps).rsqrt());
  return {s.Times(centred, rstd), mean, rstd};
}

// The gradient of Normalise with respect to x; `g` already holds the weight.
Tensor NormaliseBackward(const Steps& s, const Tensor& g, const Tensor& x, const Tensor& mean,
                         const Tensor& rstd, at::IntArrayRef dims, Tensor* normalised) {
  *normalised = s.Times(s.Minus(x, mean), rstd);
  const Tensor along = s.Mean(s.Times(*normalised, g), dims);
  const Tensor middle = s.Mean(g, dims);
  return s.Times(s.Minus(s.Minus(g, middle), s.Times(*normalised, along)), rstd);
}

std::vector<int64_t> AllBut(const Tensor& t, int64_t kept) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (d != kept) dims.push_back(d);
  }
  return dims;
}

// `weight` (one number a channel) shaped to broadcast against x, whose channels are dimension 1.
Tensor PerChannel(const Tensor& weight, const Tensor& x) {
  std::vector<int64_t> sizes(static_cast<size_t>(x.dim()), 1);
  sizes[1] = weight.numel();
  return weight.reshape(sizes);
}

std::vector<Tensor> LayerNorm(Args args, const Steps& s) {
  const Tensor x = args[0].toTensor();
  const int64_t inner = c10::multiply_integers(args[1].toIntVector());
  const auto rows = x.reshape({-1, inner});
  Normalised n = Normalise(s, rows, {1}, args[4].toDouble());
  if (const auto weight = MaybeTensor(args[2])) n.out = s.Times(n.out, weight->reshape({1, inner}));
  if (const auto bias = MaybeTensor(args[3])) n.out = s.N(n.out + s.N(bias->reshape({1, inner})));
  return {n.out, n.mean, n.rstd};
}

std::vector<Tensor> LayerNormBackward(Args args, const Steps& s) {
  const int64_t inner = c10::multiply_integers(args[2].toIntVector());
  const Tensor grad = args[0].toTensor().reshape({-1, inner});
  const Tensor x = args[1].toTensor().reshape({-1, inner});
  const auto weight = MaybeTensor(args[5]);
  const Tensor g = weight ? s.Times(grad, weight->reshape({1, inner})) : grad;
  Tensor normalised;
  const Tensor dx = NormaliseBackward(s, g, x, args[3].toTensor().reshape({-1, 1}),
                                      args[4].toTensor().reshape({-1, 1}), {1}, &normalised);
  return {dx, s.Sum(s.Times(grad, normalised), {0}), s.Sum(grad, {0})};
}

// x as (N, groups, channels in a group * pixels).
Tensor Grouped(const Tensor& x, int64_t n, int64_t groups) { return x.reshape({n, groups, -1}); }

std::vector<Tensor> GroupNorm(Args args, const Steps& s) {
  const int64_t n = args[3].toInt(), channels = args[4].toInt(), pixels = args[5].toInt();
  Normalised result =
      Normalise(s, Grouped(args[0].toTensor(), n, args[6].toInt()), {2}, args[7].toDouble());
  Tensor out = result.out.reshape({n, channels, pixels});
  if (const auto weight = MaybeTensor(args[1])) out = s.Times(out, PerChannel(*weight, out));
  if (const auto bias = MaybeTensor(args[2])) out = s.N(out + s.N(PerChannel(*bias, out)));
  return {out, result.mean, result.rstd};
}

std::vector<Tensor> GroupNormBackward(Args args, const Steps& s) {
  const int64_t n = args[5].toInt(), channels = args[6].toInt(), pixels = args[7].toInt();
  const int64_t groups = args[8].toInt();
  const Tensor grad = args[0].toTensor().reshape({n, channels, pixels});
  const auto weight = MaybeTensor(args[4]);
  const Tensor g = weight ? s.Times(grad, PerChannel(*weight, grad)) : grad;
  Tensor normalised;
  const Tensor dx =
      NormaliseBackward(s, Grouped(g, n, groups), Grouped(args[1].toTensor(), n, groups),
                        args[2].toTensor().reshape({n, groups, 1}),
                        args[3].toTensor().reshape({n, groups, 1}), {2}, &normalised);
  normalised = normalised.reshape({n, channels, pixels});
  return {dx, s.Sum(s.Times(grad, normalised), {0, 2}), s.Sum(grad, {0, 2})};
}

// `at` is the place of `training` among the arguments; the running statistics stand before it
// when the overload has them.
std::vector<Tensor> BatchNorm(Args args, size_t at, const Steps& s) {
  const Tensor x = args[0].toTensor();
  const bool training = args[at].toBool();
  const double eps = args[at + 2].toDouble();
  Normalised result;
  if (training) {
    result = Normalise(s, x, AllBut(x, 1), eps);
  } else {
    if (at < 5) return {};
    const Tensor mean = PerChannel(args[3].toTensor(), x);
    const Tensor rstd = s.N((s.N(PerChannel(args[4].toTensor(), x)) + eps).rsqrt());
    result = {s.Times(s.Minus(x, mean), rstd), mean, rstd};
  }
  Tensor out = result.out;
  if (const auto weight = MaybeTensor(args[1])) out = s.Times(out, PerChannel(*weight, x));
  if (const auto bias = MaybeTensor(args[2])) out = s.N(out + s.N(PerChannel(*bias, x)));
  return {out, result.mean, result.rstd};
}

std::vector<Tensor> BatchNormBackward(Args args, const Steps& s) {
  const Tensor grad = args[0].toTensor();
  const Tensor x = args[1].toTensor();
  const auto dims = AllBut(x, 1);
  const auto weight = MaybeTensor(args[2]);
  const Tensor g = weight ? s.Times(grad, PerChannel(*weight, x)) : grad;
  Tensor normalised, dx;
  if (args[7].toBool()) {
    dx = NormaliseBackward(s, g, x, PerChannel(args[5].toTensor(), x),
                           PerChannel(args[6].toTensor(), x), dims, &normalised);
  } else {
    const Tensor rstd = s.N((s.N(PerChannel(args[4].toTensor(), x)) + args[8].toDouble()).rsqrt());
    normalised = s.Times(s.Minus(x, PerChannel(args[3].toTensor(), x)), rstd);
    dx = s.Times(g, rstd);
  }
  return {dx, s.Sum(s.Times(grad, normalised), dims), s.Sum(grad, dims)};
}

std::vector<Tensor> SoftmaxBackward(Args args, const Steps& s) {
  const Tensor grad = args[0].toTensor(), output = args[1].toTensor();
  if (grad.dim() == 0) return {s.N(grad) - s.N(grad * s.N(output))};
  const Tensor mean = s.Sum(s.Times(grad, output), {args[2].toInt()});
  return {s.Times(s.Minus(grad, mean), output)};
}

constexpr double kGeluScale = M_SQRT2 * M_2_SQRTPI * 0.5;  // sqrt(2 / pi)
constexpr double kGeluCubic = 0.044715;

Tensor GeluErf(bool tanh, const Tensor& x, const Steps& s) {
  if (!tanh) return s.Wide(s.N(x * M_SQRT1_2).erf());
  const Tensor cube = s.Times(s.Times(x, x), x);
  return s.Wide(s.N(kGeluScale * s.N(x + s.N(kGeluCubic * cube))).tanh());
}

// The largest element along `dims`, or 0 where it is infinite, as ATen shifts exponents.
Tensor Shift(const Tensor& x, at::IntArrayRef dims) {
  const Tensor largest = x.amax(dims, /*keepdim=*/true);
  return largest.masked_fill(largest.isinf(), 0);
}

std::vector<Tensor> LogSoftmax(Args args, const Steps& s) {
  const Tensor x = args[0].toTensor();
  if (x.dim() == 0 || x.numel() == 0) return {};
  const int64_t dim = args[1].toInt();
  const Tensor shift = x.amax({dim}, /*keepdim=*/true);
  const Tensor total = s.Sum(s.Wide(s.Minus(x, shift).exp()), {dim});
  return {s.Minus(s.Minus(x, shift), s.Wide(total.log()))};
}

std::vector<Tensor> LogSoftmaxBackward(Args args, const Steps& s) {
  const Tensor grad = args[0].toTensor(), output = args[1].toTensor();
  if (grad.dim() == 0) return {};
  const Tensor total = s.Sum(grad, {args[2].toInt()});
  return {s.Minus(grad, s.Times(s.Wide(s.N(output).exp()), total))};
}

std::vector<Tensor> LogSumExp(Args args, const Steps& s) {
  const Tensor x = args[0].toTensor();
  std::vector<int64_t> dims = args[1].toIntVector();
  if (x.dim() == 0 || x.numel() == 0) return {};
  if (dims.empty()) dims = AllBut(x, -1);
  const Tensor shift = Shift(x, dims);
  const Tensor total = s.Sum(s.Wide(s.Minus(x, shift).exp()), dims);
  return {s.N(s.Wide(total.log()) + s.N(shift))};
}

// 0.5 x (1 + erf(x / sqrt 2)), or its tanh form: for negative x the sum in brackets cancels.
std::vector<Tensor> Gelu(Args args, const Steps& s) {
  const Tensor x = args[0].toTensor();
  return {s.Times(x * 0.5, s.N(1 + GeluErf(args[1].toStringRef() == "tanh", x, s)))};
}

// grad * (Phi(x) + x phi(x)).
std::vector<Tensor> GeluBackward(Args args, const Steps& s) {
  const Tensor grad = args[0].toTensor(), x = args[1].toTensor();
  const bool tanh = args[2].toStringRef() == "tanh";
  const Tensor erf = GeluErf(tanh, x, s);
  const Tensor left = s.N(s.N(1 + erf) * 0.5);
  Tensor slope;
  if (tanh) {
    const Tensor inner = s.N(kGeluScale * (1 + 3 * kGeluCubic * s.Times(x, x)));
    slope = s.Times(s.N(1 - s.Times(erf, erf)) * 0.5, inner);
  } else {
    slope = s.Wide((s.Times(x, x) * -0.5).exp()) * (M_2_SQRTPI * M_SQRT1_2 * 0.5);
  }
  return {s.Times(grad, s.N(left + s.Times(x, slope)))};
}

// (self, dim, correction, keepdim) of var.correction and its relatives.
std::vector<Tensor> Variance(std::string_view name, Args args, const Steps& s) {
  const Tensor x = args[0].toTensor();
  if (args.size() != 4 || x.numel() == 0) return {};
  std::vector<int64_t> dims;
  if (!args[1].isNone()) dims = args[1].toIntVector();
  if (dims.empty()) dims = AllBut(x, -1);
  const double correction = args[2].isNone() ? 1 : args[2].toScalar().toDouble();
  double terms = 1;
  for (int64_t d : dims) terms *= x.dim() == 0 ? 1.0 : static_cast<double>(x.size(d));
  const Tensor mean = s.Mean(x, dims);
  const Tensor centred = s.Minus(x, mean);
  Tensor result = s.N(s.Sum(s.Times(centred, centred), dims) / std::max(0.0, terms - correction));
  if (name.starts_with("std")) result = s.N(result.sqrt());
  return name.ends_with("mean") ? std::vector<Tensor>{result, mean} : std::vector<Tensor>{result};
}

// grad * target * (sigmoid(target x) - 1): the difference cancels where x is on the right side.
// ATen's kernel has exp(-target x) / (1 + exp(-target x)) instead.
std::vector<Tensor> SoftMarginLossBackward(Args args, const Steps& s) {
  const Tensor grad = args[0].toTensor(), x = args[1].toTensor(), target = args[2].toTensor();
  const Tensor slope = s.N(s.Wide(s.Times(target, x).sigmoid()) - 1);
  const Tensor out = s.Times(s.Times(target, grad), slope);
  const bool mean = args[3].toInt() == at::Reduction::Mean;
  return {mean ? s.N(out / static_cast<double>(x.numel())) : out};
}

// --- Interpolation ---
// The coordinates, and from them the weights, are computed inside the kernel, in the program's
// dtype: an ULP of a coordinate moves the result by the difference of neighbours, and next to a
// grid point the small weights are what is left of large terms. Neither is relative to the operand.

// `amplitude` 0: the same without noise.
struct Interpolation {
  Noise& noise;
  double amplitude;

  double N(double value) const { return noise.Nudged(value, amplitude); }
  Tensor N(const Tensor& t, double terms = 1) const {
    return noise.Nudged(t, amplitude * std::max(1.0, kFullModel.per_root_terms * std::sqrt(terms)));
  }

  // ATen/native/UpSample.h: cubic_convolution1 and cubic_convolution2, step by step.
  double Near(double x) const {
    constexpr double a = -0.75;
    return N(N(N(N(N((a + 2) * x) - (a + 3)) * x) * x) + 1);
  }
  double Far(double x) const {
    constexpr double a = -0.75;
    return N(N(N(N(N(N(a * x) - 5 * a) * x) + 8 * a) * x) - 4 * a);
  }

  // What each of the `out` places takes from each of the `in`: (out, in).
  Tensor Weights(int64_t in, int64_t out, bool cubic, bool align, const IValue& factor) const {
    double step = static_cast<double>(in) / static_cast<double>(out);
    if (align) {
      step = out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
    } else if (factor.isDouble() && factor.toDouble() > 0) {
      step = 1 / factor.toDouble();
    }
    step = N(step);
    Tensor weights = at::zeros({out, in}, at::kDouble);
    auto to = weights.accessor<double, 2>();
    for (int64_t i = 0; i < out; ++i) {
      const double middle = static_cast<double>(i) + 0.5;
      double at = align ? N(step * static_cast<double>(i)) : N(N(step * middle) - 0.5);
      if (!cubic) at = std::max(at, 0.0);
      const auto first = static_cast<int64_t>(std::floor(at));
      const double t = at - std::floor(at), rest = N(1 - t);
      const auto add = [&](int64_t place, double weight) {
        to[i][std::clamp<int64_t>(place, 0, in - 1)] += weight;
      };
      if (cubic) {
        add(first - 1, Far(N(t + 1)));
        add(first, Near(t));
        add(first + 1, Near(rest));
        add(first + 2, Far(N(rest + 1)));
      } else {
        add(first, rest);
        add(first + 1, t);
      }
    }
    return weights;
  }
};

// (x, output_size, align_corners, factors...); backward: (grad, output_size, input_size, ...).
Tensor Interpolate(std::string_view name, Args args, const Interpolation& how) {
  const bool backward = name.ends_with("_backward");
  const bool cubic = name.starts_with("upsample_bicubic");
  const size_t at = backward ? 3 : 2;
  Tensor x = args[0].toTensor();
  const auto out = args[1].toIntVector();
  const auto in = backward ? args[2].toIntVector() : x.sizes().vec();
  for (size_t d = 0; d < out.size(); ++d) {
    const auto dim = static_cast<int64_t>(d) + 2;
    const Tensor weights =
        how.Weights(in[d + 2], out[d], cubic, args[at].toBool(), args[at + 1 + d]);
    const Tensor applied = at::matmul(how.N(x).movedim(dim, -1), backward ? weights : weights.t());
    const auto terms = static_cast<double>(x.size(dim)) / static_cast<double>(applied.size(-1));
    x = how.N(applied, terms).movedim(-1, dim);
  }
  return x;
}

// `plain` and what noise does to it: the kernel's own result stays the reference.
Tensor InterpolateWithNoise(std::string_view name, Args args, const Tensor& plain, Noise& noise) {
  return plain + Interpolate(name, args, {noise, kFullModel.nudge}) -
         Interpolate(name, args, {noise, 0});
}

std::vector<Tensor> Dispatch(std::string_view name, Args args, const Steps& s) {
  if (name == "native_layer_norm") return LayerNorm(args, s);
  if (name == "native_layer_norm_backward") return LayerNormBackward(args, s);
  if (name == "native_group_norm") return GroupNorm(args, s);
  if (name == "native_group_norm_backward") return GroupNormBackward(args, s);
  if (name == "native_batch_norm") return BatchNorm(args, 5, s);
  if (name == "_native_batch_norm_legit") return BatchNorm(args, args.size() == 8 ? 5 : 3, s);
  if (name == "native_batch_norm_backward") return BatchNormBackward(args, s);
  if (name == "_softmax_backward_data") return SoftmaxBackward(args, s);
  if (name == "_log_softmax") return LogSoftmax(args, s);
  if (name == "_log_softmax_backward_data") return LogSoftmaxBackward(args, s);
  if (name == "gelu") return Gelu(args, s);
  if (name == "gelu_backward") return GeluBackward(args, s);
  if (name == "logsumexp") return LogSumExp(args, s);
  if (name == "soft_margin_loss_backward") return SoftMarginLossBackward(args, s);
  return Variance(name, args, s);
}

}  // namespace

std::vector<at::Tensor> FusedWithNoise(std::string_view name, std::span<const c10::IValue> args,
                                       std::span<const at::Tensor> plain, Noise& noise) {
  for (const IValue& arg : args) {
    if (arg.isTensor() && arg.toTensor().defined() &&
        (arg.toTensor().is_complex() || arg.toTensor().numel() == 0)) {
      return {};
    }
  }
  if (name.starts_with("upsample_")) return {InterpolateWithNoise(name, args, plain[0], noise)};
  std::vector<Tensor> results = Dispatch(name, args, Steps{noise});
  for (size_t i = 0; i < results.size() && i < plain.size(); ++i) {
    if (!plain[i].defined() || plain[i].numel() != results[i].numel()) {
      results[i] = Tensor();
    } else {
      results[i] = results[i].reshape(plain[i].sizes());
    }
  }
  return results;
}

}  // namespace gradfuzz::oracle
