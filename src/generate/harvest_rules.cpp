// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/generate/harvest.h"

namespace gradfuzz::generate {
namespace {

constexpr HarvestRule kLeaveOut = HarvestRule::kLeaveOut;
constexpr HarvestRule kContiguous = HarvestRule::kContiguous;
constexpr HarvestRule kContiguousRest = HarvestRule::kContiguousRest;
constexpr HarvestRule kRigid = HarvestRule::kRigid;

constexpr HarvestRuleRow kRules[] = {
    // Layouts of intermediate values are the compiler's own affair.
    {"as_strided", kContiguous, "reads memory by address"},
    {"as_strided_copy", kContiguous, "reads memory by address"},
    {"as_strided_scatter", kLeaveOut, "writes overlapping memory in some samples"},
    // In evaluation on CPU, 2.11 and 2.15: wrong gradients, some from beyond the statistics.
    {"native_batch_norm", kContiguousRest, "eager's backward reads statistics as if contiguous"},
    {"nn.functional.batch_norm", kContiguousRest, "as native_batch_norm"},
    // Kernels below the functions that check.
    {"grid_sampler_2d", kRigid, "does not check that input and grid have one batch size"},
    {"grid_sampler_3d", kRigid, "does not check that input and grid have one batch size"},
    {"_softmax_backward_data", kLeaveOut, "its dtype argument must be that of its operands"},
    // Said better elsewhere.
    {"Tensor.where", kLeaveOut, "torch.where takes the condition first: a record has it"},
    // What is compared must be unique.
    {"quantile", kLeaveOut, "which of many equal elements has the gradient is not told by nudges"},
    {"nanquantile", kLeaveOut, "as quantile"},
    {"linalg.lstsq", kLeaveOut, "the solution of a system without full rank is not unique"},
};

}  // namespace

std::span<const HarvestRuleRow> HarvestRules() { return kRules; }

}  // namespace gradfuzz::generate
