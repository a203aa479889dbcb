// What kernels of loops need (cuda/regions/region.h): the barrier of the whole grid, checks of arithmetic,
// warps that share work, sums and products that do not depend on how many threads there are.
#include "kernels/cuda/prelude.h"

namespace stator::kernels::cuda {

namespace {

constexpr Piece kGrid[] = {
    // Regions (cuda/regions/region.h): the control block, the barrier of the whole grid, time, checks of
    // arithmetic.
    {"region", "types", R"(struct control {
    u64 meet;
    u32 bad[2];
    i32 status, exit, resume, cell;
    i64 bytes, next, budget;
};
__device__ __noinline__ void grid_meet(control* c) {
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
    __syncwarp();
    __syncthreads();
    if (gridDim.x == 1) return;
    if (threadIdx.x == 0) {
        __threadfence();
        const u64 ticket = atomicAdd(&c->meet, 1ull), full = (ticket / gridDim.x + 1) * gridDim.x;
        while (*(volatile u64*)&c->meet < full) {}
        __threadfence();
    }
    __syncthreads();
#elif defined(__cluster_barrier_arrive)
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
#endif
}
__device__ __forceinline__ u64 nanoseconds() {
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
    u64 t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    return t;
#elif defined(__shim_nanoseconds)
    return __shim_nanoseconds();
#else
    return 0;
#endif
}
// After how many polls to look again, having looked after `seen`; 0 when time is up.
__device__ __noinline__ i64 next_look(control* c, i64 seen, u64 begun, bool alone) {
    if (!alone) grid_meet(c);
    if (alone || (blockIdx.x == 0 && threadIdx.x == 0)) {
        const i64 spent = (i64)(nanoseconds() - begun);
        const i64 fits = spent > 0 ? (i64)((f64)seen * (f64)(c->budget / 8) / (f64)spent) : seen;
        const i64 next = spent >= c->budget ? 0 : fits < 1 ? 1 : fits < seen ? fits : seen;
        if (alone) return next;  // others may still read what they agreed upon
        c->next = next;
    }
    grid_meet(c);
    return c->next;
}
template <class T> __device__ __forceinline__ T least() { return (T)((T)1 << (8 * sizeof(T) - 1)); }
template <class T> __device__ __forceinline__ bool sum_overflows(T a, T b) {
    const T r = (T)((u64)a + (u64)b);
    return (T)-1 < 0 ? (T)((a ^ r) & (b ^ r)) < 0 : r < a;
}
template <class T> __device__ __forceinline__ bool difference_overflows(T a, T b) {
    const T r = (T)((u64)a - (u64)b);
    return (T)-1 < 0 ? (T)((a ^ b) & (a ^ r)) < 0 : a < b;
}
template <class T> __device__ __forceinline__ bool product_overflows(T a, T b) {
    const T r = (T)((u64)a * (u64)b);
    if constexpr (sizeof(T) < 8) return (i64)a * (i64)b != (i64)r;
    else if constexpr ((T)-1 < 0) return __mul64hi(a, b) != (r < 0 ? -1 : 0);
    else return __umul64hi(a, b) != 0;
}
// a * b, or 0 where that is negative or overflows.
__device__ __forceinline__ i64 room_for(i64 a, i64 b) {
    return b < 0 || product_overflows<i64>(a, b) ? 0 : a * b;
}
// a / b for 0 <= a, 0 < b: most numbers are small, and dividing large ones is dear.
__device__ __forceinline__ i64 quotient_of(i64 a, i64 b) {
    return (u64)(a | b) >> 32 ? a / b : (i64)((u32)a / (u32)b);
}
__device__ __forceinline__ bool nonfinite(f64 x) {
    return ((u64)__double_as_longlong(x) & 0x7ff0000000000000ull) == 0x7ff0000000000000ull;
}
__device__ __forceinline__ bool nonfinite(f32 x) { return (__float_as_uint(x) & 0x7f800000u) == 0x7f800000u; }
__device__ __forceinline__ bool signals(f64 x) {
    return x != x && !((u64)__double_as_longlong(x) & 0x0008000000000000ull);
}
__device__ __forceinline__ bool signals(f32 x) { return x != x && !(__float_as_uint(x) & 0x00400000u); }
// Whether an operation on a and b that gave r, which is not finite, raised a flag.
template <class T> __device__ __noinline__ bool raised(T r, T a, T b) {
    if (a != a || b != b) return signals(a) || signals(b);
    return r != r || !(nonfinite(a) || nonfinite(b));
}
template <class T> __device__ __forceinline__ bool faulty(T r, T a, T b) { return nonfinite(r) && raised(r, a, b); }
// Of a * b + c. What infinity times 0 plus NaN raises is up to the processor.
template <class T> __device__ __forceinline__ bool faulty(T r, T a, T b, T c) {
    if (!nonfinite(r)) return false;
    if (r == r) return !(nonfinite(a) || nonfinite(b) || nonfinite(c));
    if (a == a && b == b && c == c) return true;
    return signals(a) || signals(b) || signals(c) || (a == 0 && nonfinite(b)) || (b == 0 && nonfinite(a));
}
)"},
    // Warps of a region that share work and leave values for each other: `left` has 16 bytes for each.
    // What one warp can do as fast alone is done by each.
    {"teams", "region", R"(constexpr i64 kAlone = 4096;
__device__ __forceinline__ i64 team_number() {
    return (i64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
}
__device__ __forceinline__ i64 teams_of(i64 most) {
    const i64 all = (i64)gridDim.x * (blockDim.x / 32);
    return all < most ? all : most;
}
// Of `total` points in a row, those of a team; none of a warp that is no team.
__device__ __forceinline__ void team_stretch(i64 total, i64 team, i64 teams, i64& first, i64& end) {
    const i64 each = ((total + teams - 1) / teams + 31) / 32 * 32;
    first = team < teams && team * each < total ? team * each : total;
    end = first + each < total ? first + each : total;
}
// What all teams have counted, in `count`; gives what those in front of this one have.
__device__ __noinline__ i64 team_counts(control* c, u8* left, i64& count, i64 team, i64 teams) {
    const i64 lane = threadIdx.x % 32;
    if (team < teams && lane == 0) *(i64*)(left + 16 * team) = count;
    grid_meet(c);
    i64 before = 0, all = 0;
    for (i64 k = lane; k < teams; k += 32) {
        const i64 n = *(const i64*)(left + 16 * k);
        all += n;
        if (k < team) before += n;
    }
    for (int mask = 1; mask < 32; mask <<= 1) {
        all += __shfl_xor_sync(~0u, all, mask);
        before += __shfl_xor_sync(~0u, before, mask);
    }
    count = all;
    return before;
}
)"},
};

constexpr Piece kFold[] = {
    // What may be combined in any order: an `S` has `start`, step(x, k) with element k, combine(a, b). Long
    // stretches are cut into parts, which the teams take in turns; what they are follows from `n` alone.
    {"fold", "teams", R"(template <class T, class C> struct elements {
    const u8* p;
    i64 stride;
    T start;
    __device__ __forceinline__ T step(T x, i64 k) const { return C::of(x, *(const T*)(p + k * stride)); }
    __device__ __forceinline__ T combine(T a, T b) const { return C::of(a, b); }
};
__device__ __forceinline__ f32 fused(f32 a, f32 b, f32 c) { return __fmaf_rn(a, b, c); }
__device__ __forceinline__ f64 fused(f64 a, f64 b, f64 c) { return __fma_rn(a, b, c); }
template <class T> struct products {
    const u8 *p, *q;
    i64 stride, other;
    T start;
    __device__ __forceinline__ T step(T x, i64 k) const {
        return fused(*(const T*)(p + k * stride), *(const T*)(q + k * other), x);
    }
    __device__ __forceinline__ T combine(T a, T b) const { return sum(a, b); }
};
template <class T, class S> __device__ __forceinline__ T fold_lanes(const S& s, T x) {
    for (int mask = 1; mask < 32; mask <<= 1) {
        const T other = from_lane(x, mask);
        x = threadIdx.x & mask ? s.combine(other, x) : s.combine(x, other);
    }
    return x;
}
template <class S> __device__ __forceinline__ auto fold_stretch(const S& s, i64 first, i64 end) {
    auto x = s.start;
    for (i64 k = first + threadIdx.x % 32; k < end; k += 32) x = s.step(x, k);
    return fold_lanes(s, x);
}
template <class S> __device__ __noinline__ auto fold(control* c, u8* left, i64 team, i64 teams, S s, i64 n) {
    if (n <= kAlone) return fold_stretch(s, 0, n);
    using T = decltype(s.start);
    const i64 each = n / 1024 < kAlone ? kAlone : (n + 1023) / 1024, parts = (n + each - 1) / each;
    for (i64 k = team; k < parts && team < teams; k += teams) {
        const T x = fold_stretch(s, k * each, k * each + each < n ? k * each + each : n);
        if (threadIdx.x % 32 == 0) *(T*)(left + 16 * k) = x;
    }
    grid_meet(c);
    T x = s.start;
    for (i64 k = threadIdx.x % 32; k < parts; k += 32) x = s.combine(x, *(const T*)(left + 16 * k));
    return fold_lanes(s, x);
}
// By one thread, or by a warp.
template <class S> __device__ __forceinline__ auto fold_run(const S& s, i64 n, bool shared) {
    if (shared) return fold_stretch(s, 0, n);
    auto x = s.start;
    for (i64 k = 0; k < n; ++k) x = s.step(x, k);
    return x;
}
)"},
    // NumPy's sums of floats: up to 128 elements by eight accumulators, more as the sum of two halves, of
    // which the first is a multiple of 8. The halves of halves are slots of a tree; where a branch ends early
    // its first slot has the value and the others are empty.
    {"pairwise", "teams", R"(__device__ __forceinline__ f32 plus_f(f32 a, f32 b) { return __fadd_rn(a, b); }
__device__ __forceinline__ f64 plus_f(f64 a, f64 b) { return __dadd_rn(a, b); }
// At most 128 elements by the eight lanes that the caller is one of; 0 elements are in order.
template <class T> __device__ __forceinline__ T block_sum(const u8* p, i64 stride, i64 n) {
    const i64 mine = threadIdx.x % 8, whole = n - n % 8;
    T x = 0;
    for (i64 k = mine; k < whole; k += 8) x = k < 8 ? *(const T*)(p + k * stride) : plus_f(x, *(const T*)(p + k * stride));
    for (int mask = 1; mask < 8; mask <<= 1) x = plus_f(x, __shfl_xor_sync(~0u, x, mask));
    if (n < 8) x = (T)-0.0;
    for (i64 k = whole; k < n; ++k) x = plus_f(x, *(const T*)(p + k * stride));
    return x;
}
__device__ __forceinline__ i64 first_half(i64 n) { return n / 2 - n / 2 % 8; }
// Slot `slot` of 2^depth: the part of n elements; its length is 0 where the slot is empty.
__device__ __forceinline__ void tree_slot(i64 slot, int depth, i64 most, i64& begin, i64& n) {
    begin = 0;
    for (int k = depth - 1; k >= 0; --k) {
        if (n <= most) {
            if (slot & ((i64)2 << k) - 1) n = 0;
            return;
        }
        const i64 half = first_half(n);
        if (slot >> k & 1) begin += half, n -= half;
        else n = half;
    }
}
// Values of the tree's slots, 32 at once, put together; in the end `whole` is all of it.
template <class T> struct tree {
    T part[40];
    u64 filled = 0;
    T whole = 0;
    bool any = false;
    __device__ __forceinline__ void add(i64 round, T x, bool has) {
        for (int mask = 1; mask < 32; mask <<= 1) {
            const T other = __shfl_xor_sync(~0u, x, mask);
            const bool there = __shfl_xor_sync(~0u, (i32)has, mask), right = threadIdx.x & mask;
            const bool left_has = right ? there : has, right_has = right ? has : there;
            const T left = right ? other : x, behind = right ? x : other;
            x = left_has && right_has ? plus_f(left, behind) : left_has ? left : behind;
            has = left_has || right_has;
        }
        int k = 0;
        for (; round >> k & 1; ++k) {
            if (!(filled >> k & 1)) continue;
            x = has ? plus_f(part[k], x) : part[k];
            has = true;
        }
        part[k] = x;
        filled = has ? filled | (u64)1 << k : filled & ~((u64)1 << k);
        whole = x, any = has;
    }
};
// By one warp.
template <class T> __device__ __noinline__ T warp_sum(const u8* p, i64 stride, i64 n) {
    if (n <= 128) return block_sum<T>(p, stride, n);
    int depth = 0;
    for (i64 most = n; most > 128; most = most / 2 + 8) ++depth;
    const i64 slots = (i64)1 << depth;
    const int lane = threadIdx.x % 32;
    tree<T> t;
    for (i64 round = 0; round < (slots + 31) / 32; ++round) {
        T mine = 0;
        bool has = false;
        for (int q = 0; q < 8; ++q) {
            const i64 slot = 32 * round + 4 * q + lane / 8;
            i64 begin, length = slot < slots ? n : 0;
            tree_slot(slot, depth, 128, begin, length);
            const T x = __shfl_sync(~0u, block_sum<T>(p + begin * stride, stride, length), lane % 4 * 8);
            const bool there = __shfl_sync(~0u, (i32)(length > 0), lane % 4 * 8);
            if (lane / 4 == q) mine = x, has = there;
        }
        t.add(round, mine, has);
    }
    return t.whole;
}
template <class T> __device__ __noinline__ T pairwise(control* c, u8* left, i64 team, i64 teams, const u8* p, i64 stride, i64 n) {
    if (n <= kAlone) return warp_sum<T>(p, stride, n);
    int depth = 0;
    while (depth < 10 && n >> depth > kAlone) ++depth;
    const i64 slots = (i64)1 << depth, lane = threadIdx.x % 32;
    for (i64 k = team; k < slots && team < teams; k += teams) {
        i64 begin, length = n;
        tree_slot(k, depth, 128, begin, length);
        const T x = warp_sum<T>(p + begin * stride, stride, length);
        if (lane == 0) *(T*)(left + 16 * k) = x;
    }
    grid_meet(c);
    tree<T> t;
    for (i64 round = 0; round < (slots + 31) / 32; ++round) {
        const i64 slot = 32 * round + lane;
        t.add(round, slot < slots ? *(const T*)(left + 16 * slot) : (T)0, slot < slots);
    }
    return t.whole;
}
// By one thread where there are less than eight elements, or by a warp.
template <class T> __device__ __forceinline__ T run_sum(const u8* p, i64 stride, i64 n, bool shared) {
    if (shared) return warp_sum<T>(p, stride, n);
    T x = (T)-0.0;
    for (i64 k = 0; k < n; ++k) x = plus_f(x, *(const T*)(p + k * stride));
    return x;
}
)"},
    {"matmul", "types complex",
     R"(__device__ __forceinline__ f32 with_product(f32 s, f32 a, f32 b) { return __fmaf_rn(a, b, s); }
__device__ __forceinline__ f64 with_product(f64 s, f64 a, f64 b) { return __fma_rn(a, b, s); }
template <class T> __device__ __forceinline__ T with_product(T s, T a, T b) {
    if constexpr (sizeof(T) < 4) return (T)((u32)s + (u32)a * (u32)b);
    else return (T)((u64)s + (u64)a * (u64)b);
}
__device__ __forceinline__ c64 with_product(c64 s, c64 a, c64 b) {
    return c64{__fmaf_rn(-a.im, b.im, __fmaf_rn(a.re, b.re, s.re)), __fmaf_rn(a.im, b.re, __fmaf_rn(a.re, b.im, s.im))};
}
__device__ __forceinline__ c128 with_product(c128 s, c128 a, c128 b) {
    return c128{__fma_rn(-a.im, b.im, __fma_rn(a.re, b.re, s.re)), __fma_rn(a.im, b.re, __fma_rn(a.re, b.im, s.im))};
}
template <class T> __device__ __forceinline__ T element_at(const u8* p) { return *(const T*)p; }
template <> __device__ __forceinline__ c64 element_at(const u8* p) { return c64{((const f32*)p)[0], ((const f32*)p)[1]}; }
template <> __device__ __forceinline__ c128 element_at(const u8* p) { return c128{((const f64*)p)[0], ((const f64*)p)[1]}; }
// One element of a product of matrices: a row times a column, from the first to the last.
template <class T> __device__ __noinline__ T product_sum(const u8* x, i64 dx, const u8* y, i64 dy, i64 n) {
    T s{};
#pragma unroll 4
    for (i64 k = 0; k < n; ++k) s = with_product(s, element_at<T>(x + k * dx), element_at<T>(y + k * dy));
    return s;
}
)"},
};

}  // namespace

std::span<const Piece> grid_pieces() { return kGrid; }
std::span<const Piece> fold_pieces() { return kFold; }

}  // namespace stator::kernels::cuda
