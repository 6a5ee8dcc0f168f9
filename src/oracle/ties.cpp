// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/oracle/ties.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "gradfuzz/support/rng.h"

namespace gradfuzz::oracle {
namespace {

using Place = std::pair<Quantity, size_t>;

bool SameTrace(const Trace& a, const Trace& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].op != b[i].op || a[i].results.size() != b[i].results.size()) return false;
    for (size_t k = 0; k < a[i].results.size(); ++k) {
      if (!a[i].results[k].equal(b[i].results[k])) return false;
    }
  }
  return true;
}

bool IsReal(const at::Tensor& storage) { return storage.scalar_type() == at::kDouble; }

double LargestFinite(const at::Tensor& storage) {
  double largest = 0;
  const double* data = storage.const_data_ptr<double>();
  for (int64_t i = 0; i < storage.numel(); ++i) {
    if (std::isfinite(data[i])) largest = std::max(largest, std::fabs(data[i]));
  }
  return largest;
}

// x moved by `by`, relative to itself, or to the storage where it is 0.
double Moved(double x, double by, double storage_scale) {
  if (!std::isfinite(x)) return x;
  const double scale = x != 0 ? std::fabs(x) : (storage_scale > 0 ? storage_scale : 1.0);
  return x + by * scale;
}

double LeafNudge(const Precision& precision) { return precision.model().tie * precision.eps; }

// The place in its storage of element i (row-major) of a leaf.
int64_t StorageOffset(const program::Leaf& leaf, size_t i) {
  int64_t rest = static_cast<int64_t>(i);
  int64_t offset = leaf.offset;
  for (size_t d = leaf.sizes.size(); d-- > 0;) {
    offset += rest % leaf.sizes[d] * leaf.strides[d];
    rest /= leaf.sizes[d];
  }
  return offset;
}

// Non-negative least squares: min |A x - y|, x >= 0, by coordinate descent on the normal
// equations. The columns number at most some hundreds and are sparse and few-valued here, where
// the descent settles in a few sweeps. RETURNS: the residual y - A x.
std::vector<double> NonNegativeResidual(const std::vector<std::vector<double>>& columns,
                                        const std::vector<double>& y) {
  constexpr int kSweeps = 2000;
  constexpr double kSettled = 1e-3;  // in units of the tolerance: y is scaled by it
  std::vector<double> residual = y;
  std::vector<double> x(columns.size(), 0);
  std::vector<double> norms(columns.size(), 0);
  for (size_t c = 0; c < columns.size(); ++c) {
    for (double v : columns[c]) norms[c] += v * v;
  }
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    double moved = 0;
    for (size_t c = 0; c < columns.size(); ++c) {
      if (norms[c] == 0) continue;
      double slope = 0;
      for (size_t i = 0; i < residual.size(); ++i) slope += columns[c][i] * residual[i];
      const double next = std::max(0.0, x[c] + slope / norms[c]);
      const double step = next - x[c];
      if (step == 0) continue;
      for (size_t i = 0; i < residual.size(); ++i) residual[i] -= step * columns[c][i];
      x[c] = next;
      moved = std::max(moved, std::fabs(step) * std::sqrt(norms[c]));
    }
    if (moved < kSettled) break;
  }
  return residual;
}

// Whether one noisy sample in four made a choice that no other one made: Good and Turing's estimate
// of how many choices were never seen. (The largest of 50 values, all within rounding.)
// `noisy`: of the vertices, those that noise alone chose.
bool Unexplored(const std::vector<Gradients>& vertices, const std::vector<size_t>& noisy) {
  size_t once = 0;
  for (const size_t a : noisy) {
    once += std::ranges::none_of(noisy, [&](size_t b) {
      return a != b && std::ranges::all_of(vertices[a], [&](const auto& entry) {
               return entry.second.re == vertices[b].at(entry.first).re;
             });
    });
  }
  return 4 * once > static_cast<size_t>(kTieSamples);
}

}  // namespace

Replay Ties::Decide(const ReplayOptions& options) {
  ++replays_;
  Replay replay = RunReplay(envelope_.program(), envelope_.precision(), options);
  if (!replay.observation.ok()) return replay;
  const bool nudged = options.follow == Follow::kForwardJumps;
  Widen(replay.observation, /*gradients=*/false, /*discrete_only=*/nudged);
  return replay;
}

