// SPDX-License-Identifier: BSD-3-Clause
// What kind of number a complex one is.
#pragma once

#include <cmath>
#include <complex>

namespace gradfuzz {

using Complex = std::complex<double>;

// Whether a part is NaN; whether both parts are finite.
inline bool IsNan(Complex z) { return std::isnan(z.real()) || std::isnan(z.imag()); }
inline bool IsFinite(Complex z) { return std::isfinite(z.real()) && std::isfinite(z.imag()); }
// Whether a real number says all of it: the imaginary part is +0.
inline bool IsReal(Complex z) { return z.imag() == 0 && !std::signbit(z.imag()); }

}  // namespace gradfuzz
