// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/triage/script.h"

#include <gtest/gtest.h>

namespace gradfuzz::triage {
namespace {

TEST(ScriptFrom, PythonIsTakenAsItIs) {
  auto source = ScriptFrom("import torch\nprint(1)\n", "a.py");
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(source->text, "import torch\nprint(1)\n");
}

TEST(ScriptFrom, FirstPythonBlockOfMarkdown) {
  const std::string text =
      "### Bug\n\n```\nTraceback\n```\n\n```Python title=x\nimport torch\n\nx = 1\n```\n"
      "```python\nother\n```\n";
  auto source = ScriptFrom(text, "issue.md");
  ASSERT_TRUE(source.ok());
  // Its line numbers are those of the issue.
  EXPECT_EQ(source->text, std::string(7, '\n') + "import torch\n\nx = 1\n");
}

TEST(ScriptFrom, StandardInputMayBeEither) {
  EXPECT_EQ(ScriptFrom("x = 1\n", "standard input")->text, "x = 1\n");
  EXPECT_EQ(ScriptFrom("text\n~~~py\nx = 1\n~~~\n", "standard input")->text, "\n\nx = 1\n");
}

TEST(ScriptFrom, BlockWithoutLanguageWhenThereIsNoOther) {
  EXPECT_EQ(ScriptFrom("a\n```\nx = 1\n```\n```cpp\nint x;\n```\n", "a.md")->text, "\n\nx = 1\n");
}

TEST(ScriptFrom, ScriptWithoutLanguageAfterWhatItPrinted) {
  EXPECT_EQ(ScriptFrom("```\nTraceback\n```\n```\nimport torch\n```\n", "a.md")->text,
            "\n\n\n\nimport torch\n");
}

TEST(ScriptFrom, SessionWithPromptsIsWhatWasTyped) {
  EXPECT_EQ(ScriptFrom("```pycon\n>>> def f(x):\n...     return x\n...\n>>> f(1)\n1\n```\n", "a.md")
                ->text,
            "\ndef f(x):\n    return x\n\nf(1)\n\n");
}

TEST(ScriptFrom, LongerFencesHoldShorterOnes) {
  EXPECT_EQ(ScriptFrom("````python\ns = '''\n```\n'''\n````\n", "a.md")->text,
            "\ns = '''\n```\n'''\n");
}

TEST(ScriptFrom, BlockThatIsNeverClosedGoesToTheEnd) {
  EXPECT_EQ(ScriptFrom("```python\nx = 1\n", "a.md")->text, "\nx = 1\n");
}

TEST(ScriptFrom, FencesInsideAScriptMeanNothing) {
  const std::string text = "'''\n```\nnot this\n```\n'''\nx = 1\n";
  EXPECT_EQ(ScriptFrom(text, "a.py")->text, text);
}

TEST(ScriptFrom, WindowsLineEnds) {
  EXPECT_EQ(ScriptFrom("text\r\n```python\r\nx = 1\r\n```\r\n", "a.md")->text, "\n\nx = 1\n");
}

TEST(ScriptFrom, NothingToRunIsAUsageError) {
  for (const auto& [text, name] : {std::pair{" \n", "a.py"}, std::pair{"only words\n", "a.md"},
                                   std::pair{"```python\n\n```\n", "a.md"}}) {
    auto source = ScriptFrom(text, name);
    ASSERT_FALSE(source.ok());
    EXPECT_EQ(source.error().kind, ErrorKind::kUsage);
    EXPECT_NE(source.error().message.find(name), std::string::npos);
  }
}

TEST(ReadScript, MissingFileIsAUsageError) {
  auto source = ReadScript("/does/not/exist.py");
  ASSERT_FALSE(source.ok());
  EXPECT_EQ(source.error().kind, ErrorKind::kUsage);
}

}  // namespace
}  // namespace gradfuzz::triage