void Ties::Widen(const evaluate::Observation& observation, bool gradients, bool discrete_only) {
  for (auto& [quantity, range] : ranges_) {
    if ((quantity.kind == Quantity::Kind::kGradient) != gradients) continue;
    const at::Tensor* tensor = Find(observation, quantity);
    if (tensor == nullptr) continue;
    const Elements values = Flatten(*tensor);
    if (values.complex() || values.size() != range.low.size()) continue;
    if (discrete_only && !values.discrete) continue;
    for (size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values.re[i])) continue;
      range.low[i] = std::min(range.low[i], values.re[i]);
      range.high[i] = std::max(range.high[i], values.re[i]);
    }
  }
}

void Ties::AddWild(const evaluate::Observation& observation) {
  for (auto& [quantity, range] : ranges_) {
    const at::Tensor* tensor = Find(observation, quantity);
    if (quantity.kind != Quantity::Kind::kGradient || tensor == nullptr) continue;
    const Elements values = Flatten(*tensor);
    const Elements& reference = *envelope_.Reference(quantity);
    for (size_t i = 0; i < values.size(); ++i) {
      const double deviation = Distance(values, reference, i);
      if (std::isfinite(deviation)) range.wild[i] = std::max(range.wild[i], deviation);
    }
  }
}

void Ties::AddVertex(const Replay& decided) {
  if (!decided.observation.ok()) return;
  const Trace& trace = decided.trace;
  const Trace& own = envelope_.reference().trace;
  if (trace.size() != own.size() || SameTrace(trace, own)) return;
  ReplayOptions options = envelope_.base();
  options.follow = Follow::kEverything;
  options.trace = &trace;
  ++replays_;
  const Replay replay = RunReplay(envelope_.program(), envelope_.precision(), options);
  if (!replay.observation.ok() || !replay.followed) return;
  Gradients difference;
  for (const auto& [quantity, range] : ranges_) {
    if (quantity.kind != Quantity::Kind::kGradient) continue;
    const at::Tensor* tensor = Find(replay.observation, quantity);
    if (tensor == nullptr) return;
    Elements values = Flatten(*tensor);
    const Elements& reference = *envelope_.Reference(quantity);
    for (size_t i = 0; i < values.size(); ++i) {
      values.re[i] -= reference.re[i];
      // A branch that is infinite is no gradient to choose. If noise alone makes it finite, then
      // rounding decides everything there.
      if (!std::isfinite(values.re[i])) {
        AddWild(decided.observation);
        return;
      }
    }
    difference.emplace(quantity, std::move(values));
  }
  Widen(replay.observation, /*gradients=*/true, /*discrete_only=*/false);
  vertices_.push_back(std::move(difference));
}

void Ties::Prepare() {
  if (prepared_) return;
  prepared_ = true;
  for (const Quantity& quantity : Quantities(envelope_.program())) {
    const Elements* reference = envelope_.Reference(quantity);
    if (reference != nullptr && !reference->complex()) {
      ranges_[quantity] = {reference->re, reference->re, std::vector<double>(reference->size(), 0)};
    }
  }
  const Rng rng(envelope_.seed());
  const double nudge = LeafNudge(envelope_.precision());
  std::vector<size_t> noisy_vertices;
  for (uint64_t k = 0; k < kTieSamples; ++k) {
    ReplayOptions noisy = envelope_.base();
    noisy.noise = true;
    noisy.seed = rng.Fork("tie noise", k).Next();
    const size_t before = vertices_.size();
    AddVertex(Decide(noisy));
    if (vertices_.size() > before) noisy_vertices.push_back(before);

    Rng nudges = rng.Fork("tie leaves", k);
    ReplayOptions nudged = envelope_.base();
    nudged.follow = Follow::kForwardJumps;
    nudged.trace = &envelope_.reference().trace;
    nudged.edit = [&](std::vector<at::Tensor>& storages) {
      for (at::Tensor& storage : storages) {
        if (!IsReal(storage)) continue;
        const double scale = LargestFinite(storage);
        double* data = storage.mutable_data_ptr<double>();
        for (int64_t i = 0; i < storage.numel(); ++i) {
          data[i] = Moved(data[i], (2 * nudges.Unit() - 1) * nudge, scale);
        }
      }
    };
    AddVertex(Decide(nudged));
  }
  unexplored_ = Unexplored(vertices_, noisy_vertices);
}

double Ties::Slack(const Quantity& quantity, size_t i) const {
  const auto range = ranges_.find(quantity);
  const double width = range == ranges_.end() ? 0 : range->second.high[i] - range->second.low[i];
  // Shares of a tie (1/2, 1/3) and the vertices themselves are rounded by honest code.
  return std::max(envelope_.Tolerance(quantity, i),
                  envelope_.precision().model().floor * envelope_.precision().eps * width);
}

