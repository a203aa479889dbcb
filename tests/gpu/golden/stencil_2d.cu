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
__device__ __forceinline__ u64 raw(f64 x) { return (u64)__double_as_longlong(x); }
template <class T> struct as {
    template <class B> static __device__ __forceinline__ T from(B bits) { return (T)bits; }
};
template <> struct as<f64> { static __device__ __forceinline__ f64 from(u64 bits) { return __longlong_as_double((i64)bits); } };
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

// elementwise, nest 0: vectors of 2, 4 a thread
extern "C" __global__ void __launch_bounds__(256)
stencil_2d_1_k0(i64 n0, f64* __restrict__ b0) {
    const f64 v0 = 0x0p+0;
    const i64 columns = (i64)n0;
    const i64 width = (i64)blockDim.x * 8;
    const i64 begin = (i64)blockIdx.x * width;
    const i64 end = begin + width < columns ? begin + width : columns;
    f64* const p1 = b0;
    i64 rest = begin;
    if ((u64)p1 % 16 == 0) {
        const i64 at0 = begin + ((i64)blockDim.x * 0 + threadIdx.x) * 2;
        const i64 at1 = begin + ((i64)blockDim.x * 1 + threadIdx.x) * 2;
        const i64 at2 = begin + ((i64)blockDim.x * 2 + threadIdx.x) * 2;
        const i64 at3 = begin + ((i64)blockDim.x * 3 + threadIdx.x) * 2;
        if (at0 + 2 <= end) {
            uint4 x0_1_0;
            {
                set<0>(x0_1_0, v0);
            }
            {
                set<1>(x0_1_0, v0);
            }
            ((uint4*)(p1 + at0))[0] = x0_1_0;
        }
        if (at1 + 2 <= end) {
            uint4 x1_1_0;
            {
                set<0>(x1_1_0, v0);
            }
            {
                set<1>(x1_1_0, v0);
            }
            ((uint4*)(p1 + at1))[0] = x1_1_0;
        }
        if (at2 + 2 <= end) {
            uint4 x2_1_0;
            {
                set<0>(x2_1_0, v0);
            }
            {
                set<1>(x2_1_0, v0);
            }
            ((uint4*)(p1 + at2))[0] = x2_1_0;
        }
        if (at3 + 2 <= end) {
            uint4 x3_1_0;
            {
                set<0>(x3_1_0, v0);
            }
            {
                set<1>(x3_1_0, v0);
            }
            ((uint4*)(p1 + at3))[0] = x3_1_0;
        }
        rest = end - end % 2;
    }
#pragma unroll 4
    for (i64 k = rest + threadIdx.x; k < end; k += blockDim.x) {
        p1[k] = v0;
    }
}

