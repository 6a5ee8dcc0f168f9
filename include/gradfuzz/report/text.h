// SPDX-License-Identifier: BSD-3-Clause
// Numbers, sizes and words as every report writes them: one spelling for terminal, Markdown, HTML.
//
// Everything that came from outside (error texts, titles, environment) goes through Printable() or
// one of the escapes (escape.h) before it is shown.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gradfuzz::report {

// Nine significant digits, which tell any two float32 apart: "1", "0.333333343", "1e-07", "NaN",
// "-Inf", "-0".
std::string Number(double value);
// The same for a complex number, "1.5-2j"; a real one where the imaginary part is +0.
std::string Number(std::complex<double> value);
// Two or three significant digits, for errors and tolerances: "1.2e-07", "0.25".
std::string Rough(double value);
// "1,234,567"
std::string Thousands(int64_t value);
// "1 gradient", "2,000 gradients"; `plural` is the singular with an s unless given.
std::string Count(int64_t n, std::string_view singular, std::string_view plural = "");
// "(2, 3)", "(3,)", "()", as Python writes a shape.
std::string Sizes(const std::vector<int64_t>& sizes);
// The position of element `flat` (row-major): "[0, 2]"; "[]" for a tensor without dimensions.
std::string Position(int64_t flat, const std::vector<int64_t>& sizes);
// "0.8 s", "12 s", "3 min 20 s", "2 h 05 min".
std::string Duration(double seconds);
// "a, b and c"
std::string Enumerate(const std::vector<std::string>& items);

// Valid UTF-8 without control characters other than newline: escapes become visible ("\x1b"), a
// tab becomes spaces, bytes that are no UTF-8 become U+FFFD. A terminal cannot be steered by it.
std::string Printable(std::string_view text);
// Printable, on one line: newlines become spaces.
std::string OneLine(std::string_view text);
// At most `limit` characters, the cut marked by "...".
std::string Shorten(std::string_view text, size_t limit);
// The lines of a text, at most `limit` of them: when there are more, the first half (what is wrong)
// and the last (where) around one line that says how many were left out.
std::vector<std::string> Lines(std::string_view text, size_t limit);
// Words put on lines of at most `width` characters.
std::vector<std::string> Wrap(std::string_view text, size_t width);

// The number of characters (code points).
size_t Width(std::string_view text);
std::string PadRight(std::string_view text, size_t width);
std::string PadLeft(std::string_view text, size_t width);

}  // namespace gradfuzz::report
