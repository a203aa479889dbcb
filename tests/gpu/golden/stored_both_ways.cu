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

// tiles, nest 0: vectors of 4, tiles of 64 x 64
extern "C" __global__ void __launch_bounds__(256)
stored_both_ways_1_k0(f64 c0, f64 c1, i64 shift, i64 n0, i64 n1, const f32* __restrict__ b1, f32* __restrict__ b0, f32* __restrict__ b2) {
    __shared__ f32 t4[5120];
    __shared__ f32 t8[5120];
    const f64 v0 = c0;
    const f32 v1 = (f32)v0;
    const f64 v2 = c1;
    const f32 v3 = (f32)v2;
    const i64 columns = (i64)n1, across = n0;
    const u32 high = (u32)shift, wide = 12 - high;
    const u32 height = 1u << high, width = 1u << wide, pitch = height + 1;
    const u32 tiles = (u32)((columns + width - 1) >> wide);
    if (tiles == 0) return;
    const i64 begin = (i64)(blockIdx.x % tiles) * width;
    const i64 band = (i64)(blockIdx.x / tiles) * height;
    const u32 n = columns - begin < width ? (u32)(columns - begin) : width;
    const u32 m = across - band < height ? (u32)(across - band) : height;
    const u32 lane = threadIdx.x % 8, line = threadIdx.x / 8;
    const f32* const p4 = b1 + band;
    f32* const p6 = b0 + band * n1;
    f32* const p8 = b2 + band;
    const i64 step4 = n0 * 4;
    const i64 step6 = n1 * 4;
    const i64 step8 = n0 * 4;
    const bool vectors = columns % 4 == 0 && (u64)p6 % 16 == 0 && step6 % 16 == 0;
    const bool vectors_across = across % 4 == 0 && height >= 32 && (u64)p4 % 16 == 0 && step4 % 16 == 0 && (u64)p8 % 16 == 0 && step8 % 16 == 0;
    if (vectors_across) {
#pragma unroll 1
        for (u32 s = line; s < 128; s += 128) {
            const u32 c0 = (s + 0) & (width - 1), r0 = (((s + 0) >> wide) * 8 + lane) * 4;
            f32x4 x0_4_0;
            if (c0 < n && r0 < m) {
                x0_4_0 = ((const f32x4*)(((const f32*)((const u8*)p4 + (begin + c0) * step4)) + r0))[0];
            }
            const u32 c1 = (s + 32) & (width - 1), r1 = (((s + 32) >> wide) * 8 + lane) * 4;
            f32x4 x1_4_0;
            if (c1 < n && r1 < m) {
                x1_4_0 = ((const f32x4*)(((const f32*)((const u8*)p4 + (begin + c1) * step4)) + r1))[0];
            }
            const u32 c2 = (s + 64) & (width - 1), r2 = (((s + 64) >> wide) * 8 + lane) * 4;
            f32x4 x2_4_0;
            if (c2 < n && r2 < m) {
                x2_4_0 = ((const f32x4*)(((const f32*)((const u8*)p4 + (begin + c2) * step4)) + r2))[0];
            }
            const u32 c3 = (s + 96) & (width - 1), r3 = (((s + 96) >> wide) * 8 + lane) * 4;
            f32x4 x3_4_0;
            if (c3 < n && r3 < m) {
                x3_4_0 = ((const f32x4*)(((const f32*)((const u8*)p4 + (begin + c3) * step4)) + r3))[0];
            }
            t4[c0 * pitch + r0 + 0] = x0_4_0.x;
            t4[c0 * pitch + r0 + 1] = x0_4_0.y;
            t4[c0 * pitch + r0 + 2] = x0_4_0.z;
            t4[c0 * pitch + r0 + 3] = x0_4_0.w;
            t4[c1 * pitch + r1 + 0] = x1_4_0.x;
            t4[c1 * pitch + r1 + 1] = x1_4_0.y;
            t4[c1 * pitch + r1 + 2] = x1_4_0.z;
            t4[c1 * pitch + r1 + 3] = x1_4_0.w;
            t4[c2 * pitch + r2 + 0] = x2_4_0.x;
            t4[c2 * pitch + r2 + 1] = x2_4_0.y;
            t4[c2 * pitch + r2 + 2] = x2_4_0.z;
            t4[c2 * pitch + r2 + 3] = x2_4_0.w;
            t4[c3 * pitch + r3 + 0] = x3_4_0.x;
            t4[c3 * pitch + r3 + 1] = x3_4_0.y;
            t4[c3 * pitch + r3 + 2] = x3_4_0.z;
            t4[c3 * pitch + r3 + 3] = x3_4_0.w;
        }
    }
#pragma unroll 4
    for (u32 e = threadIdx.x; !vectors_across && e < 4096; e += 256) {
        const u32 c = e >> high, r = e & (height - 1);
        if (c < n && r < m) t4[c * pitch + r] = ((const f32*)((const u8*)p4 + (begin + c) * step4))[r];
    }
    __syncthreads();
    if (vectors) {
#pragma unroll 1
        for (u32 s = line; s < 128; s += 32) {
            const u32 r0 = (s + 0) & (height - 1), c0 = (((s + 0) >> high) * 8 + lane) * 4;
            f32* const l6_0 = (f32*)((u8*)p6 + r0 * step6);
            if (r0 < m && c0 < n) {
                const u32 r = r0, c = c0;
                f32x4 x0_6_0;
                {
                    const f32 v4 = t4[c * pitch + r];
                    const f32 v5 = __fsub_rn(v4, v1);
                    x0_6_0.x = v5;
                    const f32 v7 = __fmul_rn(v4, v3);
                    t8[c * pitch + r] = v7;
                }
                {
                    const f32 v4 = t4[(c + 1) * pitch + r];
                    const f32 v5 = __fsub_rn(v4, v1);
                    x0_6_0.y = v5;
                    const f32 v7 = __fmul_rn(v4, v3);
                    t8[(c + 1) * pitch + r] = v7;
                }
                {
                    const f32 v4 = t4[(c + 2) * pitch + r];
                    const f32 v5 = __fsub_rn(v4, v1);
                    x0_6_0.z = v5;
                    const f32 v7 = __fmul_rn(v4, v3);
                    t8[(c + 2) * pitch + r] = v7;
                }
                {
                    const f32 v4 = t4[(c + 3) * pitch + r];
                    const f32 v5 = __fsub_rn(v4, v1);
                    x0_6_0.w = v5;
                    const f32 v7 = __fmul_rn(v4, v3);
                    t8[(c + 3) * pitch + r] = v7;
                }
                put(((f32x4*)(l6_0 + begin + c)) + 0, x0_6_0);
            }
        }
    }
#pragma unroll 4
    for (u32 e = threadIdx.x; !vectors && e < 4096; e += 256) {
        const u32 c = e & (width - 1), r = e >> wide;
        if (c >= n || r >= m) continue;
        f32* const l6 = (f32*)((u8*)p6 + r * step6);
        const i64 k = begin + c;
        const f32 v4 = t4[c * pitch + r];
        const f32 v5 = __fsub_rn(v4, v1);
        l6[k] = v5;
        const f32 v7 = __fmul_rn(v4, v3);
        t8[c * pitch + r] = v7;
    }
    __syncthreads();
    if (vectors_across) {
#pragma unroll 1
        for (u32 s = line; s < 128; s += 32) {
            const u32 c = s & (width - 1), r = ((s >> wide) * 8 + lane) * 4;
            if (c >= n || r >= m) continue;
            f32x4 x8_0;
            x8_0.x = t8[c * pitch + r + 0];
            x8_0.y = t8[c * pitch + r + 1];
            x8_0.z = t8[c * pitch + r + 2];
            x8_0.w = t8[c * pitch + r + 3];
            put(((f32x4*)(((f32*)((u8*)p8 + (begin + c) * step8)) + r)) + 0, x8_0);
        }
    }
#pragma unroll 4
    for (u32 e = threadIdx.x; !vectors_across && e < 4096; e += 256) {
        const u32 c = e >> high, r = e & (height - 1);
        if (c < n && r < m) ((f32*)((u8*)p8 + (begin + c) * step8))[r] = t8[c * pitch + r];
    }
}
// stored_both_ways_1_k0: tiles, vectors of 4
