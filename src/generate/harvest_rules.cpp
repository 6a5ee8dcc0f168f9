// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/generate/harvest.h"

namespace gradfuzz::generate {
namespace {

constexpr HarvestRule kLeaveOut = HarvestRule::kLeaveOut;
constexpr HarvestRule kContiguous = HarvestRule::kContiguous;

constexpr HarvestRuleRow kRules[] = {
    // Layouts of intermediate values are the compiler's own affair.
    {"as_strided", kContiguous, "reads memory by address"},
    {"as_strided_copy", kContiguous, "reads memory by address"},
    {"as_strided_scatter", kLeaveOut, "writes overlapping memory in some samples"},
    // Said better elsewhere.
    {"Tensor.where", kLeaveOut, "torch.where takes the condition first: a record has it"},
    // What is compared must be unique.
    {"linalg.lstsq", kLeaveOut, "the solution of a system without full rank is not unique"},
};

}  // namespace

std::span<const HarvestRuleRow> HarvestRules() { return kRules; }

}  // namespace gradfuzz::generate
