// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/program/emit.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "emit_region.h"
#include "gradfuzz/support/check.h"
#include "python_text.h"

namespace gradfuzz::program {
namespace {

std::string Float(double value) {
  if (std::isnan(value)) return "float(\"nan\")";
  if (std::isinf(value)) return value > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;  // shortest, exact
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// A bound or element of a recipe: whole numbers without a point.
std::string Number(double value) {
  if (std::floor(value) == value && std::fabs(value) < 1e15 &&
      !(value == 0 && std::signbit(value))) {
    return std::to_string(static_cast<int64_t>(value));
  }
  return Float(value);
}

std::string String(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string IntTuple(const std::vector<int64_t>& values) {
  std::vector<std::string> items;
  for (int64_t v : values) items.push_back(std::to_string(v));
  return TupleText(items);
}

std::string Torch(DType dtype) { return "torch." + std::string(Info(dtype).name); }

// Spells arguments in the order in which they are written, which numbers the parameters.
class ArgEmitter {
 public:
  // `next_float`: the number of the next parameter; null where there are no parameters to name.
  ArgEmitter(const Program& program, size_t* next_float)
      : program_(program), next_float_(next_float) {}

  std::string Emit(const Arg& arg) const {
    if (arg.second && next_float_ != nullptr) return FloatName((*next_float_)++);
    return std::visit(*this, arg.data);
  }
  std::vector<std::string> Emit(const ArgList& args) const {
    std::vector<std::string> items;
    for (const Arg& arg : args) items.push_back(Emit(arg));
    return items;
  }

  std::string operator()(const None&) const { return "None"; }
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return Float(value); }
  std::string operator()(const std::complex<double>& value) const {
    return "complex(" + Float(value.real()) + ", " + Float(value.imag()) + ")";
  }
  std::string operator()(const std::string& value) const { return String(value); }
  std::string operator()(DType value) const { return Torch(value); }
  std::string operator()(const ValueRef& value) const { return ValueName(program_, value.id); }
  std::string operator()(const ArgList& value) const { return "[" + Join(Emit(value)) + "]"; }
  std::string operator()(const Tuple& value) const { return TupleText(Emit(value.items)); }
  std::string operator()(const Slice& value) const {
    return "slice(" + Join(Emit(value.bounds)) + ")";
  }
  std::string operator()(const Constant& value) const { return "torch." + value.name; }
  std::string operator()(const Ellipsis&) const { return "..."; }

 private:
  const Program& program_;
  size_t* next_float_;
};

// The helpers that spell the random recipes; each is emitted only where it is used.
struct Helper {
  ValueRecipe::Kind kind;
  const char* source;
};
constexpr Helper kHelpers[] = {
    {ValueRecipe::Kind::kInts,
     "def ints(n, low, high, seed):  # whole numbers in [low, high]\n"
     "    g = torch.Generator().manual_seed(seed)\n"
     "    return torch.randint(low, high + 1, (n,), generator=g)\n"},
    {ValueRecipe::Kind::kUniform,
     "def uniform(n, low, high, seed):\n"
     "    g = torch.Generator().manual_seed(seed)\n"
     "    return low + (high - low) * torch.randint(0, 2**20 + 1, (n,), generator=g).double() / "
     "2**20\n"},
    {ValueRecipe::Kind::kNormal,
     "def normal(n, scale, shift, seed):  # about normal, |x - shift| <= 3 * scale\n"
     "    g = torch.Generator().manual_seed(seed)\n"
     "    u = torch.randint(-(2**20), 2**20 + 1, (3, n), generator=g).sum(0).double() / 2**20\n"
     "    return shift + scale * u\n"},
    {ValueRecipe::Kind::kChoice,
     "def choice(n, values, seed):\n"
     "    g = torch.Generator().manual_seed(seed)\n"
     "    values = torch.tensor(values, dtype=torch.float64)\n"
     "    return values[torch.randint(0, len(values), (n,), generator=g)]\n"},
};

std::string LiteralNumber(double value, DType dtype) {
  if (dtype == DType::kBool) return value != 0 ? "True" : "False";
  if (IsDifferentiable(dtype)) return Float(value);
  return Number(value);
}

// The elements of a literal, nested by `sizes` (one level a dimension).
std::string Nested(const std::vector<double>& values, DType dtype,
                   const std::vector<int64_t>& sizes, size_t level, size_t* next) {
  if (level == sizes.size()) {
    if (Info(dtype).is_complex) {
      const std::string re = Float(values[*next]);
      const std::string im = Float(values[*next + 1]);
      *next += 2;
      return "complex(" + re + ", " + im + ")";
    }
    return LiteralNumber(values[(*next)++], dtype);
  }
  std::vector<std::string> items;
  for (int64_t i = 0; i < sizes[level]; ++i) {
    items.push_back(Nested(values, dtype, sizes, level + 1, next));
  }
  return "[" + Join(items) + "]";
}

std::string LiteralTensor(const std::vector<double>& values, DType dtype,
                          const std::vector<int64_t>& sizes, const std::string& device) {
  size_t next = 0;
  return "torch.tensor(" + Nested(values, dtype, sizes, 0, &next) + ", dtype=" + Torch(dtype) +
         ", device=" + device + ")";
}

// The call of the helper for a random recipe; `n` is Python source.
std::string HelperCall(const ValueRecipe& recipe, const std::string& n) {
  const std::string seed = "seed=" + std::to_string(recipe.seed) + " + draw";
  switch (recipe.kind) {
    case ValueRecipe::Kind::kInts:
      return "ints(" + n + ", " + Number(recipe.low) + ", " + Number(recipe.high) + ", " + seed +
             ")";
    case ValueRecipe::Kind::kUniform:
      return "uniform(" + n + ", " + Float(recipe.low) + ", " + Float(recipe.high) + ", " + seed +
             ")";
    case ValueRecipe::Kind::kNormal:
      return "normal(" + n + ", " + Float(recipe.scale) + ", " + Float(recipe.shift) + ", " + seed +
             ")";
    case ValueRecipe::Kind::kChoice: {
      std::vector<std::string> items;
      for (double v : recipe.values) items.push_back(Float(v));
      return "choice(" + n + ", [" + Join(items) + "], " + seed + ")";
    }
    case ValueRecipe::Kind::kLiteral:
      break;
  }
  GF_CHECK(false, "a literal has no helper");
  return "";
}

std::string EmitStorage(const Storage& storage) {
  if (storage.values.kind == ValueRecipe::Kind::kLiteral) {
    return LiteralTensor(storage.values.values, storage.dtype, {storage.numel}, "device");
  }
  if (Info(storage.dtype).is_complex) {  // real parts first, then imaginary parts
    return "torch.complex(*" + HelperCall(storage.values, "2 * " + std::to_string(storage.numel)) +
           ".double().reshape(2, -1)).to(device, " + Torch(storage.dtype) + ")";
  }
  return HelperCall(storage.values, std::to_string(storage.numel)) + ".to(device, " +
         Torch(storage.dtype) + ")";
}

bool IsContiguous(const Leaf& leaf) {
  int64_t expected = 1;
  for (size_t d = leaf.sizes.size(); d-- > 0;) {
    if (leaf.strides[d] != expected) return false;
    expected *= std::max<int64_t>(leaf.sizes[d], 1);
  }
  return leaf.offset == 0;
}

int64_t Numel(const Leaf& leaf) {
  int64_t n = 1;
  for (int64_t s : leaf.sizes) n *= s;
  return n;
}

// A contiguous literal leaf that has its storage to itself reads best as one torch.tensor.
bool IsPlainLiteral(const std::vector<Storage>& storages, const std::vector<Leaf>& leaves,
                    size_t i) {
  const Leaf& leaf = leaves[i];
  const Storage& storage = storages[static_cast<size_t>(leaf.storage)];
  if (storage.values.kind != ValueRecipe::Kind::kLiteral) return false;
  const int64_t parts = Info(storage.dtype).is_complex ? 2 : 1;
  // An empty nested list cannot carry sizes such as (0, 3).
  return IsContiguous(leaf) && Numel(leaf) == storage.numel && storage.numel > 0 &&
         static_cast<int64_t>(storage.values.values.size()) == storage.numel * parts &&
         std::count_if(leaves.begin(), leaves.end(),
                       [&](const Leaf& other) { return other.storage == leaf.storage; }) == 1;
}

std::string EmitInputs(const std::string& name, const std::vector<Storage>& storages,
                       const std::vector<Leaf>& leaves) {
  std::string out = "def " + name + "(device=\"cpu\", draw=0):\n";
  // Storages in their order, plain leaves in the place of theirs: the order of the lines is what
  // numbers the storages when the text is read back.
  for (size_t s = 0; s < storages.size(); ++s) {
    std::string line = "s" + std::to_string(s) + " = " + EmitStorage(storages[s]);
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (leaves[i].storage != static_cast<int>(s) || !IsPlainLiteral(storages, leaves, i))
        continue;
      line = "x" + std::to_string(i) + " = " +
             LiteralTensor(storages[s].values.values, storages[s].dtype, leaves[i].sizes, "device");
      if (leaves[i].requires_grad) line += ".requires_grad_()";
    }
    out += "    " + line + "\n";
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const Leaf& leaf = leaves[i];
    names.push_back("x" + std::to_string(i));
    if (IsPlainLiteral(storages, leaves, i)) continue;
    out += "    x" + std::to_string(i) + " = s" + std::to_string(leaf.storage) + ".as_strided(" +
           IntTuple(leaf.sizes) + ", " + IntTuple(leaf.strides) + ", " +
           std::to_string(leaf.offset) + ")";
    if (leaf.requires_grad) out += ".detach().requires_grad_()";
    out += "\n";
  }
  return out + "    return [" + Join(names) + "]\n";
}

std::string EmitCotangents(const Program& program) {
  std::string out = "def cotangents(outputs, draw=0):\n";
  std::vector<std::string> names;
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const Cotangent& c = program.outputs[i].cotangent;
    const std::string o = "outputs[" + std::to_string(i) + "]";
    std::string n = o + ".numel()";
    std::string shape;
    switch (c.layout) {
      case Cotangent::Layout::kContiguous:
        shape = ".reshape(" + o + ".shape)";
        break;
      case Cotangent::Layout::kExpanded:
        n = "1";
        shape = ".reshape(()).expand(" + o + ".shape)";
        break;
      case Cotangent::Layout::kColumnMajor:
        shape = ".reshape(" + o + ".shape[::-1]).permute(tuple(range(" + o + ".dim()))[::-1])";
        break;
      case Cotangent::Layout::kSliced:
        n = "2 * " + n;
        shape = ".reshape(" + o + ".shape + (2,))[..., 0]";
        break;
    }
    std::string source;
    if (c.values.kind == ValueRecipe::Kind::kLiteral) {
      std::vector<std::string> items;
      for (double v : c.values.values) items.push_back(Float(v));
      source = "torch.tensor([" + Join(items) + "], dtype=torch.float64)";
    } else {
      source = HelperCall(c.values, n);
    }
    names.push_back("c" + std::to_string(i));
    out += "    c" + std::to_string(i) + " = " + source + ".to(" + o + ".device, " + o + ".dtype)" +
           shape + "\n";
  }
  return out + "    return [" + Join(names) + "]\n";
}

std::string FloatList(const std::vector<double>& values) {
  std::vector<std::string> items;
  for (const double value : values) items.push_back(Float(value));
  return "[" + Join(items) + "]";
}

std::string EmitCall(const Program& program) {
  const CallPlan& call = program.call;
  std::vector<std::string> items;
  if (call.dynamic != CallPlan::Dynamic::kDefault) {
    items.push_back(call.dynamic == CallPlan::Dynamic::kYes ? "dynamic=True" : "dynamic=False");
  }
  static constexpr const char* kBackwards[] = {"grad", "none", "accumulate", "double"};
  if (call.backward != CallPlan::Backward::kGrad) {
    items.push_back("backward=" + String(kBackwards[static_cast<int>(call.backward)]));
  }
  if (call.autocast) items.emplace_back("autocast=True");
  if (call.no_grad_first) items.emplace_back("no_grad_first=True");
  std::vector<std::string> config;
  for (const auto& [name, value] : call.config) {
    config.push_back(String(name) + ": " + EmitArg(Program(), value));
  }
  if (!config.empty()) items.push_back("config={" + Join(config) + "}");
  if (const std::vector<double> floats = Floats(program); !floats.empty()) {
    items.push_back("floats=" + FloatList(floats));
    items.push_back("second_floats=" + FloatList(SecondFloats(program)));
  }
  return items.empty() ? "" : "CALL = dict(" + Join(items) + ")\n";
}

// Text, and the statement that each of its lines belongs to.
struct OwnedText {
  std::string text;
  std::vector<int> statement;

