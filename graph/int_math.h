// Python's integer division on int64, shared by symbolic arithmetic and constant folding.
#pragma once

#include <cstdint>

namespace stator::graph {

// The divisor is nonzero, and INT64_MIN // -1 is excluded by the caller.
constexpr int64_t floor_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

constexpr int64_t floor_mod(int64_t a, int64_t b) {
    int64_t r = a % b;
    return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
}

// a**b, or false where b is negative or the power is beyond 64 bits.
constexpr bool int_power(int64_t a, int64_t b, int64_t* out) {
    if (b < 0) return false;
    int64_t power = 1;
    while (b != 0) {
        if ((b & 1) != 0 && __builtin_mul_overflow(power, a, &power)) return false;
        b >>= 1;
        if (b != 0 && __builtin_mul_overflow(a, a, &a)) return false;
    }
    *out = power;
    return true;
}

constexpr uint64_t magnitude(int64_t v) {
    return v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
}

}  // namespace stator::graph
