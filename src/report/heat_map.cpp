// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/report/heat_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include "gradfuzz/report/describe.h"
#include "gradfuzz/report/escape.h"
#include "gradfuzz/report/text.h"
#include "gradfuzz/support/complex.h"

namespace gradfuzz::report {
namespace {

constexpr int kWidth = 300;   // of a picture, in CSS pixels; two fit beside each other on a desktop
constexpr int kMaxCell = 44;  // a number of five digits fits
constexpr int kMinCell = 6;
constexpr int kBlockGap = 6;  // between the matrices of a tensor with more than two dimensions

using Rgb = std::array<int, 3>;
constexpr Rgb kZero = {247, 247, 247};
constexpr Rgb kNegative = {33, 102, 172};
constexpr Rgb kPositive = {204, 99, 9};

std::string Hex(const Rgb& c) {
  char buffer[8];
  std::snprintf(buffer, sizeof buffer, "#%02x%02x%02x", c[0], c[1], c[2]);
  return buffer;
}

Rgb ColorOf(double value, double scale) {
  const double t = scale > 0 ? std::clamp(value / scale, -1.0, 1.0) : 0;
  const Rgb& end = t < 0 ? kNegative : kPositive;
  Rgb out{};
  for (size_t i = 0; i < 3; ++i) {
    out[i] = static_cast<int>(std::lround(kZero[i] + (end[i] - kZero[i]) * std::fabs(t)));
  }
  return out;
}

// Black or white, whichever is easier to read (ITU-R BT.601 luma).
const char* InkOn(const Rgb& c) {
  return 0.299 * c[0] + 0.587 * c[1] + 0.114 * c[2] > 140 ? "#111" : "#fff";
}

struct Grid {
  int columns = 1, rows = 1;
  int rows_per_block = 1;
  int cell = kMaxCell;

  int X(size_t i) const { return static_cast<int>(i) % columns * cell; }
  int Y(size_t i) const {
    const int row = static_cast<int>(i) / columns;
    return row * cell + row / rows_per_block * kBlockGap;
  }
  int Width() const { return columns * cell; }
  int Height() const { return rows * cell + (rows - 1) / rows_per_block * kBlockGap; }
};

Grid GridOf(const Comparison& c, size_t shown) {
  Grid grid;
  const auto n = static_cast<int64_t>(shown);
  const int64_t columns = c.sizes.empty() ? 1 : c.sizes.back();
  // A long vector is folded into lines.
  grid.columns = static_cast<int>(std::clamp<int64_t>(columns, 1, kWidth / kMinCell));
  if (c.sizes.size() <= 1) grid.columns = static_cast<int>(std::min<int64_t>(columns, 20));
  grid.columns = std::max(grid.columns, 1);
  grid.rows = static_cast<int>((n + grid.columns - 1) / grid.columns);
  grid.rows_per_block = std::max(grid.rows, 1);
  if (c.sizes.size() > 2 && columns == grid.columns) {
    grid.rows_per_block =
        static_cast<int>(std::clamp<int64_t>(c.sizes[c.sizes.size() - 2], 1, grid.rows_per_block));
  }
  grid.cell = std::clamp(kWidth / grid.columns, kMinCell, kMaxCell);
  return grid;
}

// What stands in the cell; empty when there is no room.
std::string CellText(double value, int cell) {
  if (std::isnan(value)) return cell >= 24 ? "NaN" : "";
  if (std::isinf(value)) return cell >= 16 ? (value > 0 ? "+∞" : "−∞") : "";
  if (cell < 30) return "";
  std::string text = Rough(value);
  return text.size() <= 7 ? text : "";
}

bool IsComplex(Complex z) { return z.imag() != 0; }

// Of the finite ones.
double LargestModulus(const std::vector<Complex>& values) {
  double largest = 0;
  for (const Complex v : values) {
    if (std::isfinite(std::abs(v))) largest = std::max(largest, std::abs(v));
  }
  return largest;
}

std::string Picture(const Comparison& c, const std::vector<Complex>& values, bool mark_wrong,
                    const char* label, const Grid& grid, const HeatMaps& maps) {
  // Room for the borders of wrong cells at the edge.
  std::string out = "<svg class=\"heat\" role=\"img\" aria-label=\"" + EscapeHtml(label) +
                    "\" width=\"" + std::to_string(grid.Width() + 4) + "\" height=\"" +
                    std::to_string(grid.Height() + 4) + "\" viewBox=\"-2 -2 " +
                    std::to_string(grid.Width() + 4) + " " + std::to_string(grid.Height() + 4) +
                    "\">";
  std::string borders;
  for (size_t i = 0; i < maps.shown; ++i) {
    const double value = maps.moduli ? std::abs(values[i]) : values[i].real();
    const Rgb color = ColorOf(value, maps.scale);
    std::string fill = Hex(color);
    const char* ink = InkOn(color);
    if (std::isnan(value)) {
      fill = "url(#nan)";
      ink = "#111";
    } else if (std::isinf(value)) {
      fill = "#000";
      ink = "#fff";
    }
    const std::string x = std::to_string(grid.X(i));
    const std::string y = std::to_string(grid.Y(i));
    const std::string size = std::to_string(grid.cell);
    std::string title = Position(static_cast<int64_t>(i), c.sizes) + ": " + Number(values[i]);
    if (mark_wrong) title += ", expected " + Number(c.reference[i]);
    out += "<g><title>" + EscapeHtml(title) + "</title><rect x=\"" + x + "\" y=\"" + y +
           "\" width=\"" + size + "\" height=\"" + size + "\" fill=\"" + fill + "\"/>";
    const std::string text = CellText(value, grid.cell);
    if (!text.empty()) {
      out += "<text x=\"" + std::to_string(grid.X(i) + grid.cell / 2) + "\" y=\"" +
             std::to_string(grid.Y(i) + grid.cell / 2) + "\" fill=\"" + ink +
             (text.size() > 5 ? "\" class=\"small" : "") + "\">" + text + "</text>";
    }
    out += "</g>";
    if (mark_wrong && IsWrongElement(c, i)) {
      borders += "<rect x=\"" + x + "\" y=\"" + y + "\" width=\"" + size + "\" height=\"" + size +
                 "\" class=\"wrong\"/>";
    }
  }
  return out + borders + "</svg>";
}

}  // namespace

HeatMaps RenderHeatMaps(const Comparison& c) {
  HeatMaps maps;
  if (c.got.empty() || c.got.size() != c.reference.size()) return maps;
  maps.shown = std::min(c.got.size(), kMaxCells);
  maps.scale = LargestModulus(c.reference);
  // A reference of zeros says nothing about scale.
  if (maps.scale == 0) maps.scale = LargestModulus(c.got);
  maps.moduli =
      std::ranges::any_of(c.reference, IsComplex) || std::ranges::any_of(c.got, IsComplex);
  const Grid grid = GridOf(c, maps.shown);
  maps.expected = Picture(c, c.reference, false, "expected values, float64 reference", grid, maps);
  maps.got = Picture(c, c.got, true, "values got, wrong ones with a thick border", grid, maps);
  return maps;
}

}  // namespace gradfuzz::report
