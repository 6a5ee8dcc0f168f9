// SPDX-License-Identifier: BSD-3-Clause
#include "service.h"

#include <ATen/ATen.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bridge.h"
#include "gradfuzz/evaluate/interpret.h"
#include "gradfuzz/evaluate/materialise.h"
#include "gradfuzz/generate/generator.h"
#include "gradfuzz/message/outcome.h"
#include "gradfuzz/message/request.h"
#include "gradfuzz/ops/record.h"
#include "gradfuzz/oracle/judge.h"
#include "gradfuzz/program/emit.h"
#include "gradfuzz/program/json.h"
#include "gradfuzz/support/frame.h"
#include "rung_runner.h"

namespace gradfuzz::bridge {
namespace {

using nlohmann::json;
using program::Program;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A case on its way: what is known of it before it runs.
struct Case {
  size_t item = 0;
  std::optional<uint64_t> seed;
  Program program;
  std::string lane = "real";
  std::vector<std::string> features;
  json generation = json::object();  // counters of the generator
  double generate_seconds = 0;
};

Result<Case> Prepare(const WorkItem& item, size_t index, const GenerateOptions& options) {
  Case made;
  made.item = index;
  made.seed = item.seed;
  if (item.program) {
    made.program = *item.program;
    return made;
  }
  const double start = Now();
  const generate::Harvest* harvest = nullptr;
  if (generate::WantsHarvest(options)) {
    auto loaded = LoadHarvest();
    if (!loaded) return loaded.error();
    harvest = *loaded;
  }
  auto generated = generate::Generate(item.seed.value_or(0), options, harvest);
  if (!generated) return generated.error();
  made.program = std::move(generated->program);
  made.lane = generated->lane;
  made.features = std::move(generated->features);
  made.generation = {{"proposals", generated->proposals},
                     {"refused", generated->refused},
                     {"unsuitable", generated->unsuitable},
                     {"attempts", generated->attempts}};
  made.generate_seconds = Now() - start;
  return made;
}

json TensorFacts(const at::Tensor& tensor) {
  return {
      {"dtype", std::string(program::Info(evaluate::FromScalarType(tensor.scalar_type())).name)},
      {"sizes", tensor.sizes().vec()},
      {"strides", tensor.strides().vec()},
      {"offset", tensor.storage_offset()},
      {"requires_grad", tensor.requires_grad()}};
}

Result<json> AnswerShapes(const json& request) {
  auto parsed = program::FromJson(request.at("program"));
  if (!parsed) return parsed.error();
  auto values = evaluate::Values(*parsed, 0);
  if (!values) return values.error();
  json list = json::array();
  for (const at::Tensor& value : *values) list.push_back(TensorFacts(value));
  return json{{"values", std::move(list)}};
}

Result<json> AnswerGenerate(const json& request) {
  auto parsed = EvaluateRequestFromJson(request);
  if (!parsed) return parsed.error();
  json programs = json::array();
  for (size_t i = 0; i < parsed->items.size(); ++i) {
    auto made = Prepare(parsed->items[i], i, parsed->generate);
    if (!made) return made.error();
    programs.push_back({{"program", program::ToJson(made->program)},
                        {"module", program::EmitModule(made->program)},
                        {"lane", made->lane},
                        {"features", made->features},
                        {"generation", made->generation}});
  }
  return json{{"programs", std::move(programs)}};
}

Result<json> AnswerParse(const json& request) {
  const std::string path = request.value("path", "<program>");
  auto parsed = Parse(request.at("text").get<std::string>(), path);
  if (!parsed) return parsed.error();
  for (json& statement : parsed->at("program").at("statements")) {
    statement["op"] = ops::RecordedName(statement.at("op").get<std::string>());
  }
  // Only a valid program is handed out; the message says what is wrong with any other.
  auto checked = program::FromJson(parsed->at("program"));
  if (!checked) return UsageError(path + ": " + checked.error().message);
  return parsed;
}

Result<json> AnswerEmit(const json& request) {
  auto parsed = program::FromJson(request.at("program"));
  if (!parsed) return parsed.error();
  return json{{"text", program::EmitModule(*parsed)}};
}

// Triage: the two requests run a person's script (gradfuzz_bridge/script.py).
Result<json> AnswerCapture(const json& request) { return CallJson("capture", "capture", request); }
Result<json> AnswerScriptRung(const json& request) {
  return CallJson("rerun", "script_rung", request);
}
Result<json> AnswerBisect(const json& request) { return CallJson("bisector", "bisect", request); }

Result<json> AnswerDescribe(const json& request) {
  return Describe(request.value("knobs", std::vector<std::string>{}));
}

json HarvestedRow(const generate::HarvestedOperator& op) {
  return {{"name", op.name},
          {"aten", ""},
          {"family", ops::Name(ops::Family::kHarvested)},
          {"exact", false},
          {"in_place", false},
          {"differentiable", true},
          {"weight", generate::HarvestWeight(op)}};
}

Result<json> AnswerOps(const json&) {
  auto harvest = LoadHarvest();
  if (!harvest) return harvest.error();
  json rows = json::array();
  for (const ops::OpRecord& record : ops::Catalogue()) {
    rows.push_back({{"name", std::string(record.name)},
                    {"aten", ops::AtenName(record)},
                    {"family", ops::Name(record.family)},
                    {"exact", record.Has(ops::kExact) || record.Has(ops::kExactOnIntegers)},
                    {"in_place", record.Has(ops::kInPlace)},
                    {"differentiable", !record.Has(ops::kNoGradient)},
                    {"weight", record.weight}});
  }
  for (const generate::HarvestedOperator& op : (*harvest)->operators()) {
    if (!op.recorded) rows.push_back(HarvestedRow(op));
  }
  json database = json::array();
  for (const generate::DatabaseEntry& entry : (*harvest)->database()) {
    database.push_back(
        {{"name", entry.name}, {"paths", entry.paths}, {"left_out", entry.left_out}});
  }
  return json{{"ops", std::move(rows)}, {"database", std::move(database)}};
}

// The requests that have one answer. A new one is one row.
const std::map<std::string, std::function<Result<json>(const json&)>>& Answers() {
  static const std::map<std::string, std::function<Result<json>(const json&)>> kAnswers = {
      {"describe", AnswerDescribe}, {"parse", AnswerParse},
      {"generate", AnswerGenerate}, {"shapes", AnswerShapes},
      {"ops", AnswerOps},           {"emit", AnswerEmit},
      {"capture", AnswerCapture},   {"script_rung", AnswerScriptRung},
      {"bisect", AnswerBisect},
  };
  return kAnswers;
}

const char* KindName(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return "usage";
    case ErrorKind::kEnvironment:
      return "environment";
    case ErrorKind::kInternal:
      break;
  }
  return "internal";
}

oracle::JudgeOptions JudgeOptionsFrom(const RunOptions& run) {
  oracle::JudgeOptions options;
  options.self_checks = run.self_checks;
  options.same = Same;
  return options;
}

}  // namespace

