// The clock that everything here is judged by.
#pragma once

#include <cstdint>
#include <ctime>

namespace stator::frontend {

// Monotonic, ns.
inline int64_t now_ns() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return int64_t{1'000'000'000} * t.tv_sec + t.tv_nsec;
}

}  // namespace stator::frontend
