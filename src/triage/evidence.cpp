// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/triage/evidence.h"

#include <algorithm>
#include <future>

#include "gradfuzz/isolate/investigate.h"
#include "gradfuzz/isolate/ladder.h"
#include "gradfuzz/program/json.h"
#include "gradfuzz/support/clock.h"

namespace gradfuzz::triage {
namespace {

using nlohmann::json;

std::string TextOf(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::optional<ScriptError> ErrorFromJson(const json& value) {
  if (!value.is_object()) return std::nullopt;
  return ScriptError{value.value("type", ""),     value.value("message", ""),
                     value.value("line", 0),      value.value("source", ""),
                     value.value("kind", ""),     value.value("own", false),
                     value.value("syntax", false)};
}

CapturedCall CallFromJson(const json& value) {
  CapturedCall call;
  call.index = value.at("index").get<int>();
  call.numbers = value.at("numbers").get<std::vector<int>>();
  call.function = value.at("function").get<std::string>();
  call.options = value.at("options");
  for (const json& knob : value.at("knobs")) {
    call.knobs.emplace_back(knob.at(0).get<std::string>(), knob.at(1));
  }
  call.arguments = value.at("arguments").get<std::vector<std::string>>();
  call.outputs = value.at("outputs").get<std::vector<std::string>>();
  call.names = value.at("names").get<std::vector<std::string>>();
  call.hazards = value.at("hazards").get<std::vector<std::string>>();
  call.opaque = value.at("opaque").get<bool>();
  call.why_opaque = value.at("why_opaque").get<std::string>();
  call.redrawn = value.at("redrawn").get<bool>();
  call.random = value.at("random").get<bool>();
  call.backward = value.at("backward").get<bool>();
  call.approximate_cotangent = value.at("approximate_cotangent").get<bool>();
  call.error = value.at("error").get<std::string>();
  if (!value.at("program").is_null()) {
    auto program = program::FromJson(value.at("program"));
    if (program) {
      call.program = std::move(*program);
    } else {
      call.why_opaque = program.error().message;
    }
  }
  return call;
}

Difference DifferenceFromJson(const json& value) {
  Difference d;
  if (value.at("call").is_number_integer()) d.call = value.at("call").get<int>();
  d.what = value.at("what").get<std::string>();
  d.kind = value.at("kind").get<std::string>();
  d.assert_close = value.at("assert_close").get<bool>();
  if (d.kind != "tensor") {
    d.eager = TextOf(value.at("eager"));
    d.got = TextOf(value.at("got"));
    return d;
  }
  d.numel = value.at("numel").get<int64_t>();
  d.wrong = value.at("wrong").get<int64_t>();
  d.max_error = value.at("max_error").get<double>();
  d.scale = value.at("scale").get<double>();
  d.all_zero = value.at("all_zero").get<bool>();
  d.nan = value.at("nan_eager") != value.at("nan_got");
  return d;
}

bool Has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

RunOptions OptionsFor(const CapturedCall& call, const GatherOptions& options,
                      const json& description) {
  RunOptions run;
  run.device = options.device;
  run.rungs = isolate::MainRungs(description);
  run.draws = 1;  // the script's own values
  // The laws are asked with other cotangents than the script's: of a call that is opaque they say
  // nothing that its author wants to know.
  run.self_checks = !call.opaque;
  run.knobs = call.knobs;
  return run;
}

// Every call that has a program under every rung; calls with the same settings go together.
std::vector<CallEvidence> RunCalls(ProgramRunner& runner, const GatherOptions& options,
                                   const json& description, const Capture& capture) {
  std::vector<CallEvidence> evidence;
  for (size_t i = 0; i < capture.calls.size(); ++i) {
    if (!capture.calls[i].program) continue;
    CallEvidence& e = evidence.emplace_back();
    e.call = i;
    e.run = OptionsFor(capture.calls[i], options, description);
  }
  std::vector<bool> done(evidence.size(), false);
  for (size_t first = 0; first < evidence.size(); ++first) {
    if (done[first]) continue;
    std::vector<size_t> together;
    std::vector<WorkItem> items;
    for (size_t i = first; i < evidence.size(); ++i) {
      if (done[i] || !(evidence[i].run == evidence[first].run)) continue;
      together.push_back(i);
      items.push_back({std::nullopt, capture.calls[evidence[i].call].program});
    }
    std::vector<CaseResult> results = runner.Run(items, {}, evidence[first].run);
    for (size_t k = 0; k < together.size(); ++k) {
      done[together[k]] = true;
      CaseResult& result = evidence[together[k]].result;
      result = std::move(results[k]);
      if (!result.program) result.program = items[k].program;
    }
  }
  for (CallEvidence& e : evidence) {
    const CapturedCall& call = capture.calls[e.call];
    if (!Has(call.hazards, kUninitialisedHazard) || !IsFinding(e.result.outcome.verdict)) continue;
    const auto again =
        runner.Run({{std::nullopt, WithInitialisedMemory(*call.program)}}, {}, e.run);
    e.initialised = again.front().outcome;
  }
  return evidence;
}

std::vector<ScriptRung> RunScript(ProgramRunner& runner, const GatherOptions& options,
                                  const json& description) {
  std::vector<ScriptRung> rungs;
  for (const std::string& rung : isolate::MainRungs(description)) {
    if (runner.Interrupted()) break;
    if (options.on_progress) options.on_progress("the script under " + rung);
    // Random numbers as eager draws them: what differs then is a bug.
    auto answer =
        runner.Ask({{"type", "script_rung"},
                    {"path", options.path},
                    {"device", options.device},
                    {"rung", rung},
                    {"knobs", json::array({json::array({"inductor.fallback_random", true})})}});
    ScriptRung row;
    row.rung = rung;
    row.device = options.device;
    if (!answer) {
      row.lost = IsLoss(answer.error()) ? LossInWords(answer.error()) : answer.error().message;
    } else if (auto parsed = ScriptRungFromJson(*answer)) {
      row = std::move(*parsed);
    } else {
      row.lost = parsed.error().message;
    }
    rungs.push_back(std::move(row));
  }
  return rungs;
}

}  // namespace

Result<Capture> CaptureFromJson(const json& value) {
  Capture capture;
  try {
    capture.form = value.at("form").get<std::string>();
    capture.functions = value.at("functions").get<int>();
    capture.error = ErrorFromJson(value.at("error"));
    capture.log = value.at("log").get<std::string>();
    capture.mapped_to_cpu = value.at("mapped_to_cpu").get<bool>();
    for (const json& call : value.at("calls")) capture.calls.push_back(CallFromJson(call));
  } catch (const std::exception& e) {
    return InternalError(std::string("the worker's capture is malformed: ") + e.what());
  }
  return capture;
}

Result<ScriptRung> ScriptRungFromJson(const json& value) {
  ScriptRung rung;
  try {
    rung.rung = value.at("rung").get<std::string>();
    rung.device = value.at("device").get<std::string>();
    rung.seconds = value.at("seconds").get<double>();
    rung.error = ErrorFromJson(value.at("error"));
    rung.eager_error = ErrorFromJson(value.at("eager_error"));
    if (value.at("check").is_object()) {
      rung.check = value.at("check").at("wrong").get<bool>();
      rung.check_detail = value.at("check").at("detail").get<std::string>();
    }
    for (const json& d : value.at("differences")) rung.differences.push_back(DifferenceFromJson(d));
    rung.calls = value.at("calls").get<int>();
    rung.graphs = value.at("graphs").get<int>();
    rung.graph_breaks = value.at("graph_breaks").get<int>();
  } catch (const std::exception& e) {
    return InternalError(std::string("the worker's account of a rung is malformed: ") + e.what());
  }
  return rung;
}

program::Program WithInitialisedMemory(program::Program program) {
  for (program::Statement& statement : program.statements) {
    const size_t at = statement.op.find("empty");
    if (at != std::string::npos && statement.op != "empty_strided" &&
        statement.op != "Tensor.new_empty_strided") {
      statement.op.replace(at, 5, "zeros");
    }
  }
  return program;
}

bool IsLoss(const Error& error) {
  return error.kind == ErrorKind::kInternal && error.message.starts_with("the worker ");
}

std::string LossInWords(const Error& error) {
  std::string text = error.message.substr(std::string("the worker ").size());
  const size_t request = text.find(" on '");
  if (request != std::string::npos) {
    // The request is our affair; the last line that the process wrote may follow it.
    const size_t last = text.find(": ", request);
    const std::string written = last == std::string::npos ? "" : text.substr(last + 2);
    text.erase(request);
    if (!written.empty()) text += " (it said last: " + written + ")";
  }
  const std::string slow = "did not answer within ";
  if (text.starts_with(slow)) text.replace(0, slow.size(), kTooSlow);
  return text;
}

Result<Evidence> Gather(ProgramRunner& runner, const GatherOptions& options) {
  const double start = MonotonicSeconds();
  Evidence evidence;
  evidence.environment = isolate::DescribeWithKnobs(runner);
  if (options.on_progress) options.on_progress("recording what the script compiles");
  auto answer =
      runner.Ask({{"type", "capture"}, {"path", options.path}, {"device", options.device}});
  if (!answer && !IsLoss(answer.error())) return answer.error();
  if (!answer) {
    evidence.lost = LossInWords(answer.error());
    evidence.seconds = MonotonicSeconds() - start;
    return evidence;
  }
  auto capture = CaptureFromJson(*answer);
  if (!capture) return capture.error();
  evidence.capture = std::move(*capture);
  // A script that compiles nothing, or fails before it does, has nothing to show under the rungs.
  const bool compiles = !evidence.capture.calls.empty() || evidence.capture.form == "check";
  if (compiles) {
    // Both at once where there are two workers; with one, the runner puts them in turn.
    auto script = std::async(std::launch::async,
                             [&] { return RunScript(runner, options, evidence.environment); });
    evidence.calls = RunCalls(runner, options, evidence.environment, evidence.capture);
    evidence.rungs = script.get();
  }
  evidence.seconds = MonotonicSeconds() - start;
  return evidence;
}

}  // namespace gradfuzz::triage
