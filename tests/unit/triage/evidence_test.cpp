// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/triage/evidence.h"

#include <gtest/gtest.h>

#include "gradfuzz/program/json.h"
#include "gradfuzz/triage/page.h"
#include "gradfuzz/triage/triage.h"

namespace gradfuzz::triage {
namespace {

using nlohmann::json;

// sin of two values, as capture.py writes it.
json SinProgram() {
  return {{"format", 1},
          {"storages",
           {{{"dtype", "float32"},
             {"numel", 2},
             {"values", {{"kind", "literal"}, {"values", {1.0, 2.0}}}}}}},
          {"leaves",
           {{{"storage", 0},
             {"sizes", {2}},
             {"strides", {1}},
             {"offset", 0},
             {"requires_grad", true}}}},
          {"statements", {{{"op", "sin"}, {"args", {{{"v", 0}}}}}}},
          {"outputs",
           {{{"value", 1},
             {"cotangent", {{"kind", "literal"}, {"values", {1.0}}}},
             {"layout", "expanded"}}}}};
}

json CaptureAnswer() {
  return {{"form", "script"},
          {"functions", 1},
          {"error", nullptr},
          {"log", "hello\n"},
          {"mapped_to_cpu", true},
          {"calls",
           {{{"index", 0},
             {"numbers", {0, 2}},
             {"function", "f"},
             {"knobs", json::array({json::array({"inductor.max_fusion_size", 1})})},
             {"options", {{"mode", "default"}}},
             {"arguments", {"float32 (2,), requires grad"}},
             {"outputs", {"float32 (2,), requires grad"}},
             {"ambient", json::object()},
             {"program", SinProgram()},
             {"opaque", false},
             {"why_opaque", ""},
             {"names", {"x"}},
             {"hazards", json::array()},
             {"redrawn", false},
             {"random", false},
             {"error", ""},
             {"backward", true},
             {"approximate_cotangent", false}}}}};
}

json RungAnswer(const std::string& rung, json differences = json::array()) {
  return {{"rung", rung},
          {"device", "cpu"},
          {"seconds", 0.5},
          {"error", nullptr},
          {"eager_error", nullptr},
          {"check", nullptr},
          {"differences", std::move(differences)},
          {"calls", 1},
          {"graphs", 1},
          {"graph_breaks", 0}};
}

json TensorDifference() {
  return {{"call", 0},
          {"what", "out0"},
          {"kind", "tensor"},
          {"sizes", {2}},
          {"numel", 2},
          {"differ", 1},
          {"wrong", 1},
          {"max_error", 1.0},
          {"scale", 1.0},
          {"nan_eager", 0},
          {"nan_got", 0},
          {"all_zero", false},
          {"assert_close", false},
          {"eager", {0.5, 0.25}},
          {"got", {0.5, 1.25}}};
}

TEST(CaptureFromJson, ReadsWhatTheBridgeWrites) {
  auto capture = CaptureFromJson(CaptureAnswer());
  ASSERT_TRUE(capture.ok()) << capture.error().message;
  ASSERT_EQ(capture->calls.size(), 1U);
  const CapturedCall& call = capture->calls[0];
  ASSERT_TRUE(call.program.has_value());
  EXPECT_EQ(CallInWords(call), "sin");
  EXPECT_EQ(call.numbers, (std::vector<int>{0, 2}));
  EXPECT_EQ(call.knobs[0].first, "inductor.max_fusion_size");
  EXPECT_TRUE(capture->mapped_to_cpu);
}

TEST(CaptureFromJson, ProgramThatIsNoneLeavesTheCallWithoutOne) {
  json answer = CaptureAnswer();
  answer["calls"][0]["program"]["leaves"][0]["strides"] = {100};
  auto capture = CaptureFromJson(answer);
  ASSERT_TRUE(capture.ok());
  EXPECT_FALSE(capture->calls[0].program.has_value());
  EXPECT_NE(capture->calls[0].why_opaque, "");
}

TEST(CaptureFromJson, MalformedAnswerIsAnError) {
  EXPECT_FALSE(CaptureFromJson({{"form", "script"}}).ok());
  EXPECT_FALSE(ScriptRungFromJson({{"rung", "inductor"}}).ok());
}

TEST(ScriptRungFromJson, Differences) {
  json shape = {{"call", nullptr},     {"what", "accumulated gradient 0"},
                {"kind", "metadata"},  {"eager", "float32 (2,)"},
                {"got", "int64 (2,)"}, {"assert_close", false}};
  auto rung = ScriptRungFromJson(RungAnswer("inductor", {TensorDifference(), shape}));
  ASSERT_TRUE(rung.ok()) << rung.error().message;
  ASSERT_EQ(rung->differences.size(), 2U);
  EXPECT_EQ(rung->differences[0].wrong, 1);
  EXPECT_EQ(rung->differences[0].call, 0);
  EXPECT_FALSE(rung->differences[1].call.has_value());
  EXPECT_EQ(rung->differences[1].got, "int64 (2,)");
}

TEST(WithInitialisedMemory, ZerosInPlaceOfEmpty) {
  program::Program p;
  for (const char* op : {"empty", "empty_like", "Tensor.new_empty", "empty_strided", "sin"}) {
    p.statements.push_back({op, {}, {}, 1});
  }
  std::vector<std::string> ops;
  for (const auto& s : WithInitialisedMemory(p).statements) ops.push_back(s.op);
  EXPECT_EQ(ops, (std::vector<std::string>{"zeros", "zeros_like", "Tensor.new_zeros",
                                           "empty_strided", "sin"}));
}

// Answers as a worker does whose Inductor has the first output of any script wrong, but whose
// programs are all right.
class FakeRunner : public ProgramRunner {
 public:
  std::vector<CaseResult> Run(const std::vector<WorkItem>& items, const GenerateOptions&,
                              const RunOptions& run) override {
    std::vector<CaseResult> results;
    for (const WorkItem& item : items) {
      CaseResult result;
      result.program = item.program;
      for (const std::string& name : run.rungs) {
        RungOutcome rung;
        rung.rung = name;
        rung.device = run.device;
        result.outcome.rungs.push_back(rung);
      }
      results.push_back(std::move(result));
    }
    runs.push_back(run);
    return results;
  }
  int Parallelism() const override { return 1; }
  Result<json> Ask(const json& request) override {
    const std::string type = request.at("type").get<std::string>();
    asked.push_back(request);
    if (type == "describe") {
      return json{{"torch", "2.15.0"},
                  {"devices", {"cpu"}},
                  {"rungs", {"eager", "aot_eager", "inductor"}},
                  {"knobs", {{"inductor.cpp.simdlen", true}}}};
    }
    if (type == "capture") {
      if (!capture_error.empty()) return InternalError(capture_error);
      return CaptureAnswer();
    }
    if (type == "script_rung") {
      const std::string rung = request.at("rung").get<std::string>();
      for (const json& knob : request.at("knobs")) {
        EXPECT_TRUE(knob.is_array()) << knob;
        if (knob.at(0) == cure) return RungAnswer(rung);
      }
      if (rung == "inductor" && (inductor_wrong-- > 0)) {
        return RungAnswer(rung, json::array({TensorDifference()}));
      }
      return RungAnswer(rung);
    }
    return InternalError("unknown request");
  }
  bool Interrupted() const override { return false; }