// elementwise, nest 1: vectors of 2, 1 a thread
extern "C" __global__ void __launch_bounds__(256)
stencil_2d_1_k1(f64 c2, i64 n2, i64 n1, const f64* __restrict__ b1, i64 n3, i64 n4, i64 n5, i64 n6, f64* __restrict__ b0) {
    const f64 v0 = 0x1p-2;
    const f64 v1 = c2;
    const i64 columns = (i64)n2;
    const i64 width = (i64)blockDim.x * 2;
    const i64 tiles = (columns + width - 1) / width;
    if (tiles <= 0) return;
    const i64 begin = (i64)blockIdx.x % tiles * width;
    const i64 row = (i64)blockIdx.x / tiles * blockDim.y + threadIdx.y;
    if (row >= (i64)n1) return;
    const i64 end = begin + width < columns ? begin + width : columns;
    const f64* const p2 = b1 + n3 + row * n4;
    const f64* const p3 = b1 + n5 + row * n4;
    const bool whole_p3 = (u64)p3 % 16 == 0;
    const f64* const p4 = b1 + 1 + row * n4;
    const bool whole_p4 = (u64)p4 % 16 == 0;
    const f64* const p6 = b1 + n6 + row * n4;
    const bool whole_p6 = (u64)p6 % 16 == 0;
    const f64* const p8 = b1 + n4 + row * n4;
    const bool whole_p8 = (u64)p8 % 16 == 0;
    f64* const p14 = b0 + n3 + row * n4;
    i64 rest = begin;
    if ((u64)p2 % 16 == 0 && (u64)p14 % 16 == 0) {
        const i64 at0 = begin + ((i64)blockDim.x * 0 + threadIdx.x) * 2;
        uint4 x0_2_0;
        uint4 x0_3_0;
        uint4 x0_4_0;
        uint4 x0_6_0;
        uint4 x0_8_0;
        if (at0 + 2 <= end) {
            x0_2_0 = ((const uint4*)(p2 + at0))[0];
            if (whole_p3) {
                x0_3_0 = ((const uint4*)(p3 + at0))[0];
            }
            else {
                set<0>(x0_3_0, p3[at0 + 0]);
                set<1>(x0_3_0, p3[at0 + 1]);
            }
            if (whole_p4) {
                x0_4_0 = ((const uint4*)(p4 + at0))[0];
            }
            else {
                set<0>(x0_4_0, p4[at0 + 0]);
                set<1>(x0_4_0, p4[at0 + 1]);
            }
            if (whole_p6) {
                x0_6_0 = ((const uint4*)(p6 + at0))[0];
            }
            else {
                set<0>(x0_6_0, p6[at0 + 0]);
                set<1>(x0_6_0, p6[at0 + 1]);
            }
            if (whole_p8) {
                x0_8_0 = ((const uint4*)(p8 + at0))[0];
            }
            else {
                set<0>(x0_8_0, p8[at0 + 0]);
                set<1>(x0_8_0, p8[at0 + 1]);
            }
        }
        if (at0 + 2 <= end) {
            uint4 x0_14_0;
            {
                const f64 v2 = get<f64, 0>(x0_2_0);
                const f64 v3 = get<f64, 0>(x0_3_0);
                const f64 v4 = get<f64, 0>(x0_4_0);
                const f64 v5 = __dadd_rn(v3, v4);
                const f64 v6 = get<f64, 0>(x0_6_0);
                const f64 v7 = __dadd_rn(v5, v6);
                const f64 v8 = get<f64, 0>(x0_8_0);
                const f64 v9 = __dadd_rn(v7, v8);
                const f64 v10 = __dmul_rn(v1, v2);
                const f64 v11 = __dsub_rn(v9, v10);
                const f64 v12 = __dmul_rn(v0, v11);
                const f64 v13 = __dadd_rn(v2, v12);
                set<0>(x0_14_0, v13);
            }
            {
                const f64 v2 = get<f64, 1>(x0_2_0);
                const f64 v3 = get<f64, 1>(x0_3_0);
                const f64 v4 = get<f64, 1>(x0_4_0);
                const f64 v5 = __dadd_rn(v3, v4);
                const f64 v6 = get<f64, 1>(x0_6_0);
                const f64 v7 = __dadd_rn(v5, v6);
                const f64 v8 = get<f64, 1>(x0_8_0);
                const f64 v9 = __dadd_rn(v7, v8);
                const f64 v10 = __dmul_rn(v1, v2);
                const f64 v11 = __dsub_rn(v9, v10);
                const f64 v12 = __dmul_rn(v0, v11);
                const f64 v13 = __dadd_rn(v2, v12);
                set<1>(x0_14_0, v13);
            }
            ((uint4*)(p14 + at0))[0] = x0_14_0;
        }
        rest = end - end % 2;
    }
#pragma unroll 4
    for (i64 k = rest + threadIdx.x; k < end; k += blockDim.x) {
        const f64 v2 = p2[k];
        const f64 v3 = p3[k];
        const f64 v4 = p4[k];
        const f64 v5 = __dadd_rn(v3, v4);
        const f64 v6 = p6[k];
        const f64 v7 = __dadd_rn(v5, v6);
        const f64 v8 = p8[k];
        const f64 v9 = __dadd_rn(v7, v8);
        const f64 v10 = __dmul_rn(v1, v2);
        const f64 v11 = __dsub_rn(v9, v10);
        const f64 v12 = __dmul_rn(v0, v11);
        const f64 v13 = __dadd_rn(v2, v12);
        p14[k] = v13;
    }
}
// stencil_2d_1_k0: elementwise, vectors of 2
// stencil_2d_1_k1: elementwise, vectors of 2
