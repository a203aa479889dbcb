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
struct alignas(16) f64x2 { f64 x, y; };
template <class W> __device__ __forceinline__ void put(W* p, W w) { *p = w; }

// elementwise, nest 0: vectors of 2, 4 a thread
extern "C" __global__ void __launch_bounds__(256)
stencil_2d_1_k0(i64 n0, f64* __restrict__ b0) {
    const f64 v0 = 0x0p+0;
    const i64 columns = (i64)n0;
    const u32 width = blockDim.x * 8;
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
            f64x2 x0_1_0;
            {
                x0_1_0.x = v0;
            }
            {
                x0_1_0.y = v0;
            }
            put(((f64x2*)(p1 + at0)) + 0, x0_1_0);
        }
        if (at1 + 2 <= end) {
            f64x2 x1_1_0;
            {
                x1_1_0.x = v0;
            }
            {
                x1_1_0.y = v0;
            }
            put(((f64x2*)(p1 + at1)) + 0, x1_1_0);
        }
        if (at2 + 2 <= end) {
            f64x2 x2_1_0;
            {
                x2_1_0.x = v0;
            }
            {
                x2_1_0.y = v0;
            }
            put(((f64x2*)(p1 + at2)) + 0, x2_1_0);
        }
        if (at3 + 2 <= end) {
            f64x2 x3_1_0;
            {
                x3_1_0.x = v0;
            }
            {
                x3_1_0.y = v0;
            }
            put(((f64x2*)(p1 + at3)) + 0, x3_1_0);
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
    const u32 width = blockDim.x * 2;
    const u32 tiles = (u32)((u64)(columns + width - 1) / width);
    if (tiles == 0) return;
    const i64 begin = (i64)(blockIdx.x % tiles) * width;
    const i64 row = (i64)(blockIdx.x / tiles) * blockDim.y + threadIdx.y;
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
        f64x2 x0_2_0;
        f64x2 x0_3_0;
        f64x2 x0_4_0;
        f64x2 x0_6_0;
        f64x2 x0_8_0;
        if (at0 + 2 <= end) {
            x0_2_0 = ((const f64x2*)(p2 + at0))[0];
            if (whole_p3) {
                x0_3_0 = ((const f64x2*)(p3 + at0))[0];
            }
            else {
                x0_3_0.x = p3[at0 + 0];
                x0_3_0.y = p3[at0 + 1];
            }
            if (whole_p4) {
                x0_4_0 = ((const f64x2*)(p4 + at0))[0];
            }
            else {
                x0_4_0.x = p4[at0 + 0];
                x0_4_0.y = p4[at0 + 1];
            }
            if (whole_p6) {
                x0_6_0 = ((const f64x2*)(p6 + at0))[0];
            }
            else {
                x0_6_0.x = p6[at0 + 0];
                x0_6_0.y = p6[at0 + 1];
            }
            if (whole_p8) {
                x0_8_0 = ((const f64x2*)(p8 + at0))[0];
            }
            else {
                x0_8_0.x = p8[at0 + 0];
                x0_8_0.y = p8[at0 + 1];
            }
        }
        if (at0 + 2 <= end) {
            f64x2 x0_14_0;
            {
                const f64 v2 = x0_2_0.x;
                const f64 v3 = x0_3_0.x;
                const f64 v4 = x0_4_0.x;
                const f64 v5 = __dadd_rn(v3, v4);
                const f64 v6 = x0_6_0.x;
                const f64 v7 = __dadd_rn(v5, v6);
                const f64 v8 = x0_8_0.x;
                const f64 v9 = __dadd_rn(v7, v8);
                const f64 v10 = __dmul_rn(v1, v2);
                const f64 v11 = __dsub_rn(v9, v10);
                const f64 v12 = __dmul_rn(v0, v11);
                const f64 v13 = __dadd_rn(v2, v12);
                x0_14_0.x = v13;
            }
            {
                const f64 v2 = x0_2_0.y;
                const f64 v3 = x0_3_0.y;
                const f64 v4 = x0_4_0.y;
                const f64 v5 = __dadd_rn(v3, v4);
                const f64 v6 = x0_6_0.y;
                const f64 v7 = __dadd_rn(v5, v6);
                const f64 v8 = x0_8_0.y;
                const f64 v9 = __dadd_rn(v7, v8);
                const f64 v10 = __dmul_rn(v1, v2);
                const f64 v11 = __dsub_rn(v9, v10);
                const f64 v12 = __dmul_rn(v0, v11);
                const f64 v13 = __dadd_rn(v2, v12);
                x0_14_0.y = v13;
            }
            put(((f64x2*)(p14 + at0)) + 0, x0_14_0);
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
