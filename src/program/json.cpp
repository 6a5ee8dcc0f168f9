// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/program/json.h"

#include <cmath>
#include <stdexcept>

namespace gradfuzz::program {
namespace {

using nlohmann::json;

constexpr const char* kRecipeKinds[] = {"literal", "ints", "uniform", "normal", "choice"};
constexpr const char* kRegionKinds[] = {"no_grad",  "autocast", "autocast_off", "checkpoint",
                                        "function", "jvp",      "vjp"};
constexpr const char* kLayouts[] = {"contiguous", "expanded", "column_major", "sliced"};
constexpr const char* kDynamics[] = {"default", "yes", "no"};
constexpr const char* kBackwards[] = {"grad", "none", "accumulate", "double"};

template <typename E, size_t N>
E EnumFrom(const json& value, const char* const (&names)[N], const char* what) {
  const std::string& text = value.get_ref<const std::string&>();
  for (size_t i = 0; i < N; ++i) {
    if (text == names[i]) return static_cast<E>(i);
  }
  throw std::invalid_argument("unknown " + std::string(what) + " '" + text + "'");
}

template <size_t N, typename E>
const char* Name(const char* const (&names)[N], E value) {
  return names[static_cast<size_t>(value)];
}

json FloatToJson(double value) {
  if (std::isnan(value)) return {{"f", "nan"}};
  if (std::isinf(value)) return {{"f", value > 0 ? "inf" : "-inf"}};
  return value;
}

double FloatFromJson(const json& value) {
  if (value.is_number()) return value.get<double>();
  const std::string& text = value.at("f").get_ref<const std::string&>();
  if (text == "nan") return std::nan("");
  if (text == "inf") return HUGE_VAL;
  if (text == "-inf") return -HUGE_VAL;
  throw std::invalid_argument("unknown float '" + text + "'");
}

json FloatsToJson(const std::vector<double>& values) {
  json list = json::array();
  for (double v : values) list.push_back(FloatToJson(v));
  return list;
}

std::vector<double> FloatsFromJson(const json& list) {
  std::vector<double> values;
  for (const json& item : list) values.push_back(FloatFromJson(item));
  return values;
}

DType DTypeFromJson(const json& value) {
  const std::string& name = value.get_ref<const std::string&>();
  if (auto dtype = DTypeFromName(name)) return *dtype;
  throw std::invalid_argument("unknown dtype '" + name + "'");
}

json ListToJson(const ArgList& list) {
  json out = json::array();
  for (const Arg& arg : list) out.push_back(ToJson(arg));
  return out;
}

Arg ArgFromJson(const json& value);

ArgList ListFromJson(const json& value) {
  ArgList list;
  for (const json& item : value) list.push_back(ArgFromJson(item));
  return list;
}

Arg ArgFromJson(const json& value) {
  if (value.is_null()) return None{};
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_number_float()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) return ListFromJson(value);
  if (value.size() != 1) throw std::invalid_argument("an argument object has one key");
  const std::string key = value.begin().key();
  const json& inner = value.begin().value();
  if (key == "v") return Arg::Value(inner.get<ValueId>());
  if (key == "t") return DTypeFromJson(inner);
  if (key == "f") return FloatFromJson(value);
  if (key == "p") {
    Arg parameter(inner.at(0).get<double>());
    parameter.second = inner.at(1).get<double>();
    return parameter;
  }
  if (key == "c") {
    return std::complex<double>(FloatFromJson(inner.at(0)), FloatFromJson(inner.at(1)));
  }
  if (key == "u") return Tuple{ListFromJson(inner)};
  if (key == "slice") return Slice{ListFromJson(inner)};
  if (key == "k") return Constant{inner.get<std::string>()};
  if (key == "e") return Ellipsis{};
  throw std::invalid_argument("unknown argument kind '" + key + "'");
}

json RecipeToJson(const ValueRecipe& recipe) {
  json out = {{"kind", Name(kRecipeKinds, recipe.kind)}};
  switch (recipe.kind) {
    case ValueRecipe::Kind::kLiteral:
      out["values"] = FloatsToJson(recipe.values);
      return out;
    case ValueRecipe::Kind::kInts:
    case ValueRecipe::Kind::kUniform:
      out["low"] = recipe.low;
      out["high"] = recipe.high;
      break;
    case ValueRecipe::Kind::kNormal:
      out["scale"] = recipe.scale;
      out["shift"] = recipe.shift;
      break;
    case ValueRecipe::Kind::kChoice:
      out["values"] = FloatsToJson(recipe.values);
      break;
  }
  out["seed"] = recipe.seed;
  return out;
}

ValueRecipe RecipeFromJson(const json& value) {
  ValueRecipe recipe;
  recipe.kind = EnumFrom<ValueRecipe::Kind>(value.at("kind"), kRecipeKinds, "value recipe");
  recipe.seed = value.value("seed", uint64_t{0});
  if (value.contains("low")) recipe.low = value.at("low").get<double>();
  if (value.contains("high")) recipe.high = value.at("high").get<double>();
  if (value.contains("scale")) recipe.scale = value.at("scale").get<double>();
  if (value.contains("shift")) recipe.shift = value.at("shift").get<double>();
  if (value.contains("values")) recipe.values = FloatsFromJson(value.at("values"));
  return recipe;
}

json StoragesToJson(const std::vector<Storage>& storages) {
  json out = json::array();
  for (const Storage& s : storages) {
    out.push_back({{"dtype", std::string(Info(s.dtype).name)},
                   {"numel", s.numel},
                   {"values", RecipeToJson(s.values)}});
  }
  return out;
}

std::vector<Storage> StoragesFromJson(const json& list) {
  std::vector<Storage> storages;
  for (const json& s : list) {
    storages.push_back({DTypeFromJson(s.at("dtype")), s.at("numel").get<int64_t>(),
                        RecipeFromJson(s.at("values"))});
  }
  return storages;
}

json LeavesToJson(const std::vector<Leaf>& leaves) {
  json out = json::array();
  for (const Leaf& leaf : leaves) {
    out.push_back({{"storage", leaf.storage},
                   {"sizes", leaf.sizes},
                   {"strides", leaf.strides},
                   {"offset", leaf.offset},
                   {"requires_grad", leaf.requires_grad}});
  }
  return out;
}

std::vector<Leaf> LeavesFromJson(const json& list) {
  std::vector<Leaf> leaves;
  for (const json& leaf : list) {
    leaves.push_back({leaf.at("storage").get<int>(), leaf.at("sizes").get<std::vector<int64_t>>(),
                      leaf.at("strides").get<std::vector<int64_t>>(),
                      leaf.at("offset").get<int64_t>(), leaf.at("requires_grad").get<bool>()});
  }
  return leaves;
}

Statement ReadStatement(const json& value) {
  Statement statement;
  statement.op = value.at("op").get<std::string>();
  statement.args = ListFromJson(value.at("args"));
  if (value.contains("kwargs")) {
    // A list of pairs: the order of keyword arguments is part of the program.
    for (const json& pair : value.at("kwargs")) {
      statement.kwargs.emplace_back(pair.at(0).get<std::string>(), ArgFromJson(pair.at(1)));
    }
  }
  statement.results = value.value("results", 1);
  return statement;
}

json CallToJson(const CallPlan& call) {
  json out = json::object();
  const CallPlan plain;
  if (call.dynamic != plain.dynamic) out["dynamic"] = Name(kDynamics, call.dynamic);
  if (call.backward != plain.backward) out["backward"] = Name(kBackwards, call.backward);
  if (call.autocast) out["autocast"] = true;
  if (call.no_grad_first) out["no_grad_first"] = true;
  for (const auto& [name, value] : call.config) out["config"][name] = ToJson(value);
  if (!call.second_leaves.empty()) {
    out["second_storages"] = StoragesToJson(call.second_storages);
    out["second_leaves"] = LeavesToJson(call.second_leaves);
  }
  return out;
}

CallPlan CallFromJson(const json& value) {
  CallPlan call;
  if (value.contains("dynamic")) {
    call.dynamic = EnumFrom<CallPlan::Dynamic>(value.at("dynamic"), kDynamics, "dynamic mode");
  }
  if (value.contains("backward")) {
    call.backward = EnumFrom<CallPlan::Backward>(value.at("backward"), kBackwards, "backward mode");
  }
  call.autocast = value.value("autocast", false);
  call.no_grad_first = value.value("no_grad_first", false);
  if (value.contains("config")) {
    for (const auto& [name, entry] : value.at("config").items()) {
      call.config.emplace(name, ArgFromJson(entry));
    }
  }
  if (value.contains("second_leaves")) {
    call.second_storages = StoragesFromJson(value.at("second_storages"));
    call.second_leaves = LeavesFromJson(value.at("second_leaves"));
  }
  return call;
}

}  // namespace

