// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/generate/leaf.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace gradfuzz::generate {
namespace {

using ops::Domain;
using program::DType;
using program::Leaf;
using program::Storage;
using program::ValueRecipe;

constexpr int64_t kMaxLeaf = 4096;  // elements

struct SizeRow {
  int64_t size;
  double tiny, mixed;
};
// Around the widths of vector registers (8 and 16 floats), and the sizes that take scalar paths.
constexpr SizeRow kSizes[] = {{1, 9, 7},  {2, 20, 8}, {3, 20, 9}, {4, 14, 8}, {5, 6, 3},
                              {6, 3, 2},  {7, 3, 6},  {8, 3, 10}, {9, 2, 6},  {15, 0, 4},
                              {16, 0, 8}, {17, 0, 6}, {31, 0, 3}, {32, 0, 5}, {33, 0, 4}};

int64_t Numel(const std::vector<int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

// Strides of a dense tensor whose dimensions lie in memory in `order`, outermost first.
std::vector<int64_t> DenseStrides(const std::vector<int64_t>& sizes,
                                  const std::vector<size_t>& order) {
  std::vector<int64_t> strides(sizes.size(), 1);
  int64_t next = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = next;
    next *= std::max<int64_t>(1, sizes[order[i]]);
  }
  return strides;
}

int64_t Extent(const Leaf& leaf) {
  if (Numel(leaf.sizes) == 0) return leaf.offset;
  int64_t last = leaf.offset;
  for (size_t d = 0; d < leaf.sizes.size(); ++d) last += (leaf.sizes[d] - 1) * leaf.strides[d];
  return last + 1;
}

constexpr Alternative kLayouts[] = {
    {"contiguous", 55},     {"permuted", 12},     {"expanded", 7}, {"offset", 9},
    {"strided_column", 10}, {"channels_last", 5}, {"gaps", 2},     {"overlapping", 0.5}};

// Lays out leaf->sizes as the row named says. RETURNS: false where the sizes do not allow it.
bool ApplyLayout(Rng& rng, std::string_view name, Leaf* leaf) {
  const size_t dims = leaf->sizes.size();
  std::vector<size_t> order(dims);
  std::iota(order.begin(), order.end(), size_t{0});
  leaf->offset = 0;
  leaf->strides = DenseStrides(leaf->sizes, order);
  if (name == "contiguous") return true;
  if (name == "permuted") {
    if (dims < 2) return false;
    const std::vector<size_t> straight = order;
    if (dims == 2 || rng.Chance(0.5)) {
      std::swap(order[dims - 1], order[dims - 2]);
    } else {
      rng.Shuffle(&order);
    }
    leaf->strides = DenseStrides(leaf->sizes, order);
    return order != straight;
  }
  if (name == "expanded") {
    if (dims < 1) return false;
    // At least one dimension of more than one element keeps stride 0.
    std::vector<size_t> wide;
    for (size_t d = 0; d < dims; ++d) {
      if (leaf->sizes[d] > 1) wide.push_back(d);
    }
    if (wide.empty()) return false;
    std::vector<int64_t> compact = leaf->sizes;
    const size_t chosen = rng.Pick(wide);
    for (size_t d = 0; d < dims; ++d) {
      if (d == chosen || rng.Chance(0.2)) compact[d] = 1;
    }
    leaf->strides = DenseStrides(compact, order);
    for (size_t d = 0; d < dims; ++d) {
      if (compact[d] != leaf->sizes[d]) leaf->strides[d] = 0;
    }
    return true;
  }
  if (name == "offset") {  // rows of a wider buffer, or just a later start
    leaf->offset = rng.Between(1, 5);
    if (dims >= 2 && rng.Chance(0.6)) {
      std::vector<int64_t> wider = leaf->sizes;
      wider.back() += rng.Between(1, 4);
      leaf->strides = DenseStrides(wider, order);
    }
    return true;
  }
  if (name == "strided_column") {  // no stride is 1: a column of a matrix
    if (dims < 1) return false;
    const int64_t step = rng.Between(2, 3);
    for (int64_t& stride : leaf->strides) stride *= step;
    if (rng.Chance(0.3)) leaf->offset = rng.Between(1, step - 1);
    return true;
  }
  if (name == "channels_last") {
    if (dims != 4) return false;
    leaf->strides = DenseStrides(leaf->sizes, {0, 2, 3, 1});
    return true;
  }
  if (name == "gaps") {
    if (dims < 2) return false;
    rng.Shuffle(&order);
    std::vector<int64_t> wider = leaf->sizes;
    wider[order.back()] += rng.Between(1, 2);
    leaf->strides = DenseStrides(wider, order);
    return true;
  }
  // "overlapping": windows over a shorter buffer
  if (dims < 2) return false;
  leaf->strides.assign(dims, 1);
  for (size_t d = dims - 1; d-- > 0;) leaf->strides[d] = leaf->strides[d + 1] + 1;
  return true;
}

ValueRecipe Ints(int64_t low, int64_t high) {
  ValueRecipe recipe;
  recipe.kind = ValueRecipe::Kind::kInts;
  recipe.low = static_cast<double>(low);
  recipe.high = static_cast<double>(high);
  return recipe;
}

ValueRecipe Uniform(double low, double high) {
  ValueRecipe recipe;
  recipe.kind = ValueRecipe::Kind::kUniform;
  recipe.low = low;
  recipe.high = high;
  return recipe;
}

ValueRecipe Normal(double scale) {
  ValueRecipe recipe;
  recipe.kind = ValueRecipe::Kind::kNormal;
  recipe.scale = scale;
  return recipe;
}

ValueRecipe Among(std::vector<double> values) {
  ValueRecipe recipe;
  recipe.kind = ValueRecipe::Kind::kChoice;
  recipe.values = std::move(values);
  return recipe;
}

// Away from 0 on both sides, irregular enough that ties are rare on small shapes.
ValueRecipe NonZero() {
  return Among({-2.83, -2.17, -1.71, -1.31, -1.09, -0.83, -0.61, -0.37, 0.41, 0.59, 0.89, 1.07,
                1.37, 1.79, 2.23, 2.71});
}

constexpr Alternative kExactValues[] = {
    {"ints", 60}, {"ties", 20}, {"nonnegative", 10}, {"signed_zeros", 5}, {"large_ints", 5}};
constexpr Alternative kRealValues[] = {{"normal", 46}, {"uniform", 20},     {"ints", 10},
                                       {"ties", 7},    {"signed_zeros", 4}, {"boundary", 5},
                                       {"large", 3},   {"small", 3},        {"duplicates", 2}};

constexpr Alternative kNonFiniteValues[] = {
    {"nan", 35}, {"infinite", 20}, {"plus_infinite", 20}, {"huge", 25}};

using Tags = std::vector<std::string>;

// Where a dtype wraps, and where narrower ones did. No smallest number: dividing it by -1 traps.
std::vector<double> WrapValues(DType dtype) {
  switch (dtype) {
    case DType::kUInt8:
      return {0, 1, 2, 127, 128, 200, 254, 255};
    case DType::kInt8:
      return {-127, -100, -1, 0, 1, 64, 100, 127};
    case DType::kInt32:
      return {-2147483647, -65536, -1, 0, 1, 46341, 65536, 2147483647};
    default:
      return {-4294967297, -2147483649, -1, 0, 1, 2147483647, 2147483648, 1099511627776};
  }
}

ValueRecipe DrawIntegers(Rng& rng, Context& context, Tags* tags) {
  const bool is_unsigned = context.profile.dtype == DType::kUInt8;
  if (Chance(rng, context.weights, "values.wrap", 0.4)) {
    tags->push_back("values.wrap");
    return Among(WrapValues(context.profile.dtype));
  }
  tags->push_back("values.ints");
  return is_unsigned ? Ints(0, 5) : Ints(-4, 4);
}

ValueRecipe DrawExactValues(Rng& rng, Context& context, Tags* tags) {
  const auto row = Draw(rng, context.weights, "values.", kExactValues);
  const std::string_view name = row ? kExactValues[*row].name : "ints";
  tags->push_back("values." + std::string(name));
  if (name == "ties") return Ints(-1, 1);
  if (name == "nonnegative") return Ints(0, 3);
  if (name == "signed_zeros") return Among({0.0, -0.0, 1, -1, 2});
  if (name == "large_ints") return Among({-100, -7, 0, 1, 63, 64, 100});
  return Ints(-4, 4);
}

ValueRecipe DrawRealValues(Rng& rng, Context& context, Tags* tags) {
  const auto row = Draw(rng, context.weights, "values.", kRealValues);
  const std::string_view name = row ? kRealValues[*row].name : "normal";
  tags->push_back("values." + std::string(name));
  if (name == "uniform") return Uniform(-2, 2);
  if (name == "ints") return Ints(-4, 4);
  if (name == "ties") return Among({-1, -0.5, 0, 0.5, 1});
  if (name == "signed_zeros") return Among({0.0, -0.0, 1, -1, 0.5});
  // Bounds of hardtanh, relu6, clamp, shrink and of the drawn scalars; 1.7 and 0.1 are not exact in
  // any binary format, 1.703125 is what bfloat16 makes of 1.7.
  if (name == "boundary") return Among({-3, -1, -0.5, 0, 0.1, 0.5, 1, 1.7, 1.703125, 3, 6});
  if (name == "large") return Normal(30);
  if (name == "small") return Normal(1e-3);
  if (name == "duplicates") return Among({-1.37, 0.73, 0.73, 2.11});
  return Normal(1);
}

ValueRecipe DrawNonFinite(Rng& rng, Context& context, Tags* tags) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const auto row = Draw(rng, context.weights, "values.", kNonFiniteValues);
  const std::string_view name = row ? kNonFiniteValues[*row].name : "nan";
  tags->push_back("values." + std::string(name));
  if (name == "infinite") return Among({kInf, -kInf, 0.0, -1.5, 0.7, 2});
  if (name == "plus_infinite") return Among({kInf, 0.0, 0.5, -1.5, 2, 3});
  if (name == "huge") {
    // Their products overflow, they and their sums do not, by far: program::Info has no range.
    if (context.profile.dtype == DType::kFloat64) return Among({-1e200, 1e200, 3e200, 0.0, 0.5});
    if (context.profile.dtype == DType::kFloat16) return Among({-1e3, 1e3, 3e3, 0.0, 0.5});
    return Among({-1e30, 1e30, 3e30, 0.0, 0.5});
  }
  return Among({kNaN, -1.5, 0.0, 0.7, 2, 1});
}

