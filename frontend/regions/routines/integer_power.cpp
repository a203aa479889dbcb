// int ** int where the exponent is known only when the region runs. Results that are no 64-bit int (floats of
// negative exponents, long ints) are Python's.
#include "frontend/regions/routines/library.h"

namespace stator::frontend::regions {

namespace {

uint32_t run_power(void*, int64_t* words) {
    const int64_t* w = words;
    char* out = take_array(&w, 0).address;
    int64_t base = w[0], exponent = w[2], result = 1;
    if (exponent < 0) return kernels::kFaultHost;
    while (exponent > 0) {
        if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) return kernels::kFaultHost;
        exponent >>= 1;
        if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return kernels::kFaultHost;
    }
    *reinterpret_cast<int64_t*>(out) = result;
    return 0;
}

}  // namespace

LibraryRoutine integer_power_routine() { return {run_power, nullptr}; }

}  // namespace stator::frontend::regions
