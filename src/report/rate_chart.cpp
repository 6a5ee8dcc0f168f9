// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/report/rate_chart.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "gradfuzz/report/text.h"

namespace gradfuzz::report {
namespace {

// The coordinate system: drawn at this size on a phone, up to twice as large on a desktop.
constexpr double kWidth = 360, kHeight = 150;
constexpr double kLeft = 40, kRight = 8, kTop = 14, kBottom = 22;

std::string Coordinate(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.1f", value);
  return buffer;
}

// The next of 1, 2, 2.5, 5 times a power of ten at or above `value`.
double NiceCeiling(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (double step : {1.0, 2.0, 2.5, 5.0, 10.0}) {
    if (value <= step * power * (1 + 1e-9)) return step * power;
  }
  return value;
}

std::string Line(double x1, double y1, double x2, double y2, const char* kind) {
  return "<line x1=\"" + Coordinate(x1) + "\" y1=\"" + Coordinate(y1) + "\" x2=\"" +
         Coordinate(x2) + "\" y2=\"" + Coordinate(y2) + "\" class=\"" + kind + "\"/>";
}

std::string Label(double x, double y, const char* anchor, const std::string& text) {
  return "<text x=\"" + Coordinate(x) + "\" y=\"" + Coordinate(y) + "\" text-anchor=\"" + anchor +
         "\">" + text + "</text>";
}

}  // namespace

std::string RenderRateChart(const std::vector<RateSample>& samples) {
  struct Point {
    double seconds, rate;
  };
  std::vector<Point> points;
  double highest = 0;
  for (size_t i = 1; i < samples.size(); ++i) {
    const double dt = samples[i].seconds - samples[i - 1].seconds;
    if (!(dt > 0)) continue;
    const auto dn = static_cast<double>(samples[i].programs - samples[i - 1].programs);
    points.push_back({samples[i].seconds, std::max(0.0, 60 * dn / dt)});
    highest = std::max(highest, points.back().rate);
  }
  if (points.empty() || !(samples.back().seconds > 0)) return "";
  const double top = highest > 0 ? NiceCeiling(highest) : 1;
  const double end = samples.back().seconds;
  const auto x = [&](double s) { return kLeft + (kWidth - kLeft - kRight) * s / end; };
  const auto y = [&](double r) { return kHeight - kBottom - (kHeight - kTop - kBottom) * r / top; };

  std::string out =
      "<svg class=\"rate\" role=\"img\" aria-label=\"programs a minute over time\" "
      "viewBox=\"0 0 360 150\">";
  for (double part : {0.0, 0.5, 1.0}) {
    out += Line(kLeft, y(part * top), kWidth - kRight, y(part * top), "grid");
    out += Label(kLeft - 4, y(part * top) + 3, "end", Rough(part * top));
  }
  out += Label(kLeft, kHeight - 8, "start", "0");
  out += Label(x(end / 2), kHeight - 8, "middle", Duration(end / 2));
  out += Label(kWidth - kRight, kHeight - 8, "end", Duration(end));
  std::string path;
  for (const Point& p : points) {
    path += (path.empty() ? "M" : "L") + Coordinate(x(p.seconds)) + " " + Coordinate(y(p.rate));
  }
  out += "<path class=\"line\" d=\"" + path + "\"/>";
  for (size_t i = 0; i < samples.size(); ++i) {
    const int64_t before = i == 0 ? 0 : samples[i - 1].findings;
    if (samples[i].findings <= before) continue;
    const std::string at = Coordinate(x(samples[i].seconds));
    out += "<g><title>" + Count(samples[i].findings - before, "finding") + " at " +
           Duration(samples[i].seconds) + "</title><path class=\"mark\" d=\"M" + at + " " +
           Coordinate(kTop) + "l-4 -8h8z\"/>" +
           Line(x(samples[i].seconds), kTop, x(samples[i].seconds), y(0), "event") + "</g>";
  }
  return out + "</svg>";
}

}  // namespace gradfuzz::report
