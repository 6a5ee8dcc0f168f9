// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/evaluate/unset_memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <cstring>

namespace gradfuzz::evaluate {
namespace {

thread_local std::optional<uint8_t> current_fill;

// torch.median along an expanded dimension reads as far beyond its operand as the dimension is long
// (CPU, 2.11 and 2.15). Programs are bounded to 4,096 elements; most have fewer than 100.
constexpr size_t kBeyond = 4096;

// torch's own allocator, and a fill of what it hands out. Memory goes back the way it came: the
// deleter is that of the allocator below.
class FillingAllocator final : public c10::Allocator {
 public:
  explicit FillingAllocator(c10::Allocator* below) : below_(below) {}
  c10::DataPtr allocate(size_t bytes) override {
    if (!current_fill || bytes == 0) return below_->allocate(bytes);
    c10::DataPtr memory = below_->allocate(bytes + kBeyond);
    std::memset(memory.get(), *current_fill, bytes + kBeyond);
    return memory;
  }
  c10::DeleterFnPtr raw_deleter() const override { return below_->raw_deleter(); }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    below_->copy_data(to, from, bytes);
  }

 private:
  c10::Allocator* below_;
};

// Tensors may outlive everything, so that the allocator is never destroyed.
void Install() {
  [[maybe_unused]] static const bool installed = [] {
    c10::SetCPUAllocator(new FillingAllocator(c10::GetCPUAllocator()), /*priority=*/100);
    return true;
  }();
}

}  // namespace

UnsetMemory::UnsetMemory(uint8_t fill) : outer_(current_fill) {
  Install();
  current_fill = fill;
}

UnsetMemory::~UnsetMemory() { current_fill = outer_; }

}  // namespace gradfuzz::evaluate
