// Arithmetic intrinsics, conversions, bits, and the math functions that the C library does not have. Compiled
// with -ffp-contract=off, so that an operator rounds as its _rn intrinsic does.
#pragma once

#define SHIM_ARITHMETIC(T, f, fma_)                       \
    SHIM_PLAIN T f##add_rn(T a, T b) { return a + b; }    \
    SHIM_PLAIN T f##sub_rn(T a, T b) { return a - b; }    \
    SHIM_PLAIN T f##mul_rn(T a, T b) { return a * b; }    \
    SHIM_PLAIN T f##div_rn(T a, T b) { return a / b; }    \
    SHIM_PLAIN T f##rcp_rn(T a) { return T(1) / a; }      \
    SHIM_PLAIN T f##sqrt_rn(T a) { return std::sqrt(a); } \
    SHIM_PLAIN T fma_(T a, T b, T c) { return std::fma(a, b, c); }
SHIM_ARITHMETIC(float, __f, __fmaf_rn)
SHIM_ARITHMETIC(double, __d, __fma_rn)
#undef SHIM_ARITHMETIC
SHIM_PLAIN float __frsqrt_rn(float a) { return (float)(1.0 / std::sqrt((double)a)); }
SHIM_PLAIN float __fdividef(float a, float b) { return a / b; }
SHIM_PLAIN float fdividef(float a, float b) { return a / b; }
SHIM_PLAIN float __saturatef(float a) { return a > 0 ? (a < 1 ? a : 1) : 0; }
SHIM_PLAIN float __expf(float a) { return expf(a); }
SHIM_PLAIN float __exp10f(float a) { return exp10f(a); }
SHIM_PLAIN float __logf(float a) { return logf(a); }
SHIM_PLAIN float __log2f(float a) { return log2f(a); }
SHIM_PLAIN float __log10f(float a) { return log10f(a); }
SHIM_PLAIN float __sinf(float a) { return sinf(a); }
SHIM_PLAIN float __cosf(float a) { return cosf(a); }
SHIM_PLAIN float __tanf(float a) { return tanf(a); }
SHIM_PLAIN float __powf(float a, float b) { return powf(a, b); }

namespace shim {
// Floating point to integer as the hardware does it: rounded, then saturated; a NaN becomes 0.
template <class I, class F>
SHIM_PLAIN I saturate(F rounded) {
    if (rounded != rounded) return 0;
    const F top = std::ldexp(F(1), std::is_signed_v<I> ? 8 * (int)sizeof(I) - 1 : 8 * (int)sizeof(I));
    if (rounded >= top) return std::is_signed_v<I> ? I(~(I(1) << (8 * sizeof(I) - 1))) : I(~I(0));
    if (rounded < (std::is_signed_v<I> ? -top : F(0)))
        return std::is_signed_v<I> ? I(I(1) << (8 * sizeof(I) - 1)) : I(0);
    return (I)rounded;
}
template <class To, class From>
SHIM_PLAIN To bit_cast(From from) {
    static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
}  // namespace shim

#define SHIM_TO_INT(F, f, I, i)                                                         \
    SHIM_PLAIN I __##f##2##i##_rn(F a) { return shim::saturate<I>(std::nearbyint(a)); } \
    SHIM_PLAIN I __##f##2##i##_rz(F a) { return shim::saturate<I>(std::trunc(a)); }     \
    SHIM_PLAIN I __##f##2##i##_rd(F a) { return shim::saturate<I>(std::floor(a)); }     \
    SHIM_PLAIN I __##f##2##i##_ru(F a) { return shim::saturate<I>(std::ceil(a)); }
#define SHIM_CONVERSIONS(F, f)                               \
    SHIM_TO_INT(F, f, int, int)                              \
    SHIM_TO_INT(F, f, unsigned, uint)                        \
    SHIM_TO_INT(F, f, long long, ll)                         \
    SHIM_TO_INT(F, f, unsigned long long, ull)               \
    SHIM_PLAIN F __ll2##f##_rn(long long a) { return (F)a; } \
    SHIM_PLAIN F __ull2##f##_rn(unsigned long long a) { return (F)a; }
SHIM_CONVERSIONS(float, float)
SHIM_CONVERSIONS(double, double)
#undef SHIM_CONVERSIONS
#undef SHIM_TO_INT
SHIM_PLAIN float __int2float_rn(int a) { return (float)a; }
SHIM_PLAIN float __uint2float_rn(unsigned a) { return (float)a; }
SHIM_PLAIN double __int2double_rn(int a) { return a; }
SHIM_PLAIN double __uint2double_rn(unsigned a) { return a; }
SHIM_PLAIN float __double2float_rn(double a) { return (float)a; }

SHIM_PLAIN int __float_as_int(float a) { return shim::bit_cast<int>(a); }
SHIM_PLAIN unsigned __float_as_uint(float a) { return shim::bit_cast<unsigned>(a); }
SHIM_PLAIN float __int_as_float(int a) { return shim::bit_cast<float>(a); }
SHIM_PLAIN float __uint_as_float(unsigned a) { return shim::bit_cast<float>(a); }
SHIM_PLAIN long long __double_as_longlong(double a) { return shim::bit_cast<long long>(a); }
SHIM_PLAIN double __longlong_as_double(long long a) { return shim::bit_cast<double>(a); }
SHIM_PLAIN int __double2hiint(double a) { return (int)(shim::bit_cast<uint64_t>(a) >> 32); }
SHIM_PLAIN int __double2loint(double a) { return (int)shim::bit_cast<uint64_t>(a); }
SHIM_PLAIN double __hiloint2double(int hi, int lo) {
    return shim::bit_cast<double>((uint64_t)(unsigned)hi << 32 | (unsigned)lo);
}

SHIM_PLAIN int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
SHIM_PLAIN unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }
SHIM_PLAIN long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
SHIM_PLAIN unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
SHIM_PLAIN int __popc(unsigned a) { return __builtin_popcount(a); }
SHIM_PLAIN int __popcll(unsigned long long a) { return __builtin_popcountll(a); }
SHIM_PLAIN int __clz(int a) { return a ? __builtin_clz((unsigned)a) : 32; }
SHIM_PLAIN int __clzll(long long a) { return a ? __builtin_clzll((unsigned long long)a) : 64; }
SHIM_PLAIN int __ffs(int a) { return __builtin_ffs(a); }
SHIM_PLAIN int __ffsll(long long a) { return __builtin_ffsll(a); }
SHIM_PLAIN unsigned __brev(unsigned a) {
    unsigned r = 0;
    for (int i = 0; i < 32; ++i) r |= (a >> i & 1) << (31 - i);
    return r;
}
SHIM_PLAIN unsigned long long __brevll(unsigned long long a) {
    return (unsigned long long)__brev((unsigned)a) << 32 | __brev((unsigned)(a >> 32));
}
SHIM_PLAIN unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
    const uint64_t bytes = (uint64_t)b << 32 | a;
    unsigned r = 0;
    for (int i = 0; i < 4; ++i) r |= (unsigned)(bytes >> 8 * (s >> 4 * i & 7) & 0xff) << 8 * i;
    return r;
}
SHIM_PLAIN unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) {
    return (unsigned)(((uint64_t)hi << 32 | lo) << (n & 31) >> 32);
}
SHIM_PLAIN unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) {
    return (unsigned)(((uint64_t)hi << 32 | lo) >> (n & 31));
}

