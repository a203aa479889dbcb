// Numbers that CUDA has no type for without headers, and operations that have no intrinsic of their own.
// Inline PTX has a plain C++ form beside it, which other compilers take.
//
// Formulas: floor division and remainder are NumPy's (npy_math_internal.h.src), complex division is Smith's
// algorithm as NumPy has it (loops.c.src), conversions of half precision in C++ follow IEEE 754 with ties to
// even.
#include "kernels/cuda/prelude.h"

namespace stator::kernels::cuda {

namespace {

constexpr Piece kNumber[] = {
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
    const bool along = re >= im;
    if (along && re == 0) return C{over(a.re, re), over(a.im, re)};
    auto large = along ? b.re : b.im, small = along ? b.im : b.re;
    auto x = along ? a.re : a.im, y = along ? a.im : a.re, ratio = over(small, large);
    decltype(ratio) one = 1;
    auto scale = over(one, plus(large, times(small, ratio))), turned = times(x, ratio);
    return C{times(plus(x, times(y, ratio)), scale), times(along ? minus(y, turned) : minus(turned, y), scale)};
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
    // The divisor of the smallest numbers is a positive one, which their type does not have.
    {"gcd", "types", R"(template <class T> __device__ __forceinline__ u64 divisor_of(T a, T b) {
    u64 x = a < 0 ? 0 - (u64)a : (u64)a, y = b < 0 ? 0 - (u64)b : (u64)b;
    while (y) {
        u64 r = x % y;
        x = y, y = r;
    }
    return x;
}
template <class T> __device__ __forceinline__ T gcd_of(T a, T b) { return (T)divisor_of(a, b); }
template <class T> __device__ __forceinline__ T lcm_of(T a, T b) {
    u64 g = divisor_of(a, b), x = a < 0 ? 0 - (u64)a : (u64)a, y = b < 0 ? 0 - (u64)b : (u64)b;
    return g == 0 ? (T)0 : (T)(x / g * y);
}
)"},
    {"sign", "types",
     R"(template <class T> __device__ __forceinline__ T sign_of(T x) { return x > 0 ? (T)1 : x < 0 ? (T)-1 : x == 0 ? (T)0 : x; }
)"},
    {"logaddexp_f64", "types", R"(__device__ __forceinline__ f64 log_sum(f64 a, f64 b) {
    if (a == b) return a + 0.693147180559945309417232121458176568;
    f64 d = a - b;
    return d > 0 ? a + log1p(exp(-d)) : d <= 0 ? b + log1p(exp(d)) : d;
}
)"},
    {"logaddexp_f32", "types", R"(__device__ __forceinline__ f32 log_sum(f32 a, f32 b) {
    if (a == b) return a + 0.693147180559945309417232121458176568f;
    f32 d = a - b;
    return d > 0 ? a + log1pf(expf(-d)) : d <= 0 ? b + log1pf(expf(d)) : d;
}
)"},
};

}  // namespace

std::span<const Piece> number_pieces() { return kNumber; }

}  // namespace stator::kernels::cuda
