// See sincos/sincos.h.
#include "kernels/sincos/sincos.h"

#include <algorithm>
#include <cfenv>
#include <cstring>
#include <vector>

#include "kernels/sincos/lanes.h"
#include "kernels/vector_limit.h"

namespace stator::kernels {

namespace sincos {

namespace {

// The low parts are libm's own, which are some units off the nearest in 17 rows.
constexpr double kSinCos[112][4] = {
#include "kernels/sincos/table.inc"
};

constexpr Table make_table() {
    Table t{};
    for (int k = 0; k < 112; ++k) {
        const double sin = kSinCos[k][0], sin_tail = kSinCos[k][1], cos = kSinCos[k][2],
                     cos_tail = kSinCos[k][3];
        const double row[8] = {sin_tail, cos_tail, sin, cos, cos_tail, -sin_tail, cos, -sin};
        for (int i = 0; i < 8; ++i) t.rows[k][i] = row[i];
    }
    return t;
}

}  // namespace

alignas(64) constinit const Table kTable = make_table();

}  // namespace sincos

namespace {

constexpr double kProbes[] = {
#include "kernels/sincos/probes.inc"
};

constexpr int kWidest = 8;

struct Vectors {
    HostLoop scalar;
    SinCosLanes lanes;
    int width;
};

void call(const HostLoop& loop, const double* x, double* out, int64_t n) {
    char* args[] = {reinterpret_cast<char*>(const_cast<double*>(x)), reinterpret_cast<char*>(out)};
    const int64_t strides[] = {8, 8};
    loop.fn(args, &n, strides, loop.data);
}

// The elements behind the last whole vector, as part of one whose others are 1.
void finish(const Vectors& v, const double* x, double* out, int64_t n) {
    double in[kWidest], result[kWidest];
    std::fill(in, in + v.width, 1.0);
    std::memcpy(in, x, static_cast<size_t>(n) * sizeof(double));
    if (v.lanes(in, result, v.width) == v.width)
        std::memcpy(out, result, static_cast<size_t>(n) * sizeof(double));
    else
        call(v.scalar, x, out, n);
}

void vector_loop(char** args, const int64_t* dims, const int64_t* strides, void* data) {
    const auto& v = *static_cast<const Vectors*>(data);
    const int64_t n = dims[0], bytes = n * 8;
    const char *from = args[0], *to = args[1];
    const bool disjoint = from == to || from + bytes <= to || to + bytes <= from;
    if (n < 2 || strides[0] != 8 || strides[1] != 8 || !disjoint || std::fegetround() != FE_TONEAREST)
        return v.scalar.fn(args, dims, strides, v.scalar.data);
    const auto* x = reinterpret_cast<const double*>(from);
    auto* out = reinterpret_cast<double*>(args[1]);
    // Arrays of zeros, or of huge numbers, get few and long calls of the scalar loop.
    int64_t others = kWidest;
    for (int64_t i = 0; i < n;) {
        const int64_t done = v.lanes(x + i, out + i, n - i);
        i += done;
        if (n - i < v.width) {
            if (i < n) finish(v, x + i, out + i, n - i);
            return;
        }
        others = done > 0 ? kWidest : std::min<int64_t>(2 * others, 256);
        const int64_t m = std::min(others, n - i);
        call(v.scalar, x + i, out + i, m);
        i += m;
    }
}

// A multiple of the widest vector, of all ranges that the algorithm distinguishes, and of both signs.
std::vector<double> probes() {
    std::vector<double> x(std::begin(kProbes), std::end(kProbes));
    constexpr double kRanges[][2] = {{0x1p-20, 0.126}, {0.126, 0.8555}, {0.8555, 2.4263},
                                     {2.4263, 20},     {20, 1e4},       {1e4, 0x1.92p26}};
    uint64_t state = 88172645463325252u;
    while (x.size() < 4096) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;  // xorshift64 (Marsaglia 2003)
        const auto& range = kRanges[x.size() % 6];
        const double v = range[0] + (range[1] - range[0]) * (static_cast<double>(state >> 11) * 0x1p-53);
        x.push_back(state & 1 ? v : -v);
    }
    return x;
}

bool agree(SinCosLanes lanes, const HostLoop& scalar) {
    if (std::fegetround() != FE_TONEAREST) return false;
    const std::vector<double> x = probes();
    const auto n = static_cast<int64_t>(x.size());
    std::vector<double> got(x.size()), want(x.size());
    if (lanes(x.data(), got.data(), n) != n) return false;
    call(scalar, x.data(), want.data(), n);
    return std::memcmp(got.data(), want.data(), x.size() * sizeof(double)) == 0;
}

}  // namespace

SinCosLanes sincos_lanes(Trig which, int* width) {
#if defined(__x86_64__)
    if (vector_limit() >= 512 && sincos::kHasAvx512 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512dq")) {
        *width = 8;
        return which == Trig::Sin ? sincos::sin_avx512 : sincos::cos_avx512;
    }
    if (vector_limit() >= 256 && sincos::kHasAvx2 && __builtin_cpu_supports("avx2") &&
        __builtin_cpu_supports("fma")) {
        *width = 4;
        return which == Trig::Sin ? sincos::sin_avx2 : sincos::cos_avx2;
    }
#endif
    *width = 0;
    return nullptr;
}

HostLoop with_sincos_lanes(Trig which, HostLoop scalar) {
    int width = 0;
    const SinCosLanes lanes = sincos_lanes(which, &width);
    if (!scalar.fn || !lanes || !agree(lanes, scalar)) return scalar;
    return {vector_loop, new Vectors{scalar, lanes, width}};
}

}  // namespace stator::kernels