ValueRecipe DrawValues(Rng& rng, Context& context, Domain domain, Tags* tags) {
  const bool exact = context.profile.exact;
  const int64_t low = context.profile.dtype == DType::kUInt8 ? 0 : -1;
  if (context.profile.non_finite && rng.Chance(0.8)) return DrawNonFinite(rng, context, tags);
  switch (domain) {
    case Domain::kPositive:
      return exact ? Ints(1, 4) : Uniform(0.25, 3);
    case Domain::kNonNegative:
      return exact ? Ints(0, 4) : Uniform(0, 3);
    case Domain::kUnit:
      return exact ? Ints(low, 1) : Uniform(-1, 1);
    case Domain::kUnitOpen:
      return Uniform(0.05, 0.95);
    case Domain::kAtLeastOne:
      return exact ? Ints(2, 5) : Uniform(1.25, 4);
    case Domain::kNonZero:
      if (exact && low == 0) return Among({1, 2, 3, 4});
      if (exact) return Among({-3, -2, -1, 1, 2, 4});
      return rng.Chance(0.5) ? NonZero() : Uniform(0.25, 3);
    case Domain::kModerate:
      return exact ? Ints(3 * low, 3) : rng.Chance(0.7) ? Normal(1) : Uniform(-3, 3);
    case Domain::kAny:
      break;
  }
  if (context.profile.integers()) return DrawIntegers(rng, context, tags);
  return exact ? DrawExactValues(rng, context, tags) : DrawRealValues(rng, context, tags);
}

