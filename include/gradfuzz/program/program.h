// SPDX-License-Identifier: BSD-3-Clause
// The program: a flat SSA list that every other part generates, runs, compares or shrinks.
//
//  1. Plain data, copied freely; two programs are equal when all their fields are.
//  2. Values are numbered: the leaves first (0 .. leaves-1), then the results of the statements in
//     order. A statement uses only values numbered before it.
//  3. Nothing here knows torch: shapes of intermediate values are not stored, they are found by
//     running the program.
//  4. Two spellings, both round-trip: JSON (json.h) and plain Python (emit.h and the bridge).
#pragma once

#include <complex>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gradfuzz/program/dtype.h"

namespace gradfuzz::program {

using ValueId = int;

// How the elements of a buffer are made: data, not code. Draw `d` of a program uses seed + d, so
// one compiled program is checked on several sets of values; a literal is the same in every draw.
// The random kinds are spelled with torch.randint on torch's CPU generator and exact arithmetic in
// float64, so that a script redraws the same values on any machine.
struct ValueRecipe {
  enum class Kind : uint8_t {
    kLiteral,  // `values`, one per element (complex: real and imaginary part in turn)
    kInts,     // uniform integers in [low, high]
    kUniform,  // low + (high - low) * k / 2^20, k uniform in [0, 2^20]
    kNormal,   // shift + scale * (sum of three uniforms on [-1, 1]): variance 1, bounded by 3
    kChoice,   // uniform among `values`: ties, signed zeros, boundary lattices, huge and tiny
  };
  Kind kind = Kind::kInts;
  uint64_t seed = 0;
  double low = -4;   // kInts (whole), kUniform
  double high = 4;   // kInts (whole), kUniform
  double scale = 1;  // kNormal
  double shift = 0;  // kNormal
  std::vector<double> values;

  bool operator==(const ValueRecipe&) const;  // NaN equals NaN, -0 differs from 0
};

// A one-dimensional buffer. Leaves are views of buffers; leaves that name one buffer alias.
struct Storage {
  DType dtype = DType::kFloat32;
  int64_t numel = 0;
  ValueRecipe values;

  bool operator==(const Storage&) const = default;
};

// An argument of the program: `storage.as_strided(sizes, strides, offset)`.
struct Leaf {
  int storage = 0;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;  // in elements, one per size, >= 0
  int64_t offset = 0;            // in elements
  bool requires_grad = false;

  bool operator==(const Leaf&) const = default;
};

// An argument of a statement, as Python would write it.
struct Arg;
using ArgList = std::vector<Arg>;

struct None {
  bool operator==(const None&) const = default;
};
struct ValueRef {
  ValueId id = 0;
  bool operator==(const ValueRef&) const = default;
};
struct Tuple {  // matters for indexing only; elsewhere a list is used
  ArgList items;
  bool operator==(const Tuple&) const;
};
struct Slice {     // each None or Int
  ArgList bounds;  // start, stop, step
  bool operator==(const Slice&) const;
};
struct Constant {  // a name below `torch.` that is no dtype: "channels_last", "preserve_format"
  std::string name;
  bool operator==(const Constant&) const = default;
};
struct Ellipsis {
  bool operator==(const Ellipsis&) const = default;
};

struct Arg {
  using Data = std::variant<None, bool, int64_t, double, std::complex<double>, std::string, DType,
                            ValueRef, ArgList, Tuple, Slice, Constant, Ellipsis>;
  Data data;
  // Set on a float that is a parameter of the program: its value in the second call. `data` holds
  // the one of the first.
  std::optional<double> second;

  Arg() : data(None{}) {}
  template <typename T>
  Arg(T value) : data(std::move(value)) {}               // NOLINT(google-explicit-constructor)
  Arg(int value) : data(static_cast<int64_t>(value)) {}  // NOLINT(google-explicit-constructor)
  Arg(const char* value) : data(std::string(value)) {}   // NOLINT(google-explicit-constructor)

  static Arg Value(ValueId id) { return Arg(ValueRef{id}); }
  static Arg Ints(const std::vector<int64_t>& values);

  template <typename T>
  bool Is() const {
    return std::holds_alternative<T>(data);
  }
  template <typename T>
  const T& As() const {
    return std::get<T>(data);
  }
  template <typename T>
  T& As() {
    return std::get<T>(data);
  }
  bool operator==(const Arg&) const;  // floats compare bit for bit
};

// One call: `results = op(args, kwargs)`.
//
// `op` is the Python path below `torch.` ("amin", "nn.functional.pad"), or "Tensor.<method>" for a
// method of the first argument ("Tensor.add_", "Tensor.__getitem__", "Tensor.__setitem__").
struct Statement {
  std::string op;
  ArgList args;
  std::vector<std::pair<std::string, Arg>> kwargs;
  int results = 1;  // 0 only for "Tensor.__setitem__"

  bool operator==(const Statement&) const = default;
};

// A block around the statements [first, last].
struct Region {
  enum class Kind : uint8_t {
    kNoGrad,       // with torch.no_grad()
    kAutocast,     // with torch.autocast(..., dtype=torch.bfloat16)
    kAutocastOff,  // with torch.autocast(..., enabled=False)
    kCheckpoint,   // in a function of its own, run by torch.utils.checkpoint: changes no value
    // In a torch.autograd.Function whose backward is not its derivative: to each floating-point
    // tensor x that it takes it gives x times the sum of all elements of all cotangents.
    kFunction,
    // Differentiated as a whole by torch.func within the program. What it takes and gives must be
    // differentiable; T are the tensors that it takes.
    kJvp,  // gives the derivatives along T instead of the values
    kVjp,  // adds the sum of all elements of T * gradient to each value; cotangents are ones
  };
  Kind kind = Kind::kNoGrad;
  int first = 0;
  int last = 0;

