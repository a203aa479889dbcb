// What generated code depends on beside the program or region: the processor and how much time there is.
// Cache keys are made of it where LLVM is not needed, so nothing of LLVM is seen here.
#pragma once

#include <string>

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

}  // namespace stator::kernels