  void Add(const std::string& lines, int owner) {
    text += lines;
    const auto count = std::count(lines.begin(), lines.end(), '\n');
    statement.insert(statement.end(), static_cast<size_t>(count), owner);
  }
};

OwnedText FunctionText(const Program& program, const std::string& name) {
  std::vector<std::string> parameters;
  for (size_t i = 0; i < program.leaves.size(); ++i) parameters.push_back("x" + std::to_string(i));
  const size_t floats = Floats(program).size();
  for (size_t i = 0; i < floats; ++i) parameters.push_back(FloatName(i));
  OwnedText out;  // the classes first
  OwnedText body;
  body.Add("def " + name + "(" + Join(parameters) + "):\n", -1);
  std::vector<size_t> open;  // regions, outer ones first
  const auto indent = [&] { return std::string(4 + 4 * open.size(), ' '); };
  size_t next_region = 0;
  const auto starts = [&](int statement) {
    return next_region < program.regions.size() && program.regions[next_region].first == statement;
  };
  for (size_t i = 0; i < program.statements.size(); ++i) {
    const int at = static_cast<int>(i);
    if (starts(at) && program.regions[next_region].kind == Region::Kind::kFunction) {
      out.Add(EmitClass(program, next_region, name) + "\n\n", at);
      body.Add(indent() + EmitApply(program, next_region, name) + "\n", at);
      i = static_cast<size_t>(program.regions[next_region++].last);
      continue;
    }
    while (starts(at)) {
      body.Add(indent() + RegionHeader(program, next_region) + "\n", at);
      open.push_back(next_region++);
    }
    body.Add(indent() + EmitStatement(program, i) + "\n", at);
    while (!open.empty() && program.regions[open.back()].last == at) {
      const size_t closed = open.back();
      open.pop_back();
      body.Add(RegionFooter(program, closed, indent()), at);
    }
  }
  std::vector<std::string> outputs;
  for (const Output& output : program.outputs) outputs.push_back(ValueName(program, output.value));
  body.Add("    return " + TupleText(outputs) + "\n", -1);
  out.text += body.text;
  out.statement.insert(out.statement.end(), body.statement.begin(), body.statement.end());
  return out;
}

}  // namespace