// Seeds small enough to read, and apart by more than the number of draws.
uint64_t DrawSeed(Rng& rng) { return rng.Below(100000) * 10; }

}  // namespace

int64_t DrawSize(Rng& rng, const Profile& profile) {
  if (profile.empty && rng.Chance(0.25)) return 0;
  std::vector<double> weights;
  for (const SizeRow& row : kSizes) {
    weights.push_back(profile.sizes == SizeClass::kMixed ? row.mixed : row.tiny);
  }
  return kSizes[rng.PickWeighted(weights)].size;
}

std::vector<int64_t> DrawSizes(Rng& rng, const Profile& profile, int64_t low, int64_t high) {
  int64_t dims = profile.dims;
  if (dims < low || dims > high || rng.Chance(0.2)) {
    dims = rng.Between(low, std::min(high, low + 2));
  }
  std::vector<int64_t> sizes;
  for (int64_t d = 0; d < dims; ++d) sizes.push_back(DrawSize(rng, profile));
  if (profile.sizes == SizeClass::kLong && dims > 0 && rng.Chance(0.8)) {
    for (int64_t& size : sizes) size = std::min<int64_t>(size, 3);
    sizes[static_cast<size_t>(rng.Below(sizes.size()))] = rng.Between(1023, 1025);
  }
  while (Numel(sizes) > kMaxLeaf) {
    int64_t& largest = *std::max_element(sizes.begin(), sizes.end());
    largest = largest / 2;
  }
  return sizes;
}

