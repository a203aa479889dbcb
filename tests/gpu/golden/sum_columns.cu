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
__device__ __forceinline__ f64 sum(f64 a, f64 b) { return __dadd_rn(a, b); }
template <class T, class F> __device__ __forceinline__ T down(T x, F combine, uint4* meet) {
    *(T*)(meet + threadIdx.y * blockDim.x + threadIdx.x) = x;
    __syncthreads();
    if (threadIdx.y == 0)
        for (int y = 1; y < blockDim.y; ++y) x = combine(x, *(T*)(meet + y * blockDim.x + threadIdx.x));
    return x;
}
template <class T, class F> __device__ __forceinline__ T whole_column(T x, F combine, uint4* meet, u32 parts, u8* left, int phase, bool active) {
    if (phase > 0)
        for (u32 k = threadIdx.y; k < parts; k += blockDim.y) x = combine(x, *(const T*)(left + k * 16));
    x = down(x, combine, meet);
    if (phase == 0 && active && threadIdx.y == 0) *(T*)(left + blockIdx.x % parts * 16) = x;
    return x;
}

// columns, nest 0: vectors of 1
extern "C" __global__ void __launch_bounds__(256)
sum_columns_1_k0(i64 n1, i64 n0, i64 slices, i64 phase, u8* __restrict__ partials, const f64* __restrict__ b0, f64* __restrict__ b1, f64* __restrict__ b2) {
    __shared__ uint4 meet[512];
    const i64 columns = (i64)n0, depth = (i64)n1;
    const u32 parts = (u32)slices, part = blockIdx.x % parts;
    const i64 share = (depth + parts - 1) / parts;
    const i64 from = part * share < depth ? part * share : depth;
    const i64 to = from + share < depth ? from + share : depth;
    if (phase > 0 && part != 0) return;
    const i64 block = blockIdx.x / parts;
    const i64 mine = block * blockDim.x + threadIdx.x;
    const bool active = mine < columns;
    const i64 column = active ? mine : columns - 1;
    const f64 v0 = 0x0p+0;
    const f64* const p1 = b0 + column;
    f64* const p3 = b1 + column;
    f64* const p5 = b2 + column;
    f64 a2 = -0x0p+0;
    f64 a4 = __longlong_as_double((i64)0xfff0000000000000ull);
#pragma unroll 4
    for (i64 k = from + threadIdx.y; phase <= 0 && k < to; k += blockDim.y) {
        const f64 v1 = p1[k * n0];
        a2 = sum(a2, v1);
        a4 = maximum(a4, v1);
    }
    a2 = whole_column(a2, [](f64 a, f64 b) { return sum(a, b); }, meet, parts, partials + (0 * columns + column) * slices * 16, (int)phase, active);
    a4 = whole_column(a4, [](f64 a, f64 b) { return maximum(a, b); }, meet + 256, parts, partials + (1 * columns + column) * slices * 16, (int)phase, active);
    if (phase == 0) return;
    const f64 v2 = sum(v0, a2);
    const f64 v4 = a4;
    if (active && threadIdx.y == 0) *p3 = v2;
    if (active && threadIdx.y == 0) *p5 = v4;
}
// sum_columns_1_k0: columns, vectors of 1
