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
__device__ __forceinline__ f32 sum(f32 a, f32 b) { return __fadd_rn(a, b); }
struct alignas(16) f32x4 { f32 x, y, z, w; };
template <class W> __device__ __forceinline__ void put(W* p, W w) { *p = w; }
__device__ __forceinline__ f32 from_lane(f32 x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
template <class T, class F> __device__ __forceinline__ T across(T x, F combine, uint4* meet, int& turn) {
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
__device__ __forceinline__ void cluster_meet() {
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
template <class T, class F> __device__ __forceinline__ T whole_row(T x, F combine, uint4* meet, int& turn, u32 parts, u8* left, int phase, int step) {
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
__device__ __noinline__ f64 call_divide_f64(f64 a, f64 b) { return __ddiv_rn(a, b); }

// rows, nest 0 1 2: vectors of 4, 1 operands kept in shared memory
extern "C" __global__ void __launch_bounds__(512)
layernorm_1_k0(i64 n1, i64 n0, i64 slices, i64 phase, u8* __restrict__ partials, i64 staged, const f32* __restrict__ b0, const f32* __restrict__ b4, const f32* __restrict__ b5, f32* __restrict__ b3, i64 c1) {
    extern __shared__ uint4 meet[];
    int turn = 0;
    const i64 rows = (i64)n0, columns = (i64)n1;
    const u32 parts = (u32)slices, part = blockIdx.x % parts;
    const i64 share = ((columns + 3) / 4 + parts - 1) / parts * 4;
    const i64 from = part * share < columns ? part * share : columns;
    const i64 to = from + share < columns ? from + share : columns;
    const i64 room_s0 = (share * 4 + 15) / 16;
    uint4* const stage = meet + 66 + threadIdx.y * (0 + room_s0);
    f32* const s0 = (f32*)(stage) - from;
    for (i64 first = (i64)(blockIdx.x / parts) * blockDim.y; first < rows; first += (i64)(gridDim.x / parts) * blockDim.y) {
        const bool active = first + threadIdx.y < rows;
        const i64 row = active ? first + threadIdx.y : rows - 1;
        const f32* const p0_3 = b0 + row * n1;
        const f32* const p2_5 = b4;
        const f32* const p2_7 = b5;
        f32* const p2_9 = b3 + row * n1;
        const bool vectors = columns % 4 == 0 && (u64)p0_3 % 16 == 0 && (u64)p2_5 % 16 == 0 && (u64)p2_7 % 16 == 0 && (u64)p2_9 % 16 == 0;
        const f32 v0_0 = 0x0p+0f;
        const i64 v0_1 = c1;
        const f64 v0_2 = (f64)v0_1;
        f32 a0_4 = -0x0p+0f;
        if (phase <= 0) {
            if (vectors) {
#pragma unroll 1
                for (i64 at = from + (threadIdx.x) * 4; at < to; at += blockDim.x * 4) {
                    f32x4 x3_0;
                    x3_0 = ((const f32x4*)(p0_3 + at))[0];
                    if (staged) {
                        put(((f32x4*)(s0 + at)) + 0, x3_0);
                    }
                    {
                        const f32 v0_3 = x3_0.x;
                        a0_4 = sum(a0_4, v0_3);
                    }
                    {
                        const f32 v0_3 = x3_0.y;
                        a0_4 = sum(a0_4, v0_3);
                    }
                    {
                        const f32 v0_3 = x3_0.z;
                        a0_4 = sum(a0_4, v0_3);
                    }
                    {
                        const f32 v0_3 = x3_0.w;
                        a0_4 = sum(a0_4, v0_3);
                    }
                }
            }
#pragma unroll 4
            for (i64 k = from + threadIdx.x; !vectors && k < to; k += blockDim.x) {
                const f32 v0_3 = p0_3[k];
                if (staged) s0[k] = v0_3;
                a0_4 = sum(a0_4, v0_3);
            }
        }
        a0_4 = whole_row(a0_4, [](f32 a, f32 b) { return sum(a, b); }, meet, turn, parts, partials + (0 * rows + row) * slices * 16, (int)phase, 0);
        if (phase == 0) continue;
        const f32 v0_4 = sum(v0_0, a0_4);
        const f64 v0_5 = (f64)v0_4;
        const f64 v0_6 = call_divide_f64(v0_5, v0_2);
        const f32 v0_7 = (f32)v0_6;
        const f32 v1_0 = 0x0p+0f;
        const i64 v1_1 = c1;
        const f64 v1_2 = (f64)v1_1;
        const f32 v1_3 = 0x1p-1f;
        const f32* const r_s1_4 = staged ? s0 : p0_3;
        f32 a1_8 = -0x0p+0f;
        if (phase <= 1) {
            if (vectors) {
#pragma unroll 1
                for (i64 at = from + (threadIdx.x) * 4; active && at < to; at += blockDim.x * 4) {
                    f32x4 x4_0;
                    x4_0 = ((const f32x4*)(r_s1_4 + at))[0];
                    {
                        const i64 k = at + 0;
                        const f32 v1_4 = x4_0.x;
                        const f32 v1_6 = __fsub_rn(v1_4, v0_7);
                        const f32 v1_7 = __fmul_rn(v1_6, v1_6);
                        a1_8 = sum(a1_8, v1_7);
                    }
                    {
                        const i64 k = at + 1;
                        const f32 v1_4 = x4_0.y;
                        const f32 v1_6 = __fsub_rn(v1_4, v0_7);
                        const f32 v1_7 = __fmul_rn(v1_6, v1_6);
                        a1_8 = sum(a1_8, v1_7);
                    }
                    {
                        const i64 k = at + 2;
                        const f32 v1_4 = x4_0.z;
                        const f32 v1_6 = __fsub_rn(v1_4, v0_7);
                        const f32 v1_7 = __fmul_rn(v1_6, v1_6);
                        a1_8 = sum(a1_8, v1_7);
                    }
                    {
                        const i64 k = at + 3;
                        const f32 v1_4 = x4_0.w;
                        const f32 v1_6 = __fsub_rn(v1_4, v0_7);
                        const f32 v1_7 = __fmul_rn(v1_6, v1_6);
                        a1_8 = sum(a1_8, v1_7);
                    }
                }
            }
#pragma unroll 4
            for (i64 k = from + threadIdx.x; !vectors && active && k < to; k += blockDim.x) {
                const f32 v1_4 = r_s1_4[k];
                const f32 v1_6 = __fsub_rn(v1_4, v0_7);
                const f32 v1_7 = __fmul_rn(v1_6, v1_6);
                a1_8 = sum(a1_8, v1_7);
            }
        }
        a1_8 = whole_row(a1_8, [](f32 a, f32 b) { return sum(a, b); }, meet, turn, parts, partials + (1 * rows + row) * slices * 16, (int)phase, 1);
        if (phase == 1) continue;
        const f32 v1_8 = sum(v1_0, a1_8);
        const f64 v1_9 = (f64)v1_8;
        const f64 v1_10 = call_divide_f64(v1_9, v1_2);
        const f32 v1_11 = (f32)v1_10;
        const f32 v1_12 = __fadd_rn(v1_11, v1_3);
        const f32 v1_13 = __fsqrt_rn(v1_12);
        const f32* const r_s2_0 = staged ? s0 : p0_3;
        if (phase <= 2) {
            if (vectors) {
#pragma unroll 1
                for (i64 at = from + (threadIdx.x) * 4; active && at < to; at += blockDim.x * 4) {
                    f32x4 x0_0;
                    x0_0 = ((const f32x4*)(r_s2_0 + at))[0];
                    f32x4 x5_0;
                    x5_0 = ((const f32x4*)(p2_5 + at))[0];
                    f32x4 x7_0;
                    x7_0 = ((const f32x4*)(p2_7 + at))[0];
                    f32x4 x9_0;
                    {
                        const i64 k = at + 0;
                        const f32 v2_0 = x0_0.x;
                        const f32 v2_2 = __fsub_rn(v2_0, v0_7);
                        const f32 v2_4 = __fdiv_rn(v2_2, v1_13);
                        const f32 v2_5 = x5_0.x;
                        const f32 v2_6 = __fmul_rn(v2_4, v2_5);
                        const f32 v2_7 = x7_0.x;
                        const f32 v2_8 = __fadd_rn(v2_6, v2_7);
                        x9_0.x = v2_8;
                    }
                    {
                        const i64 k = at + 1;
                        const f32 v2_0 = x0_0.y;
                        const f32 v2_2 = __fsub_rn(v2_0, v0_7);
                        const f32 v2_4 = __fdiv_rn(v2_2, v1_13);
                        const f32 v2_5 = x5_0.y;
                        const f32 v2_6 = __fmul_rn(v2_4, v2_5);
                        const f32 v2_7 = x7_0.y;
                        const f32 v2_8 = __fadd_rn(v2_6, v2_7);
                        x9_0.y = v2_8;
                    }
                    {
                        const i64 k = at + 2;
                        const f32 v2_0 = x0_0.z;
                        const f32 v2_2 = __fsub_rn(v2_0, v0_7);
                        const f32 v2_4 = __fdiv_rn(v2_2, v1_13);
                        const f32 v2_5 = x5_0.z;
                        const f32 v2_6 = __fmul_rn(v2_4, v2_5);
                        const f32 v2_7 = x7_0.z;
                        const f32 v2_8 = __fadd_rn(v2_6, v2_7);
                        x9_0.z = v2_8;
                    }
                    {
                        const i64 k = at + 3;
                        const f32 v2_0 = x0_0.w;
                        const f32 v2_2 = __fsub_rn(v2_0, v0_7);
                        const f32 v2_4 = __fdiv_rn(v2_2, v1_13);
                        const f32 v2_5 = x5_0.w;
                        const f32 v2_6 = __fmul_rn(v2_4, v2_5);
                        const f32 v2_7 = x7_0.w;
                        const f32 v2_8 = __fadd_rn(v2_6, v2_7);
                        x9_0.w = v2_8;
                    }
                    put(((f32x4*)(p2_9 + at)) + 0, x9_0);
                }
            }
#pragma unroll 4
            for (i64 k = from + threadIdx.x; !vectors && active && k < to; k += blockDim.x) {
                const f32 v2_0 = r_s2_0[k];
                const f32 v2_2 = __fsub_rn(v2_0, v0_7);
                const f32 v2_4 = __fdiv_rn(v2_2, v1_13);
                const f32 v2_5 = p2_5[k];
                const f32 v2_6 = __fmul_rn(v2_4, v2_5);
                const f32 v2_7 = p2_7[k];
                const f32 v2_8 = __fadd_rn(v2_6, v2_7);
                p2_9[k] = v2_8;
            }
        }
    }
    if (parts > 1) cluster_meet();
}
// layernorm_1_k0: rows, vectors of 4
