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

// tiles, nest 0: vectors of 2, tiles of 32 x 32
extern "C" __global__ void __launch_bounds__(256)
transposed_1_k0(f64 c0, i64 shift, i64 n0, i64 n1, const f64* __restrict__ b1, f64* __restrict__ b0) {
    __shared__ f64 t1[1280];
    const f64 v0 = c0;
    const i64 columns = (i64)n1, across = n0;
    const u32 high = (u32)shift, wide = 10 - high;
    const u32 height = 1u << high, width = 1u << wide, pitch = height + 1;
    const u32 tiles = (u32)((columns + width - 1) >> wide);
    if (tiles == 0) return;
    const i64 begin = (i64)(blockIdx.x % tiles) * width;
    const i64 band = (i64)(blockIdx.x / tiles) * height;
    const u32 n = columns - begin < width ? (u32)(columns - begin) : width;
    const u32 m = across - band < height ? (u32)(across - band) : height;
    const u32 lane = threadIdx.x % 8, line = threadIdx.x / 8;
    const f64* const p1 = b1 + band;
    f64* const p3 = b0 + band * n1;
    const i64 step1 = n0 * 8;
    const i64 step3 = n1 * 8;
    const bool vectors = columns % 2 == 0 && (u64)p3 % 16 == 0 && step3 % 16 == 0;
    const bool vectors_across = across % 2 == 0 && height >= 16 && (u64)p1 % 16 == 0 && step1 % 16 == 0;
    if (vectors_across) {
#pragma unroll 1
        for (u32 s = line; s < 64; s += 64) {
            const u32 c0 = (s + 0) & (width - 1), r0 = (((s + 0) >> wide) * 8 + lane) * 2;
            f64x2 x0_1_0;
            if (c0 < n && r0 < m) {
                x0_1_0 = ((const f64x2*)(((const f64*)((const u8*)p1 + (begin + c0) * step1)) + r0))[0];
            }
            const u32 c1 = (s + 32) & (width - 1), r1 = (((s + 32) >> wide) * 8 + lane) * 2;
            f64x2 x1_1_0;
            if (c1 < n && r1 < m) {
                x1_1_0 = ((const f64x2*)(((const f64*)((const u8*)p1 + (begin + c1) * step1)) + r1))[0];
            }
            t1[c0 * pitch + r0 + 0] = x0_1_0.x;
            t1[c0 * pitch + r0 + 1] = x0_1_0.y;
            t1[c1 * pitch + r1 + 0] = x1_1_0.x;
            t1[c1 * pitch + r1 + 1] = x1_1_0.y;
        }
    }
#pragma unroll 4
    for (u32 e = threadIdx.x; !vectors_across && e < 1024; e += 256) {
        const u32 c = e >> high, r = e & (height - 1);
        if (c < n && r < m) t1[c * pitch + r] = ((const f64*)((const u8*)p1 + (begin + c) * step1))[r];
    }
    __syncthreads();
    if (vectors) {
#pragma unroll 1
        for (u32 s = line; s < 64; s += 32) {
            const u32 r0 = (s + 0) & (height - 1), c0 = (((s + 0) >> high) * 8 + lane) * 2;
            f64* const l3_0 = (f64*)((u8*)p3 + r0 * step3);
            if (r0 < m && c0 < n) {
                const u32 r = r0, c = c0;
                f64x2 x0_3_0;
                {
                    const f64 v1 = t1[c * pitch + r];
                    const f64 v2 = __dadd_rn(v1, v0);
                    x0_3_0.x = v2;
                }
                {
                    const f64 v1 = t1[(c + 1) * pitch + r];
                    const f64 v2 = __dadd_rn(v1, v0);
                    x0_3_0.y = v2;
                }
                put(((f64x2*)(l3_0 + begin + c)) + 0, x0_3_0);
            }
        }
    }
#pragma unroll 4
    for (u32 e = threadIdx.x; !vectors && e < 1024; e += 256) {
        const u32 c = e & (width - 1), r = e >> wide;
        if (c >= n || r >= m) continue;
        f64* const l3 = (f64*)((u8*)p3 + r * step3);
        const i64 k = begin + c;
        const f64 v1 = t1[c * pitch + r];
        const f64 v2 = __dadd_rn(v1, v0);
        l3[k] = v2;
    }
}
// transposed_1_k0: tiles, vectors of 2
