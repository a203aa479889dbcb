typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
struct f16 { u16 bits; };
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
template <int K> __device__ __forceinline__ u32& part(uint4& w) {
    if constexpr (K == 0) return w.x;
    else if constexpr (K == 1) return w.y;
    else if constexpr (K == 2) return w.z;
    else return w.w;
}
__device__ __forceinline__ u32 raw(i32 x) { return (u32)x; }
__device__ __forceinline__ u32 raw(u32 x) { return x; }
__device__ __forceinline__ u64 raw(f64 x) { return (u64)__double_as_longlong(x); }
__device__ __forceinline__ u32 raw(f16 x) { return x.bits; }
template <class T> struct as {
    template <class B> static __device__ __forceinline__ T from(B bits) { return (T)bits; }
};
template <> struct as<f32> { static __device__ __forceinline__ f32 from(u32 bits) { return __uint_as_float(bits); } };
template <class T, int E, class W> __device__ __forceinline__ T get(W w) {
    if constexpr (sizeof(T) == 16) {
        return as<T>::from(w);
    } else if constexpr (sizeof(T) == 8) {
        return as<T>::from((u64)part<2 * E + 1>(w) << 32 | part<2 * E>(w));
    } else {
        constexpr int each = 4 / sizeof(T);
        return as<T>::from((u32)part<E / each>(w) >> 8 * (int)sizeof(T) * (E % each));
    }
}
template <int E, class T, class W> __device__ __forceinline__ void set(W& w, T x) {
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

// elementwise, nest 0: vectors of 8, 2 a thread
extern "C" __global__ void __launch_bounds__(256)
casts_1_k0(f64 c0, i64 n0, const f32* __restrict__ b1, i32* __restrict__ b0, f64* __restrict__ b2, f16* __restrict__ b3) {
    const f64 v0 = c0;
    const i64 columns = (i64)n0;
    const i64 width = (i64)blockDim.x * 16;
    const i64 begin = (i64)blockIdx.x * width;
    const i64 end = begin + width < columns ? begin + width : columns;
    const f32* const p1 = b1;
    i32* const p3 = b0;
    f64* const p6 = b2;
    f16* const p8 = b3;
    i64 rest = begin;
    if ((u64)p1 % 16 == 0 && (u64)p3 % 16 == 0 && (u64)p6 % 16 == 0 && (u64)p8 % 16 == 0) {
        const i64 at0 = begin + ((i64)blockDim.x * 0 + threadIdx.x) * 8;
        uint4 x0_1_0, x0_1_1;
        if (at0 + 8 <= end) {
            x0_1_0 = ((const uint4*)(p1 + at0))[0]; x0_1_1 = ((const uint4*)(p1 + at0))[1];
        }
        const i64 at1 = begin + ((i64)blockDim.x * 1 + threadIdx.x) * 8;
        uint4 x1_1_0, x1_1_1;
        if (at1 + 8 <= end) {
            x1_1_0 = ((const uint4*)(p1 + at1))[0]; x1_1_1 = ((const uint4*)(p1 + at1))[1];
        }
        if (at0 + 8 <= end) {
            uint4 x0_3_0, x0_3_1;
            uint4 x0_6_0, x0_6_1, x0_6_2, x0_6_3;
            uint4 x0_8_0;
            {
                const f32 v1 = get<f32, 0>(x0_1_0);
                const i32 v2 = (i32)v1;
                set<0>(x0_3_0, v2);
                const f64 v4 = (f64)v1;
                const f64 v5 = __dmul_rn(v4, v0);
                set<0>(x0_6_0, v5);
                const f16 v7 = to_f16(v1);
                set<0>(x0_8_0, v7);
            }
            {
                const f32 v1 = get<f32, 1>(x0_1_0);
                const i32 v2 = (i32)v1;
                set<1>(x0_3_0, v2);
                const f64 v4 = (f64)v1;
                const f64 v5 = __dmul_rn(v4, v0);
                set<1>(x0_6_0, v5);
                const f16 v7 = to_f16(v1);
                set<1>(x0_8_0, v7);
            }
            {
                const f32 v1 = get<f32, 2>(x0_1_0);
                const i32 v2 = (i32)v1;
                set<2>(x0_3_0, v2);
                const f64 v4 = (f64)v1;
                const f64 v5 = __dmul_rn(v4, v0);
                set<0>(x0_6_1, v5);
                const f16 v7 = to_f16(v1);
                set<2>(x0_8_0, v7);
            }
            {
                const f32 v1 = get<f32, 3>(x0_1_0);
                const i32 v2 = (i32)v1;
                set<3>(x0_3_0, v2);
                const f64 v4 = (f64)v1;
                const f64 v5 = __dmul_rn(v4, v0);
                set<1>(x0_6_1, v5);
                const f16 v7 = to_f16(v1);
                set<3>(x0_8_0, v7);
            }
            {
                const f32 v1 = get<f32, 0>(x0_1_1);
                const i32 v2 = (i32)v1;
                set<0>(x0_3_1, v2);
                const f64 v4 = (f64)v1;
                const f64 v5 = __dmul_rn(v4, v0);
                set<0>(x0_6_2, v5);
                const f16 v7 = to_f16(v1);
                set<4>(x0_8_0, v7);
            }
            {
                const f32 v1 = get<f32, 1>(x0_1_1);
                const i32 v2 = (i32)v1;
                set<1>(x0_3_1, v2);
                const f64 v4 = (f64)v1;
                const f64 v5 = __dmul_rn(v4, v0);
                set<1>(x0_6_2, v5);
                const f16 v7 = to_f16(v1);
                set<5>(x0_8_0, v7);
            }
            {
                const f32 v1 = get<f32, 2>(x0_1_1);
                const i32 v2 = (i32)v1;
                set<2>(x0_3_1, v2);
                const f64 v4 = (f64)v1;
                const f64 v5 = __dmul_rn(v4, v0);
                set<0>(x0_6_3, v5);
                const f16 v7 = to_f16(v1);
                set<6>(x0_8_0, v7);
            }
            {
                const f32 v1 = get<f32, 3>(x0_1_1);
                const i32 v2 = (i32)v1;
                set<3>(x0_3_1, v2);
                const f64 v4 = (f64)v1;
                const f64 v5 = __dmul_rn(v4, v0);
                set<1>(x0_6_3, v5);
                const f16 v7 = to_f16(v1);
                set<7>(x0_8_0, v7);
            }
            ((uint4*)(p3 + at0))[0] = x0_3_0; ((uint4*)(p3 + at0))[1] = x0_3_1;
            ((uint4*)(p6 + at0))[0] = x0_6_0; ((uint4*)(p6 + at0))[1] = x0_6_1; ((uint4*)(p6 + at0))[2] = x0_6_2; ((uint4*)(p6 + at0))[3] = x0_6_3;
            ((uint4*)(p8 + at0))[0] = x0_8_0;
        }
        if (at1 + 8 <= end) {
            uint4 x1_3_0, x1_3_1;
            uint4 x1_6_0, x1_6_1, x1_6_2, x1_6_3;
            uint4 x1_8_0;
            {
                const f32 v1 = get<f32, 0>(x1_1_0);
                const i32 v2 = (i32)v1;
                set<0>(x1_3_0, v2);
                const f64 v4 = (f64)v1;
                const f64 v5 = __dmul_rn(v4, v0);
                set<0>(x1_6_0, v5);
                const f16 v7 = to_f16(v1);
                set<0>(x1_8_0, v7);
            }
            {
                const f32 v1 = get<f32, 1>(x1_1_0);
                const i32 v2 = (i32)v1;
                set<1>(x1_3_0, v2);
                const f64 v4 = (f64)v1;
                const f64 v5 = __dmul_rn(v4, v0);
                set<1>(x1_6_0, v5);
                const f16 v7 = to_f16(v1);
                set<1>(x1_8_0, v7);
            }
            {
                const f32 v1 = get<f32, 2>(x1_1_0);
                const i32 v2 = (i32)v1;
                set<2>(x1_3_0, v2);
                const f64 v4 = (f64)v1;
                const f64 v5 = __dmul_rn(v4, v0);
                set<0>(x1_6_1, v5);
                const f16 v7 = to_f16(v1);
                set<2>(x1_8_0, v7);
            }
            {
                const f32 v1 = get<f32, 3>(x1_1_0);
                const i32 v2 = (i32)v1;
                set<3>(x1_3_0, v2);
                const f64 v4 = (f64)v1;
                const f64 v5 = __dmul_rn(v4, v0);
                set<1>(x1_6_1, v5);
                const f16 v7 = to_f16(v1);
                set<3>(x1_8_0, v7);
            }
            {
                const f32 v1 = get<f32, 0>(x1_1_1);
                const i32 v2 = (i32)v1;
                set<0>(x1_3_1, v2);
                const f64 v4 = (f64)v1;
                const f64 v5 = __dmul_rn(v4, v0);
                set<0>(x1_6_2, v5);
                const f16 v7 = to_f16(v1);
                set<4>(x1_8_0, v7);
            }
            {
                const f32 v1 = get<f32, 1>(x1_1_1);
                const i32 v2 = (i32)v1;
                set<1>(x1_3_1, v2);
                const f64 v4 = (f64)v1;
                const f64 v5 = __dmul_rn(v4, v0);
                set<1>(x1_6_2, v5);
                const f16 v7 = to_f16(v1);
                set<5>(x1_8_0, v7);
            }
            {
                const f32 v1 = get<f32, 2>(x1_1_1);
                const i32 v2 = (i32)v1;
                set<2>(x1_3_1, v2);
                const f64 v4 = (f64)v1;
                const f64 v5 = __dmul_rn(v4, v0);
                set<0>(x1_6_3, v5);
                const f16 v7 = to_f16(v1);
                set<6>(x1_8_0, v7);
            }
            {
                const f32 v1 = get<f32, 3>(x1_1_1);
                const i32 v2 = (i32)v1;
                set<3>(x1_3_1, v2);
                const f64 v4 = (f64)v1;
                const f64 v5 = __dmul_rn(v4, v0);
                set<1>(x1_6_3, v5);
                const f16 v7 = to_f16(v1);
                set<7>(x1_8_0, v7);
            }
            ((uint4*)(p3 + at1))[0] = x1_3_0; ((uint4*)(p3 + at1))[1] = x1_3_1;
            ((uint4*)(p6 + at1))[0] = x1_6_0; ((uint4*)(p6 + at1))[1] = x1_6_1; ((uint4*)(p6 + at1))[2] = x1_6_2; ((uint4*)(p6 + at1))[3] = x1_6_3;
            ((uint4*)(p8 + at1))[0] = x1_8_0;
        }
        rest = end - end % 8;
    }
#pragma unroll 4
    for (i64 k = rest + threadIdx.x; k < end; k += blockDim.x) {
        const f32 v1 = p1[k];
        const i32 v2 = (i32)v1;
        p3[k] = v2;
        const f64 v4 = (f64)v1;
        const f64 v5 = __dmul_rn(v4, v0);
        p6[k] = v5;
        const f16 v7 = to_f16(v1);
        p8[k] = v7;
    }
}
// casts_1_k0: elementwise, vectors of 8