json ToJson(const Arg& arg) {
  if (arg.second) return {{"p", {arg.As<double>(), *arg.second}}};
  struct Visitor {
    json operator()(const None&) const { return nullptr; }
    json operator()(bool value) const { return value; }
    json operator()(int64_t value) const { return value; }
    json operator()(double value) const { return FloatToJson(value); }
    json operator()(const std::complex<double>& value) const {
      return {{"c", {FloatToJson(value.real()), FloatToJson(value.imag())}}};
    }
    json operator()(const std::string& value) const { return value; }
    json operator()(DType value) const { return {{"t", std::string(Info(value).name)}}; }
    json operator()(const ValueRef& value) const { return {{"v", value.id}}; }
    json operator()(const ArgList& value) const { return ListToJson(value); }
    json operator()(const Tuple& value) const { return {{"u", ListToJson(value.items)}}; }
    json operator()(const Slice& value) const { return {{"slice", ListToJson(value.bounds)}}; }
    json operator()(const Constant& value) const { return {{"k", value.name}}; }
    json operator()(const Ellipsis&) const { return {{"e", 0}}; }
  };
  return std::visit(Visitor{}, arg.data);
}

std::vector<std::pair<std::string, json>> ConfigKnobs(const CallPlan& call) {
  std::vector<std::pair<std::string, json>> knobs;
  for (const auto& [name, value] : call.config) knobs.emplace_back(name, ToJson(value));
  return knobs;
}

