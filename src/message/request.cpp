// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/message/request.h"

#include "gradfuzz/program/json.h"

namespace gradfuzz {

using nlohmann::json;

json ToJson(const GenerateOptions& options) {
  json weights = json::object();
  for (const auto& [name, factor] : options.weights) weights[name] = factor;
  return {{"max_statements", options.max_statements}, {"weights", std::move(weights)}};
}

json ToJson(const RunOptions& options) {
  json knobs = json::array();
  for (const auto& [name, value] : options.knobs) knobs.push_back(json::array({name, value}));
  return {{"device", options.device},
          {"rungs", options.rungs},
          {"draws", options.draws},
          {"fast", options.fast},
          {"fresh_caches", options.fresh_caches},
          {"self_checks", options.self_checks},
          {"pack", options.pack},
          {"knobs", std::move(knobs)},
          {"fault", options.fault}};
}

json ToJson(const EvaluateRequest& request) {
  json items = json::array();
  for (const WorkItem& item : request.items) {
    json out = json::object();
    if (item.seed) out["seed"] = *item.seed;
    if (item.program) out["program"] = program::ToJson(*item.program);
    items.push_back(std::move(out));
  }
  return {{"type", "evaluate"},
          {"items", std::move(items)},
          {"generate", ToJson(request.generate)},
          {"run", ToJson(request.run)}};
}

Result<GenerateOptions> GenerateOptionsFromJson(const json& value) {
  GenerateOptions options;
  try {
    options.max_statements = value.value("max_statements", options.max_statements);
    if (value.contains("weights")) {
      for (const auto& [name, factor] : value.at("weights").items()) {
        options.weights.emplace_back(name, factor.get<double>());
      }
    }
  } catch (const std::exception& e) {
    return InternalError("malformed generate options: " + std::string(e.what()));
  }
  return options;
}

Result<RunOptions> RunOptionsFromJson(const json& value) {
  RunOptions options;
  try {
    options.device = value.value("device", options.device);
    options.rungs = value.value("rungs", options.rungs);
    options.draws = value.value("draws", options.draws);
    options.fast = value.value("fast", options.fast);
    options.fresh_caches = value.value("fresh_caches", options.fresh_caches);
    options.self_checks = value.value("self_checks", options.self_checks);
    options.pack = value.value("pack", options.pack);
    options.fault = value.value("fault", options.fault);
    if (value.contains("knobs")) {
      for (const json& pair : value.at("knobs")) {
        options.knobs.emplace_back(pair.at(0).get<std::string>(), pair.at(1));
      }
    }
  } catch (const std::exception& e) {
    return InternalError("malformed run options: " + std::string(e.what()));
  }
  return options;
}

Result<EvaluateRequest> EvaluateRequestFromJson(const json& value) {
  EvaluateRequest request;
  try {
    for (const json& in : value.at("items")) {
      WorkItem item;
      if (in.contains("seed")) item.seed = in.at("seed").get<uint64_t>();
      if (in.contains("program")) {
        auto parsed = program::FromJson(in.at("program"));
        if (!parsed) return parsed.error();
        item.program = std::move(*parsed);
      }
      request.items.push_back(std::move(item));
    }
    auto generate = GenerateOptionsFromJson(value.value("generate", json::object()));
    if (!generate) return generate.error();
    request.generate = std::move(*generate);
    auto run = RunOptionsFromJson(value.value("run", json::object()));
    if (!run) return run.error();
    request.run = std::move(*run);
  } catch (const std::exception& e) {
    return InternalError("malformed request: " + std::string(e.what()));
  }
  return request;
}

}  // namespace gradfuzz