bool Ties::Movable(const Quantity& quantity, size_t i) {
  Prepare();
  const auto range = ranges_.find(quantity);
  if (range == ranges_.end()) return false;
  return range->second.high[i] - range->second.low[i] > envelope_.Tolerance(quantity, i);
}

bool Ties::WithinLargest(const Quantity& quantity, size_t i, double deviation) {
  const Range& range = ranges_.at(quantity);
  const Elements& reference = *envelope_.Reference(quantity);
  double largest = 0;
  for (size_t k = 0; k < range.low.size(); ++k) {
    largest = std::max({largest, range.high[k] - reference.re[k], reference.re[k] - range.low[k]});
  }
  const double rounded = envelope_.precision().model().floor * envelope_.precision().eps * largest;
  return deviation <= largest + std::max(envelope_.Tolerance(quantity, i), rounded);
}

bool Ties::Between(const Quantity& quantity, size_t i, double value) {
  Prepare();
  const auto range = ranges_.find(quantity);
  if (range == ranges_.end()) return false;
  const double slack = Slack(quantity, i);
  return value >= range->second.low[i] - slack && value <= range->second.high[i] + slack;
}

void Ties::Probe(const Quantity& quantity, size_t i) {
  const program::Leaf& leaf = envelope_.program().leaves[quantity.index];
  const int64_t offset = StorageOffset(leaf, i);
  for (const double step : {1.0, -1.0}) {
    ReplayOptions options = envelope_.base();
    options.follow = Follow::kForwardJumps;
    options.trace = &envelope_.reference().trace;
    options.edit = [&](std::vector<at::Tensor>& storages) {
      at::Tensor& storage = storages[static_cast<size_t>(leaf.storage)];
      if (!IsReal(storage)) return;
      const double scale = LargestFinite(storage);
      double& x = storage.mutable_data_ptr<double>()[offset];
      x = Moved(x, step * LeafNudge(envelope_.precision()), scale);
    };
    AddVertex(Decide(options));
  }
}

std::optional<bool> Ties::Legal(const Gradients& got, const std::vector<Place>& off) {
  Prepare();
  const auto wild = [&](const Place& place) {
    const auto found = got.find(place.first);
    const Elements* reference = envelope_.Reference(place.first);
    return found != got.end() && reference != nullptr &&
           Distance(found->second, *reference, place.second) <=
               kEagerOwn * ranges_.at(place.first).wild[place.second];
  };
  if (std::all_of(off.begin(), off.end(), wild)) return std::nullopt;
  bool unclear = false;
  for (const auto& [quantity, i] : off) {
    const auto found = got.find(quantity);
    if (found == got.end()) return false;
    if (Movable(quantity, i) && Between(quantity, i, found->second.re[i])) continue;
    const double deviation = Distance(found->second, *envelope_.Reference(quantity), i);
    if (!unexplored_ || !WithinLargest(quantity, i, deviation)) return false;
    unclear = true;
  }
  if (unclear) return std::nullopt;
  // The elements out of tolerance first: who lost a share and who won it both are.
  std::vector<Place> movable = off;
  std::set<Place> known(off.begin(), off.end());
  for (const auto& [quantity, values] : got) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (known.count({quantity, i}) == 0 && Movable(quantity, i))
        movable.emplace_back(quantity, i);
    }
  }
  if (off.size() > static_cast<size_t>(kMaxProbes)) return std::nullopt;
  for (size_t k = 0; k < movable.size() && k < static_cast<size_t>(kMaxProbes); ++k) {
    Probe(movable[k].first, movable[k].second);
  }
  // In units of the slack, so that every element weighs by what it is allowed.
  std::vector<double> wanted;
  std::vector<std::vector<double>> columns(vertices_.size());
  for (const auto& [quantity, i] : movable) {
    const double slack = Slack(quantity, i);
    const double unit = slack > 0 ? slack : envelope_.precision().subnormal;
    const auto found = got.find(quantity);
    wanted.push_back((found->second.re[i] - envelope_.Reference(quantity)->re[i]) / unit);
    for (size_t v = 0; v < vertices_.size(); ++v) {
      columns[v].push_back(vertices_[v].at(quantity).re[i] / unit);
    }
  }
  for (const double residual : NonNegativeResidual(columns, wanted)) {
    if (!(std::fabs(residual) <= 1)) return false;
  }
  return true;
}

}  // namespace gradfuzz::oracle