namespace {

// A leaf over the buffer of one in hand, or nothing where none is long enough.
std::optional<int> AddAliasLeaf(Rng& rng, Context& context, const LeafWish& wish) {
  Workspace& workspace = context.workspace;
  if (workspace.mutates() || wish.domain != Domain::kAny || wish.range || Numel(wish.sizes) == 0) {
    return {};
  }
  std::vector<int> ids;
  for (size_t i = 0; i < workspace.values().size(); ++i) {
    const int leaf = workspace.values()[i].leaf;
    if (leaf < 0) continue;
    const Storage& storage =
        workspace
            .storages()[static_cast<size_t>(workspace.leaves()[static_cast<size_t>(leaf)].storage)];
    if (storage.dtype == context.profile.dtype && storage.numel >= Numel(wish.sizes)) {
      ids.push_back(static_cast<int>(i));
    }
  }
  if (ids.empty()) return {};
  const int other = rng.Pick(ids);
  Leaf leaf;
  leaf.sizes = wish.sizes;
  ApplyLayout(rng, "contiguous", &leaf);
  const int storage = workspace.leaves()[static_cast<size_t>(workspace.value(other).leaf)].storage;
  leaf.offset =
      rng.Between(0, workspace.storages()[static_cast<size_t>(storage)].numel - Numel(leaf.sizes));
  leaf.requires_grad = !wish.no_grad && rng.Chance(0.7);
  return workspace.AddAlias(other, std::move(leaf), {"feature.alias_inputs"});
}

}  // namespace

int AddFloatLeaf(Rng& rng, Context& context, const LeafWish& wish) {
  if (Chance(rng, context.weights, "feature.alias_inputs", 0.03) && !wish.grad) {
    if (const auto alias = AddAliasLeaf(rng, context, wish)) return *alias;
  }
  Leaf leaf;
  leaf.sizes = wish.sizes;
  std::string_view name = "contiguous";
  ApplyLayout(rng, name, &leaf);
  for (int tries = 0; tries < 4 && !wish.contiguous; ++tries) {
    std::string_view proposed = wish.layout;
    if (tries > 0 || proposed.empty()) {
      const auto row = Draw(rng, context.weights, "layout.", kLayouts);
      proposed = row ? kLayouts[*row].name : "contiguous";
    }
    const bool shares = proposed == "expanded" || proposed == "overlapping";
    if (shares && wish.writable) continue;
    Leaf candidate = leaf;
    if (!ApplyLayout(rng, proposed, &candidate)) continue;
    if (Extent(candidate) > 4 * kMaxLeaf) continue;
    leaf = std::move(candidate);
    name = proposed;
    break;
  }
  Tags tags = {"layout." + std::string(name)};
  if (leaf.sizes.empty()) tags.emplace_back("size.scalar");
  if (!leaf.sizes.empty() && Numel(leaf.sizes) == 1) tags.emplace_back("size.one_element");
  if (Numel(leaf.sizes) == 0) tags.emplace_back("size.zero");
  if (Numel(leaf.sizes) > 1000) tags.emplace_back("size.large");
  Storage storage;
  storage.dtype = context.profile.dtype;
  if (context.profile.other && rng.Chance(0.4)) {
    storage.dtype = *context.profile.other;
    tags.emplace_back("feature.mixed_dtypes");
  }
  storage.numel = Extent(leaf);
  storage.values = wish.range ? Uniform(wish.range->first, wish.range->second)
                              : DrawValues(rng, context, wish.domain, &tags);
  storage.values.seed = DrawSeed(rng);
  leaf.requires_grad =
      !wish.no_grad && program::IsDifferentiable(storage.dtype) && (rng.Chance(0.85) || wish.grad);
  return context.workspace.AddLeaf(std::move(storage), std::move(leaf), std::move(tags));
}

namespace {

Leaf Contiguous(const std::vector<int64_t>& sizes) {
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  Leaf leaf;
  leaf.sizes = sizes;
  leaf.strides = DenseStrides(sizes, order);
  return leaf;
}

int AddPlain(Context& context, const std::vector<int64_t>& sizes, DType dtype, ValueRecipe values,
             std::string tag, IndexFacts index = {}, bool requires_grad = false) {
  Storage storage;
  storage.dtype = dtype;
  storage.numel = Numel(sizes);
  storage.values = std::move(values);
  Leaf leaf = Contiguous(sizes);
  leaf.requires_grad = requires_grad;
  return context.workspace.AddLeaf(std::move(storage), std::move(leaf), {std::move(tag)}, index);
}

ValueRecipe LiteralOf(std::vector<double> values) {
  ValueRecipe recipe;
  recipe.kind = ValueRecipe::Kind::kLiteral;
  recipe.values = std::move(values);
  return recipe;
}

}  // namespace

