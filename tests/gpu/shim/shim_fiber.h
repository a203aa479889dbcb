// Fibers: stacks, and switching between them.
#pragma once

#include <stddef.h>

namespace shim {

// Saves the caller's stack pointer and callee-saved registers in *save and goes on where `load` was saved.
extern "C" void shim_switch(void** save, void* load);
// A saved state that, when switched to, calls entry() on this stack; entry must not return.
void* prepare_fiber(char* stack_end, void (*entry)());

constexpr size_t kStackBytes = 96 << 10;
constexpr int kMaxThreads = 1024;  // of a block
constexpr int kMaxCluster = 8;     // blocks
constexpr int kMaxFibers = kMaxThreads * kMaxCluster;
struct Stacks {
    char* begin = nullptr;
    size_t bytes = 0;
    char* end_of(int thread) const { return begin + static_cast<size_t>(thread + 1) * kStackBytes; }
};
const Stacks& stacks();
void open_stacks(int count);  // so many can be used; the lowest page of each cannot be accessed

}  // namespace shim
