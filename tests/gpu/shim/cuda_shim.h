// CUDA's built-ins for a CPU: included before a kernel source, so that g++ compiles it. Threads are fibers
// (shim_runtime.cpp); they switch where CUDA's threads may wait for each other, and nowhere else.
//
// The driver (__init__.py, and fake/fake_nvrtc.cpp) rewrites two things that macros cannot: `extern
// __shared__ T x[];` becomes a pointer, and each __global__ function is listed at the end with SHIM_KERNEL.
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmath>
#include <type_traits>
#include <utility>

#include "shim_abi.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __shared__ static __attribute__((section("cuda_shared")))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __maxnreg__(n)
#define __cluster_dims__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_assume(x) ((void)0)
#define warpSize 32

// Hidden symbols of shim_module.cpp, which is linked to every module.
#pragma GCC visibility push(hidden)
extern const uint3 threadIdx, blockIdx;
extern char* shim_dynamic_shared;
namespace shim {
extern const Runtime runtime;
}
#pragma GCC visibility pop

#define SHIM_PLAIN __attribute__((always_inline)) inline

#include "cuda_shim_types.h"
// The rest needs the vector types.
#include "cuda_shim_math.h"
#include "cuda_shim_sync.h"

#pragma GCC visibility push(hidden)
extern const dim3 blockDim, gridDim;
#pragma GCC visibility pop

// What NVRTC does not have without headers.
#undef INFINITY
#undef NAN
#undef HUGE_VAL
#undef HUGE_VALF
#undef M_PI
#undef INT_MAX
#undef INT_MIN
#undef UINT_MAX
#undef LONG_MAX
#undef LONG_MIN
#undef LLONG_MAX
#undef LLONG_MIN
#undef FLT_MAX
#undef DBL_MAX

#undef assert
#define SHIM_TEXT2(x) #x
#define SHIM_TEXT(x) SHIM_TEXT2(x)
#define assert(condition)  \
    ((condition) ? (void)0 \
                 : shim::runtime.fault("assertion failed in line " SHIM_TEXT(__LINE__) ": " #condition))
#define __trap() shim::runtime.fault("__trap in line " SHIM_TEXT(__LINE__))

namespace shim {
template <class... P>
struct Caller {
    static constexpr int count = sizeof...(P);
    static constexpr int sizes[sizeof...(P) + 1] = {sizeof(P)..., 0};
    static constexpr bool pointers[sizeof...(P) + 1] = {std::is_pointer_v<P>..., false};
    // Parameters lie in the host's memory, which instrumented code may not read.
    template <void (*f)(P...), size_t... i>
    __attribute__((no_sanitize("thread"))) static void call_at(void** parameters, std::index_sequence<i...>) {
        (void)parameters;
        f(*static_cast<std::remove_cv_t<P>*>(parameters[i])...);
    }
    template <void (*f)(P...)>
    __attribute__((no_sanitize("thread"))) static void call(void** parameters) {
        call_at<f>(parameters, std::index_sequence_for<P...>{});
    }
};
template <class... P>
Caller<P...> caller(void (*)(P...));
}  // namespace shim

#define SHIM_KERNEL(name, max_threads)                     \
    {#name,                                                \
     &decltype(shim::caller(&name))::template call<&name>, \
     decltype(shim::caller(&name))::count,                 \
     decltype(shim::caller(&name))::sizes,                 \
     decltype(shim::caller(&name))::pointers,              \
     max_threads},
#define SHIM_KERNELS(...)                                                             \
    namespace shim {                                                                  \
    extern const Kernel kernels[];                                                    \
    extern const int kernel_count;                                                    \
    const Kernel kernels[] = {__VA_ARGS__{nullptr, nullptr, 0, nullptr, nullptr, 0}}; \
    const int kernel_count = sizeof(kernels) / sizeof(Kernel) - 1;                    \
    }
