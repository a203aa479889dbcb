// Which CPU this is, found out without LLVM: what the emitters need to know, and what tells it from others.
#pragma once

#include <string>

#include "kernels/emit_options.h"

namespace stator::jit {

struct Machine {
    std::string identity;   // what CPUID says about features: the same text, the same code
    int vector_bits = 128;  // widest vectors worth using
    bool avx2 = false;
    bool avx512 = false;      // F, BW, DQ and VL
    bool halves_512 = false;  // does 512 bits in two halves
};
const Machine& machine();  // of this process; found out once

kernels::EmitOptions emit_options(std::string prefix, bool fastmath);

}  // namespace stator::jit
