// SPDX-License-Identifier: BSD-3-Clause
// Neural-network functions: norms, losses, convolutions, pools.
#include "build.h"

namespace gradfuzz::ops {
namespace {

Param Eps() { return Opt(0.4, Kw("eps", Float({1e-5, 1e-3, 0.5}))); }
Param Reduction() { return Opt(0.6, Kw("reduction", Choice({"none", "sum", "mean"}))); }
Param Kernel(int dims) {
  Param param = Of(Kind::kKernel);
  param.sampler.length = dims;
  return param;
}
Param HalfOf(int kernel) { return Of(Kind::kHalfOf, kernel); }
Param Divisor(int of, int dim) {
  Param param = Of(Kind::kDivisor, of);
  param.sampler.low = dim;
  return param;
}
Param NoGrad(Param param) {
  param.sampler.no_grad = true;
  return param;
}

constexpr uint32_t kLoss = kAccumulates;

std::vector<OpRecord> Norms() {
  const Param weight = Opt(0.5, Kw("weight", Of(Kind::kListShaped, 1)));
  const Param channels = Shaped({SizeOf(0, 1)});
  return {
      {.name = "nn.functional.layer_norm",
       .traits = kAccumulates,
       .params = {T(1), Of(Kind::kTrailingShape), weight,
                  Opt(0.6, Kw("bias", Of(Kind::kListShaped, 1)), 2), Eps()},
       .weight = 1},
      {.name = "nn.functional.rms_norm",
       .traits = kAccumulates,
       .params = {T(1), Of(Kind::kTrailingShape), weight, Eps()},
       .weight = 0.5},
      {.name = "nn.functional.group_norm",
       .traits = kAccumulates,
       .params = {T(2), Divisor(0, 1), Opt(0.5, Kw("weight", channels)),
                  Opt(0.6, Kw("bias", channels), 2), Eps()},
       .weight = 0.5},
      {.name = "batch_norm",
       .traits = kAccumulates,
       .params = {T(2, 4), channels, channels, Lit(program::None{}), Lit(program::None{}),
                  Lit(true), Lit(0.1), Float({1e-5, 1e-3, 0.5}), Lit(false)},
       .weight = 0.5},
      {.name = "instance_norm",
       .traits = kAccumulates,
       .params = {T(3, 4), Lit(program::None{}), Lit(program::None{}), Lit(program::None{}),
                  Lit(program::None{}), Lit(true), Lit(0.1), Float({1e-3, 0.5}), Lit(false)},
       .weight = 0.3},
  };
}

std::vector<OpRecord> Losses() {
  const auto loss = [](const char* name, uint32_t traits, std::vector<Param> params,
                       double weight = 0.4) {
    params.push_back(Reduction());
    return OpRecord{
        .name = name, .traits = traits | kLoss, .params = std::move(params), .weight = weight};
  };
  const Param margin = Opt(0.5, Kw("margin", Float({0, 1, 0.5, 1.7})));
  std::vector<OpRecord> losses = {
      loss("nn.functional.mse_loss", 0, {T(), Same(0)}),
      loss("nn.functional.l1_loss", kHasKinks, {T(), Same(0)}),
      loss("nn.functional.smooth_l1_loss", kHasKinks,
           {T(), Same(0), Opt(0.5, Kw("beta", Float({1, 0.5, 2})))}),
      loss("nn.functional.huber_loss", kHasKinks,
           {T(), Same(0), Opt(0.5, Kw("delta", Float({1, 0.5, 2})))}),
      loss("nn.functional.kl_div", kTranscendental,
           {T(Domain::kModerate), NoGrad(Same(0, Domain::kPositive)),
            Opt(0.3, Kw("log_target", Bool()))}),
      loss("nn.functional.binary_cross_entropy", kTranscendental,
           {T(Domain::kUnitOpen), NoGrad(Same(0, Domain::kUnitOpen))}),
      loss("nn.functional.binary_cross_entropy_with_logits", kTranscendental,
           {T(Domain::kModerate), NoGrad(Same(0, Domain::kUnitOpen))}),
      loss("nn.functional.soft_margin_loss", kTranscendental, {T(), Of(Kind::kSign, 0)}),
      loss("nn.functional.hinge_embedding_loss", kHasKinks, {T(), Of(Kind::kSign, 0), margin}),
      loss("nn.functional.margin_ranking_loss", kHasKinks,
           {T(), Same(0), Of(Kind::kSign, 0), margin}),
      loss("nn.functional.triplet_margin_loss", kHasKinks,
           {T(1, 2), Same(0), Same(0), Opt(0.5, Kw("margin", Float({0.5, 1, 1.7})))}, 0.3),
      loss("nn.functional.nll_loss", kLinear,
           {T(2, 4), Of(Kind::kClass), Opt(0.3, Kw("weight", NoGrad(Shaped({SizeOf(0, 1)})))),
            Opt(0.3, Kw("ignore_index", Int(0, 1)))},
           0.6),
      loss("nn.functional.cross_entropy", kTranscendental,
           {T(2, 4), Of(Kind::kClass), Opt(0.3, Kw("weight", NoGrad(Shaped({SizeOf(0, 1)})))),
            Opt(0.3, Kw("label_smoothing", Float({0.1, 0.5})))},
           0.6),
      loss("nn.functional.multi_margin_loss", kHasKinks,
           {T(2, 2), Of(Kind::kClass), Opt(0.4, Kw("p", Int(1, 2))), margin}, 0.3),
      loss("nn.functional.multilabel_margin_loss", kHasKinks, {T(1, 2), Of(Kind::kLabels)}, 0.3),
      {.name = "cosine_similarity",
       .traits = kAccumulates,
       .params = {T(1), Same(0), Opt(0.6, Kw("dim", Dim(0))), Eps()},
       .weight = 0.4},
      {.name = "pairwise_distance",
       .traits = kAccumulates | kHasKinks,
       .params = {T(1), Same(0), Opt(0.5, Kw("p", Float({1, 2, 3}))),
                  Opt(0.3, Kw("eps", Float({1e-3, 0.1}))), Opt(0.3, Kw("keepdim", Bool()))},
       .weight = 0.3},
  };
  for (OpRecord& record : losses) {
    // The dispatcher's names of these two are its own.
    if (record.name == "nn.functional.nll_loss") record.aten = "aten::nll_loss_nd";
    if (record.name == "nn.functional.cross_entropy") record.aten = "aten::cross_entropy_loss";
  }
  return losses;
}

std::vector<OpRecord> Convolutions() {
  // Not exact on integers: libraries may transform convolutions (Winograd) with fractions.
  constexpr uint32_t kProduct = kAccumulates;
  const auto geometry = [](int weight) {
    return std::vector<Param>{Opt(0.4, Kw("bias", Shaped({SizeOf(weight, 0)}))),
                              Opt(0.4, Kw("stride", Int(1, 2))),
                              Opt(0.5, Kw("padding", Int(0, 2)))};
  };
  const auto with = [&](std::vector<Param> params, int weight) {
    for (Param& param : geometry(weight)) params.push_back(std::move(param));
    return params;
  };
  const Param groups = Opt(0.3, Kw("groups", Divisor(0, 1)));
  return {
      {.name = "conv1d",
       .traits = kProduct,
       .params =
           with({T(3, 3), groups, Shaped({Times(1), Over(SizeOf(0, 1), 1), AtMost(0, -1)})}, 2),
       .weight = 0.7},
      {.name = "conv2d",
       .traits = kProduct,
       .params = with({T(4, 4), groups,
                       Shaped({Times(1), Over(SizeOf(0, 1), 1), AtMost(0, -2), AtMost(0, -1)})},
                      2),
       .weight = 0.8},
      {.name = "conv_transpose1d",
       .traits = kProduct,
       .params = {T(3, 3), Shaped({SizeOf(0, 1), Free(), AtMost(0, -1)}),
                  Opt(0.4, Kw("bias", Shaped({SizeOf(1, 1)}))), Opt(0.4, Kw("stride", Int(1, 2)))},
       .weight = 0.3},
      {.name = "conv_transpose2d",
       .traits = kProduct,
       .params = {T(4, 4), Shaped({SizeOf(0, 1), Free(), AtMost(0, -2), AtMost(0, -1)}),
                  Opt(0.4, Kw("bias", Shaped({SizeOf(1, 1)}))), Opt(0.4, Kw("stride", Int(1, 2)))},
       .weight = 0.3},
      {.name = "nn.functional.linear",
       .traits = kProduct,
       .params = {T(1), Shaped({Free(), SizeOf(0, -1)}), Opt(0.5, Shaped({SizeOf(1, 0)}))},
       .weight = 0.7},
      {.name = "bilinear",
       .traits = kProduct,
       .params = {T(1, 2), Shaped({SizeOf(0, -2), Exactly(3)}),
                  Shaped({Free(), SizeOf(0, -1), Exactly(3)}), Opt(0.4, Shaped({SizeOf(2, 0)}))},
       .weight = 0.3},
  };
}

std::vector<OpRecord> Pools() {
  const Param ceil_mode = Opt(0.3, Kw("ceil_mode", Bool()));
  const auto average = [&](const char* name, int dims) {
    return OpRecord{
        .name = name,
        .traits = kLinear | kAccumulates,
        .params = {T(dims + 1, dims + 2), Kernel(dims), Opt(0.6, Kw("stride", Ints(dims, 1, 3))),
                   Opt(0.4, Kw("padding", HalfOf(1))), ceil_mode,
                   Opt(0.3, Kw("count_include_pad", Bool()))},
        .weight = 0.6};
  };
  const auto maximum = [&](const char* name, int dims) {
    return OpRecord{
        .name = name,
        .traits = kExact | kHasKinks,
        .params = {T(dims + 1, dims + 2), Kernel(dims), Opt(0.6, Kw("stride", Ints(dims, 1, 3))),
                   Opt(0.4, Kw("padding", HalfOf(1))), ceil_mode},
        .weight = 0.6};
  };
  return {
      average("avg_pool1d", 1),
      average("nn.functional.avg_pool2d", 2),
      maximum("max_pool1d", 1),
      maximum("max_pool2d", 2),
      {.name = "adaptive_avg_pool1d",
       .traits = kLinear | kAccumulates,
       .params = {T(2, 3), Int(1, 4)},
       .weight = 0.4},
      {.name = "nn.functional.adaptive_avg_pool2d",
       .traits = kLinear | kAccumulates,
       .params = {T(3, 4), Ints(2, 1, 3)},
       .weight = 0.4},
      {.name = "adaptive_max_pool1d",
       .traits = kExact | kHasKinks,
       .params = {T(2, 3), Int(1, 4)},
       .results = 2,
       .weight = 0.3},
  };
}

std::vector<OpRecord> Others() {
  const Param sizes = Kw("size", Ints(2, 1, 5));
  return {
      {.name = "nn.functional.scaled_dot_product_attention",
       .traits = kTranscendental | kAccumulates,
       .params = {T(3, 4), Shaped({SizeOf(0, -4), SizeOf(0, -3), Free(), SizeOf(0, -1)}), Same(1),
                  Opt(0.3, Kw("is_causal", Bool())), Opt(0.5, Kw("scale", Float({1, 0.35, 2})))},
       .weight = 0.5},
      {.name = "pixel_shuffle",
       .traits = kMove,
       .params = {Shaped({Free(), Exactly(4), Free(), Free()}), Lit(2)},
       .weight = 0.3},
      {.name = "pixel_unshuffle",
       .traits = kMove,
       .params = {Shaped({Free(), Free(), Exactly(4), Exactly(2)}), Lit(2)},
       .weight = 0.3},
      {.name = "channel_shuffle",
       .traits = kMove,
       .params = {T(3, 4), Divisor(0, 1)},
       .weight = 0.2},
      {.name = "nn.functional.unfold",
       .aten = "aten::im2col",
       .traits = kMove | kAccumulates,
       .params = {T(4, 4), Kernel(2), Kw("dilation", Lit(1)), Kw("padding", Int(0, 1)),
                  Kw("stride", Int(1, 2))},
       .weight = 0.4},
      {.name = "dropout", .traits = kMove, .params = {T(), Lit(0.5), Lit(false)}, .weight = 0.2},
      {.name = "nn.functional.interpolate",
       .variant = "nearest",
       .aten = kPythonOnly,
       .traits = kLinear | kAccumulates,
       .params = {T(4, 4), sizes},
       .weight = 0.4},
      {.name = "nn.functional.interpolate",
       .variant = "smooth",
       .aten = kPythonOnly,
       .traits = kLinear | kAccumulates,
       .params = {T(4, 4), sizes, Kw("mode", Choice({"bilinear", "bicubic"})),
                  Opt(0.5, Kw("align_corners", Bool()))},
       .weight = 0.4},
      {.name = "nn.functional.normalize",
       .aten = kPythonOnly,
       .traits = kAccumulates | kHasKinks,
       .params = {T(1), Opt(0.4, Kw("p", Float({2, 1, 3}))), Kw("dim", Dim(0))},
       .weight = 0.4},
      {.name = "nn.functional.softsign",
       .aten = kPythonOnly,
       .traits = kHasKinks,
       .params = {T()},
       .weight = 0.3},
      {.name = "nn.functional.tanhshrink",
       .aten = kPythonOnly,
       .traits = kTranscendental,
       .params = {T()},
       .weight = 0.3},
      {.name = "nn.functional.softmin",
       .aten = kPythonOnly,
       .traits = kTranscendental | kAccumulates,
       .params = {T(), Kw("dim", Dim(0))},
       .weight = 0.3},
  };
}

}  // namespace

std::vector<OpRecord> NnRecords() {
  std::vector<OpRecord> records;
  for (auto part : {Norms(), Losses(), Convolutions(), Pools(), Others()}) {
    for (OpRecord& record : part) records.push_back(std::move(record));
  }
  for (OpRecord& record : records) record.family = Family::kNn;
  return records;
}

}  // namespace gradfuzz::ops
