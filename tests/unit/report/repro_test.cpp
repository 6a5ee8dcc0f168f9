// SPDX-License-Identifier: BSD-3-Clause
// The scripts as text; with GRADFUZZ_TEST_PYTHON (paths of interpreters with torch, separated by
// colons) also what they answer.
#include "gradfuzz/report/repro.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <sstream>

#include "gradfuzz/program/json.h"
#include "gradfuzz/report/describe.h"
#include "gradfuzz/support/file.h"
#include "gradfuzz/support/paths.h"
#include "unit/report/golden.h"
#include "unit/report/sample.h"

namespace gradfuzz::report {
namespace {

using program::Arg;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> Pythons() {
  std::vector<std::string> found;
  std::istringstream list(EnvOr("GRADFUZZ_TEST_PYTHON", ""));
  for (std::string path; std::getline(list, path, ':');) {
    if (!path.empty()) found.push_back(path);
  }
  return found;
}

struct Answer {
  int code = -1;
  std::string output;
};

Answer RunPython(const std::string& python, const std::string& arguments) {
  Answer answer;
  FILE* pipe = popen((python + " " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return answer;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) answer.output.append(buffer, n);
  const int status = pclose(pipe);
  answer.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return answer;
}

class Folder {
 public:
  Folder() : path_(*MakeTempFolder(TempFolder(), "gradfuzz-repro-")) {}
  ~Folder() { RemoveTree(path_); }
  std::string File(const std::string& name) const { return JoinPath(path_, name); }
  Answer Run(const std::string& python, const std::string& script) const {
    const std::string file = File("repro.py");
    EXPECT_TRUE(WriteFileAtomic(file, script).ok());
    return RunPython(python, file);
  }

 private:
  std::string path_;
};

// A finding of `verdict` on a program that every torch compiles rightly.
Finding Harmless(Verdict verdict) {
  Finding f = sample::Atan2Amin();
  f.verdict = f.outcome.verdict = verdict;
  f.reduced.statements = {{"mul", {Arg::Value(0), Arg::Value(1)}, {}, 1},
                          {"sum", {Arg::Value(2), Arg(-1)}, {}, 1}};
  f.outcome.rungs.back().verdict = verdict;
  for (Comparison& c : f.outcome.rungs.back().comparisons) {
    if (c.verdict != Verdict::kAgree) c.verdict = verdict;
  }
  f.first_wrong_rung = f.outcome.first_wrong_rung = f.outcome.rungs.back().rung = "dynamo";
  return f;
}

TEST(Repro, TheTwoClassics) {
  ExpectGolden("repro_diagonal_scatter.py", EmitRepro(sample::DiagonalScatter()));
  ExpectGolden("repro_atan2_amin.py", EmitRepro(sample::Atan2Amin()));
}

TEST(Repro, SnippetOnlyWhereItSaysEverything) {
  EXPECT_THAT(EmitSnippet(sample::DiagonalScatter()), HasSubstr("torch.compile(program"));
  EXPECT_THAT(EmitSnippet(sample::CompileError()), HasSubstr("torch.compile(program"));
  Finding random = sample::DiagonalScatter();
  random.reduced.storages[0].values = {};
  EXPECT_EQ(EmitSnippet(random), "");
  Finding accumulate = sample::DiagonalScatter();
  accumulate.reduced.call.backward = program::CallPlan::Backward::kAccumulate;
  EXPECT_EQ(EmitSnippet(accumulate), "");
  Finding cotangent = sample::DiagonalScatter();
  cotangent.reduced.outputs[0].cotangent.values.values = {2};
  EXPECT_EQ(EmitSnippet(cotangent), "");
  Finding sum = sample::DiagonalScatter();
  sum.reduced.outputs[0].cotangent.layout = program::Cotangent::Layout::kExpanded;
  EXPECT_THAT(EmitSnippet(sum), HasSubstr("torch.autograd.grad(out.sum(), [x0, x1], allow_unused"));
  sum.reduced.outputs[0].cotangent.layout = program::Cotangent::Layout::kColumnMajor;
  EXPECT_EQ(EmitSnippet(sum), "");
}

TEST(Repro, RungsAreSpelledAsTorchDoes) {
  Finding f = sample::Atan2Amin();
  const auto call = [&](const char* rung) {
    f.first_wrong_rung = rung;
    return CompileCall(f);
  };
  EXPECT_EQ(call("dynamo"), "torch.compile(program, backend=\"eager\", fullgraph=True)");
  EXPECT_EQ(call("aot_eager"), "torch.compile(program, backend=\"aot_eager\", fullgraph=True)");
  EXPECT_EQ(call("eager"), "program");
  f.reduced.call.dynamic = program::CallPlan::Dynamic::kYes;
  EXPECT_EQ(call("inductor_fallback"),
            "torch.compile(program, backend=\"inductor\", fullgraph=True, dynamic=True)");
  EXPECT_THAT(EmitRepro(f), HasSubstr("torch._inductor.config.fallback_by_default = True"));
  f.outcome.rungs.back().graph_breaks = 1;
  EXPECT_THAT(call("inductor"), Not(HasSubstr("fullgraph")));
}

TEST(Repro, SetsWhatTheProgramIsCompiledUnder) {
  Finding f = sample::Atan2Amin();
  f.reduced.call.config = {{"functorch.activation_memory_budget", 0.0}, {"runtime.num_threads", 4}};
  const std::string script = EmitRepro(f);
  EXPECT_THAT(script, HasSubstr("    import torch._functorch.config\n"
                                "    torch._functorch.config.activation_memory_budget = 0.0\n"
                                "    torch.set_num_threads(4)\n"));
  EXPECT_EQ(EmitSnippet(f), "");
  f.title = "";
  EXPECT_THAT(Title(f), HasSubstr(" under functorch.activation_memory_budget=0.0, runtime.num_"));
  EXPECT_THAT(
      DescribeCall(f.reduced),
      testing::ElementsAre("functorch.activation_memory_budget=0.0", "runtime.num_threads=4"));
}

TEST(Repro, LeavesAreThoseBeforeTheCall) {
  // x0 requires a gradient once x1 was added into it, and is no leaf.
  Finding f = sample::Atan2Amin();
  f.reduced.statements[0].op = "Tensor.add_";
  const std::string script = EmitRepro(f);
  ASSERT_NE(script.find("    leaves = {"), std::string::npos);
  EXPECT_LT(script.find("    leaves = {"), script.find("    outs = fn("));
}

TEST(Repro, KnobsAreSpelledAsPython) {
  EXPECT_EQ(KnobStatement("inductor.cpp.simdlen", 1), "torch._inductor.config.cpp.simdlen = 1");
  EXPECT_EQ(KnobStatement("functorch.cse", false), "torch._functorch.config.cse = False");
  EXPECT_EQ(KnobStatement("dynamo.x", nullptr), "torch._dynamo.config.x = None");
  EXPECT_EQ(KnobStatement("runtime.num_threads", 4), "torch.set_num_threads(4)");
  EXPECT_EQ(KnobStatement("os.system", "x"), "");
  EXPECT_EQ(KnobStatement("inductor.x = 1; import os #", 1), "");
}

TEST(Repro, NoForeignTextBecomesCode) {
  const std::string script = EmitRepro(sample::Hostile());
  std::istringstream lines(script);
  int comments = 0;
  for (std::string line; std::getline(lines, line) && line != "import sys";) {
    ++comments;
    EXPECT_EQ(line.substr(0, 1), "#") << line;
  }
  EXPECT_GT(comments, 2);
  const std::string code = script.substr(script.find("import sys"));
  EXPECT_THAT(code, Not(HasSubstr("onerror")));
}

TEST(Repro, ToleranceNeverHidesTheFindingItself) {
  Finding f = sample::Atan2Amin();
  for (Comparison& c : f.outcome.rungs.back().comparisons) {
    if (c.verdict == Verdict::kAgree) continue;
    c.max_error = 1e-8;  // below assert_close's defaults
    c.tolerance = 0;
  }
  const std::string script = EmitRepro(f);
  EXPECT_THAT(script, HasSubstr("\"grad x0\": 2.5e-09"));
  EXPECT_THAT(script, HasSubstr("RTOL, ATOL = 1e-08, 1e-05"));
}

TEST(ReproRun, ClassicsAnswerAsTheVersionsDo) {
  if (Pythons().empty()) GTEST_SKIP() << "GRADFUZZ_TEST_PYTHON is not set";
  const Folder folder;
  for (const std::string& python : Pythons()) {
    const std::string version =
        RunPython(python, "-c 'import torch; print(torch.__version__)'").output;
    const bool old = version.starts_with("2.11.");
    const Answer diagonal = folder.Run(python, EmitRepro(sample::DiagonalScatter()));
    // Repaired between 2.11 and 2.15.
    EXPECT_EQ(diagonal.code, old ? 1 : 0) << version << diagonal.output;
    EXPECT_THAT(diagonal.output, HasSubstr(old ? "grad x0: WRONG" : "grad x0: right"));
    EXPECT_THAT(diagonal.output, HasSubstr("grad x1: right"));
    const Answer atan2 = folder.Run(python, EmitRepro(sample::Atan2Amin()));
    EXPECT_EQ(atan2.code, 1) << version << atan2.output;
    EXPECT_THAT(atan2.output, HasSubstr("out0: right"));
  }
}

TEST(ReproRun, TheSnippetShowsTheBug) {
  if (Pythons().empty()) GTEST_SKIP() << "GRADFUZZ_TEST_PYTHON is not set";
  const Folder folder;
  for (const std::string& python : Pythons()) {
    const std::string version =
        RunPython(python, "-c 'import torch; print(torch.__version__)'").output;
    // It prints once for eager and once for the compiled program; warnings would come between.
    std::istringstream lines(
        folder
            .Run(python, "import os\nos.dup2(os.open(os.devnull, os.O_WRONLY), 2)\n" +
                             EmitSnippet(sample::DiagonalScatter()))
            .output);
    std::vector<std::string> printed;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("(tensor")) printed.emplace_back();
      if (!printed.empty()) printed.back() += line + "\n";
    }
    ASSERT_EQ(printed.size(), 2U) << version;
    EXPECT_EQ(printed[0] != printed[1], version.starts_with("2.11.")) << printed[0] << printed[1];
  }
}

// One finding for every shape that a script can take, on programs that torch compiles rightly.
std::vector<std::pair<std::string, Finding>> AllForms() {
  std::vector<std::pair<std::string, Finding>> cases;
  for (Verdict verdict :
       {Verdict::kGradientMismatch, Verdict::kMetadataMismatch, Verdict::kSelfCheckFailed,
        Verdict::kNondeterministic, Verdict::kRuntimeError, Verdict::kCrash, Verdict::kTimeout}) {
    cases.emplace_back(Name(verdict), Harmless(verdict));
  }
  using Backward = program::CallPlan::Backward;
  for (Backward mode : {Backward::kNone, Backward::kAccumulate, Backward::kDouble}) {
    Finding f = Harmless(Verdict::kGradientMismatch);
    f.reduced.call.backward = mode;
    cases.emplace_back("backward mode " + std::to_string(static_cast<int>(mode)), f);
  }
  {
    Finding f = Harmless(Verdict::kGradientMismatch);
    f.reduced.call.autocast = f.reduced.call.no_grad_first = true;
    f.reduced.statements[0].op = "matmul";
    f.reduced.leaves[1] = {1, {3, 2}, {1, 3}, 0, true};
    cases.emplace_back("autocast, transposed leaf", f);
  }
  {  // Random values, an odd cotangent, a dtype argument, a mutated input that shares memory.
    Finding f = Harmless(Verdict::kInputMutationMismatch);
    program::Program& p = f.reduced;
    p.storages[0].values = {program::ValueRecipe::Kind::kNormal, 5, -4, 4, 1, 0, {}};
    p.storages.push_back({program::DType::kInt64, 6, {}});
    p.leaves.push_back({1, {2, 2}, {3, 1}, 1, false});
    p.leaves[1].requires_grad = false;
    p.leaves.push_back({2, {2, 3}, {3, 1}, 0, false});
    p.statements = {{"mul", {Arg::Value(0), Arg::Value(3)}, {}, 1},
                    {"Tensor.to", {Arg::Value(4), Arg(program::DType::kBFloat16)}, {}, 1},
                    {"sum", {Arg::Value(5), Arg(-1)}, {}, 1},
                    {"Tensor.mul_", {Arg::Value(2), Arg(2)}, {}, 1},
                    {"sum", {Arg::Value(1)}, {}, 1}};
    program::Output plain = sample::Ones(8, 1);
    program::Output odd = sample::Ones(6, 1);
    odd.cotangent.values = {program::ValueRecipe::Kind::kNormal, 9, -4, 4, 1, 0, {}};
    p.outputs = {odd, plain};
    f.run.draws = 3;
    f.outcome.rungs.back().comparisons[1].draw = 2;
    cases.emplace_back("mutation", f);
  }
  {
    Finding f = Harmless(Verdict::kGradientMismatch);
    f.reduced.call.second_storages = f.reduced.storages;
    f.reduced.call.second_leaves = {sample::Contiguous(0, {3, 2}), sample::Contiguous(1, {3, 2})};
    f.reduced.outputs[0].cotangent.values = {};
    f.run.knobs = {{"inductor.cpp.simdlen", 1}, {"functorch.cse", false}};
    cases.emplace_back("second call, knobs", f);
  }
  for (const auto kind : {program::Region::Kind::kFunction, program::Region::Kind::kJvp,
                          program::Region::Kind::kVjp}) {  // other floats in a second call
    Finding f = Harmless(Verdict::kGradientMismatch);
    program::Program& p = f.reduced;
    p.statements[0] = {"add", {program::Arg::Value(0), program::Arg::Value(1)}, {{"alpha", 0.5}}};
    p.statements[0].kwargs[0].second.second = -0.25;
    p.regions = {{kind, 0, 0}};
    p.call.no_grad_first = true;
    p.call.second_storages = p.storages;
    p.call.second_leaves = p.leaves;
    cases.emplace_back("other floats, transform " + std::to_string(static_cast<int>(kind)), f);
  }
  {
    Finding f = Harmless(Verdict::kGradientMismatch);
    for (program::Storage& s : f.reduced.storages) {
      s.dtype = program::DType::kComplex64;
      s.values = {program::ValueRecipe::Kind::kInts, 1, -4, 4, 1, 0, {}};
    }
    cases.emplace_back("complex", f);
  }
  return cases;
}

// Runs the script of each finding in one process (the import of torch is most of the cost), after
// `prelude`. RETURNS: what the process printed, with a line "EXIT <code> <index>" for each.
std::string RunAll(const std::vector<std::pair<std::string, Finding>>& cases,
                   const std::string& prelude) {
  const Folder folder;
  const std::string driver = "import os, runpy, sys, torch\n" + prelude +
                             "for name in sys.argv[1:]:\n"
                             "    torch._dynamo.reset()\n"
                             "    try:\n"
                             "        runpy.run_path(name, run_name='__main__')\n"
                             "    except SystemExit as e:\n"
                             "        print('EXIT', e.code, os.path.basename(name))\n";
  EXPECT_TRUE(WriteFileAtomic(folder.File("driver.py"), driver).ok());
  std::string arguments = folder.File("driver.py");
  for (size_t i = 0; i < cases.size(); ++i) {
    arguments += " " + folder.File(std::to_string(i));
    EXPECT_TRUE(WriteFileAtomic(folder.File(std::to_string(i)), EmitRepro(cases[i].second)).ok());
  }
  return RunPython(Pythons().back(), arguments).output;
}

TEST(ReproRun, RightProgramsAreRightInEveryForm) {
  if (Pythons().empty()) GTEST_SKIP() << "GRADFUZZ_TEST_PYTHON is not set";
  const auto cases = AllForms();
  const std::string output = RunAll(cases, "");
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_THAT(output, HasSubstr("EXIT 0 " + std::to_string(i) + "\n"))
        << cases[i].first << "\n"
        << EmitRepro(cases[i].second);
  }
}

