// SPDX-License-Identifier: BSD-3-Clause
// Hashes that are the same on every machine and in every version (std::hash is neither).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gradfuzz {

// FNV-1a, 64 bit (http://www.isthe.com/chongo/tech/comp/fnv/).
constexpr uint64_t Fnv1a(std::string_view bytes, uint64_t state = 0xcbf29ce484222325ULL) {
  for (char c : bytes) {
    state ^= static_cast<unsigned char>(c);
    state *= 0x100000001b3ULL;
  }
  return state;
}

// The finaliser of splitmix64: a bijection that spreads every input bit over the output.
constexpr uint64_t Mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// 16 lower-case hexadecimal digits.
std::string Hex64(uint64_t value);

}  // namespace gradfuzz