  int inductor_wrong = 0;  // how many times
  std::string cure, capture_error;
  std::vector<RunOptions> runs;
  std::vector<json> asked;
};

TriageOptions Options() {
  TriageOptions options;
  options.gather.path = "/tmp/report.py";
  return options;
}

TEST(Triage, AllRight) {
  FakeRunner runner;
  auto report = Triage(runner, {"a.py", "x"}, Options());
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->decision.ruling, Ruling::kNotABug);
  EXPECT_EQ(ExitCode(report->decision), 0);
  ASSERT_EQ(runner.runs.size(), 1U);
  EXPECT_EQ(runner.runs[0].rungs, (std::vector<std::string>{"eager", "aot_eager", "inductor"}));
  EXPECT_EQ(runner.runs[0].draws, 1);
  ASSERT_EQ(runner.runs[0].knobs.size(), 1U);
  const std::string page = RenderPage(*report, {});
  EXPECT_NE(page.find("NOT A BUG"), std::string::npos) << page;
  EXPECT_NE(page.find("run on the CPU"), std::string::npos) << page;
  EXPECT_EQ(ToJson(*report).at("decision").at("exit_code"), 0);
}

TEST(Triage, BugOfTheWholeScriptIsRepeatedAndAblated) {
  FakeRunner runner;
  runner.inductor_wrong = 1000;
  runner.cure = "inductor.cpp.simdlen";
  auto report = Triage(runner, {"a.py", "x"}, Options());
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->decision.reason, Reason::kScriptOnly);
  EXPECT_EQ(report->decision.first_wrong_rung, "inductor");
  EXPECT_EQ(ExitCode(report->decision), 1);
  bool removed = false;
  for (const KnobResult& k : report->script_knobs) {
    EXPECT_EQ(k.removes, k.exists && k.knob == runner.cure) << k.knob;
    removed = removed || k.removes;
  }
  EXPECT_TRUE(removed);
  const std::string page = RenderPage(*report, {});
  EXPECT_NE(page.find("BUG since inductor"), std::string::npos) << page;
  EXPECT_NE(page.find("workaround"), std::string::npos) << page;
}

