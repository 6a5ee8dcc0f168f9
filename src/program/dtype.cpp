// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/program/dtype.h"

#include <cmath>

namespace gradfuzz::program {
namespace {

constexpr DTypeInfo kInfo[kDTypeCount] = {
    {DType::kFloat16, "float16", 2, true, false, 11, DType::kFloat64},
    {DType::kBFloat16, "bfloat16", 2, true, false, 8, DType::kFloat64},
    {DType::kFloat32, "float32", 4, true, false, 24, DType::kFloat64},
    {DType::kFloat64, "float64", 8, true, false, 53, DType::kFloat64},
    {DType::kComplex64, "complex64", 8, false, true, 24, DType::kComplex128},
    {DType::kComplex128, "complex128", 16, false, true, 53, DType::kComplex128},
    {DType::kUInt8, "uint8", 1, false, false, 0, DType::kUInt8},
    {DType::kInt8, "int8", 1, false, false, 0, DType::kInt8},
    {DType::kInt16, "int16", 2, false, false, 0, DType::kInt16},
    {DType::kInt32, "int32", 4, false, false, 0, DType::kInt32},
    {DType::kInt64, "int64", 8, false, false, 0, DType::kInt64},
    {DType::kBool, "bool", 1, false, false, 0, DType::kBool},
};

}  // namespace

const DTypeInfo& Info(DType dtype) { return kInfo[static_cast<int>(dtype)]; }

std::optional<DType> DTypeFromName(std::string_view name) {
  for (const DTypeInfo& info : kInfo) {
    if (info.name == name) return info.dtype;
  }
  return std::nullopt;
}

double Epsilon(DType dtype) {
  const int bits = Info(dtype).significand_bits;
  return bits == 0 ? 0.0 : std::ldexp(1.0, 1 - bits);
}

}  // namespace gradfuzz::program
