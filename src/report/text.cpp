// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/report/text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "gradfuzz/support/complex.h"

namespace gradfuzz::report {
namespace {

std::string Formatted(double value, const char* format) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Inf" : "-Inf";
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, format, value);
  return buffer;
}

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The length of the valid UTF-8 sequence at `at`, or 0. Overlong forms, surrogates and values
// beyond U+10FFFF are invalid (RFC 3629).
size_t SequenceLength(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char first = byte(0);
  size_t length = 0;
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) length = 2;
  if (first >= 0xE0 && first <= 0xEF) length = 3;
  if (first >= 0xF0 && first <= 0xF4) length = 4;
  if (length == 0 || at + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if (!IsContinuation(text[at + i])) return 0;
  }
  if (first == 0xE0 && byte(1) < 0xA0) return 0;
  if (first == 0xED && byte(1) > 0x9F) return 0;
  if (first == 0xF0 && byte(1) < 0x90) return 0;
  if (first == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

}  // namespace

std::string Number(double value) { return Formatted(value, "%.9g"); }

std::string Number(std::complex<double> value) {
  if (IsReal(value)) return Number(value.real());
  const std::string imaginary = Number(value.imag());
  return Number(value.real()) + (imaginary.front() == '-' ? "" : "+") + imaginary + "j";
}

std::string Rough(double value) { return Formatted(value, "%.3g"); }

std::string Thousands(int64_t value) {
  std::string digits = std::to_string(value);
  const size_t sign = value < 0 ? 1 : 0;
  for (size_t at = digits.size(); at > sign + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string Count(int64_t n, std::string_view singular, std::string_view plural) {
  std::string word(singular);
  if (n != 1) word = plural.empty() ? word + "s" : std::string(plural);
  return Thousands(n) + " " + word;
}

std::string Sizes(const std::vector<int64_t>& sizes) {
  std::string out = "(";
  for (size_t i = 0; i < sizes.size(); ++i) out += (i ? ", " : "") + std::to_string(sizes[i]);
  return out + (sizes.size() == 1 ? ",)" : ")");
}

std::string Position(int64_t flat, const std::vector<int64_t>& sizes) {
  std::vector<int64_t> at(sizes.size(), 0);
  for (size_t d = sizes.size(); d-- > 0;) {
    const int64_t size = std::max<int64_t>(sizes[d], 1);
    at[d] = flat % size;
    flat /= size;
  }
  std::string out = "[";
  for (size_t i = 0; i < at.size(); ++i) out += (i ? ", " : "") + std::to_string(at[i]);
  return out + "]";
}

std::string Duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "unknown time";
  if (seconds < 9.95) return Formatted(seconds, "%.1f s");
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  char buffer[64];
  if (whole < 60) {
    std::snprintf(buffer, sizeof buffer, "%d s", static_cast<int>(whole));
  } else if (whole < 3600) {
    std::snprintf(buffer, sizeof buffer, "%d min %02d s", static_cast<int>(whole / 60),
                  static_cast<int>(whole % 60));
  } else {
    std::snprintf(buffer, sizeof buffer, "%lld h %02d min", static_cast<long long>(whole / 3600),
                  static_cast<int>(whole % 3600 / 60));
  }
  return buffer;
}

std::string Enumerate(const std::vector<std::string>& items) {
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += i + 1 == items.size() ? " and " : ", ";
    out += items[i];
  }
  return out;
}

std::string Printable(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t length = SequenceLength(text, i);
    const char c = text[i];
    if (length == 0) {
      out += "\xEF\xBF\xBD";  // U+FFFD
      ++i;
      continue;
    }
    const bool control =
        (length == 1 && (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)) ||
        // C1 controls: U+0080 to U+009F steer terminals too.
        (length == 2 && c == '\xC2' && static_cast<unsigned char>(text[i + 1]) < 0xA0);
    if (c == '\n') {
      out += c;
    } else if (c == '\t') {
      out += "    ";
    } else if (c == '\r' && i + 1 < text.size() && text[i + 1] == '\n') {
      // The newline follows.
    } else if (control) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\x%02x",
                    static_cast<unsigned char>(text[i + length - 1]));
      out += buffer;
    } else {
      out += text.substr(i, length);
    }
    i += length;
  }
  return out;
}

std::string OneLine(std::string_view text) {
  std::string out = Printable(text);
  std::replace(out.begin(), out.end(), '\n', ' ');
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

std::string Shorten(std::string_view text, size_t limit) {
  if (Width(text) <= limit) return std::string(text);
  const size_t keep = limit > 3 ? limit - 3 : 0;
  size_t bytes = 0;
  for (size_t n = 0; bytes < text.size(); ++bytes) {
    if (!IsContinuation(text[bytes]) && n++ == keep) break;
  }
  return std::string(text.substr(0, bytes)) + "...";
}

std::vector<std::string> Lines(std::string_view text, size_t limit) {
  std::vector<std::string> lines;
  const std::string clean = Printable(text);
  for (size_t begin = 0; begin < clean.size();) {
    const size_t end = std::min(clean.find('\n', begin), clean.size());
    lines.push_back(clean.substr(begin, end - begin));
    begin = end + 1;
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  if (limit < 3 || lines.size() <= limit) return lines;
  const size_t head = limit / 2;
  const size_t tail = limit - 1 - head;
  const size_t left_out = lines.size() - head - tail;
  std::vector<std::string> out(lines.begin(), lines.begin() + static_cast<long>(head));
  out.push_back("[... " + Count(static_cast<int64_t>(left_out), "line") + " left out ...]");
  out.insert(out.end(), lines.end() - static_cast<long>(tail), lines.end());
  return out;
}

std::vector<std::string> Wrap(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  std::string line;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (!word.empty()) {
      if (!line.empty() && Width(line) + 1 + Width(word) > width) {
        lines.push_back(line);
        line.clear();
      }
      if (!line.empty()) line += ' ';
      line += word;
    }
    begin = end + 1;
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

size_t Width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !IsContinuation(c); }));
}

std::string PadRight(std::string_view text, size_t width) {
  std::string out(text);
  const size_t have = Width(text);
  if (have < width) out.append(width - have, ' ');
  return out;
}

std::string PadLeft(std::string_view text, size_t width) {
  const size_t have = Width(text);
  return (have < width ? std::string(width - have, ' ') : std::string()) + std::string(text);
}

}  // namespace gradfuzz::report
