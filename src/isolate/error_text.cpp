// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/isolate/error_text.h"

#include <array>
#include <regex>
#include <string_view>
#include <vector>

namespace gradfuzz::isolate {
namespace {

constexpr size_t kMaxKey = 240;

// What follows says nothing of the error itself.
constexpr std::string_view kEnds[] = {
    // "Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace (please do this especially if you're
    // reporting a bug to PyTorch). For even more developer context, set TORCH_LOGS="+dynamo""
    "Set TORCHDYNAMO_VERBOSE",
    "Set TORCH_LOGS",
    // "You can suppress this exception and fall back to eager by setting: ..."
    "You can suppress this exception",
    // "Found from : \n   File "...", line 3, in f"
    "Found from :",
    "from user code:",
    // "This error most often occurs due to incorrect fake (aka meta) kernels for a custom op."
    "This error most often",
    // The innermost frames that gradfuzz appends.
    "\n  File \"",
    // "AssertionError: n=copy_, n.args[0]=empty, placeholders={..}, graph=graph():\n  %primals_1
    // ..."
    ", graph=graph()",
    // "LoweringException: AssertionError: \n  target: aten.index_put.default\n  args[0]:
    // TensorBox("
    "\n  args[0]:",
};

struct Rule {
  std::regex pattern;
  const char* replacement;
};

// In order. Above each a real text that it is for.
const std::vector<Rule>& Rules() {
  static const std::vector<Rule> kRules = [] {
    const std::pair<const char*, const char*> rows[] = {
        // "/tmp/torchinductor_root/ab/cabcdef.cpp:12:34: error: ..."
        // "/usr/lib/gcc/x86_64-linux-gnu/12/include/avx512fintrin.h"
        {R"((?:/[\w.+\-]+){2,}(?::\d+)*)", "<path>"},
        // "<gradfuzz program 17>"
        {R"(<gradfuzz program \d+>)", "<program>"},
        // "<function Buffer.make_loader.<locals>.loader at 0x7f8a579ff060>"
        {R"(0x[0-9a-fA-F]+)", "<address>"},
        // "placeholders={tangents_1, primals_2, primals_1}": a set, in any order
        {R"(\{[^{}]*\})", "{..}"},
        // "size=[1], stride=[1]", "[4, 5]", "(s58, 3)"
        {R"(\[[\s\d,\-s]*\])", "[..]"},
        {R"(\((?:\s*-?s?\d+\s*,?)+\))", "(..)"},
        // "expected size 3==3, stride 4==1 at dim=0; expected size 4==4, stride 1==0 at dim=1": one
        // item for each dimension that differs
        {R"((; expected size \d+==\d+, stride \d+==\d+ at dim=\d+)+)", ""},
        // "cpp_fused_add_sum_0", "triton_poi_fused_add_1"
        {R"(\b(cpp|triton)_[a-z_]*fused_\w+)", "<kernel>"},
        // "ComputedBuffer(name='buf2', ...)", "tmp15", "in_ptr0", "out_ptr1", "primals_3",
        // "arg0_1",
        // "tangents_1", "x12", "s58", "ks0", "u0"
        {R"(\b(?:buf|tmp|in_ptr|out_ptr|in_out_ptr|primals_|tangents_|getitem_|op|xindex|rindex|ks|arg|tmp_acc)\d+(?:_\w+)?\b)",
         "<name>"},
        {R"(\b[xyzrsu]\d+\b)", "<name>"},
        // "n=copy__1, n.args[0]=empty_1": the second node of that name
        {R"(\b([a-z][a-z_]*?_?)_\d+\b)", "$1"},
        // "Vectorized<float>", "VectorizedN<double,2>", "'int64_t'": which element type or width
        {R"(VectorizedN?<[^<>]*>|VecMask<[^<>]*>)", "<vector>"},
        {R"(torch\.(?:float|bfloat|int|uint|complex)\d+)", "torch.<dtype>"},
        // "line 42", "index 7", "-1470286036225387/1000000000000000", "1e-05"
        {R"(-?\b\d+(?:\.\d*)?(?:[eE][+-]?\d+)?\b)", "#"},
        {R"(\s+)", " "},
    };
    std::vector<Rule> rules;
    for (const auto& [pattern, replacement] : rows) {
      rules.push_back({std::regex(pattern, std::regex::optimize), replacement});
    }
    return rules;
  }();
  return kRules;
}

std::string Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string line = Trimmed(text.substr(0, end));
    if (!line.empty()) lines.push_back(std::move(line));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

// "BackendCompilerFailed: backend='inductor' raised:" wraps the line after it.
bool IsWrapper(const std::string& line) { return line.ends_with("raised:"); }

// "AssertionError: expected size 2==2, stride 2==1 at dim=0\nError in op:
// torch.ops.aten.X.default": whose strides they are tells one bug from another.
bool NamesTheOperator(const std::string& line) { return line.starts_with("Error in op: "); }

// The line that says it: the compiler's first "error:" under a CppCompileError, else the first one
// that wraps no other.
std::string Essence(std::string_view text) {
  // "CppCompileError: C++ compile error\n\nCommand:\ng++ ...\n\nOutput:\n/tmp/x.cpp: In function
  // ...\n/tmp/x.cpp:17:90: error: no matching function for call to ..."
  if (text.find("C++ compile error") != std::string_view::npos) {
    for (const std::string& line : Lines(text)) {
      const size_t at = line.find(" error: ");
      if (at != std::string::npos) return "CppCompileError: " + line.substr(at + 8);
    }
    return "CppCompileError";
  }
  std::vector<std::string> lines = Lines(text);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (IsWrapper(lines[i])) continue;
    std::string line = lines[i];
    // "AssertionError:" or "LoweringException: AssertionError:" alone: the next line tells more.
    while (line.ends_with(':') && i + 1 < lines.size()) line += " " + lines[++i];
    if (i + 1 < lines.size() && NamesTheOperator(lines[i + 1])) line += " " + lines[i + 1];
    return line;
  }
  return lines.empty() ? "" : lines.back();
}

}  // namespace

std::string ErrorKey(const std::string& error) {
  std::string_view text = error;
  if (text.find("C++ compile error") == std::string_view::npos) {
    for (std::string_view end : kEnds) {
      const size_t at = text.find(end);
      if (at != std::string_view::npos && at > 0) text = text.substr(0, at);
    }
  }
  std::string key = Essence(text.substr(0, 100000));
  // std::regex recurses per character: keep what it sees short.
  if (key.size() > 4 * kMaxKey) key.resize(4 * kMaxKey);
  for (const Rule& rule : Rules()) key = std::regex_replace(key, rule.pattern, rule.replacement);
  key = Trimmed(key);
  if (key.size() > kMaxKey) key.resize(kMaxKey);
  return key;
}

}  // namespace gradfuzz::isolate
