// The prelude: the few definitions that emitted CUDA sources begin with, each only where it is needed. NVRTC
// is called without headers, so all types are our own. Inline PTX has a plain C++ form beside it, which other
// compilers take.
//
// Formulas: floor division and remainder are NumPy's (npy_math_internal.h.src), complex division is Smith's
// algorithm as NumPy has it (loops.c.src), conversions of half precision in C++ follow IEEE 754 with ties to
// even.
#include "kernels/cuda_ops.h"

#include <map>

namespace stator::kernels::cuda {

namespace {

struct Piece {
    const char* name;
    const char* needs;  // names separated by spaces
    const char* text;
};

// In the order in which they are printed.
constexpr Piece kPieces[] = {
    {"types", "", R"(typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
)"},
    // Regions (cuda_region.h): the control block, the barrier of the whole grid, time, checks of arithmetic.
    {"region", "types", R"(struct control {
    u64 meet;
    u32 bad[2];
    i32 status, exit, resume, cell;
    i64 bytes, next, budget;
};
__device__ __noinline__ void grid_meet(control* c) {
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
    __syncwarp();
    __syncthreads();
    if (gridDim.x == 1) return;
    if (threadIdx.x == 0) {
        __threadfence();
        const u64 ticket = atomicAdd(&c->meet, 1ull), full = (ticket / gridDim.x + 1) * gridDim.x;
        while (*(volatile u64*)&c->meet < full) {}
        __threadfence();
    }
    __syncthreads();
#elif defined(__cluster_barrier_arrive)
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
#endif
}
__device__ __forceinline__ u64 nanoseconds() {
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
    u64 t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    return t;
#elif defined(__shim_nanoseconds)
    return __shim_nanoseconds();
#else
    return 0;
#endif
}
// After how many polls to look again, having looked after `seen`; 0 when time is up.
__device__ __noinline__ i64 next_look(control* c, i64 seen, u64 begun, bool alone) {
    if (!alone) grid_meet(c);
    if (alone || (blockIdx.x == 0 && threadIdx.x == 0)) {
        const i64 spent = (i64)(nanoseconds() - begun);
        const i64 fits = spent > 0 ? (i64)((f64)seen * (f64)(c->budget / 8) / (f64)spent) : seen;
        const i64 next = spent >= c->budget ? 0 : fits < 1 ? 1 : fits < seen ? fits : seen;
        if (alone) return next;  // others may still read what they agreed upon
        c->next = next;
    }
    grid_meet(c);
    return c->next;
}
template <class T> __device__ __forceinline__ T least() { return (T)((T)1 << (8 * sizeof(T) - 1)); }
template <class T> __device__ __forceinline__ bool sum_overflows(T a, T b) {
    const T r = (T)((u64)a + (u64)b);
    return (T)-1 < 0 ? (T)((a ^ r) & (b ^ r)) < 0 : r < a;
}
template <class T> __device__ __forceinline__ bool difference_overflows(T a, T b) {
    const T r = (T)((u64)a - (u64)b);
    return (T)-1 < 0 ? (T)((a ^ b) & (a ^ r)) < 0 : a < b;
}
template <class T> __device__ __forceinline__ bool product_overflows(T a, T b) {
    const T r = (T)((u64)a * (u64)b);
    if constexpr (sizeof(T) < 8) return (i64)a * (i64)b != (i64)r;
    else if constexpr ((T)-1 < 0) return __mul64hi(a, b) != (r < 0 ? -1 : 0);
    else return __umul64hi(a, b) != 0;
}
// a * b, or 0 where that is negative or overflows.
__device__ __forceinline__ i64 room_for(i64 a, i64 b) {
    return b < 0 || product_overflows<i64>(a, b) ? 0 : a * b;
}
// a / b for 0 <= a, 0 < b: most numbers are small, and dividing large ones is dear.
__device__ __forceinline__ i64 quotient_of(i64 a, i64 b) {
    return (u64)(a | b) >> 32 ? a / b : (i64)((u32)a / (u32)b);
}
__device__ __forceinline__ bool nonfinite(f64 x) {
    return ((u64)__double_as_longlong(x) & 0x7ff0000000000000ull) == 0x7ff0000000000000ull;
}
__device__ __forceinline__ bool nonfinite(f32 x) { return (__float_as_uint(x) & 0x7f800000u) == 0x7f800000u; }
__device__ __forceinline__ bool signals(f64 x) {
    return x != x && !((u64)__double_as_longlong(x) & 0x0008000000000000ull);
}
__device__ __forceinline__ bool signals(f32 x) { return x != x && !(__float_as_uint(x) & 0x00400000u); }
// Whether an operation on a and b that gave r, which is not finite, raised a flag.
template <class T> __device__ __noinline__ bool raised(T r, T a, T b) {
    if (a != a || b != b) return signals(a) || signals(b);
    return r != r || !(nonfinite(a) || nonfinite(b));
}
template <class T> __device__ __forceinline__ bool faulty(T r, T a, T b) { return nonfinite(r) && raised(r, a, b); }
// Of a * b + c. What infinity times 0 plus NaN raises is up to the processor.
template <class T> __device__ __forceinline__ bool faulty(T r, T a, T b, T c) {
    if (!nonfinite(r)) return false;
    if (r == r) return !(nonfinite(a) || nonfinite(b) || nonfinite(c));
    if (a == a && b == b && c == c) return true;
    return signals(a) || signals(b) || signals(c) || (a == 0 && nonfinite(b)) || (b == 0 && nonfinite(a));
}
)"},
    // Warps of a region that share work and leave values for each other: `left` has 16 bytes for each.
    // What one warp can do as fast alone is done by each.
    {"teams", "region", R"(constexpr i64 kAlone = 4096;
__device__ __forceinline__ i64 team_number() {
    return (i64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
}
__device__ __forceinline__ i64 teams_of(i64 most) {
    const i64 all = (i64)gridDim.x * (blockDim.x / 32);
    return all < most ? all : most;
}
// Of `total` points in a row, those of a team; none of a warp that is no team.
__device__ __forceinline__ void team_stretch(i64 total, i64 team, i64 teams, i64& first, i64& end) {
    const i64 each = ((total + teams - 1) / teams + 31) / 32 * 32;
    first = team < teams && team * each < total ? team * each : total;
    end = first + each < total ? first + each : total;
}
// What all teams have counted, in `count`; gives what those in front of this one have.
__device__ __noinline__ i64 team_counts(control* c, u8* left, i64& count, i64 team, i64 teams) {
    const i64 lane = threadIdx.x % 32;
    if (team < teams && lane == 0) *(i64*)(left + 16 * team) = count;
    grid_meet(c);
    i64 before = 0, all = 0;
    for (i64 k = lane; k < teams; k += 32) {
        const i64 n = *(const i64*)(left + 16 * k);
        all += n;
        if (k < team) before += n;
    }
    for (int mask = 1; mask < 32; mask <<= 1) {
        all += __shfl_xor_sync(~0u, all, mask);
        before += __shfl_xor_sync(~0u, before, mask);
    }
    count = all;
    return before;
}
)"},
    {"f16", "types", R"(struct f16 { u16 bits; };
__device__ __forceinline__ f32 to_f32(f16 x) {
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
    f32 r;
    asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x.bits));
    return r;
#else
    u32 sign = (u32)(x.bits & 0x8000) << 16, exponent = x.bits >> 10 & 31, m = x.bits & 1023;
    if (exponent == 31) return __uint_as_float(sign | 0x7f800000u | m << 13);
    if (exponent) return __uint_as_float(sign | (exponent + 112) << 23 | m << 13);
    f32 r = (f32)m * 5.9604644775390625e-08f;
    return sign ? -r : r;
#endif
}
__device__ __forceinline__ f16 to_f16(f32 x) {
    f16 r;
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(x));
#else
    u32 b = __float_as_uint(x), sign = b >> 16 & 0x8000, a = b & 0x7fffffff;
    if (a > 0x7f800000u) {
        r.bits = (u16)(sign | 0x7e00 | (a >> 13 & 0x3ff));
    } else if (a >= 0x477ff000u) {
        r.bits = (u16)(sign | 0x7c00);
    } else if (a >= 0x38800000u) {
        r.bits = (u16)(sign | ((a - 0x38000000u + 0xfff + (a >> 13 & 1)) >> 13));
    } else {
        f32 m = __uint_as_float(a) + 0.5f;  // the addition rounds to multiples of 2^-24
        r.bits = (u16)(sign | (__float_as_uint(m) - 0x3f000000u));
    }
#endif
    return r;
}
__device__ __forceinline__ f16 to_f16(f64 x) {
    // Rounding twice would be wrong: the first step rounds to odd.
    f32 n = (f32)x;
    u32 b = __float_as_uint(n);
    f64 back = n;
    if (x == x && back != x && !(b & 1)) {
        bool away = (back < 0 ? -back : back) > (x < 0 ? -x : x);
        n = __uint_as_float(away ? b - 1 : b | 1);
    }
    return to_f16(n);
}
)"},
    // NaN is what the hardware makes of it.
    {"bf16", "types", R"(struct bf16 { u16 bits; };
__device__ __forceinline__ f32 to_f32(bf16 x) { return __uint_as_float((u32)x.bits << 16); }
__device__ __forceinline__ bf16 to_bf16(f32 x) {
    bf16 r;
#if (defined(__CUDACC__) || defined(__CUDACC_RTC__)) && __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r.bits) : "f"(x));
#else
    u32 b = __float_as_uint(x);
    r.bits = (b & 0x7fffffffu) > 0x7f800000u ? (u16)0x7fff : (u16)((b + 0x7fff + (b >> 16 & 1)) >> 16);
#endif
    return r;
}
)"},
    {"complex", "types", R"(struct alignas(8) c64 { f32 re, im; };
struct alignas(16) c128 { f64 re, im; };
__device__ __forceinline__ f32 plus(f32 a, f32 b) { return __fadd_rn(a, b); }
__device__ __forceinline__ f64 plus(f64 a, f64 b) { return __dadd_rn(a, b); }
__device__ __forceinline__ f32 minus(f32 a, f32 b) { return __fsub_rn(a, b); }
__device__ __forceinline__ f64 minus(f64 a, f64 b) { return __dsub_rn(a, b); }
__device__ __forceinline__ f32 times(f32 a, f32 b) { return __fmul_rn(a, b); }
__device__ __forceinline__ f64 times(f64 a, f64 b) { return __dmul_rn(a, b); }
__device__ __forceinline__ f32 over(f32 a, f32 b) { return __fdiv_rn(a, b); }
__device__ __forceinline__ f64 over(f64 a, f64 b) { return __ddiv_rn(a, b); }
template <class C> __device__ __forceinline__ C add(C a, C b) { return C{plus(a.re, b.re), plus(a.im, b.im)}; }
template <class C> __device__ __forceinline__ C subtract(C a, C b) { return C{minus(a.re, b.re), minus(a.im, b.im)}; }
template <class C> __device__ __forceinline__ C multiply(C a, C b) {
    return C{minus(times(a.re, b.re), times(a.im, b.im)), plus(times(a.re, b.im), times(a.im, b.re))};
}
template <class C> __device__ __forceinline__ C divide(C a, C b) {
    auto re = b.re < 0 ? -b.re : b.re, im = b.im < 0 ? -b.im : b.im;
    if (re >= im) {
        if (re == 0 && im == 0) return C{over(a.re, re), over(a.im, re)};
        auto ratio = over(b.im, b.re);
        decltype(ratio) one = 1;
        auto scale = over(one, plus(b.re, times(b.im, ratio)));
        return C{times(plus(a.re, times(a.im, ratio)), scale), times(minus(a.im, times(a.re, ratio)), scale)};
    }
    auto ratio = over(b.re, b.im);
    decltype(ratio) one = 1;
    auto scale = over(one, plus(b.im, times(b.re, ratio)));
    return C{times(plus(times(a.re, ratio), a.im), scale), times(minus(times(a.im, ratio), a.re), scale)};
}
__device__ __forceinline__ f32 absolute(c64 x) { return hypotf(x.re, x.im); }
__device__ __forceinline__ f64 absolute(c128 x) { return hypot(x.re, x.im); }
__device__ __forceinline__ c64 exp_c(c64 x) {
    f32 r = expf(x.re);
    return c64{x.im == 0 ? r : times(r, cosf(x.im)), x.im == 0 ? x.im : times(r, sinf(x.im))};
}
__device__ __forceinline__ c128 exp_c(c128 x) {
    f64 r = exp(x.re);
    return c128{x.im == 0 ? r : times(r, cos(x.im)), x.im == 0 ? x.im : times(r, sin(x.im))};
}
)"},
    // Division and square root that may be off by two units in the last place, of all numbers.
    {"quotient", "types", R"(__device__ __forceinline__ f32 quotient(f32 a, f32 b) {
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
    f32 r;
    asm("div.full.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
#else
    return a / b;
#endif
}
)"},
    {"root", "types", R"(__device__ __forceinline__ f32 root(f32 a) {
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
    f32 r;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
#else
    return __fsqrt_rn(a);
#endif
}
)"},
    {"maximum", "types",
     R"(template <class T> __device__ __forceinline__ T maximum(T a, T b) { return a > b || a != a ? a : b; }
)"},
    {"minimum", "types",
     R"(template <class T> __device__ __forceinline__ T minimum(T a, T b) { return a < b || a != a ? a : b; }
)"},
    {"clip", "maximum minimum", ""},
    {"shift", "types", R"(template <class T, class U> __device__ __forceinline__ T left_shift(T a, T b) {
    return (U)b < 8 * sizeof(T) ? (T)((U)a << (U)b) : (T)0;
}
template <class T, class U> __device__ __forceinline__ T right_shift(T a, T b) {
    return (U)b < 8 * sizeof(T) ? (T)(a >> b) : (T)(a < 0 ? -1 : 0);
}
)"},
    {"integer_division", "types", R"(template <class T> __device__ __forceinline__ T floor_divide(T a, T b) {
    if (b == 0) return 0;
    if ((T)-1 < 0 && b == (T)-1) return (T)(0 - (u64)a);
    T q = (T)(a / b);
    return (T)((a < 0) != (b < 0) && (T)(q * b) != a ? q - 1 : q);
}
template <class T> __device__ __forceinline__ T remainder_of(T a, T b) {
    if (b == 0 || ((T)-1 < 0 && b == (T)-1)) return 0;
    T r = (T)(a % b);
    return (T)(r != 0 && (a < 0) != (b < 0) ? r + b : r);
}
template <class T> __device__ __forceinline__ T truncated_remainder(T a, T b) {
    if (b == 0 || ((T)-1 < 0 && b == (T)-1)) return 0;
    return (T)(a % b);
}
)"},
    {"float_division", "types", R"(__device__ __forceinline__ f32 modulo(f32 a, f32 b) { return fmodf(a, b); }
__device__ __forceinline__ f64 modulo(f64 a, f64 b) { return fmod(a, b); }
__device__ __forceinline__ f32 signed_as(f32 a, f32 b) { return copysignf(a, b); }
__device__ __forceinline__ f64 signed_as(f64 a, f64 b) { return copysign(a, b); }
__device__ __forceinline__ f32 below(f32 a) { return floorf(a); }
__device__ __forceinline__ f64 below(f64 a) { return floor(a); }
template <class T> __device__ __forceinline__ T float_remainder(T a, T b) {
    T mod = modulo(a, b);
    if (b == 0) return mod;
    if (mod == 0) return signed_as((T)0, b);
    return (b < 0) != (mod < 0) ? mod + b : mod;
}
template <class T> __device__ __forceinline__ T float_floor_divide(T a, T b) {
    if (b == 0) return a / b;
    T mod = modulo(a, b), div = (a - mod) / b;
    if (mod != 0 && (b < 0) != (mod < 0)) div -= 1;
    if (div == 0) return signed_as((T)0, a / b);
    T whole = below(div);
    return div - whole > (T)0.5 ? whole + 1 : whole;
}
)"},
    {"power", "types", R"(template <class T> __device__ __forceinline__ T integer_power(T a, T b) {
    u64 base = (u64)a, r = 1;
    for (u64 n = b < 0 ? 0 : (u64)b; n; n >>= 1, base *= base)
        if (n & 1) r *= base;
    return (T)r;
}
)"},
    {"gcd", "types", R"(template <class T> __device__ __forceinline__ T gcd_of(T a, T b) {
    u64 x = a < 0 ? 0 - (u64)a : (u64)a, y = b < 0 ? 0 - (u64)b : (u64)b;
    while (y) {
        u64 r = x % y;
        x = y, y = r;
    }
    return (T)x;
}
template <class T> __device__ __forceinline__ T lcm_of(T a, T b) {
    T g = gcd_of(a, b);
    if (g == 0) return 0;
    u64 x = a < 0 ? 0 - (u64)a : (u64)a, y = b < 0 ? 0 - (u64)b : (u64)b;
    return (T)(x / (u64)g * y);
}
)"},
    {"sign", "types",
     R"(template <class T> __device__ __forceinline__ T sign_of(T x) { return x > 0 ? (T)1 : x < 0 ? (T)-1 : x == 0 ? (T)0 : x; }
)"},
    {"logaddexp", "types", R"(__device__ __forceinline__ f64 log_sum(f64 a, f64 b) {
    if (a == b) return a + 0.693147180559945309417232121458176568;
    f64 d = a - b;
    return d > 0 ? a + log1p(exp(-d)) : d <= 0 ? b + log1p(exp(d)) : d;
}
__device__ __forceinline__ f32 log_sum(f32 a, f32 b) {
    if (a == b) return a + 0.693147180559945309417232121458176568f;
    f32 d = a - b;
    return d > 0 ? a + log1pf(expf(-d)) : d <= 0 ? b + log1pf(expf(d)) : d;
}
)"},
    {"both", "types", R"(__device__ __forceinline__ bool both(bool a, bool b) { return a && b; }
)"},
    {"either", "types", R"(__device__ __forceinline__ bool either(bool a, bool b) { return a || b; }
)"},
    {"sum_f32", "types", R"(__device__ __forceinline__ f32 sum(f32 a, f32 b) { return __fadd_rn(a, b); }
)"},
    {"sum_f64", "types", R"(__device__ __forceinline__ f64 sum(f64 a, f64 b) { return __dadd_rn(a, b); }
)"},
    {"sum_integer", "types",
     R"(template <class T> __device__ __forceinline__ T sum(T a, T b) { return (T)((u64)a + (u64)b); }
)"},
    {"sum_complex", "complex",
     R"(template <class C> __device__ __forceinline__ C sum(C a, C b) { return add(a, b); }
)"},
    {"product_f32", "types",
     R"(__device__ __forceinline__ f32 product(f32 a, f32 b) { return __fmul_rn(a, b); }
)"},
    {"product_f64", "types",
     R"(__device__ __forceinline__ f64 product(f64 a, f64 b) { return __dmul_rn(a, b); }
)"},
    {"product_integer", "types",
     R"(template <class T> __device__ __forceinline__ T product(T a, T b) { return (T)((u64)a * (u64)b); }
)"},
    {"product_complex", "complex",
     R"(template <class C> __device__ __forceinline__ C product(C a, C b) { return multiply(a, b); }
)"},
    // A value and where it was found: the first of equal ones wins, and NaN wins over everything.
    {"position", "types", R"(template <class T> struct found { T value; i64 at; };
template <class T> __device__ __forceinline__ bool wins(found<T> a, found<T> b, bool more) {
    if (a.at < 0 || b.at < 0) return b.at < 0;
    bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan || b_nan) return a_nan && (!b_nan || a.at < b.at);
    if (a.value == b.value) return a.at < b.at;
    return more ? a.value > b.value : a.value < b.value;
}
)"},
    {"first_max", "position",
     R"(template <class T> __device__ __forceinline__ found<T> first_max(found<T> a, found<T> b) { return wins(a, b, true) ? a : b; }
)"},
    {"first_min", "position",
     R"(template <class T> __device__ __forceinline__ found<T> first_min(found<T> a, found<T> b) { return wins(a, b, false) ? a : b; }
)"},
    // Neighbouring elements, read and written in words of up to 16 bytes: get<T, E>(w) is element E of a
    // word, set<E>(w, x) fills it in. The words of a thread are single variables, which stay in registers.
    {"word16", "types", R"(template <int K> __device__ __forceinline__ u32& part(uint4& w) {
    if constexpr (K == 0) return w.x;
    else if constexpr (K == 1) return w.y;
    else if constexpr (K == 2) return w.z;
    else return w.w;
}
)"},
    {"word8", "types", R"(template <int K> __device__ __forceinline__ u32& part(uint2& w) {
    if constexpr (K == 0) return w.x;
    else return w.y;
}
)"},
    {"word4", "types", R"(template <int K> __device__ __forceinline__ u32& part(u32& w) { return w; }
)"},
    {"word2", "types", R"(template <int K> __device__ __forceinline__ u16& part(u16& w) { return w; }
)"},
    {"word1", "types", R"(template <int K> __device__ __forceinline__ u8& part(u8& w) { return w; }
)"},
    // The bits of an element as an integer, and back.
    {"bits_small", "types", R"(template <class T> __device__ __forceinline__ u32 raw(T x) {
    if constexpr (sizeof(T) == 1) return (u8)x;
    else return (u16)x;
}
)"},
    {"bits_i32", "types", R"(__device__ __forceinline__ u32 raw(i32 x) { return (u32)x; }
__device__ __forceinline__ u32 raw(u32 x) { return x; }
)"},
    {"bits_i64", "types", R"(__device__ __forceinline__ u64 raw(i64 x) { return (u64)x; }
__device__ __forceinline__ u64 raw(u64 x) { return x; }
)"},
    {"bits_f32", "types", R"(__device__ __forceinline__ u32 raw(f32 x) { return __float_as_uint(x); }
)"},
    {"bits_f64", "types",
     R"(__device__ __forceinline__ u64 raw(f64 x) { return (u64)__double_as_longlong(x); }
)"},
    {"bits_f16", "f16", R"(__device__ __forceinline__ u32 raw(f16 x) { return x.bits; }
)"},
    {"bits_bf16", "bf16", R"(__device__ __forceinline__ u32 raw(bf16 x) { return x.bits; }
)"},
    {"bits_c64", "complex", R"(__device__ __forceinline__ u64 raw(c64 x) {
    return (u64)__float_as_uint(x.im) << 32 | __float_as_uint(x.re);
}
)"},
    {"bits_c128", "complex", R"(__device__ __forceinline__ uint4 raw(c128 x) {
    u64 re = (u64)__double_as_longlong(x.re), im = (u64)__double_as_longlong(x.im);
    uint4 w;
    w.x = (u32)re, w.y = (u32)(re >> 32), w.z = (u32)im, w.w = (u32)(im >> 32);
    return w;
}
)"},
    {"as", "types", R"(template <class T> struct as {
    template <class B> static __device__ __forceinline__ T from(B bits) { return (T)bits; }
};
)"},
    {"as_f32", "as",
     R"(template <> struct as<f32> { static __device__ __forceinline__ f32 from(u32 bits) { return __uint_as_float(bits); } };
)"},
    {"as_f64", "as",
     R"(template <> struct as<f64> { static __device__ __forceinline__ f64 from(u64 bits) { return __longlong_as_double((i64)bits); } };
)"},
    {"as_f16", "as f16",
     R"(template <> struct as<f16> { static __device__ __forceinline__ f16 from(u32 bits) { return f16{(u16)bits}; } };
)"},
    {"as_bf16", "as bf16",
     R"(template <> struct as<bf16> { static __device__ __forceinline__ bf16 from(u32 bits) { return bf16{(u16)bits}; } };
)"},
    {"as_c64", "as complex", R"(template <> struct as<c64> {
    static __device__ __forceinline__ c64 from(u64 bits) {
        return c64{__uint_as_float((u32)bits), __uint_as_float((u32)(bits >> 32))};
    }
};
)"},
    {"as_c128", "as complex", R"(template <> struct as<c128> {
    static __device__ __forceinline__ c128 from(uint4 w) {
        return c128{__longlong_as_double((i64)((u64)w.y << 32 | w.x)), __longlong_as_double((i64)((u64)w.w << 32 | w.z))};
    }
};
)"},
    {"get", "as", R"(template <class T, int E, class W> __device__ __forceinline__ T get(W w) {
    if constexpr (sizeof(T) == 16) {
        return as<T>::from(w);
    } else if constexpr (sizeof(T) == 8) {
        return as<T>::from((u64)part<2 * E + 1>(w) << 32 | part<2 * E>(w));
    } else {
        constexpr int each = 4 / sizeof(T);
        return as<T>::from((u32)part<E / each>(w) >> 8 * (int)sizeof(T) * (E % each));
    }
}
)"},
    {"set", "types", R"(template <int E, class T, class W> __device__ __forceinline__ void set(W& w, T x) {
    if constexpr (sizeof(T) == 16) {
        w = raw(x);
    } else if constexpr (sizeof(T) == 8) {
        u64 bits = raw(x);
        part<2 * E>(w) = (u32)bits, part<2 * E + 1>(w) = (u32)(bits >> 32);
    } else {
        constexpr int each = 4 / sizeof(T);
        if constexpr (E % each == 0) part<E / each>(w) = raw(x);
        else part<E / each>(w) |= raw(x) << 8 * (int)sizeof(T) * (E % each);
    }
}
)"},
    // Values from the lane whose number differs in the bits of `mask`.
    {"lane_i32", "types",
     R"(__device__ __forceinline__ i32 from_lane(i32 x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
)"},
    {"lane_i64", "types",
     R"(__device__ __forceinline__ i64 from_lane(i64 x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
)"},
    {"lane_u64", "lane_i64",
     R"(__device__ __forceinline__ u64 from_lane(u64 x, int mask) { return (u64)from_lane((i64)x, mask); }
)"},
    {"lane_f32", "types",
     R"(__device__ __forceinline__ f32 from_lane(f32 x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
)"},
    {"lane_f64", "types",
     R"(__device__ __forceinline__ f64 from_lane(f64 x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
)"},
    {"lane_small", "lane_i32",
     R"(template <class T> __device__ __forceinline__ T from_lane(T x, int mask) { return (T)from_lane((i32)x, mask); }
)"},
    {"lane_c64", "lane_f32 complex",
     R"(__device__ __forceinline__ c64 from_lane(c64 x, int mask) { return c64{from_lane(x.re, mask), from_lane(x.im, mask)}; }
)"},
    {"lane_c128", "lane_f64 complex",
     R"(__device__ __forceinline__ c128 from_lane(c128 x, int mask) { return c128{from_lane(x.re, mask), from_lane(x.im, mask)}; }
)"},
    {"lane_position", "lane_i64 position",
     R"(template <class T> __device__ __forceinline__ found<T> from_lane(found<T> x, int mask) {
    return found<T>{from_lane(x.value, mask), from_lane(x.at, mask)};
}
)"},
    // What may be combined in any order: an `S` has `start`, step(x, k) with element k, combine(a, b). Long
    // stretches are cut into parts, which the teams take in turns; what they are follows from `n` alone.
    {"fold", "teams", R"(template <class T, class C> struct elements {
    const u8* p;
    i64 stride;
    T start;
    __device__ __forceinline__ T step(T x, i64 k) const { return C::of(x, *(const T*)(p + k * stride)); }
    __device__ __forceinline__ T combine(T a, T b) const { return C::of(a, b); }
};
__device__ __forceinline__ f32 fused(f32 a, f32 b, f32 c) { return __fmaf_rn(a, b, c); }
__device__ __forceinline__ f64 fused(f64 a, f64 b, f64 c) { return __fma_rn(a, b, c); }
template <class T> struct products {
    const u8 *p, *q;
    i64 stride, other;
    T start;
    __device__ __forceinline__ T step(T x, i64 k) const {
        return fused(*(const T*)(p + k * stride), *(const T*)(q + k * other), x);
    }
    __device__ __forceinline__ T combine(T a, T b) const { return sum(a, b); }
};
template <class T, class S> __device__ __forceinline__ T fold_lanes(const S& s, T x) {
    for (int mask = 1; mask < 32; mask <<= 1) {
        const T other = from_lane(x, mask);
        x = threadIdx.x & mask ? s.combine(other, x) : s.combine(x, other);
    }
    return x;
}
template <class S> __device__ __forceinline__ auto fold_stretch(const S& s, i64 first, i64 end) {
    auto x = s.start;
    for (i64 k = first + threadIdx.x % 32; k < end; k += 32) x = s.step(x, k);
    return fold_lanes(s, x);
}
template <class S> __device__ __noinline__ auto fold(control* c, u8* left, i64 team, i64 teams, S s, i64 n) {
    if (n <= kAlone) return fold_stretch(s, 0, n);
    using T = decltype(s.start);
    const i64 each = n / 1024 < kAlone ? kAlone : (n + 1023) / 1024, parts = (n + each - 1) / each;
    for (i64 k = team; k < parts && team < teams; k += teams) {
        const T x = fold_stretch(s, k * each, k * each + each < n ? k * each + each : n);
        if (threadIdx.x % 32 == 0) *(T*)(left + 16 * k) = x;
    }
    grid_meet(c);
    T x = s.start;
    for (i64 k = threadIdx.x % 32; k < parts; k += 32) x = s.combine(x, *(const T*)(left + 16 * k));
    return fold_lanes(s, x);
}
// By one thread, or by a warp.
template <class S> __device__ __forceinline__ auto fold_run(const S& s, i64 n, bool shared) {
    if (shared) return fold_stretch(s, 0, n);
    auto x = s.start;
    for (i64 k = 0; k < n; ++k) x = s.step(x, k);
    return x;
}
)"},
    // NumPy's sums of floats: up to 128 elements by eight accumulators, more as the sum of two halves, of
    // which the first is a multiple of 8. The halves of halves are slots of a tree; where a branch ends early
    // its first slot has the value and the others are empty.
    {"pairwise", "teams", R"(__device__ __forceinline__ f32 plus_f(f32 a, f32 b) { return __fadd_rn(a, b); }
__device__ __forceinline__ f64 plus_f(f64 a, f64 b) { return __dadd_rn(a, b); }
// At most 128 elements by the eight lanes that the caller is one of; 0 elements are in order.
template <class T> __device__ __forceinline__ T block_sum(const u8* p, i64 stride, i64 n) {
    const i64 mine = threadIdx.x % 8, whole = n - n % 8;
    T x = 0;
    for (i64 k = mine; k < whole; k += 8) x = k < 8 ? *(const T*)(p + k * stride) : plus_f(x, *(const T*)(p + k * stride));
    for (int mask = 1; mask < 8; mask <<= 1) x = plus_f(x, __shfl_xor_sync(~0u, x, mask));
    if (n < 8) x = (T)-0.0;
    for (i64 k = whole; k < n; ++k) x = plus_f(x, *(const T*)(p + k * stride));
    return x;
}
__device__ __forceinline__ i64 first_half(i64 n) { return n / 2 - n / 2 % 8; }
// Slot `slot` of 2^depth: the part of n elements; its length is 0 where the slot is empty.
__device__ __forceinline__ void tree_slot(i64 slot, int depth, i64 most, i64& begin, i64& n) {
    begin = 0;
    for (int k = depth - 1; k >= 0; --k) {
        if (n <= most) {
            if (slot & ((i64)2 << k) - 1) n = 0;
            return;
        }
        const i64 half = first_half(n);
        if (slot >> k & 1) begin += half, n -= half;
        else n = half;
    }
}
// Values of the tree's slots, 32 at once, put together; in the end `whole` is all of it.
template <class T> struct tree {
    T part[40];
    u64 filled = 0;
    T whole = 0;
    bool any = false;
    __device__ __forceinline__ void add(i64 round, T x, bool has) {
        for (int mask = 1; mask < 32; mask <<= 1) {
            const T other = __shfl_xor_sync(~0u, x, mask);
            const bool there = __shfl_xor_sync(~0u, (i32)has, mask), right = threadIdx.x & mask;
            const bool left_has = right ? there : has, right_has = right ? has : there;
            const T left = right ? other : x, behind = right ? x : other;
            x = left_has && right_has ? plus_f(left, behind) : left_has ? left : behind;
            has = left_has || right_has;
        }
        int k = 0;
        for (; round >> k & 1; ++k) {
            if (!(filled >> k & 1)) continue;
            x = has ? plus_f(part[k], x) : part[k];
            has = true;
        }
        part[k] = x;
        filled = has ? filled | (u64)1 << k : filled & ~((u64)1 << k);
        whole = x, any = has;
    }
};
// By one warp.
template <class T> __device__ __noinline__ T warp_sum(const u8* p, i64 stride, i64 n) {
    if (n <= 128) return block_sum<T>(p, stride, n);
    int depth = 0;
    for (i64 most = n; most > 128; most = most / 2 + 8) ++depth;
    const i64 slots = (i64)1 << depth;
    const int lane = threadIdx.x % 32;
    tree<T> t;
    for (i64 round = 0; round < (slots + 31) / 32; ++round) {
        T mine = 0;
        bool has = false;
        for (int q = 0; q < 8; ++q) {
            const i64 slot = 32 * round + 4 * q + lane / 8;
            i64 begin, length = slot < slots ? n : 0;
            tree_slot(slot, depth, 128, begin, length);
            const T x = __shfl_sync(~0u, block_sum<T>(p + begin * stride, stride, length), lane % 4 * 8);
            const bool there = __shfl_sync(~0u, (i32)(length > 0), lane % 4 * 8);
            if (lane / 4 == q) mine = x, has = there;
        }
        t.add(round, mine, has);
    }
    return t.whole;
}
template <class T> __device__ __noinline__ T pairwise(control* c, u8* left, i64 team, i64 teams, const u8* p, i64 stride, i64 n) {
    if (n <= kAlone) return warp_sum<T>(p, stride, n);
    int depth = 0;
    while (depth < 10 && n >> depth > kAlone) ++depth;
    const i64 slots = (i64)1 << depth, lane = threadIdx.x % 32;
    for (i64 k = team; k < slots && team < teams; k += teams) {
        i64 begin, length = n;
        tree_slot(k, depth, 128, begin, length);
        const T x = warp_sum<T>(p + begin * stride, stride, length);
        if (lane == 0) *(T*)(left + 16 * k) = x;
    }
    grid_meet(c);
    tree<T> t;
    for (i64 round = 0; round < (slots + 31) / 32; ++round) {
        const i64 slot = 32 * round + lane;
        t.add(round, slot < slots ? *(const T*)(left + 16 * slot) : (T)0, slot < slots);
    }
    return t.whole;
}
// By one thread where there are less than eight elements, or by a warp.
template <class T> __device__ __forceinline__ T run_sum(const u8* p, i64 stride, i64 n, bool shared) {
    if (shared) return warp_sum<T>(p, stride, n);
    T x = (T)-0.0;
    for (i64 k = 0; k < n; ++k) x = plus_f(x, *(const T*)(p + k * stride));
    return x;
}
)"},
    {"matmul", "types complex",
     R"(__device__ __forceinline__ f32 with_product(f32 s, f32 a, f32 b) { return __fmaf_rn(a, b, s); }
__device__ __forceinline__ f64 with_product(f64 s, f64 a, f64 b) { return __fma_rn(a, b, s); }
template <class T> __device__ __forceinline__ T with_product(T s, T a, T b) {
    if constexpr (sizeof(T) < 4) return (T)((u32)s + (u32)a * (u32)b);
    else return (T)((u64)s + (u64)a * (u64)b);
}
__device__ __forceinline__ c64 with_product(c64 s, c64 a, c64 b) {
    return c64{__fmaf_rn(-a.im, b.im, __fmaf_rn(a.re, b.re, s.re)), __fmaf_rn(a.im, b.re, __fmaf_rn(a.re, b.im, s.im))};
}
__device__ __forceinline__ c128 with_product(c128 s, c128 a, c128 b) {
    return c128{__fma_rn(-a.im, b.im, __fma_rn(a.re, b.re, s.re)), __fma_rn(a.im, b.re, __fma_rn(a.re, b.im, s.im))};
}
template <class T> __device__ __forceinline__ T element_at(const u8* p) { return *(const T*)p; }
template <> __device__ __forceinline__ c64 element_at(const u8* p) { return c64{((const f32*)p)[0], ((const f32*)p)[1]}; }
template <> __device__ __forceinline__ c128 element_at(const u8* p) { return c128{((const f64*)p)[0], ((const f64*)p)[1]}; }
// One element of a product of matrices: a row times a column, from the first to the last.
template <class T> __device__ __noinline__ T product_sum(const u8* x, i64 dx, const u8* y, i64 dy, i64 n) {
    T s{};
#pragma unroll 4
    for (i64 k = 0; k < n; ++k) s = with_product(s, element_at<T>(x + k * dx), element_at<T>(y + k * dy));
    return s;
}
)"},
    // The values of all threads with one threadIdx.y, combined in a fixed order; all of them get the same
    // bits. blockDim.x is a power of two, and `meet` has 16 bytes for each of 32 warps, twice: `turn` says
    // which half is free. Whoever writes to a half again has met a barrier since it was read.
    {"across", "types",
     R"(template <class T, class F> __device__ __forceinline__ T across(T x, F combine, uint4* meet, int& turn) {
    const int width = blockDim.x < 32 ? blockDim.x : 32;
    for (int mask = 1; mask < width; mask <<= 1) {
        T other = from_lane(x, mask);
        x = threadIdx.x & mask ? combine(other, x) : combine(x, other);
    }
    if (blockDim.x > 32) {
        const int warps = blockDim.x / 32, mine = 32 * turn + threadIdx.y * warps;
        turn ^= 1;
        if (threadIdx.x % 32 == 0) *(T*)(meet + mine + threadIdx.x / 32) = x;
        __syncthreads();
        x = *(T*)(meet + mine);
        for (int w = 1; w < warps; ++w) x = combine(x, *(T*)(meet + mine + w));
    }
    return x;
}
)"},
    // Barriers of a cluster's blocks, and where another block has what this one has at `p` in shared memory.
    // Without a cluster there is one block.
    {"cluster", "types", R"(__device__ __forceinline__ void cluster_meet() {
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
#elif defined(__cluster_barrier_arrive)
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
#endif
}
__device__ __forceinline__ const uint4* of_block(const uint4* p, u32 rank) {
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#if __CUDA_ARCH__ >= 900
    asm("mapa.u64 %0, %1, %2;" : "=l"(p) : "l"(p), "r"(rank));
#endif
#elif defined(__cluster_barrier_arrive)
    p = (const uint4*)__cluster_map_shared_rank(p, rank);
#endif
    return p;
}
)"},
    // What `across` gives, of a row that `parts` blocks share. They are a cluster (phase -1), or parts of a
    // launch: the one for phase `step` leaves its values at `left`, where later ones find them.
    {"whole_row", "across cluster",
     R"(template <class T, class F> __device__ __forceinline__ T whole_row(T x, F combine, uint4* meet, int& turn, u32 parts, u8* left, int phase, int step) {
    if (phase > step)
        for (u32 k = threadIdx.x; k < parts; k += blockDim.x) x = combine(x, *(const T*)(left + k * 16));
    x = across(x, combine, meet, turn);
    if (phase == step) {
        if (threadIdx.x == 0) *(T*)(left + blockIdx.x % parts * 16) = x;
    } else if (phase < 0 && parts > 1) {
        uint4* const mine = meet + 64 + turn;
        if (threadIdx.x == 0) *(T*)mine = x;
        cluster_meet();
        x = *(const T*)of_block(mine, 0);
        for (u32 b = 1; b < parts; ++b) x = combine(x, *(const T*)of_block(mine, b));
    }
    return x;
}
)"},
    // The values of all threads with one threadIdx.x, combined by the first of them; only that one has the
    // result. `meet` has 16 bytes for each thread; two calls in a row take different ones.
    {"down", "types",
     R"(template <class T, class F> __device__ __forceinline__ T down(T x, F combine, uint4* meet) {
    *(T*)(meet + threadIdx.y * blockDim.x + threadIdx.x) = x;
    __syncthreads();
    if (threadIdx.y == 0)
        for (int y = 1; y < blockDim.y; ++y) x = combine(x, *(T*)(meet + y * blockDim.x + threadIdx.x));
    return x;
}
)"},
    // The same of a column of which `parts` blocks take a slice: a launch with phase 0 leaves their values at
    // `left`, where the one with phase 1 finds them.
    {"whole_column", "down",
     R"(template <class T, class F> __device__ __forceinline__ T whole_column(T x, F combine, uint4* meet, u32 parts, u8* left, int phase, bool active) {
    if (phase > 0)
        for (u32 k = threadIdx.y; k < parts; k += blockDim.y) x = combine(x, *(const T*)(left + k * 16));
    x = down(x, combine, meet);
    if (phase == 0 && active && threadIdx.y == 0) *(T*)(left + blockIdx.x % parts * 16) = x;
    return x;
}
)"},
};

const Piece* find(std::string_view name) {
    for (const Piece& p : kPieces)
        if (p.name == name) return &p;
    return nullptr;
}

using Names = std::set<std::string, std::less<>>;

void add(std::string_view name, Names& all) {
    if (!all.emplace(name).second) return;
    const Piece* p = find(name);
    std::string_view needs = p ? p->needs : "";
    while (!needs.empty()) {
        size_t end = std::min(needs.find(' '), needs.size());
        add(needs.substr(0, end), all);
        needs.remove_prefix(std::min(end + 1, needs.size()));
    }
}

}  // namespace

std::string prelude(const Uses& uses) {
    Names all;
    add("types", all);
    for (const std::string& name : uses.pieces) add(name, all);
    std::string out;
    for (const Piece& p : kPieces)
        if (all.count(p.name)) out += p.text;
    for (const auto& [name, text] : uses.functions) out += text;
    return out;
}

}  // namespace stator::kernels::cuda
