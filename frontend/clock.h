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

// What the calling thread has run for, ns: other processes do not count, so that what is decided by it does
// not hang on how busy the machine is. To ask for it is a system call.
inline int64_t thread_ns() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return int64_t{1'000'000'000} * t.tv_sec + t.tv_nsec;
}

}  // namespace stator::frontend
