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
transposed_1_k0(f64 c0, i64 n1, i64 n0, const f64* __restrict__ b1, f64* __restrict__ b0) {
    const f64 v0 = c0;
    const i64 columns = (i64)n1;
    const i64 width = (i64)blockDim.x * 8;
    const i64 tiles = (columns + width - 1) / width;
    if (tiles <= 0) return;
    const i64 begin = (i64)blockIdx.x % tiles * width;
    const i64 row = (i64)blockIdx.x / tiles * blockDim.y + threadIdx.y;
    if (row >= (i64)n0) return;
    const i64 end = begin + width < columns ? begin + width : columns;
    const f64* const p1 = b1 + row;
    f64* const p3 = b0 + row * n1;
    i64 rest = begin;
    if ((u64)p3 % 16 == 0) {
        const i64 at0 = begin + ((i64)blockDim.x * 0 + threadIdx.x) * 2;
        const i64 at1 = begin + ((i64)blockDim.x * 1 + threadIdx.x) * 2;
        const i64 at2 = begin + ((i64)blockDim.x * 2 + threadIdx.x) * 2;
        const i64 at3 = begin + ((i64)blockDim.x * 3 + threadIdx.x) * 2;
        if (at0 + 2 <= end) {
            uint4 x0_3_0;
            {
                const i64 k = at0 + 0;
                const f64 v1 = p1[k * n0];
                const f64 v2 = __dadd_rn(v1, v0);
                set<0>(x0_3_0, v2);
            }
            {
                const i64 k = at0 + 1;
                const f64 v1 = p1[k * n0];
                const f64 v2 = __dadd_rn(v1, v0);
                set<1>(x0_3_0, v2);
            }
            ((uint4*)(p3 + at0))[0] = x0_3_0;
        }
        if (at1 + 2 <= end) {
            uint4 x1_3_0;
            {
                const i64 k = at1 + 0;
                const f64 v1 = p1[k * n0];
                const f64 v2 = __dadd_rn(v1, v0);
                set<0>(x1_3_0, v2);
            }
            {
                const i64 k = at1 + 1;
                const f64 v1 = p1[k * n0];
                const f64 v2 = __dadd_rn(v1, v0);
                set<1>(x1_3_0, v2);
            }
            ((uint4*)(p3 + at1))[0] = x1_3_0;
        }
        if (at2 + 2 <= end) {
            uint4 x2_3_0;
            {
                const i64 k = at2 + 0;
                const f64 v1 = p1[k * n0];
                const f64 v2 = __dadd_rn(v1, v0);
                set<0>(x2_3_0, v2);
            }
            {
                const i64 k = at2 + 1;
                const f64 v1 = p1[k * n0];
                const f64 v2 = __dadd_rn(v1, v0);
                set<1>(x2_3_0, v2);
            }
            ((uint4*)(p3 + at2))[0] = x2_3_0;
        }
        if (at3 + 2 <= end) {
            uint4 x3_3_0;
            {
                const i64 k = at3 + 0;
                const f64 v1 = p1[k * n0];
                const f64 v2 = __dadd_rn(v1, v0);
                set<0>(x3_3_0, v2);
            }
            {
                const i64 k = at3 + 1;
                const f64 v1 = p1[k * n0];
                const f64 v2 = __dadd_rn(v1, v0);
                set<1>(x3_3_0, v2);
            }
            ((uint4*)(p3 + at3))[0] = x3_3_0;
        }
        rest = end - end % 2;
        if (rest < begin) rest = begin;
    }
#pragma unroll 4
    for (i64 k = rest + threadIdx.x; k < end; k += blockDim.x) {
        const f64 v1 = p1[k * n0];
        const f64 v2 = __dadd_rn(v1, v0);
        p3[k] = v2;
    }
}
// transposed_1_k0: elementwise, vectors of 2
