// LLVM IR from loop IR: explicit vector code for the widest registers, one exported function per nest with
// the NestFn signature (abi.h), named <prefix>_nest<i>.
//
// The code reads buffers, strides, symbols, scalars and host loops through KernelArgs only and holds no
// address of the process, so that objects can be cached on disk. It clears the floating-point status flags on
// entry, returns those raised as Fault bits, and restores the caller's MXCSR.
#pragma once

#include <memory>
#include <string>

#include "kernels/loop_ir.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace stator::kernels {

struct EmitOptions {
    int vector_bits = 256;  // 512 with AVX-512, 256 with AVX2, 128 otherwise
    bool has_avx2 = true;
    bool has_avx512 = false;  // F, BW, DQ and VL
    // The CPU does 512 bits in two halves (Zen 4): they pay where computation bounds.
    bool halves_512 = false;
    bool fastmath = false;    // contraction and reassociation allowed, flags not collected
    bool in_a_hurry = false;  // regions: little code rather than fast code
    std::string prefix;       // symbol prefix, "step_1"
};

// Aspects of the options that change the code, for cache keys.
std::string describe(const EmitOptions& options);

std::unique_ptr<llvm::Module> emit_llvm(llvm::LLVMContext& context, const Program& program,
                                        const EmitOptions& options);

}  // namespace stator::kernels