TEST(Triage, VerdictOnlyAsksNothingMore) {
  FakeRunner runner;
  runner.inductor_wrong = 1;  // the second look, left out, would find nothing
  TriageOptions options = Options();
  options.verdict_only = true;
  auto report = Triage(runner, {"a.py", "x"}, options);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->decision.first_wrong_rung, "inductor");
  EXPECT_EQ(ExitCode(report->decision), 1);
  EXPECT_TRUE(report->script_knobs.empty());
}

TEST(Triage, DifferenceThatDoesNotComeBackIsNoVerdict) {
  FakeRunner runner;
  runner.inductor_wrong = 1;
  auto report = Triage(runner, {"a.py", "x"}, Options());
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->decision.ruling, Ruling::kUnclear);
  EXPECT_EQ(ExitCode(report->decision), 4);
}

TEST(Triage, ScriptThatKillsItsWorkerIsAnAnswer) {
  FakeRunner runner;
  runner.capture_error = "the worker was killed by SIGSEGV on 'capture'";
  auto report = Triage(runner, {"a.py", "x"}, Options());
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->decision.reason, Reason::kLost);
  EXPECT_EQ(ExitCode(report->decision), 4);
  const std::string page = RenderPage(*report, {});
  EXPECT_NE(page.find("the script's process was killed by SIGSEGV in eager"), std::string::npos)
      << page;
  EXPECT_NE(page.find("torch 2.15.0"), std::string::npos) << page;
  EXPECT_EQ(page.find("on 'capture'"), std::string::npos) << page;
  EXPECT_EQ(page.find("compiled calls"), std::string::npos) << page;
}

TEST(Triage, LossesSayWhatToDo) {
  FakeRunner runner;
  runner.capture_error = "the worker did not answer within 10 s on 'capture': last line";
  auto report = Triage(runner, {"a.py", "x"}, Options());
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(
      report->decision.sentence,
      "the script's process did not end within 10 s (it said last: last line) in eager, before "
      "anything was compiled (--deadline gives it more)");
}

TEST(TryVersion, SaysWhatAnotherEnvironmentDoes) {
  FakeRunner runner;
  runner.inductor_wrong = 1;
  const Version version = TryVersion(runner, "other/bin/python", Options().gather);
  EXPECT_EQ(version.error, "");
  EXPECT_EQ(version.decision.ruling, Ruling::kBug);
}

}  // namespace
}  // namespace gradfuzz::triage
