#include "frontend/cpython/c_stack.h"

#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace stator::frontend {

namespace {

constexpr uintptr_t kNeeded = 128 * 1024;  // chosen: recording and a hundred frames have to fit
constexpr uintptr_t kNever = 1;

// Below it the stack is scarce; 0: nobody has asked.
[[gnu::tls_model("initial-exec")]] thread_local constinit uintptr_t scarce_below = 0;

uintptr_t find(uintptr_t here) {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return kNever;
    void* address = nullptr;
    size_t size = 0;
    const bool known = pthread_attr_getstack(&attributes, &address, &size) == 0;
    pthread_attr_destroy(&attributes);
    const auto low = reinterpret_cast<uintptr_t>(address);
    if (!known || here < low || here - low >= size) return kNever;
    return low + std::max<uintptr_t>(size / 2, std::min<uintptr_t>(size, kNeeded));
}

}  // namespace

bool c_stack_is_scarce() {
    const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    if (scarce_below == 0) [[unlikely]]
        scarce_below = find(here);
    return here < scarce_below;
}

}  // namespace stator::frontend
