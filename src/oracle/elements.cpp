// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/oracle/elements.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "gradfuzz/message/outcome.h"
#include "gradfuzz/oracle/tolerance.h"

namespace gradfuzz::oracle {
namespace {

// On the CPU, contiguous, conjugate and negative bits resolved; a no-op for most tensors.
at::Tensor Plain(const at::Tensor& tensor) {
  return tensor.detach().cpu().resolve_conj().resolve_neg().contiguous();
}

// |got - eager| <= atol + rtol * |eager| for every element, NaN equal to NaN.
bool AllWithin(const at::Tensor& eager, const at::Tensor& got, double rtol, double atol) {
  const Elements a = Flatten(eager);
  const Elements b = Flatten(got);
  for (size_t i = 0; i < a.size(); ++i) {
    const ValueClass kind = a.Class(i);
    if (kind != b.Class(i)) return false;
    if (kind != ValueClass::kFinite) continue;
    if (!(Distance(a, b, i) <= atol + rtol * a.Modulus(i))) return false;
  }
  return true;
}

}  // namespace

ValueClass Elements::Class(size_t i) const {
  if (complex()) {
    return std::isfinite(re[i]) && std::isfinite(im[i]) ? ValueClass::kFinite
                                                        : ValueClass::kNotFinite;
  }
  if (std::isfinite(re[i])) return ValueClass::kFinite;
  if (std::isnan(re[i])) return ValueClass::kNaN;
  return re[i] > 0 ? ValueClass::kPlusInf : ValueClass::kMinusInf;
}

double Elements::Modulus(size_t i) const {
  return complex() ? std::hypot(re[i], im[i]) : std::fabs(re[i]);
}

std::vector<std::complex<double>> Elements::Values(size_t limit) const {
  std::vector<std::complex<double>> values;
  for (size_t i = 0; i < std::min(size(), limit); ++i) values.push_back(Value(i));
  return values;
}

Elements Flatten(const at::Tensor& tensor) {
  Elements elements;
  elements.sizes = tensor.sizes().vec();
  elements.discrete = at::isIntegralType(tensor.scalar_type(), /*includeBool=*/true);
  const at::Tensor plain = Plain(tensor);
  const auto copy = [&](const at::Tensor& part) {
    const at::Tensor wide = part.to(at::kDouble).contiguous();
    const double* data = wide.const_data_ptr<double>();
    return std::vector<double>(data, data + wide.numel());
  };
  if (plain.is_complex()) {
    elements.re = copy(at::real(plain));
    elements.im = copy(at::imag(plain));
  } else {
    elements.re = copy(plain);
  }
  return elements;
}

double Distance(const Elements& a, const Elements& b, size_t i) {
  if (a.Class(i) != ValueClass::kFinite || b.Class(i) != ValueClass::kFinite) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return a.complex() ? std::hypot(a.re[i] - b.re[i], a.im[i] - b.im[i])
                     : std::fabs(a.re[i] - b.re[i]);
}

double Scale(const Elements& values) {
  double scale = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values.Class(i) == ValueClass::kFinite) scale = std::max(scale, values.Modulus(i));
  }
  return scale;
}

std::vector<int64_t> SampledPositions(const std::vector<uint8_t>& wrong) {
  std::vector<int64_t> positions;
  for (size_t i = 0; i < std::min<size_t>(wrong.size(), kMaxSample); ++i) {
    if (wrong[i] != 0) positions.push_back(static_cast<int64_t>(i));
  }
  return positions;
}

bool SameValues(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = Plain(a);
  const at::Tensor y = Plain(b);
  if (std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0) return true;
  if (at::isIntegralType(x.scalar_type(), /*includeBool=*/true)) return false;
  return AllWithin(x, y, 0, 0);
}

bool WithinBand(const at::Tensor& eager, const at::Tensor& got, double band) {
  const at::Tensor x = Plain(eager);
  const at::Tensor y = Plain(got);
  if (std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0) return true;
  if (at::isIntegralType(x.scalar_type(), /*includeBool=*/true)) return false;
  return AllWithin(x, y, band, 0);
}

bool AssertClose(const at::Tensor& eager, const at::Tensor& got) {
  const CloseTolerance tolerance = AssertCloseDefaults(eager.scalar_type());
  return AllWithin(eager, got, tolerance.rtol, tolerance.atol);
}

}  // namespace gradfuzz::oracle