std::string EmitArg(const Program& program, const Arg& arg) {
  return ArgEmitter(program, nullptr).Emit(arg);
}

std::string EmitStatement(const Program& program, size_t index) {
  const Statement& s = program.statements[index];
  size_t next_float = FirstFloat(program, index);
  const ArgEmitter emitter(program, &next_float);
  std::vector<std::string> items = emitter.Emit(s.args);
  if (s.op == "Tensor.__setitem__") {
    GF_CHECK(items.size() == 3, "__setitem__ takes self, index and value");
    return items[0] + "[" + items[1] + "] = " + items[2];
  }
  std::string line;
  const ValueId first = FirstResult(program, index);
  std::vector<std::string> results;
  for (int r = 0; r < s.results; ++r) results.push_back(ValueName(program, first + r));
  if (s.results == 1) line = results[0] + " = ";
  // A one-element unpacking (`v3, = ...`) never arises: results counts the elements of a tuple only
  // when there are two or more.
  if (s.results > 1) line = Join(results) + " = ";
  if (s.op == "Tensor.__getitem__") return line + items[0] + "[" + items[1] + "]";
  for (const auto& [name, arg] : s.kwargs) items.push_back(name + "=" + emitter.Emit(arg));
  if (s.op.starts_with("Tensor.")) {
    const std::string self = items.empty() ? "" : items[0];
    if (!items.empty()) items.erase(items.begin());
    return line + self + s.op.substr(6) + "(" + Join(items) + ")";
  }
  return line + "torch." + s.op + "(" + Join(items) + ")";
}

