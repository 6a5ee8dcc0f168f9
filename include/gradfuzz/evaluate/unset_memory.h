// SPDX-License-Identifier: BSD-3-Clause
// What memory holds that torch's CPU allocator hands out and nobody has written yet. Some kernels
// read it; what they say then is chance, and must be neither in a program nor decide which program
// a seed means.
#pragma once

#include <cstdint>
#include <optional>

namespace gradfuzz::evaluate {

// While one lives, this thread's new CPU tensors, and some memory behind each, are filled with a
// byte; guards nest. Never touches memory of other devices, nor what libraries allocate for
// themselves.
class UnsetMemory {
 public:
  static constexpr uint8_t kNan = 0xff;     // NaN as a float, -1 as an integer
  static constexpr uint8_t kFinite = 0x2a;  // a small positive float, a large positive integer

  explicit UnsetMemory(uint8_t fill);
  ~UnsetMemory();
  UnsetMemory(const UnsetMemory&) = delete;
  UnsetMemory& operator=(const UnsetMemory&) = delete;

 private:
  std::optional<uint8_t> outer_;
};

}  // namespace gradfuzz::evaluate
