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
template <class T> __device__ __forceinline__ T sum(T a, T b) { return (T)((u64)a + (u64)b); }
template <class T> struct found { T value; i64 at; };
template <class T> __device__ __forceinline__ bool wins(found<T> a, found<T> b, bool more) {
    if (a.at < 0 || b.at < 0) return b.at < 0;
    bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan || b_nan) return a_nan && (!b_nan || a.at < b.at);
    if (a.value == b.value) return a.at < b.at;
    return more ? a.value > b.value : a.value < b.value;
}
template <class T> __device__ __forceinline__ found<T> first_max(found<T> a, found<T> b) { return wins(a, b, true) ? a : b; }
template <class T> __device__ __forceinline__ found<T> first_min(found<T> a, found<T> b) { return wins(a, b, false) ? a : b; }
struct alignas(16) i32x4 { i32 x, y, z, w; };
__device__ __forceinline__ i32 from_lane(i32 x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
__device__ __forceinline__ i64 from_lane(i64 x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
template <class T> __device__ __forceinline__ found<T> from_lane(found<T> x, int mask) {
    return found<T>{from_lane(x.value, mask), from_lane(x.at, mask)};
}
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

// partial, nest 0: vectors of 4
extern "C" __global__ void __launch_bounds__(256)
sum_all_i32_1_k0(u8* __restrict__ partials, i64 n0, const i32* __restrict__ b0) {
    __shared__ uint4 meet[64];
    int turn = 0;
    const i64 columns = (i64)n0, threads = (i64)gridDim.x * blockDim.x;
    const i64 v0 = (i64)0ll;
    const i32* const p1 = b0;
    const bool vectors = columns % 4 == 0 && (u64)p1 % 16 == 0;
    i64 a3 = (i64)0ll;
    i32 a5 = (i32)-2147483648ll;
    found<i32> a7 = {(i32)0ll, -1};
    found<i32> a9 = {(i32)0ll, -1};
    if (vectors) {
#pragma unroll 4
        for (i64 at = ((i64)blockIdx.x * blockDim.x + threadIdx.x) * 4; at < columns; at += threads * 4) {
            i32x4 x1_0;
            x1_0 = ((const i32x4*)(p1 + at))[0];
            {
                const i64 k = at + 0;
                const i32 v1 = x1_0.x;
                const i64 v2 = (i64)v1;
                a3 = sum(a3, v2);
                a5 = maximum(a5, v1);
                a7 = first_max(a7, found<i32>{v1, k});
                a9 = first_min(a9, found<i32>{v1, k});
            }
            {
                const i64 k = at + 1;
                const i32 v1 = x1_0.y;
                const i64 v2 = (i64)v1;
                a3 = sum(a3, v2);
                a5 = maximum(a5, v1);
                a7 = first_max(a7, found<i32>{v1, k});
                a9 = first_min(a9, found<i32>{v1, k});
            }
            {
                const i64 k = at + 2;
                const i32 v1 = x1_0.z;
                const i64 v2 = (i64)v1;
                a3 = sum(a3, v2);
                a5 = maximum(a5, v1);
                a7 = first_max(a7, found<i32>{v1, k});
                a9 = first_min(a9, found<i32>{v1, k});
            }
            {
                const i64 k = at + 3;
                const i32 v1 = x1_0.w;
                const i64 v2 = (i64)v1;
                a3 = sum(a3, v2);
                a5 = maximum(a5, v1);
                a7 = first_max(a7, found<i32>{v1, k});
                a9 = first_min(a9, found<i32>{v1, k});
            }
        }
    }
#pragma unroll 4
    for (i64 k = (i64)blockIdx.x * blockDim.x + threadIdx.x; !vectors && k < columns; k += threads) {
        const i32 v1 = p1[k];
        const i64 v2 = (i64)v1;
        a3 = sum(a3, v2);
        a5 = maximum(a5, v1);
        a7 = first_max(a7, found<i32>{v1, k});
        a9 = first_min(a9, found<i32>{v1, k});
    }
    a3 = across(a3, [](i64 a, i64 b) { return sum(a, b); }, meet, turn);
    if (threadIdx.x == 0) *(i64*)(partials + (0 * (i64)gridDim.x + blockIdx.x) * 16) = a3;
    a5 = across(a5, [](i32 a, i32 b) { return maximum(a, b); }, meet, turn);
    if (threadIdx.x == 0) *(i32*)(partials + (1 * (i64)gridDim.x + blockIdx.x) * 16) = a5;
    a7 = across(a7, [](found<i32> a, found<i32> b) { return first_max(a, b); }, meet, turn);
    if (threadIdx.x == 0) *(found<i32>*)(partials + (2 * (i64)gridDim.x + blockIdx.x) * 16) = a7;
    a9 = across(a9, [](found<i32> a, found<i32> b) { return first_min(a, b); }, meet, turn);
    if (threadIdx.x == 0) *(found<i32>*)(partials + (3 * (i64)gridDim.x + blockIdx.x) * 16) = a9;
}

// combine, nest 0: vectors of 4
extern "C" __global__ void __launch_bounds__(256)
sum_all_i32_1_k1(u8* __restrict__ partials, i64 slices, const i32* __restrict__ b0, i64* __restrict__ r1, i32* __restrict__ r2, i64* __restrict__ r3, i64* __restrict__ r4) {
    __shared__ uint4 meet[64];
    int turn = 0;
    const i64 v0 = (i64)0ll;
    const i32* const p1 = b0;
    i64 a3 = (i64)0ll;
    i32 a5 = (i32)-2147483648ll;
    found<i32> a7 = {(i32)0ll, -1};
    found<i32> a9 = {(i32)0ll, -1};
    for (i64 k = threadIdx.x; k < slices; k += blockDim.x) {
        const i64 x = *(const i64*)(partials + (0 * slices + k) * 16);
        a3 = sum(a3, x);
    }
    a3 = across(a3, [](i64 a, i64 b) { return sum(a, b); }, meet, turn);
    const i64 v3 = sum(v0, a3);
    for (i64 k = threadIdx.x; k < slices; k += blockDim.x) {
        const i32 x = *(const i32*)(partials + (1 * slices + k) * 16);
        a5 = maximum(a5, x);
    }
    a5 = across(a5, [](i32 a, i32 b) { return maximum(a, b); }, meet, turn);
    const i32 v5 = a5;
    for (i64 k = threadIdx.x; k < slices; k += blockDim.x) {
        const found<i32> x = *(const found<i32>*)(partials + (2 * slices + k) * 16);
        a7 = first_max(a7, x);
    }
    a7 = across(a7, [](found<i32> a, found<i32> b) { return first_max(a, b); }, meet, turn);
    const i64 v7 = a7.at;
    for (i64 k = threadIdx.x; k < slices; k += blockDim.x) {
        const found<i32> x = *(const found<i32>*)(partials + (3 * slices + k) * 16);
        a9 = first_min(a9, x);
    }
    a9 = across(a9, [](found<i32> a, found<i32> b) { return first_min(a, b); }, meet, turn);
    const i64 v9 = a9.at;
    if (threadIdx.x == 0) *r1 = v3;
    if (threadIdx.x == 0) *r2 = v5;
    if (threadIdx.x == 0) *r3 = v7;
    if (threadIdx.x == 0) *r4 = v9;
}
// sum_all_i32_1_k0: partial, vectors of 4
// sum_all_i32_1_k1: combine, vectors of 4