void Service::Send(const json& frame) {
  const Status sent = WriteFrame(fd_, frame);
  if (!sent.ok()) {
    std::fprintf(stderr, "gradfuzz-worker: %s\n", sent.error().message.c_str());
    _exit(1);  // nobody is there to work for
  }
}

void Service::SendError(const Error& error) {
  Send({{"type", "error"}, {"kind", KindName(error.kind)}, {"message", error.message}});
}

void Service::Evaluate(const json& request) {
  auto parsed = EvaluateRequestFromJson(request);
  if (!parsed) return SendError(parsed.error());
  const RunOptions& run = parsed->run;
  const size_t pack = static_cast<size_t>(std::max(run.pack, 1));
  for (size_t first = 0; first < parsed->items.size(); first += pack) {
    const size_t end = std::min(first + pack, parsed->items.size());
    std::vector<Case> cases;
    for (size_t i = first; i < end; ++i) {
      Send({{"type", "begin"}, {"item", i}, {"phase", "generate"}});
      auto made = Prepare(parsed->items[i], i, parsed->generate);
      if (!made) return SendError(made.error());
      cases.push_back(std::move(*made));
    }
    std::vector<Program> programs;
    for (const Case& c : cases) programs.push_back(c.program);
    const auto on_phase = [&](const std::string& phase) {
      json frame = {{"type", "begin"}, {"item", first}, {"phase", phase}};
      // Who is alone gets its program known before it can kill the worker.
      if (cases.size() == 1) frame["program"] = program::ToJson(programs.front());
      Send(frame);
    };
    auto runs = RunRungs(programs, run, on_phase);
    for (size_t i = 0; i < cases.size(); ++i) {
      Send({{"type", "begin"}, {"item", cases[i].item}, {"phase", "judge"}});
      const double start = Now();
      Outcome outcome = oracle::Judge(programs[i], cases[i].lane, runs[i], JudgeOptionsFrom(run));
      outcome.compare_seconds = Now() - start;
      outcome.generate_seconds = cases[i].generate_seconds;
      if (outcome.stats.is_null()) outcome.stats = json::object();
      outcome.stats["features"] = cases[i].features;
      outcome.stats["generation"] = cases[i].generation;
      json result = {{"type", "result"},
                     {"item", cases[i].item},
                     {"program", program::ToJson(programs[i])},
                     {"outcome", ToJson(outcome)}};
      if (cases[i].seed) result["seed"] = *cases[i].seed;
      Send(result);
    }
  }
  Send({{"type", "done"}});
}

void Service::Handle(const json& request) {
  const std::string type = request.value("type", "");
  if (type == "evaluate") {
    Evaluate(request);
    return;
  }
  const auto found = Answers().find(type);
  Result<json> answer = found == Answers().end()
                            ? Result<json>(InternalError("unknown request '" + type + "'"))
                            : found->second(request);
  if (!answer) return SendError(answer.error());
  json frame = std::move(*answer);
  frame["type"] = "answer";
  Send(frame);
}

int Service::Serve() {
  auto facts = Describe({});
  if (!facts) {
    SendError(facts.error());
    return 3;
  }
  json ready = std::move(*facts);
  ready["type"] = "ready";
  Send(ready);
  FrameReader reader(fd_);
  while (true) {
    FrameRead read = reader.Read(Deadline::Never());
    if (read.status == FrameStatus::kClosed) return 0;
    if (read.status != FrameStatus::kFrame) {
      std::fprintf(stderr, "gradfuzz-worker: %s\n", read.error.c_str());
      return 1;
    }
    try {
      Handle(read.frame);
    } catch (const std::exception& e) {
      SendError(InternalError(e.what()));
    }
  }
}

}  // namespace gradfuzz::bridge