TEST(ReproRun, WrongCompilersAreSeenInEveryForm) {
  if (Pythons().empty()) GTEST_SKIP() << "GRADFUZZ_TEST_PYTHON is not set";
  auto cases = AllForms();
  std::erase_if(cases, [](const auto& c) {
    // Those that compile in a child of their own, or not at all.
    return c.second.verdict == Verdict::kCrash || c.second.verdict == Verdict::kTimeout ||
           c.second.first_wrong_rung == "eager";
  });
  ASSERT_GT(cases.size(), 8U);
  const std::string output =
      RunAll(cases,
             "torch.compile = lambda fn, **_: lambda *xs: tuple(\n"
             "    o * (2 + torch.rand((), device=o.device)).to(o.dtype) for o in fn(*xs))\n");
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_THAT(output, HasSubstr("EXIT 1 " + std::to_string(i) + "\n")) << cases[i].first;
  }
}

TEST(ReproRun, TheBridgeReadsTheScriptsBack) {
  if (Pythons().empty()) GTEST_SKIP() << "GRADFUZZ_TEST_PYTHON is not set";
  const Folder folder;
  ASSERT_TRUE(WriteFileAtomic(folder.File("parse_all.py"),
                              "import json, os, sys\n"
                              "sys.path.insert(0, '" GRADFUZZ_SOURCE_DIR
                              "/python_bridge/gradfuzz_bridge')\n"
                              "import parse\n"
                              "for name in sys.argv[1:]:\n"
                              "    text = open(name).read()\n"
                              "    print(json.dumps(parse.parse(text, name)))\n")
                  .ok());
  const auto cases = AllForms();
  std::string arguments = folder.File("parse_all.py");
  for (size_t i = 0; i < cases.size(); ++i) {
    arguments += " " + folder.File(std::to_string(i));
    ASSERT_TRUE(WriteFileAtomic(folder.File(std::to_string(i)), EmitRepro(cases[i].second)).ok());
  }
  std::istringstream lines(RunPython(Pythons().back(), arguments).output);
  for (const auto& [name, finding] : cases) {
    std::string line;
    ASSERT_TRUE(std::getline(lines, line)) << name;
    const auto parsed = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(parsed.is_object()) << name << ": " << line;
    const auto program = program::FromJson(parsed["program"]);
    ASSERT_TRUE(program.ok()) << name << ": " << program.error().message;
    EXPECT_EQ(program::ToJson(*program), program::ToJson(finding.reduced)) << name;
    EXPECT_EQ(parsed["header"]["title"], finding.title);
  }
}

TEST(ReproRun, ADyingProcessIsWrong) {
  if (Pythons().empty()) GTEST_SKIP() << "GRADFUZZ_TEST_PYTHON is not set";
  std::string script = EmitRepro(Harmless(Verdict::kCrash));
  const std::string at = "def main():\n";
  script.insert(script.find(at) + at.size(), "    import os\n    os.abort()\n");
  const Answer answer = Folder().Run(Pythons().front(), script);
  EXPECT_EQ(answer.code, 1) << answer.output;
  EXPECT_THAT(answer.output, HasSubstr("the process died"));
}

}  // namespace
}  // namespace gradfuzz::report
