// SPDX-License-Identifier: BSD-3-Clause
// A tensor as a picture: inline SVG, one cell an element.
//
// Blue is negative, orange positive (told apart by every common kind of colour blindness), both on
// the scale of the reference; NaN is hatched, infinity black; numbers stand in the cells where they
// fit; of complex numbers the modulus is shown; a wrong element has a thick border. Nothing is said
// by colour alone: each cell has its position and values as a tooltip.
#pragma once

#include <cstddef>
#include <string>

#include "gradfuzz/message/outcome.h"

namespace gradfuzz::report {

inline constexpr size_t kMaxCells = 400;  // elements shown, from the front

struct HeatMaps {
  std::string expected, got;  // two <svg> elements, the same scale
  double scale = 0;           // full colour at this magnitude
  bool moduli = false;        // the numbers are complex
  size_t shown = 0;           // elements shown of c.numel
};

// Empty strings when the comparison carries no values.
HeatMaps RenderHeatMaps(const Comparison& comparison);

}  // namespace gradfuzz::report
