// SPDX-License-Identifier: BSD-3-Clause
#include "emit_region.h"

#include <algorithm>
#include <cctype>

#include "gradfuzz/program/emit.h"
#include "python_text.h"

namespace gradfuzz::program {
namespace {

std::string BlockName(size_t region) { return "block" + std::to_string(region); }

std::vector<std::string> Numbered(const char* prefix, size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back(prefix + std::to_string(i));
  return names;
}

// "a + b".
std::string Sum(const std::vector<std::string>& terms) {
  std::string out;
  for (const std::string& term : terms) out += (out.empty() ? "" : " + ") + term;
  return out;
}

// "ProgramFunction", where a pack has several "ProgramFunction1" and so on: no two functions of a
// module share a class, nor do two regions.
std::string ClassName(const Program& program, size_t index, std::string function) {
  function[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(function[0])));
  const auto before = std::count_if(
      program.regions.begin(), program.regions.begin() + static_cast<std::ptrdiff_t>(index),
      [](const Region& region) { return region.kind == Region::Kind::kFunction; });
  return function + "Function" + (before == 0 ? "" : std::to_string(before));
}

// The floats that a region's statements take as parameters.
std::vector<std::string> FloatNames(const Program& program, const Region& region) {
  std::vector<std::string> names;
  const size_t end = FirstFloat(program, static_cast<size_t>(region.last) + 1);
  for (size_t i = FirstFloat(program, static_cast<size_t>(region.first)); i < end; ++i) {
    names.push_back(FloatName(i));
  }
  return names;
}

// (v5,), pullback = torch.func.vjp(block0, x0); what it adds to the values of the block.
std::string VjpLines(const std::string& block, const std::vector<std::string>& takes,
                     const std::vector<std::string>& gives, const std::string& indent) {
  const std::vector<std::string> gradients = Numbered("g", takes.size());
  std::vector<std::string> ones, products, sums;
  for (const std::string& v : gives) {
    ones.push_back("torch.ones_like(" + v + ")");
    sums.push_back(v + " + g");
  }
  for (size_t i = 0; i < takes.size(); ++i) {
    products.push_back("(" + takes[i] + " * " + gradients[i] + ").sum()");
  }
  return indent + TupleText(gives) + ", pullback = torch.func.vjp(" +
         Join(Concatenated({block}, takes)) + ")\n" + indent + TupleText(gradients) +
         " = pullback(" + TupleText(ones) + ")\n" + indent + "g = " + Sum(products) + "\n" +
         indent + TupleText(gives) + " = " + TupleText(sums) + "\n";
}

}  // namespace

std::string RegionHeader(const Program& program, size_t index) {
  const Region& region = program.regions[index];
  switch (region.kind) {
    case Region::Kind::kNoGrad:
      return "with torch.no_grad():";
    case Region::Kind::kAutocast:
      return "with torch.autocast(x0.device.type, dtype=torch.bfloat16):";
    case Region::Kind::kAutocastOff:
      return "with torch.autocast(x0.device.type, enabled=False):";
    case Region::Kind::kCheckpoint:
    case Region::Kind::kJvp:
    case Region::Kind::kVjp:
      return "def " + BlockName(index) + "(" + Join(Names(program, EndsOf(program, region).takes)) +
             "):";
    case Region::Kind::kFunction:
      break;  // stands before the program
  }
  return "";
}

std::string RegionFooter(const Program& program, size_t index, const std::string& indent) {
  const Region& region = program.regions[index];
  const std::string block = BlockName(index);
  const RegionEnds ends = EndsOf(program, region);
  const std::vector<std::string> takes = Names(program, ends.takes);
  const std::vector<std::string> gives = Names(program, ends.gives);
  const std::string results = TupleText(gives);
  const std::string end = indent + "    return " + results + "\n";
  switch (region.kind) {
    case Region::Kind::kCheckpoint:
      return end + indent + (gives.empty() ? "" : results + " = ") +
             "torch.utils.checkpoint.checkpoint(" +
             Join(Concatenated(Concatenated({block}, takes), {"use_reentrant=False"})) + ")\n";
    case Region::Kind::kJvp:
      return end + indent + results + " = torch.func.jvp(" + block + ", " + TupleText(takes) +
             ", " + TupleText(takes) + ")[1]\n";
    case Region::Kind::kVjp:
      return end + VjpLines(block, takes, gives, indent);
    default:
      return "";
  }
}

std::string EmitClass(const Program& program, size_t index, const std::string& function) {
  const Region& region = program.regions[index];
  const RegionEnds ends = EndsOf(program, region);
  const std::vector<std::string> takes = Names(program, ends.takes);
  const std::vector<std::string> gives = Names(program, ends.gives);
  const std::vector<std::string> floats = FloatNames(program, region);
  std::string out = "class " + ClassName(program, index, function) +
                    "(torch.autograd.Function):  # its backward is not its derivative\n"
                    "    @staticmethod\n"
                    "    def forward(" +
                    Join(Concatenated({"ctx"}, Concatenated(takes, floats))) + "):\n";
  for (int i = region.first; i <= region.last; ++i) {
    out += "        " + EmitStatement(program, static_cast<size_t>(i)) + "\n";
  }
  out += "        ctx.save_for_backward(" + Join(takes) + ")\n        return " +
         (gives.size() == 1 ? gives[0] : TupleText(gives)) + "\n\n";
  const std::vector<std::string> cotangents = Numbered("g", gives.size());
  std::vector<std::string> sums, gradients;
  for (const std::string& g : cotangents) sums.push_back(g + ".sum()");
  for (const std::string& x : takes) {
    gradients.push_back(x + " * g if " + x + ".is_floating_point() else None");
  }
  gradients.resize(takes.size() + floats.size(), "None");
  return out + "    @staticmethod\n    def backward(" + Join(Concatenated({"ctx"}, cotangents)) +
         "):\n        " + TupleText(takes) + " = ctx.saved_tensors\n        g = " + Sum(sums) +
         "\n        return " + Join(gradients) + "\n";
}

std::string EmitApply(const Program& program, size_t index, const std::string& function) {
  const Region& region = program.regions[index];
  const RegionEnds ends = EndsOf(program, region);
  return Join(Names(program, ends.gives)) + " = " + ClassName(program, index, function) +
         ".apply(" + Join(Concatenated(Names(program, ends.takes), FloatNames(program, region))) +
         ")";
}

}  // namespace gradfuzz::program
