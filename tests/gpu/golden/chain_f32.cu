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
struct alignas(16) f32x4 { f32 x, y, z, w; };
template <class W> __device__ __forceinline__ void put(W* p, W w) { *p = w; }

// elementwise, nest 0: vectors of 4, 2 a thread
extern "C" __global__ void __launch_bounds__(256)
chain_f32_1_k0(i64 n0, const f32* __restrict__ b1, const f32* __restrict__ b2, f32* __restrict__ b0) {
    const f32 v0 = 0x1.8p+0f;
    const i64 columns = (i64)n0;
    const u32 width = blockDim.x * 8;
    const i64 begin = (i64)blockIdx.x * width;
    const i64 end = begin + width < columns ? begin + width : columns;
    const f32* const p1 = b1;
    const f32* const p2 = b2;
    f32* const p10 = b0;
    i64 rest = begin;
    if ((u64)p1 % 16 == 0 && (u64)p2 % 16 == 0 && (u64)p10 % 16 == 0) {
        const i64 at0 = begin + ((i64)blockDim.x * 0 + threadIdx.x) * 4;
        f32x4 x0_1_0;
        f32x4 x0_2_0;
        if (at0 + 4 <= end) {
            x0_1_0 = ((const f32x4*)(p1 + at0))[0];
            x0_2_0 = ((const f32x4*)(p2 + at0))[0];
        }
        const i64 at1 = begin + ((i64)blockDim.x * 1 + threadIdx.x) * 4;
        f32x4 x1_1_0;
        f32x4 x1_2_0;
        if (at1 + 4 <= end) {
            x1_1_0 = ((const f32x4*)(p1 + at1))[0];
            x1_2_0 = ((const f32x4*)(p2 + at1))[0];
        }
        if (at0 + 4 <= end) {
            f32x4 x0_10_0;
            {
                const f32 v1 = x0_1_0.x;
                const f32 v2 = x0_2_0.x;
                const f32 v3 = __fmul_rn(v1, v2);
                const f32 v4 = __fsub_rn(v3, v1);
                const f32 v5 = fabsf(v2);
                const f32 v6 = __fadd_rn(v5, v0);
                const f32 v7 = __fdiv_rn(v4, v6);
                const f32 v8 = __fmul_rn(v1, v1);
                const f32 v9 = __fadd_rn(v7, v8);
                x0_10_0.x = v9;
            }
            {
                const f32 v1 = x0_1_0.y;
                const f32 v2 = x0_2_0.y;
                const f32 v3 = __fmul_rn(v1, v2);
                const f32 v4 = __fsub_rn(v3, v1);
                const f32 v5 = fabsf(v2);
                const f32 v6 = __fadd_rn(v5, v0);
                const f32 v7 = __fdiv_rn(v4, v6);
                const f32 v8 = __fmul_rn(v1, v1);
                const f32 v9 = __fadd_rn(v7, v8);
                x0_10_0.y = v9;
            }
            {
                const f32 v1 = x0_1_0.z;
                const f32 v2 = x0_2_0.z;
                const f32 v3 = __fmul_rn(v1, v2);
                const f32 v4 = __fsub_rn(v3, v1);
                const f32 v5 = fabsf(v2);
                const f32 v6 = __fadd_rn(v5, v0);
                const f32 v7 = __fdiv_rn(v4, v6);
                const f32 v8 = __fmul_rn(v1, v1);
                const f32 v9 = __fadd_rn(v7, v8);
                x0_10_0.z = v9;
            }
            {
                const f32 v1 = x0_1_0.w;
                const f32 v2 = x0_2_0.w;
                const f32 v3 = __fmul_rn(v1, v2);
                const f32 v4 = __fsub_rn(v3, v1);
                const f32 v5 = fabsf(v2);
                const f32 v6 = __fadd_rn(v5, v0);
                const f32 v7 = __fdiv_rn(v4, v6);
                const f32 v8 = __fmul_rn(v1, v1);
                const f32 v9 = __fadd_rn(v7, v8);
                x0_10_0.w = v9;
            }
            put(((f32x4*)(p10 + at0)) + 0, x0_10_0);
        }
        if (at1 + 4 <= end) {
            f32x4 x1_10_0;
            {
                const f32 v1 = x1_1_0.x;
                const f32 v2 = x1_2_0.x;
                const f32 v3 = __fmul_rn(v1, v2);
                const f32 v4 = __fsub_rn(v3, v1);
                const f32 v5 = fabsf(v2);
                const f32 v6 = __fadd_rn(v5, v0);
                const f32 v7 = __fdiv_rn(v4, v6);
                const f32 v8 = __fmul_rn(v1, v1);
                const f32 v9 = __fadd_rn(v7, v8);
                x1_10_0.x = v9;
            }
            {
                const f32 v1 = x1_1_0.y;
                const f32 v2 = x1_2_0.y;
                const f32 v3 = __fmul_rn(v1, v2);
                const f32 v4 = __fsub_rn(v3, v1);
                const f32 v5 = fabsf(v2);
                const f32 v6 = __fadd_rn(v5, v0);
                const f32 v7 = __fdiv_rn(v4, v6);
                const f32 v8 = __fmul_rn(v1, v1);
                const f32 v9 = __fadd_rn(v7, v8);
                x1_10_0.y = v9;
            }
            {
                const f32 v1 = x1_1_0.z;
                const f32 v2 = x1_2_0.z;
                const f32 v3 = __fmul_rn(v1, v2);
                const f32 v4 = __fsub_rn(v3, v1);
                const f32 v5 = fabsf(v2);
                const f32 v6 = __fadd_rn(v5, v0);
                const f32 v7 = __fdiv_rn(v4, v6);
                const f32 v8 = __fmul_rn(v1, v1);
                const f32 v9 = __fadd_rn(v7, v8);
                x1_10_0.z = v9;
            }
            {
                const f32 v1 = x1_1_0.w;
                const f32 v2 = x1_2_0.w;
                const f32 v3 = __fmul_rn(v1, v2);
                const f32 v4 = __fsub_rn(v3, v1);
                const f32 v5 = fabsf(v2);
                const f32 v6 = __fadd_rn(v5, v0);
                const f32 v7 = __fdiv_rn(v4, v6);
                const f32 v8 = __fmul_rn(v1, v1);
                const f32 v9 = __fadd_rn(v7, v8);
                x1_10_0.w = v9;
            }
            put(((f32x4*)(p10 + at1)) + 0, x1_10_0);
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
