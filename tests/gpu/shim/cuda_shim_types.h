// CUDA's vector types, with CUDA's alignments: an access that is not aligned faults on a GPU, and is reported
// here.
#pragma once

#define SHIM_VECTOR(T, name, a2, a4)                                       \
    struct name##1 { T x; };                                               \
    struct alignas(a2) name##2 { T x, y; };                                \
    struct name##3 { T x, y, z; };                                         \
    struct alignas(a4) name##4 { T x, y, z, w; };                          \
    SHIM_PLAIN name##1 make_##name##1(T x) { return {x}; }                 \
    SHIM_PLAIN name##2 make_##name##2(T x, T y) { return {x, y}; }         \
    SHIM_PLAIN name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; } \
    SHIM_PLAIN name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }

SHIM_VECTOR(signed char, char, 2, 4)
SHIM_VECTOR(unsigned char, uchar, 2, 4)
SHIM_VECTOR(short, short, 4, 8)
SHIM_VECTOR(unsigned short, ushort, 4, 8)
SHIM_VECTOR(int, int, 8, 16)
SHIM_VECTOR(long, long, 16, 16)
SHIM_VECTOR(unsigned long, ulong, 16, 16)
SHIM_VECTOR(long long, longlong, 16, 16)
SHIM_VECTOR(unsigned long long, ulonglong, 16, 16)
SHIM_VECTOR(float, float, 8, 16)
SHIM_VECTOR(double, double, 16, 16)
#undef SHIM_VECTOR

struct uint1 {
    unsigned x;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
SHIM_PLAIN uint1 make_uint1(unsigned x) { return {x}; }
SHIM_PLAIN uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
SHIM_PLAIN uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
SHIM_PLAIN uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
