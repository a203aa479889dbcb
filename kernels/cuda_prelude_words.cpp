// Elements in words of up to 16 bytes, and values of other lanes of a warp.
#include "kernels/cuda_prelude.h"

namespace stator::kernels::cuda {

namespace {

constexpr Piece kWord[] = {
    // Neighbouring elements, read and written in words of up to 16 bytes: get<T, E>(w) is element E of a
    // word, set<E>(w, x) fills it in. The words of a thread are single variables, which stay in registers.
    {"word16", "types", R"(template <int K> __device__ __forceinline__ u32& part(uint4& w) {
    if constexpr (K == 0) return w.x;
    else if constexpr (K == 1) return w.y;
    else if constexpr (K == 2) return w.z;
    else return w.w;
}
)"},
    {"word8", "types", R"(template <int K> __device__ __forceinline__ u32& part(uint2& w) {
    if constexpr (K == 0) return w.x;
    else return w.y;
}
)"},
    {"word4", "types", R"(template <int K> __device__ __forceinline__ u32& part(u32& w) { return w; }
)"},
    {"word2", "types", R"(template <int K> __device__ __forceinline__ u16& part(u16& w) { return w; }
)"},
    {"word1", "types", R"(template <int K> __device__ __forceinline__ u8& part(u8& w) { return w; }
)"},
    // The bits of an element as an integer, and back.
    {"bits_small", "types", R"(template <class T> __device__ __forceinline__ u32 raw(T x) {
    if constexpr (sizeof(T) == 1) return (u8)x;
    else return (u16)x;
}
)"},
    {"bits_i32", "types", R"(__device__ __forceinline__ u32 raw(i32 x) { return (u32)x; }
__device__ __forceinline__ u32 raw(u32 x) { return x; }
)"},
    {"bits_i64", "types", R"(__device__ __forceinline__ u64 raw(i64 x) { return (u64)x; }
__device__ __forceinline__ u64 raw(u64 x) { return x; }
)"},
    {"bits_f32", "types", R"(__device__ __forceinline__ u32 raw(f32 x) { return __float_as_uint(x); }
)"},
    {"bits_f64", "types",
     R"(__device__ __forceinline__ u64 raw(f64 x) { return (u64)__double_as_longlong(x); }
)"},
    {"bits_f16", "f16", R"(__device__ __forceinline__ u32 raw(f16 x) { return x.bits; }
)"},
    {"bits_bf16", "bf16", R"(__device__ __forceinline__ u32 raw(bf16 x) { return x.bits; }
)"},
    {"bits_c64", "complex", R"(__device__ __forceinline__ u64 raw(c64 x) {
    return (u64)__float_as_uint(x.im) << 32 | __float_as_uint(x.re);
}
)"},
    {"bits_c128", "complex", R"(__device__ __forceinline__ uint4 raw(c128 x) {
    u64 re = (u64)__double_as_longlong(x.re), im = (u64)__double_as_longlong(x.im);
    uint4 w;
    w.x = (u32)re, w.y = (u32)(re >> 32), w.z = (u32)im, w.w = (u32)(im >> 32);
    return w;
}
)"},
    {"as", "types", R"(template <class T> struct as {
    template <class B> static __device__ __forceinline__ T from(B bits) { return (T)bits; }
};
)"},
    {"as_f32", "as",
     R"(template <> struct as<f32> { static __device__ __forceinline__ f32 from(u32 bits) { return __uint_as_float(bits); } };
)"},
    {"as_f64", "as",
     R"(template <> struct as<f64> { static __device__ __forceinline__ f64 from(u64 bits) { return __longlong_as_double((i64)bits); } };
)"},
    {"as_f16", "as f16",
     R"(template <> struct as<f16> { static __device__ __forceinline__ f16 from(u32 bits) { return f16{(u16)bits}; } };
)"},
    {"as_bf16", "as bf16",
     R"(template <> struct as<bf16> { static __device__ __forceinline__ bf16 from(u32 bits) { return bf16{(u16)bits}; } };
)"},
    {"as_c64", "as complex", R"(template <> struct as<c64> {
    static __device__ __forceinline__ c64 from(u64 bits) {
        return c64{__uint_as_float((u32)bits), __uint_as_float((u32)(bits >> 32))};
    }
};
)"},
    {"as_c128", "as complex", R"(template <> struct as<c128> {
    static __device__ __forceinline__ c128 from(uint4 w) {
        return c128{__longlong_as_double((i64)((u64)w.y << 32 | w.x)), __longlong_as_double((i64)((u64)w.w << 32 | w.z))};
    }
};
)"},
    {"get", "as", R"(template <class T, int E, class W> __device__ __forceinline__ T get(W w) {
    if constexpr (sizeof(T) == 16) {
        return as<T>::from(w);
    } else if constexpr (sizeof(T) == 8) {
        return as<T>::from((u64)part<2 * E + 1>(w) << 32 | part<2 * E>(w));
    } else {
        constexpr int each = 4 / sizeof(T);
        return as<T>::from((u32)part<E / each>(w) >> 8 * (int)sizeof(T) * (E % each));
    }
}
)"},
    {"set", "types", R"(template <int E, class T, class W> __device__ __forceinline__ void set(W& w, T x) {
    if constexpr (sizeof(T) == 16) {
        w = raw(x);
    } else if constexpr (sizeof(T) == 8) {
        u64 bits = raw(x);
        part<2 * E>(w) = (u32)bits, part<2 * E + 1>(w) = (u32)(bits >> 32);
    } else {
        constexpr int each = 4 / sizeof(T);
        if constexpr (E % each == 0) part<E / each>(w) = raw(x);
        else part<E / each>(w) |= raw(x) << 8 * (int)sizeof(T) * (E % each);
    }
}
)"},
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
