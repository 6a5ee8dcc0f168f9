// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/support/hash.h"

namespace gradfuzz {

std::string Hex64(uint64_t value) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (int i = 15; i >= 0; --i, value >>= 4) text[static_cast<size_t>(i)] = kDigits[value & 15];
  return text;
}

}  // namespace gradfuzz
