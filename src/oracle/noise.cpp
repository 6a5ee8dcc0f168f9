// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/oracle/noise.h"

#include <ATen/ATen.h>

#include <cmath>

#include "gradfuzz/support/check.h"

namespace gradfuzz::oracle {
namespace {

// Calls `visit(i)` with the memory offset of each element; those of an expanded dimension once.
template <typename Visit>
void ForEachOffset(const at::Tensor& tensor, const Visit& visit) {
  if (tensor.is_non_overlapping_and_dense()) {
    for (int64_t i = 0; i < tensor.numel(); ++i) visit(i);
    return;
  }
  std::vector<int64_t> sizes, strides;
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.size(d) == 0) return;
    if (tensor.stride(d) == 0) continue;
    sizes.push_back(tensor.size(d));
    strides.push_back(tensor.stride(d));
  }
  std::vector<int64_t> index(sizes.size(), 0);
  int64_t offset = 0;
  while (true) {
    visit(offset);
    size_t d = sizes.size();
    while (d > 0) {
      --d;
      offset += strides[d];
      if (++index[d] < sizes[d]) break;
      offset -= strides[d] * sizes[d];
      index[d] = 0;
      if (d == 0) return;
    }
    if (sizes.empty()) return;
  }
}

}  // namespace

bool Noise::Takes(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == at::kStrided && tensor.device().is_cpu() &&
         (tensor.scalar_type() == at::kDouble || tensor.scalar_type() == at::kComplexDouble);
}

double Noise::Nudged(double value, double amplitude) {
  if (value == 0 || !std::isfinite(value)) return value;
  return value * (1 + amplitude * precision_.eps * Unit()) + precision_.subnormal * Unit();
}

void Noise::NudgeInPlace(const at::Tensor& tensor, double amplitude) {
  GF_CHECK(Takes(tensor), "noise is for the reference precision");
  if (tensor.scalar_type() == at::kDouble) {
    auto* data = static_cast<double*>(tensor.data_ptr());
    ForEachOffset(tensor, [&](int64_t i) { data[i] = Nudged(data[i], amplitude); });
    return;
  }
  // Complex arithmetic rounds each part relative to the modulus.
  auto* data = static_cast<c10::complex<double>*>(tensor.data_ptr());
  const double scale = amplitude * precision_.eps;
  ForEachOffset(tensor, [&](int64_t i) {
    const c10::complex<double> z = data[i];
    if (!std::isfinite(z.real()) || !std::isfinite(z.imag())) return;
    data[i] = z * c10::complex<double>(1 + scale * Unit(), scale * Unit());
  });
}

at::Tensor Noise::Nudged(const at::Tensor& tensor, double amplitude) {
  if (!Takes(tensor)) return tensor;
  at::Tensor copy = tensor.resolve_conj().resolve_neg().clone();
  NudgeInPlace(copy, amplitude);
  return copy;
}

void Noise::AddInPlace(const at::Tensor& tensor, const at::Tensor& scale, double amplitude) {
  GF_CHECK(Takes(tensor), "noise is for the reference precision");
  at::Tensor units = at::empty(tensor.sizes(), tensor.options().dtype(at::kDouble));
  auto* data = units.data_ptr<double>();
  for (int64_t i = 0; i < units.numel(); ++i) data[i] = amplitude * precision_.eps * Unit();
  tensor.add_(units * scale);
}

}  // namespace gradfuzz::oracle