json ToJson(const Statement& statement) {
  json out = {{"op", statement.op}, {"args", ListToJson(statement.args)}};
  if (!statement.kwargs.empty()) {
    json kwargs = json::array();
    for (const auto& [name, arg] : statement.kwargs) {
      json pair = json::array();
      pair.push_back(name);
      pair.push_back(ToJson(arg));
      kwargs.push_back(std::move(pair));
    }
    out["kwargs"] = std::move(kwargs);
  }
  if (statement.results != 1) out["results"] = statement.results;
  return out;
}

json ToJson(const Program& program) {
  json out = {{"format", kFormatVersion},
              {"storages", StoragesToJson(program.storages)},
              {"leaves", LeavesToJson(program.leaves)}};
  json statements = json::array();
  for (const Statement& statement : program.statements) statements.push_back(ToJson(statement));
  out["statements"] = std::move(statements);
  if (!program.regions.empty()) {
    json regions = json::array();
    for (const Region& region : program.regions) {
      regions.push_back({{"kind", Name(kRegionKinds, region.kind)},
                         {"first", region.first},
                         {"last", region.last}});
    }
    out["regions"] = std::move(regions);
  }
  json outputs = json::array();
  for (const Output& output : program.outputs) {
    outputs.push_back({{"value", output.value},
                       {"cotangent", RecipeToJson(output.cotangent.values)},
                       {"layout", Name(kLayouts, output.cotangent.layout)}});
  }
  out["outputs"] = std::move(outputs);
  json call = CallToJson(program.call);
  if (!call.empty()) out["call"] = std::move(call);
  return out;
}

Result<Statement> StatementFromJson(const json& value) {
  try {
    return ReadStatement(value);
  } catch (const std::exception& e) {
    return UsageError("not a statement: " + std::string(e.what()));
  }
}

Result<Program> FromJson(const json& value) {
  Program program;
  try {
    const int format = value.value("format", kFormatVersion);
    if (format != kFormatVersion) {
      return UsageError("the program has format " + std::to_string(format) +
                        "; this gradfuzz reads " + std::to_string(kFormatVersion));
    }
    program.storages = StoragesFromJson(value.at("storages"));
    program.leaves = LeavesFromJson(value.at("leaves"));
    for (const json& s : value.at("statements")) program.statements.push_back(ReadStatement(s));
    if (value.contains("regions")) {
      for (const json& r : value.at("regions")) {
        program.regions.push_back({EnumFrom<Region::Kind>(r.at("kind"), kRegionKinds, "region"),
                                   r.at("first").get<int>(), r.at("last").get<int>()});
      }
    }
    for (const json& o : value.at("outputs")) {
      Output output;
      output.value = o.at("value").get<ValueId>();
      output.cotangent.values = RecipeFromJson(o.at("cotangent"));
      output.cotangent.layout =
          EnumFrom<Cotangent::Layout>(o.at("layout"), kLayouts, "cotangent layout");
      program.outputs.push_back(std::move(output));
    }
    if (value.contains("call")) program.call = CallFromJson(value.at("call"));
  } catch (const std::exception& e) {
    return UsageError("not a gradfuzz program: " + std::string(e.what()));
  }
  if (std::string fault = Validate(program); !fault.empty()) {
    return UsageError("not a valid gradfuzz program: " + fault);
  }
  return program;
}

}  // namespace gradfuzz::program
