// What reductions combine with, and how the threads of a block, a cluster or a launch in slices do it
// together.
#include "kernels/cuda/prelude.h"

namespace stator::kernels::cuda {

namespace {

constexpr Piece kCombining[] = {
    {"both", "types", R"(__device__ __forceinline__ bool both(bool a, bool b) { return a && b; }
)"},
    {"either", "types", R"(__device__ __forceinline__ bool either(bool a, bool b) { return a || b; }
)"},
    {"sum_f32", "types", R"(__device__ __forceinline__ f32 sum(f32 a, f32 b) { return __fadd_rn(a, b); }
)"},
    {"sum_f64", "types", R"(__device__ __forceinline__ f64 sum(f64 a, f64 b) { return __dadd_rn(a, b); }
)"},
    {"sum_integer", "types",
     R"(template <class T> __device__ __forceinline__ T sum(T a, T b) { return (T)((u64)a + (u64)b); }
)"},
    {"sum_complex", "complex",
     R"(template <class C> __device__ __forceinline__ C sum(C a, C b) { return add(a, b); }
)"},
    {"product_f32", "types",
     R"(__device__ __forceinline__ f32 product(f32 a, f32 b) { return __fmul_rn(a, b); }
)"},
    {"product_f64", "types",
     R"(__device__ __forceinline__ f64 product(f64 a, f64 b) { return __dmul_rn(a, b); }
)"},
    {"product_integer", "types",
     R"(template <class T> __device__ __forceinline__ T product(T a, T b) { return (T)((u64)a * (u64)b); }
)"},
    {"product_complex", "complex",
     R"(template <class C> __device__ __forceinline__ C product(C a, C b) { return multiply(a, b); }
)"},
    // A value and where it was found: the first of equal ones wins, and NaN wins over everything.
    {"position", "types", R"(template <class T> struct found { T value; i64 at; };
template <class T> __device__ __forceinline__ bool wins(found<T> a, found<T> b, bool more) {
    if (a.at < 0 || b.at < 0) return b.at < 0;
    bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan || b_nan) return a_nan && (!b_nan || a.at < b.at);
    if (a.value == b.value) return a.at < b.at;
    return more ? a.value > b.value : a.value < b.value;
}
)"},
    {"first_max", "position",
     R"(template <class T> __device__ __forceinline__ found<T> first_max(found<T> a, found<T> b) { return wins(a, b, true) ? a : b; }
)"},
    {"first_min", "position",
     R"(template <class T> __device__ __forceinline__ found<T> first_min(found<T> a, found<T> b) { return wins(a, b, false) ? a : b; }
)"},
};

constexpr Piece kBlock[] = {
    // The values of all threads with one threadIdx.y, combined in a fixed order; all of them get the same
    // bits. blockDim.x is a power of two, and `meet` has 16 bytes for each of 32 warps, twice: `turn` says
    // which half is free. Whoever writes to a half again has met a barrier since it was read.
    {"across", "types",
     R"(template <class T, class F> __device__ __forceinline__ T across(T x, F combine, uint4* meet, int& turn) {
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
)"},
    // Barriers of a cluster's blocks, and where another block has what this one has at `p` in shared memory.
    // Without a cluster there is one block.
    {"cluster", "types", R"(__device__ __forceinline__ void cluster_meet() {
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
)"},
    // What `across` gives, of a row that `parts` blocks share. They are a cluster (phase -1), or parts of a
    // launch: the one for phase `step` leaves its values at `left`, where later ones find them.
    {"whole_row", "across cluster",
     R"(template <class T, class F> __device__ __forceinline__ T whole_row(T x, F combine, uint4* meet, int& turn, u32 parts, u8* left, int phase, int step) {
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
)"},
    // The values of all threads with one threadIdx.x, combined by the first of them; only that one has the
    // result. `meet` has 16 bytes for each thread; two calls in a row take different ones.
    {"down", "types",
     R"(template <class T, class F> __device__ __forceinline__ T down(T x, F combine, uint4* meet) {
    *(T*)(meet + threadIdx.y * blockDim.x + threadIdx.x) = x;
    __syncthreads();
    if (threadIdx.y == 0)
        for (int y = 1; y < blockDim.y; ++y) x = combine(x, *(T*)(meet + y * blockDim.x + threadIdx.x));
    return x;
}
)"},
    // The same of a column of which `parts` blocks take a slice: a launch with phase 0 leaves their values at
    // `left`, where the one with phase 1 finds them.
    {"whole_column", "down",
     R"(template <class T, class F> __device__ __forceinline__ T whole_column(T x, F combine, uint4* meet, u32 parts, u8* left, int phase, bool active) {
    if (phase > 0)
        for (u32 k = threadIdx.y; k < parts; k += blockDim.y) x = combine(x, *(const T*)(left + k * 16));
    x = down(x, combine, meet);
    if (phase == 0 && active && threadIdx.y == 0) *(T*)(left + blockIdx.x % parts * 16) = x;
    return x;
}
)"},
};

}  // namespace

std::span<const Piece> combining_pieces() { return kCombining; }
std::span<const Piece> block_pieces() { return kBlock; }

}  // namespace stator::kernels::cuda