std::string EmitFunction(const Program& program, const std::string& name) {
  return FunctionText(program, name).text;
}

std::vector<int> StatementOfLine(const Program& program) {
  return FunctionText(program, "program").statement;
}

std::string EmitModule(const Program& program) {
  std::vector<ValueRecipe::Kind> used;
  for (const Storage& s : program.storages) used.push_back(s.values.kind);
  for (const Storage& s : program.call.second_storages) used.push_back(s.values.kind);
  for (const Output& o : program.outputs) used.push_back(o.cotangent.values.kind);
  std::string out = "import torch\n";
  for (const Helper& helper : kHelpers) {
    if (std::find(used.begin(), used.end(), helper.kind) != used.end()) {
      out += std::string("\n\n") + helper.source;
    }
  }
  out += "\n\n" + EmitInputs("inputs", program.storages, program.leaves);
  if (!program.call.second_leaves.empty()) {
    out += "\n\n" +
           EmitInputs("second_inputs", program.call.second_storages, program.call.second_leaves);
  }
  out += "\n\n" + EmitFunction(program);
  out += "\n\n" + EmitCotangents(program);
  const std::string call = EmitCall(program);
  if (!call.empty()) out += "\n\n" + call;
  return out;
}

std::string EmitLiteral(const Storage& storage, const std::vector<int64_t>& sizes,
                        const std::string& device) {
  int64_t numel = 1;
  for (int64_t size : sizes) numel *= size;
  const int64_t parts = Info(storage.dtype).is_complex ? 2 : 1;
  if (storage.values.kind != ValueRecipe::Kind::kLiteral || numel == 0 || numel != storage.numel ||
      static_cast<int64_t>(storage.values.values.size()) != numel * parts) {
    return "";
  }
  return LiteralTensor(storage.values.values, storage.dtype, sizes, device);
}

std::string TransformName(const Program& program) {
  const Region* transform = TransformOf(program);
  if (transform == nullptr) return "";
  switch (transform->kind) {
    case Region::Kind::kJvp:
      return "func.jvp";
    case Region::Kind::kVjp:
      return "func.vjp";
    default:
      return "autograd.Function";
  }
}

std::string OpChain(const Program& program) {
  std::string out;
  for (const Statement& s : program.statements) {
    if (!out.empty()) out += " > ";
    const size_t dot = s.op.rfind('.');
    out += dot == std::string::npos ? s.op : s.op.substr(dot + 1);
  }
  return out;
}

}  // namespace gradfuzz::program
