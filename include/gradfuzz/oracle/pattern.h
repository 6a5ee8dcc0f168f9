// SPDX-License-Identifier: BSD-3-Clause
// What a wrong result looks like, in two or three words: for people, and as part of a finding's
// identity. A pure function of values.
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gradfuzz::oracle {

// `expected` and `got` flattened in row-major order of `sizes`; `wrong` says which elements are.
// RETURNS, the first that applies:
//   "nothing", "NaN", "infinity"       every wrong element is that
//   "all zero", "all one value"        the whole tensor, and it should not be
//   "sign flipped", "constant factor 2"  every element, beyond doubt; "constant factor 1+2j"
//   "conjugated"                       every element of complex numbers
//   "one element"
//   "tail", "head"                     the last or first elements in memory order, no others
//   "one row", "one column", "one slice of dimension 1"   all wrong elements lie in it
//   "permuted"                         the same values at other places
//   "everything", "scattered"
// followed by ", zero" where every wrong element of a part is 0.
// REQUIRES: three spans of one length, the product of `sizes`.
std::string DescribePattern(std::span<const int64_t> sizes,
                            std::span<const std::complex<double>> expected,
                            std::span<const std::complex<double>> got,
                            std::span<const uint8_t> wrong);

}  // namespace gradfuzz::oracle
