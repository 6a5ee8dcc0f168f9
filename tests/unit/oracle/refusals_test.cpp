// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/oracle/refusals.h"

#include <gtest/gtest.h>

namespace gradfuzz::oracle {
namespace {

TEST(RefusalsTest, EachRowRecognisesItsExample) {
  for (const Refusal& refusal : Refusals()) {
    const Refusal* found = FindRefusal(refusal.example);
    ASSERT_NE(found, nullptr) << refusal.example;
    EXPECT_NE(refusal.example.find(refusal.needle), std::string_view::npos) << refusal.needle;
    EXPECT_FALSE(refusal.reason.empty());
  }
}

TEST(RefusalsTest, BugsAreNoRefusals) {
  for (const char* error : {
           "torch._inductor.exc.InductorError: AssertionError: ",
           "torch._inductor.exc.LoweringException: NotImplementedError: aten.foo",
           "torch._inductor.exc.CppCompileError: C++ compile error",
           "torch._dynamo.exc.InternalTorchDynamoError: IndexError: list index out of range",
           "RuntimeError: expected scalar type Float but found Double",
           "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised: KeyError: 's0'",
           "torch._dynamo.exc.TorchRuntimeError: Dynamo failed to run FX node with fake tensors",
       }) {
    EXPECT_EQ(FindRefusal(error), nullptr) << error;
  }
}

}  // namespace
}  // namespace gradfuzz::oracle
