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
template <int K> __device__ __forceinline__ u32& part(uint4& w) {
    if constexpr (K == 0) return w.x;
    else if constexpr (K == 1) return w.y;
    else if constexpr (K == 2) return w.z;
    else return w.w;
}
__device__ __forceinline__ u32 raw(f32 x) { return __float_as_uint(x); }
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

// elementwise, nest 0: vectors of 4, 2 a thread
extern "C" __global__ void __launch_bounds__(256)
chain_f32_1_k0(i64 n0, const f32* __restrict__ b1, const f32* __restrict__ b2, f32* __restrict__ b0) {
    const f32 v0 = 0x1.8p+0f;
    const i64 columns = (i64)n0;
    const i64 width = (i64)blockDim.x * 8;
    const i64 begin = (i64)blockIdx.x * width;
    const i64 end = begin + width < columns ? begin + width : columns;
    const f32* const p1 = b1;
    const f32* const p2 = b2;
    f32* const p10 = b0;
    i64 rest = begin;
    if ((u64)p1 % 16 == 0 && (u64)p2 % 16 == 0 && (u64)p10 % 16 == 0) {
        const i64 at0 = begin + ((i64)blockDim.x * 0 + threadIdx.x) * 4;
        uint4 x0_1_0;
        uint4 x0_2_0;
        if (at0 + 4 <= end) {
            x0_1_0 = ((const uint4*)(p1 + at0))[0];
            x0_2_0 = ((const uint4*)(p2 + at0))[0];
        }
        const i64 at1 = begin + ((i64)blockDim.x * 1 + threadIdx.x) * 4;
        uint4 x1_1_0;
        uint4 x1_2_0;
        if (at1 + 4 <= end) {
            x1_1_0 = ((const uint4*)(p1 + at1))[0];
            x1_2_0 = ((const uint4*)(p2 + at1))[0];
        }
        if (at0 + 4 <= end) {
            uint4 x0_10_0;
            {
                const f32 v1 = get<f32, 0>(x0_1_0);
                const f32 v2 = get<f32, 0>(x0_2_0);
                const f32 v3 = __fmul_rn(v1, v2);
                const f32 v4 = __fsub_rn(v3, v1);
                const f32 v5 = fabsf(v2);
                const f32 v6 = __fadd_rn(v5, v0);
                const f32 v7 = __fdiv_rn(v4, v6);
                const f32 v8 = __fmul_rn(v1, v1);
                const f32 v9 = __fadd_rn(v7, v8);
                set<0>(x0_10_0, v9);
            }
            {
                const f32 v1 = get<f32, 1>(x0_1_0);
                const f32 v2 = get<f32, 1>(x0_2_0);
                const f32 v3 = __fmul_rn(v1, v2);
                const f32 v4 = __fsub_rn(v3, v1);
                const f32 v5 = fabsf(v2);
                const f32 v6 = __fadd_rn(v5, v0);
                const f32 v7 = __fdiv_rn(v4, v6);
                const f32 v8 = __fmul_rn(v1, v1);
                const f32 v9 = __fadd_rn(v7, v8);
                set<1>(x0_10_0, v9);
            }
            {
                const f32 v1 = get<f32, 2>(x0_1_0);
                const f32 v2 = get<f32, 2>(x0_2_0);
                const f32 v3 = __fmul_rn(v1, v2);
                const f32 v4 = __fsub_rn(v3, v1);
                const f32 v5 = fabsf(v2);
                const f32 v6 = __fadd_rn(v5, v0);
                const f32 v7 = __fdiv_rn(v4, v6);
                const f32 v8 = __fmul_rn(v1, v1);
                const f32 v9 = __fadd_rn(v7, v8);
                set<2>(x0_10_0, v9);
            }
            {
                const f32 v1 = get<f32, 3>(x0_1_0);
                const f32 v2 = get<f32, 3>(x0_2_0);
                const f32 v3 = __fmul_rn(v1, v2);
                const f32 v4 = __fsub_rn(v3, v1);
                const f32 v5 = fabsf(v2);
                const f32 v6 = __fadd_rn(v5, v0);
                const f32 v7 = __fdiv_rn(v4, v6);
                const f32 v8 = __fmul_rn(v1, v1);
                const f32 v9 = __fadd_rn(v7, v8);
                set<3>(x0_10_0, v9);
            }
            ((uint4*)(p10 + at0))[0] = x0_10_0;
        }
        if (at1 + 4 <= end) {
            uint4 x1_10_0;
            {
                const f32 v1 = get<f32, 0>(x1_1_0);
                const f32 v2 = get<f32, 0>(x1_2_0);
                const f32 v3 = __fmul_rn(v1, v2);
                const f32 v4 = __fsub_rn(v3, v1);
                const f32 v5 = fabsf(v2);
                const f32 v6 = __fadd_rn(v5, v0);
                const f32 v7 = __fdiv_rn(v4, v6);
                const f32 v8 = __fmul_rn(v1, v1);
                const f32 v9 = __fadd_rn(v7, v8);
                set<0>(x1_10_0, v9);
            }
            {
                const f32 v1 = get<f32, 1>(x1_1_0);
                const f32 v2 = get<f32, 1>(x1_2_0);
                const f32 v3 = __fmul_rn(v1, v2);
                const f32 v4 = __fsub_rn(v3, v1);
                const f32 v5 = fabsf(v2);
                const f32 v6 = __fadd_rn(v5, v0);
                const f32 v7 = __fdiv_rn(v4, v6);
                const f32 v8 = __fmul_rn(v1, v1);
                const f32 v9 = __fadd_rn(v7, v8);
                set<1>(x1_10_0, v9);
            }
            {
                const f32 v1 = get<f32, 2>(x1_1_0);
                const f32 v2 = get<f32, 2>(x1_2_0);
                const f32 v3 = __fmul_rn(v1, v2);
                const f32 v4 = __fsub_rn(v3, v1);
                const f32 v5 = fabsf(v2);
                const f32 v6 = __fadd_rn(v5, v0);
                const f32 v7 = __fdiv_rn(v4, v6);
                const f32 v8 = __fmul_rn(v1, v1);
                const f32 v9 = __fadd_rn(v7, v8);
                set<2>(x1_10_0, v9);
            }
            {
                const f32 v1 = get<f32, 3>(x1_1_0);
                const f32 v2 = get<f32, 3>(x1_2_0);
                const f32 v3 = __fmul_rn(v1, v2);
                const f32 v4 = __fsub_rn(v3, v1);
                const f32 v5 = fabsf(v2);
                const f32 v6 = __fadd_rn(v5, v0);
                const f32 v7 = __fdiv_rn(v4, v6);
                const f32 v8 = __fmul_rn(v1, v1);
                const f32 v9 = __fadd_rn(v7, v8);
                set<3>(x1_10_0, v9);
            }
            ((uint4*)(p10 + at1))[0] = x1_10_0;
        }
        rest = end - end % 4;
    }
#pragma unroll 4
    for (i64 k = rest + threadIdx.x; k < end; k += blockDim.x) {
        const f32 v1 = p1[k];
        const f32 v2 = p2[k];
        const f32 v3 = __fmul_rn(v1, v2);
        const f32 v4 = __fsub_rn(v3, v1);
        const f32 v5 = fabsf(v2);
        const f32 v6 = __fadd_rn(v5, v0);
        const f32 v7 = __fdiv_rn(v4, v6);
        const f32 v8 = __fmul_rn(v1, v1);
        const f32 v9 = __fadd_rn(v7, v8);
        p10[k] = v9;
    }
}
// chain_f32_1_k0: elementwise, vectors of 4
