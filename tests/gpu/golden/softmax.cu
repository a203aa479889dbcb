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
template <class T> __device__ __forceinline__ T maximum(T a, T b) { return a > b || a != a ? a : b; }
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

// rows, nest 0 1 2: vectors of 4, 1 operands kept in shared memory
extern "C" __global__ void __launch_bounds__(512)
softmax_1_k0(i64 n1, i64 n0, i64 slices, i64 phase, u8* __restrict__ partials, i64 staged, const f32* __restrict__ b0, f32* __restrict__ b3) {
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
        const f32* const p0_0 = b0 + row * n1;
        f32* const p2_6 = b3 + row * n1;
        const bool vectors = columns % 4 == 0 && (u64)p0_0 % 16 == 0 && (u64)p2_6 % 16 == 0;
        f32 a0_1 = __uint_as_float(0xff800000u);
        if (phase <= 0) {
            if (vectors) {
#pragma unroll 2
                for (i64 at = from + (threadIdx.x) * 4; at < to; at += blockDim.x * 4) {
                    f32x4 x0_0;
                    x0_0 = ((const f32x4*)(p0_0 + at))[0];
                    if (staged) {
                        put(((f32x4*)(s0 + at)) + 0, x0_0);
                    }
                    {
                        const f32 v0_0 = x0_0.x;
                        a0_1 = maximum(a0_1, v0_0);
                    }
                    {
                        const f32 v0_0 = x0_0.y;
                        a0_1 = maximum(a0_1, v0_0);
                    }
                    {
                        const f32 v0_0 = x0_0.z;
                        a0_1 = maximum(a0_1, v0_0);
                    }
                    {
                        const f32 v0_0 = x0_0.w;
                        a0_1 = maximum(a0_1, v0_0);
                    }
                }
            }
#pragma unroll 4
            for (i64 k = from + threadIdx.x; !vectors && k < to; k += blockDim.x) {
                const f32 v0_0 = p0_0[k];
                if (staged) s0[k] = v0_0;
                a0_1 = maximum(a0_1, v0_0);
            }
        }
        a0_1 = whole_row(a0_1, [](f32 a, f32 b) { return maximum(a, b); }, meet, turn, parts, partials + (0 * rows + row) * slices * 16, (int)phase, 0);
        if (phase == 0) continue;
        const f32 v0_1 = a0_1;
        const f32 v1_0 = 0x0p+0f;
        const f32* const r_s1_1 = staged ? s0 : p0_0;
        f32 a1_5 = -0x0p+0f;
        if (phase <= 1) {
            if (vectors) {
#pragma unroll 2
                for (i64 at = from + (threadIdx.x) * 4; active && at < to; at += blockDim.x * 4) {
                    f32x4 x1_0;
                    x1_0 = ((const f32x4*)(r_s1_1 + at))[0];
                    {
                        const i64 k = at + 0;
                        const f32 v1_1 = x1_0.x;
                        const f32 v1_3 = __fsub_rn(v1_1, v0_1);
                        const f32 v1_4 = expf(v1_3);
                        a1_5 = sum(a1_5, v1_4);
                    }
                    {
                        const i64 k = at + 1;
                        const f32 v1_1 = x1_0.y;
                        const f32 v1_3 = __fsub_rn(v1_1, v0_1);
                        const f32 v1_4 = expf(v1_3);
                        a1_5 = sum(a1_5, v1_4);
                    }
                    {
                        const i64 k = at + 2;
                        const f32 v1_1 = x1_0.z;
                        const f32 v1_3 = __fsub_rn(v1_1, v0_1);
                        const f32 v1_4 = expf(v1_3);
                        a1_5 = sum(a1_5, v1_4);
                    }
                    {
                        const i64 k = at + 3;
                        const f32 v1_1 = x1_0.w;
                        const f32 v1_3 = __fsub_rn(v1_1, v0_1);
                        const f32 v1_4 = expf(v1_3);
                        a1_5 = sum(a1_5, v1_4);
                    }
                }
            }
#pragma unroll 4
            for (i64 k = from + threadIdx.x; !vectors && active && k < to; k += blockDim.x) {
                const f32 v1_1 = r_s1_1[k];
                const f32 v1_3 = __fsub_rn(v1_1, v0_1);
                const f32 v1_4 = expf(v1_3);
                a1_5 = sum(a1_5, v1_4);
            }
        }
        a1_5 = whole_row(a1_5, [](f32 a, f32 b) { return sum(a, b); }, meet, turn, parts, partials + (1 * rows + row) * slices * 16, (int)phase, 1);
        if (phase == 1) continue;
        const f32 v1_5 = sum(v1_0, a1_5);
        const f32* const r_s2_0 = staged ? s0 : p0_0;
        if (phase <= 2) {
            if (vectors) {
#pragma unroll 2
                for (i64 at = from + (threadIdx.x) * 4; active && at < to; at += blockDim.x * 4) {
                    f32x4 x0_0;
                    x0_0 = ((const f32x4*)(r_s2_0 + at))[0];
                    f32x4 x6_0;
                    {
                        const i64 k = at + 0;
                        const f32 v2_0 = x0_0.x;
                        const f32 v2_2 = __fsub_rn(v2_0, v0_1);
                        const f32 v2_3 = expf(v2_2);
                        const f32 v2_5 = __fdiv_rn(v2_3, v1_5);
                        x6_0.x = v2_5;
                    }
                    {
                        const i64 k = at + 1;
                        const f32 v2_0 = x0_0.y;
                        const f32 v2_2 = __fsub_rn(v2_0, v0_1);
                        const f32 v2_3 = expf(v2_2);
                        const f32 v2_5 = __fdiv_rn(v2_3, v1_5);
                        x6_0.y = v2_5;
                    }
                    {
                        const i64 k = at + 2;
                        const f32 v2_0 = x0_0.z;
                        const f32 v2_2 = __fsub_rn(v2_0, v0_1);
                        const f32 v2_3 = expf(v2_2);
                        const f32 v2_5 = __fdiv_rn(v2_3, v1_5);
                        x6_0.z = v2_5;
                    }
                    {
                        const i64 k = at + 3;
                        const f32 v2_0 = x0_0.w;
                        const f32 v2_2 = __fsub_rn(v2_0, v0_1);
                        const f32 v2_3 = expf(v2_2);
                        const f32 v2_5 = __fdiv_rn(v2_3, v1_5);
                        x6_0.w = v2_5;
                    }
                    put(((f32x4*)(p2_6 + at)) + 0, x6_0);
                }
            }
#pragma unroll 4
            for (i64 k = from + threadIdx.x; !vectors && active && k < to; k += blockDim.x) {
                const f32 v2_0 = r_s2_0[k];
                const f32 v2_2 = __fsub_rn(v2_0, v0_1);
                const f32 v2_3 = expf(v2_2);
                const f32 v2_5 = __fdiv_rn(v2_3, v1_5);
                p2_6[k] = v2_5;
            }
        }
    }
    if (parts > 1) cluster_meet();
}
// softmax_1_k0: rows, vectors of 4
