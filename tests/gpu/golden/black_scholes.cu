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
template <class W> __device__ __noinline__ void put(W* p, W w) { *p = w; }
__device__ __noinline__ f64 call_divide_f64(f64 a, f64 b) { return __ddiv_rn(a, b); }
__device__ __noinline__ f64 call_exp_f64(f64 a) { return exp(a); }
__device__ __noinline__ f64 call_log_f64(f64 a) { return log(a); }
__device__ __noinline__ f64 call_sqrt_f64(f64 a) { return __dsqrt_rn(a); }

// elementwise, nest 0: vectors of 2, 1 a thread
extern "C" __global__ void __launch_bounds__(256)
black_scholes_1_k0(f64 c0, i64 n0, const f64* __restrict__ b1, const f64* __restrict__ b2, const f64* __restrict__ b3, f64* __restrict__ b0) {
    const f64 v0 = c0;
    const f64 v1 = -0x1.b3b645a1cac08p+0;
    const f64 v2 = 0x1.eb851eb851eb9p-4;
    const f64 v3 = 0x1.999999999999ap-3;
    const f64 v4 = -0x1.999999999999ap-4;
    const i64 columns = (i64)n0;
    const u32 width = blockDim.x * 2;
    const i64 begin = (i64)blockIdx.x * width;
    const i64 end = begin + width < columns ? begin + width : columns;
    const f64* const p5 = b1;
    const f64* const p6 = b2;
    const f64* const p9 = b3;
    f64* const p30 = b0;
    i64 rest = begin;
    if ((u64)p5 % 16 == 0 && (u64)p6 % 16 == 0 && (u64)p9 % 16 == 0 && (u64)p30 % 16 == 0) {
        const i64 at0 = begin + ((i64)blockDim.x * 0 + threadIdx.x) * 2;
        f64x2 x0_5_0;
        f64x2 x0_6_0;
        f64x2 x0_9_0;
        if (at0 + 2 <= end) {
            x0_5_0 = ((const f64x2*)(p5 + at0))[0];
            x0_6_0 = ((const f64x2*)(p6 + at0))[0];
            x0_9_0 = ((const f64x2*)(p9 + at0))[0];
        }
        if (at0 + 2 <= end) {
            f64x2 x0_30_0;
            {
                const f64 v5 = x0_5_0.x;
                const f64 v6 = x0_6_0.x;
                const f64 v7 = call_divide_f64(v5, v6);
                const f64 v8 = call_log_f64(v7);
                const f64 v9 = x0_9_0.x;
                const f64 v10 = __dmul_rn(v2, v9);
                const f64 v11 = __dadd_rn(v8, v10);
                const f64 v12 = call_sqrt_f64(v9);
                const f64 v13 = __dmul_rn(v3, v12);
                const f64 v14 = call_divide_f64(v11, v13);
                const f64 v15 = __dmul_rn(v1, v14);
                const f64 v16 = call_exp_f64(v15);
                const f64 v17 = __dadd_rn(v0, v16);
                const f64 v18 = call_divide_f64(v0, v17);
                const f64 v19 = __dmul_rn(v5, v18);
                const f64 v20 = __dmul_rn(v4, v9);
                const f64 v21 = call_exp_f64(v20);
                const f64 v22 = __dmul_rn(v6, v21);
                const f64 v23 = __dsub_rn(v14, v13);
                const f64 v24 = __dmul_rn(v1, v23);
                const f64 v25 = call_exp_f64(v24);
                const f64 v26 = __dadd_rn(v0, v25);
                const f64 v27 = call_divide_f64(v0, v26);
                const f64 v28 = __dmul_rn(v22, v27);
                const f64 v29 = __dsub_rn(v19, v28);
                x0_30_0.x = v29;
            }
            {
                const f64 v5 = x0_5_0.y;
                const f64 v6 = x0_6_0.y;
                const f64 v7 = call_divide_f64(v5, v6);
                const f64 v8 = call_log_f64(v7);
                const f64 v9 = x0_9_0.y;
                const f64 v10 = __dmul_rn(v2, v9);
                const f64 v11 = __dadd_rn(v8, v10);
                const f64 v12 = call_sqrt_f64(v9);
                const f64 v13 = __dmul_rn(v3, v12);
                const f64 v14 = call_divide_f64(v11, v13);
                const f64 v15 = __dmul_rn(v1, v14);
                const f64 v16 = call_exp_f64(v15);
                const f64 v17 = __dadd_rn(v0, v16);
                const f64 v18 = call_divide_f64(v0, v17);
                const f64 v19 = __dmul_rn(v5, v18);
                const f64 v20 = __dmul_rn(v4, v9);
                const f64 v21 = call_exp_f64(v20);
                const f64 v22 = __dmul_rn(v6, v21);
                const f64 v23 = __dsub_rn(v14, v13);
                const f64 v24 = __dmul_rn(v1, v23);
                const f64 v25 = call_exp_f64(v24);
                const f64 v26 = __dadd_rn(v0, v25);
                const f64 v27 = call_divide_f64(v0, v26);
                const f64 v28 = __dmul_rn(v22, v27);
                const f64 v29 = __dsub_rn(v19, v28);
                x0_30_0.y = v29;
            }
            put(((f64x2*)(p30 + at0)) + 0, x0_30_0);
        }
        rest = end - end % 2;
    }
#pragma unroll 1
    for (i64 k = rest + threadIdx.x; k < end; k += blockDim.x) {
        const f64 v5 = p5[k];
        const f64 v6 = p6[k];
        const f64 v7 = call_divide_f64(v5, v6);
        const f64 v8 = call_log_f64(v7);
        const f64 v9 = p9[k];
        const f64 v10 = __dmul_rn(v2, v9);
        const f64 v11 = __dadd_rn(v8, v10);
        const f64 v12 = call_sqrt_f64(v9);
        const f64 v13 = __dmul_rn(v3, v12);
        const f64 v14 = call_divide_f64(v11, v13);
        const f64 v15 = __dmul_rn(v1, v14);
        const f64 v16 = call_exp_f64(v15);
        const f64 v17 = __dadd_rn(v0, v16);
        const f64 v18 = call_divide_f64(v0, v17);
        const f64 v19 = __dmul_rn(v5, v18);
        const f64 v20 = __dmul_rn(v4, v9);
        const f64 v21 = call_exp_f64(v20);
        const f64 v22 = __dmul_rn(v6, v21);
        const f64 v23 = __dsub_rn(v14, v13);
        const f64 v24 = __dmul_rn(v1, v23);
        const f64 v25 = call_exp_f64(v24);
        const f64 v26 = __dadd_rn(v0, v25);
        const f64 v27 = call_divide_f64(v0, v26);
        const f64 v28 = __dmul_rn(v22, v27);
        const f64 v29 = __dsub_rn(v19, v28);
        p30[k] = v29;
    }
}
// black_scholes_1_k0: elementwise, vectors of 2
