// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/program/reference.h"

#include <string>

namespace gradfuzz::program {
namespace {

// Casts whose name says the dtype: to that of the reference.
void WidenCast(Statement* statement) {
  for (const char* cast : {"Tensor.half", "Tensor.bfloat16", "Tensor.float"}) {
    if (statement->op == cast) statement->op = "Tensor.double";
  }
  if (statement->op == "Tensor.cfloat") statement->op = "Tensor.cdouble";
}

}  // namespace

Program ToReference(const Program& program) {
  Program wide = program;
  for (Statement& statement : wide.statements) {
    WidenCast(&statement);
    ForEachArg(statement, [](Arg& arg) {
      if (arg.Is<DType>()) arg = Info(arg.As<DType>()).reference;
    });
  }
  wide.call.autocast = false;
  std::erase_if(wide.regions, [](const Region& region) {
    return region.kind == Region::Kind::kAutocast || region.kind == Region::Kind::kAutocastOff;
  });
  return wide;
}

}  // namespace gradfuzz::program
