// SPDX-License-Identifier: BSD-3-Clause
// Text from outside made harmless in each format. Every report writes foreign text through one of
// these; what they return is valid UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace gradfuzz::report {

// For element content and double- or single-quoted attributes.
std::string EscapeHtml(std::string_view text);
// For XML 1.0 content and attributes; characters that XML cannot hold at all are spelled "\x1b".
std::string EscapeXml(std::string_view text);
// JSON that may stand inside <script type="application/json">: never contains "<".
std::string EscapeJsonForHtml(std::string_view json);
// On one line, no markup, safe in a table cell.
std::string EscapeMarkdown(std::string_view text);
// A span of code, safe in a table cell, whatever back-ticks the text holds.
std::string MarkdownCode(std::string_view text);
// A fenced block; the fence is longer than any run of back-ticks in the text.
std::string MarkdownBlock(std::string_view text, std::string_view language);
// The address when it is http or https and may stand in a link, else empty.
std::string SafeLink(std::string_view text);

}  // namespace gradfuzz::report
