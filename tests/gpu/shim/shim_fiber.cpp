// See shim_fiber.h. Switching by hand takes 3 ns; swapcontext asks the kernel for the signal mask and takes
// 400.
#include "shim_fiber.h"

#include <stdint.h>
#include <sys/mman.h>

namespace shim {

#if defined(__x86_64__)
asm(R"(
    .text
    .globl shim_switch
    .hidden shim_switch
    .type shim_switch, @function
shim_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size shim_switch, . - shim_switch
)");

void* prepare_fiber(char* stack_end, void (*entry)()) {
    auto* top = reinterpret_cast<uintptr_t*>(stack_end);
    *--top = 0;  // as if entry() had been called: the stack is 8 off a multiple of 16 there
    *--top = reinterpret_cast<uintptr_t>(entry);
    for (int i = 0; i < 6; ++i) *--top = 0;
    return top;
}
#elif defined(__aarch64__)
asm(R"(
    .text
    .globl shim_switch
    .hidden shim_switch
    .type shim_switch, %function
shim_switch:
    sub sp, sp, #160
    stp x19, x20, [sp]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .size shim_switch, . - shim_switch
)");

void* prepare_fiber(char* stack_end, void (*entry)()) {
    auto* top = reinterpret_cast<uintptr_t*>(stack_end) - 20;
    for (int i = 0; i < 20; ++i) top[i] = 0;
    top[11] = reinterpret_cast<uintptr_t>(entry);
    return top;
}
#else
#error "the shim switches fibers on x86-64 and AArch64 only; add this machine's registers"
#endif

const Stacks& stacks() {
    static const Stacks all = [] {
        Stacks s;
        s.bytes = kStackBytes * kMaxFibers;
        void* p = mmap(nullptr, s.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        return p == MAP_FAILED ? Stacks{} : Stacks{static_cast<char*>(p), s.bytes};
    }();
    return all;
}

void open_stacks(int count) {
    static int open = 0;
    for (; open < count; ++open)
        mprotect(stacks().begin + static_cast<size_t>(open) * kStackBytes + 4096, kStackBytes - 4096,
                 PROT_READ | PROT_WRITE);
}

}  // namespace shim
