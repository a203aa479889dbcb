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

constexpr uint64_t magnitude(int64_t v) {
    return v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
}

}  // namespace stator::graph
