// Elements in words of up to 16 bytes, and values of other lanes of a warp.
#include "kernels/cuda/prelude.h"

namespace stator::kernels::cuda {

namespace {

constexpr Piece kWord[] = {
    // Neighbouring elements, read and written at once (cuda/words.h).
    {"i32x2", "types", "struct alignas(8) i32x2 { i32 x, y; };\n"},
    {"i32x4", "types", "struct alignas(16) i32x4 { i32 x, y, z, w; };\n"},
    {"u32x2", "types", "struct alignas(8) u32x2 { u32 x, y; };\n"},
    {"u32x4", "types", "struct alignas(16) u32x4 { u32 x, y, z, w; };\n"},
    {"f32x2", "types", "struct alignas(8) f32x2 { f32 x, y; };\n"},
    {"f32x4", "types", "struct alignas(16) f32x4 { f32 x, y, z, w; };\n"},
    {"i64x2", "types", "struct alignas(16) i64x2 { i64 x, y; };\n"},
    {"u64x2", "types", "struct alignas(16) u64x2 { u64 x, y; };\n"},
    {"f64x2", "types", "struct alignas(16) f64x2 { f64 x, y; };\n"},
    {"c64x2", "complex", "struct alignas(16) c64x2 { c64 x, y; };\n"},
    // A word that is given away as a whole: else NVRTC takes the store of it apart into those of its fields,
    // and does not always find together again. At full optimization only a call keeps it whole.
    {"put", "types", "template <class W> __device__ __forceinline__ void put(W* p, W w) { *p = w; }\n"},
    {"put_called", "types", "template <class W> __device__ __noinline__ void put(W* p, W w) { *p = w; }\n"},
};

constexpr Piece kLane[] = {
    // Values from the lane whose number differs in the bits of `mask`.
    {"lane_i32", "types",
     R"(__device__ __forceinline__ i32 from_lane(i32 x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
)"},
    {"lane_i64", "types",
     R"(__device__ __forceinline__ i64 from_lane(i64 x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
)"},
    {"lane_u64", "lane_i64",
     R"(__device__ __forceinline__ u64 from_lane(u64 x, int mask) { return (u64)from_lane((i64)x, mask); }
)"},
    {"lane_f32", "types",
     R"(__device__ __forceinline__ f32 from_lane(f32 x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
)"},
    {"lane_f64", "types",
     R"(__device__ __forceinline__ f64 from_lane(f64 x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
)"},
    {"lane_small", "lane_i32",
     R"(template <class T> __device__ __forceinline__ T from_lane(T x, int mask) { return (T)from_lane((i32)x, mask); }
)"},
    {"lane_c64", "lane_f32 complex",
     R"(__device__ __forceinline__ c64 from_lane(c64 x, int mask) { return c64{from_lane(x.re, mask), from_lane(x.im, mask)}; }
)"},
    {"lane_c128", "lane_f64 complex",
     R"(__device__ __forceinline__ c128 from_lane(c128 x, int mask) { return c128{from_lane(x.re, mask), from_lane(x.im, mask)}; }
)"},
    {"lane_position", "lane_i64 position",
     R"(template <class T> __device__ __forceinline__ found<T> from_lane(found<T> x, int mask) {
    return found<T>{from_lane(x.value, mask), from_lane(x.at, mask)};
}
)"},
};

}  // namespace

std::span<const Piece> word_pieces() { return kWord; }
std::span<const Piece> lane_pieces() { return kLane; }

}  // namespace stator::kernels::cuda