// min and max of two different types are of their common type, as with CUDA's overloads; of floats they
// ignore a NaN.
template <class A, class B, class C = std::common_type_t<A, B>>
SHIM_PLAIN C min(A a, B b) {
    if constexpr (std::is_floating_point_v<C>)
        return std::fmin(C(a), C(b));
    else
        return C(b) < C(a) ? C(b) : C(a);
}
template <class A, class B, class C = std::common_type_t<A, B>>
SHIM_PLAIN C max(A a, B b) {
    if constexpr (std::is_floating_point_v<C>)
        return std::fmax(C(a), C(b));
    else
        return C(a) < C(b) ? C(b) : C(a);
}
SHIM_PLAIN unsigned umin(unsigned a, unsigned b) { return b < a ? b : a; }
SHIM_PLAIN unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }
SHIM_PLAIN long long llmin(long long a, long long b) { return b < a ? b : a; }
SHIM_PLAIN long long llmax(long long a, long long b) { return a < b ? b : a; }

namespace shim {
// M. Giles, "Approximating the erfinv function" (2012), then Newton's method on erf.
inline double erf_inverse(double x) {
    if (!(x > -1 && x < 1)) return x == 1 ? HUGE_VAL : x == -1 ? -HUGE_VAL : NAN;
    const double w = -std::log((1 - x) * (1 + x));
    double y =
        x * (w < 5 ? 1.50140941 + 0.246640727 * (w - 2.5) : 2.83297682 + 1.00167406 * (std::sqrt(w) - 3));
    for (int i = 0; i < 4; ++i) y -= (std::erf(y) - x) / (1.1283791670955126 * std::exp(-y * y));
    return y;
}
inline double sin_pi(double x) {
    const double r = std::remainder(x, 2.0);
    return r == std::trunc(r) ? std::copysign(0.0, x) : std::sin(3.141592653589793 * r);
}
}  // namespace shim

#define SHIM_BOTH(name, expression)                         \
    SHIM_PLAIN double name(double x) { return expression; } \
    SHIM_PLAIN float name##f(float v) {                     \
        double x = v;                                       \
        return (float)(expression);                         \
    }                                                       \
    SHIM_PLAIN float name(float v) { return name##f(v); }
SHIM_BOTH(rsqrt, 1 / std::sqrt(x))
SHIM_BOTH(rcbrt, 1 / std::cbrt(x))
SHIM_BOTH(erfinv, shim::erf_inverse(x))
SHIM_BOTH(erfcinv, shim::erf_inverse(1 - x))
SHIM_BOTH(erfcx, std::exp(x* x) * std::erfc(x))
SHIM_BOTH(normcdf, 0.5 * std::erfc(-x * 0.7071067811865476))
SHIM_BOTH(normcdfinv, 1.4142135623730951 * shim::erf_inverse(2 * x - 1))
SHIM_BOTH(sinpi, shim::sin_pi(x))
SHIM_BOTH(cospi, shim::sin_pi(x + 0.5))
SHIM_BOTH(cyl_bessel_i0, std::cyl_bessel_i(0, std::fabs(x)))
SHIM_BOTH(cyl_bessel_i1, std::copysign(std::cyl_bessel_i(1, std::fabs(x)), x))
#undef SHIM_BOTH
