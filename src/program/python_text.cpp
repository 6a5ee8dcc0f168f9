// SPDX-License-Identifier: BSD-3-Clause
#include "python_text.h"

namespace gradfuzz::program {

std::string Join(const std::vector<std::string>& items) {
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) out += (i ? ", " : "") + items[i];
  return out;
}

std::vector<std::string> Concatenated(std::vector<std::string> a,
                                      const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::string TupleText(const std::vector<std::string>& items) {
  return "(" + Join(items) + (items.size() == 1 ? ",)" : ")");
}

std::vector<std::string> Names(const Program& program, const std::vector<ValueId>& ids) {
  std::vector<std::string> names;
  for (const ValueId id : ids) names.push_back(ValueName(program, id));
  return names;
}

std::string FloatName(size_t index) { return "f" + std::to_string(index); }

}  // namespace gradfuzz::program