  bool operator==(const Region&) const = default;
};

// The vector given to backward for one output; its shape is the output's.
struct Cotangent {
  enum class Layout : uint8_t {
    kContiguous,
    kExpanded,     // one element, stride 0 in every dimension
    kColumnMajor,  // strides of the reversed shape
    kSliced,       // every second element of a buffer of twice the size, last dimension
  };
  ValueRecipe values;
  Layout layout = Layout::kContiguous;

  bool operator==(const Cotangent&) const = default;
};

// What the program returns. Outputs that do not require a gradient have an unused cotangent.
struct Output {
  ValueId value = 0;
  Cotangent cotangent;

  bool operator==(const Output&) const = default;
};

// How the program is compiled and called.
struct CallPlan {
  enum class Dynamic : uint8_t { kDefault, kYes, kNo };
  enum class Backward : uint8_t {
    kGrad,        // torch.autograd.grad(outputs, leaves, cotangents)
    kNone,        // under torch.no_grad()
    kAccumulate,  // .backward(retain_graph=True) twice: gradients add up
    kDouble,      // create_graph=True, then the gradient of the gradients' sum
  };
  Dynamic dynamic = Dynamic::kDefault;
  Backward backward = Backward::kGrad;
  bool autocast = false;       // torch.autocast(bfloat16) around the call, not the backward
  bool no_grad_first = false;  // an extra call under torch.no_grad() before the compared one
  // Entries of torch's config modules that it is compiled under, by the name that --knob takes:
  // {"inductor.cpp.simdlen", 1}. Values are None, bool, int, float or string.
  std::map<std::string, Arg> config;
  // A second call of the same compiled function, on other sizes or with other floats (Arg::second);
  // empty = none. Same number, types and storages as `leaves`.
  std::vector<Storage> second_storages;
  std::vector<Leaf> second_leaves;

  bool operator==(const CallPlan&) const = default;
};

struct Program {
  std::vector<Storage> storages;
  std::vector<Leaf> leaves;
  std::vector<Statement> statements;
  std::vector<Region> regions;  // properly nested, ordered by `first`
  std::vector<Output> outputs;
  CallPlan call;

  bool operator==(const Program&) const = default;
};

// The id of the first result of statement `index`.
ValueId FirstResult(const Program& program, size_t index);
// The number of values: leaves plus all results.
int ValueCount(const Program& program);
// "x0" for a leaf, "v5" for a result.
std::string ValueName(const Program& program, ValueId id);

// What a region's statements use of what is before it, and what of them is used behind it; in the
// order of the values.
struct RegionEnds {
  std::vector<ValueId> takes, gives;
};
RegionEnds EndsOf(const Program& program, const Region& region);

// Whether the region is a function of its own that changes values or gradients: kFunction, kJvp or
// kVjp. Such a one is its program's only region; a pack (pack.h) may have several.
bool IsTransform(Region::Kind kind);
// The first region that is one; null where there is none. Not for packs.
const Region* TransformOf(const Program& program);

// The program as its second call runs it: the leaves, storages and floats of that call in place of
// the first one's. The floats are still parameters. REQUIRES: it has a second call.
Program SecondCall(const Program& program);
// The floats that the program takes as parameters ("f0", "f1", ...), with their values in the first
// and in the second call.
std::vector<double> Floats(const Program& program);
std::vector<double> SecondFloats(const Program& program);
// The number of the first one that statement `index`, or one behind it, takes.
size_t FirstFloat(const Program& program, size_t index);

// Calls `visit(arg)` for each argument that is no list or tuple, also inside those and in kwargs,
// in the order in which the program is written.
template <typename Visit>
void ForEachArg(Arg& arg, const Visit& visit) {
  if (arg.Is<ArgList>()) {
    for (Arg& item : arg.As<ArgList>()) ForEachArg(item, visit);
  } else if (arg.Is<Tuple>()) {
    for (Arg& item : arg.As<Tuple>().items) ForEachArg(item, visit);
  } else {
    visit(arg);
  }
}
template <typename Visit>
void ForEachArg(Statement& statement, const Visit& visit) {
  for (Arg& arg : statement.args) ForEachArg(arg, visit);
  for (auto& [name, arg] : statement.kwargs) ForEachArg(arg, visit);
}
// Calls `visit(ref)` for each value that the statement uses.
template <typename Visit>
void ForEachUse(Statement& statement, const Visit& visit) {
  ForEachArg(statement, [&](Arg& arg) {
    if (arg.Is<ValueRef>()) visit(arg.As<ValueRef>());
  });
}
std::vector<ValueId> Uses(const Statement& statement);  // in order, with repeats

// Empty when well formed, else what is wrong: ids out of range, sizes and strides that differ in
// number, a view that leaves its storage, a literal of the wrong length, regions not nested, a
// transform that takes nothing, gives nothing or has another region beside it, an
// index without its tensor, a parameter that is no finite float.
std::string Validate(const Program& program);

}  // namespace gradfuzz::program