int AddIndexLeaf(Rng& rng, Context& context, const std::vector<int64_t>& sizes, int64_t below,
                 bool unique, int64_t dim) {
  const int64_t numel = Numel(sizes);
  if (!unique) {
    ValueRecipe recipe = Ints(0, std::max<int64_t>(0, below - 1));
    recipe.seed = DrawSeed(rng);
    return AddPlain(context, sizes, DType::kInt64, std::move(recipe), "index.repeated",
                    {below, false, 0});
  }
  // The same on every draw: a literal, so that uniqueness cannot depend on the values drawn.
  std::vector<double> values(static_cast<size_t>(numel));
  const int64_t length = sizes.empty() ? 1 : sizes[static_cast<size_t>(dim)];
  int64_t inner = 1;
  for (size_t d = static_cast<size_t>(dim) + 1; d < sizes.size(); ++d) inner *= sizes[d];
  for (int64_t base = 0; base < numel; ++base) {
    if ((base / inner) % std::max<int64_t>(1, length) != 0) continue;  // not the start of a line
    std::vector<int64_t> all(static_cast<size_t>(below));
    std::iota(all.begin(), all.end(), int64_t{0});
    rng.Shuffle(&all);
    for (int64_t k = 0; k < length; ++k) {
      values[static_cast<size_t>(base + k * inner)] =
          static_cast<double>(all[static_cast<size_t>(k)]);
    }
  }
  return AddPlain(context, sizes, DType::kInt64, LiteralOf(std::move(values)), "index.unique",
                  {below, true, dim});
}

int AddIntLeaf(Context& context, const std::vector<int64_t>& sizes, std::vector<double> values,
               std::string tag) {
  return AddPlain(context, sizes, DType::kInt64, LiteralOf(std::move(values)), std::move(tag));
}

int AddLiteralLeaf(Context& context, const std::vector<int64_t>& sizes, DType dtype,
                   const std::vector<double>& values, bool requires_grad, std::string tag) {
  std::vector<double> elements;
  for (const double v : values) {
    elements.push_back(v);
    if (program::Info(dtype).is_complex) elements.push_back(0);
  }
  return AddPlain(context, sizes, dtype, LiteralOf(std::move(elements)), std::move(tag), {},
                  requires_grad);
}

int AddMaskLeaf(Rng& rng, Context& context, const std::vector<int64_t>& sizes) {
  ValueRecipe recipe = Ints(0, 1);
  recipe.seed = DrawSeed(rng);
  return AddPlain(context, sizes, DType::kBool, std::move(recipe), "index.mask");
}

int AddSignLeaf(Rng& rng, Context& context, const std::vector<int64_t>& sizes) {
  ValueRecipe recipe = Among({1, -1});
  recipe.seed = DrawSeed(rng);
  return AddPlain(context, sizes, context.profile.dtype, std::move(recipe), "values.signs");
}

bool InDomain(const Value& value, Domain domain) {
  if (domain == Domain::kAny) return true;
  double low = 0;
  double high = 0;
  double nearest = 1e30;  // to zero
  for (const at::Tensor& tensor : value.tensors) {
    if (tensor.numel() == 0) continue;
    if (tensor.is_complex()) return true;
    const at::Tensor t = tensor.detach().to(at::kDouble);
    const double least = t.min().item<double>();
    const double most = t.max().item<double>();
    low = &tensor == &value.tensors[0] ? least : std::min(low, least);
    high = &tensor == &value.tensors[0] ? most : std::max(high, most);
    nearest = std::min(nearest, t.abs().min().item<double>());
  }
  switch (domain) {
    case Domain::kPositive:
      return low >= 0.05;
    case Domain::kNonNegative:
      return low >= 0;
    case Domain::kUnit:
      return low >= -1 && high <= 1;
    case Domain::kUnitOpen:
      return low >= 0.02 && high <= 0.98;
    case Domain::kAtLeastOne:
      return low >= 1.1;
    case Domain::kNonZero:
      return nearest >= 0.05;
    case Domain::kModerate:
      return low >= -8 && high <= 8;
    case Domain::kAny:
      break;
  }
  return true;
}

void AppendLeafNames(std::vector<std::string>* names) {
  AppendNames("layout.", kLayouts, names);
  AppendNames("values.", kRealValues, names);
  AppendNames("values.", kNonFiniteValues, names);
  for (const Alternative& row : kExactValues) {
    const std::string name = "values." + std::string(row.name);
    if (std::find(names->begin(), names->end(), name) == names->end()) names->push_back(name);
  }
}

}  // namespace gradfuzz::generate
