// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/report/escape.h"

#include <algorithm>
#include <cctype>

#include "gradfuzz/report/text.h"

namespace gradfuzz::report {
namespace {

std::string EscapeMarkup(std::string_view text) {
  std::string out;
  for (char c : Printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

size_t LongestRun(std::string_view text, char of) {
  size_t longest = 0;
  size_t run = 0;
  for (char c : text) {
    run = c == of ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

}  // namespace

std::string EscapeHtml(std::string_view text) { return EscapeMarkup(text); }

std::string EscapeXml(std::string_view text) {
  std::string out = EscapeMarkup(text);
  // Printable has dealt with control characters; U+FFFE and U+FFFF are left, which XML forbids.
  for (std::string_view forbidden : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {
    for (size_t at; (at = out.find(forbidden)) != std::string::npos;) {
      out.replace(at, forbidden.size(), "\xEF\xBF\xBD");
    }
  }
  return out;
}

std::string EscapeJsonForHtml(std::string_view json) {
  std::string out;
  for (char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

std::string EscapeMarkdown(std::string_view text) {
  // Brackets and angle brackets would open links and HTML; the rest is emphasis and code.
  static constexpr std::string_view kSpecial = "\\`*_[]|#~";
  const std::string clean = OneLine(text);
  const auto is_word = [&](size_t i) {
    return i < clean.size() && (std::isalnum(static_cast<unsigned char>(clean[i])) != 0);
  };
  std::string out;
  for (size_t i = 0; i < clean.size(); ++i) {
    const char c = clean[i];
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>' && i == 0) {
      out += "&gt;";  // a quotation; elsewhere it is but a character, since no < is left to close
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '@') {
      out += "&#64;";  // no mention of a person by accident
    } else if (c == '_' && i > 0 && is_word(i - 1) && is_word(i + 1)) {
      out += c;  // inside a word it is no markup
    } else {
      if (kSpecial.find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

std::string MarkdownCode(std::string_view text) {
  std::string clean;
  for (char c : OneLine(text)) {
    // In a table a bar ends the cell even inside code; GitHub takes the escape away again.
    if (c == '|') clean += '\\';
    clean += c;
  }
  if (clean.empty()) return "";
  const std::string fence(LongestRun(clean, '`') + 1, '`');
  const bool pad = clean.front() == '`' || clean.back() == '`';
  return fence + (pad ? " " : "") + clean + (pad ? " " : "") + fence;
}

std::string MarkdownBlock(std::string_view text, std::string_view language) {
  std::string clean = Printable(text);
  while (!clean.empty() && clean.back() == '\n') clean.pop_back();
  const std::string fence(std::max<size_t>(LongestRun(clean, '`') + 1, 3), '`');
  return fence + std::string(language) + "\n" + clean + "\n" + fence + "\n";
}

std::string SafeLink(std::string_view text) {
  if (!text.starts_with("https://") && !text.starts_with("http://")) return "";
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return c > 0x20 && c < 0x7F &&
           std::string_view("\"'<>()[]|\\`").find(c) == std::string_view::npos;
  });
  return plain ? std::string(text) : "";
}

}  // namespace gradfuzz::report
