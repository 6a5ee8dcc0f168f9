// SPDX-License-Identifier: BSD-3-Clause
// The element types that programs use, and what is known of each without torch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gradfuzz::program {

enum class DType : uint8_t {
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex64,
  kComplex128,
  kUInt8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kBool,
};

inline constexpr int kDTypeCount = 12;

struct DTypeInfo {
  DType dtype;
  std::string_view name;  // as below `torch.`: "float32"
  int bytes;
  bool is_floating;  // real floating point
  bool is_complex;
  int significand_bits;  // of the real part, the implicit bit included; 0 for integers and bool
  DType reference;       // the type that the fp64 reference computes in
};

const DTypeInfo& Info(DType dtype);
std::optional<DType> DTypeFromName(std::string_view name);  // "float32", without "torch."

inline bool IsDifferentiable(DType dtype) {
  return Info(dtype).is_floating || Info(dtype).is_complex;
}
// The distance from 1 to the next number: 2^(1 - significand_bits); 0 for integers and bool.
double Epsilon(DType dtype);

}  // namespace gradfuzz::program
