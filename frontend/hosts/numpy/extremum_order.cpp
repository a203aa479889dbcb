// See extremum_order.h. NumPy's loop (loops_minmax.dispatch.c.src) takes steps of eight vectors, then of one,
// then reduces the lanes of what it has, to the positive quiet NaN if one of them is a NaN, then takes the
// rest one by one; the second of two equal numbers wins, and any NaN over numbers.
#include "frontend/hosts/numpy/extremum_order.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <vector>

#include "frontend/hosts/numpy/lower.h"
#include "frontend/once.h"
#include "kernels/schedule/reduction_order.h"

namespace stator::frontend::numpy {

namespace {

template <class T>
T chosen(bool greatest, T a, T b) {
    return (greatest ? a > b : a < b) || std::isnan(a) ? a : b;
}

// What the loop makes of `start` and a run, with vectors of so many bits.
template <class T>
T extremum(bool greatest, int bits, T start, const std::vector<T>& x) {
    const size_t lanes = static_cast<size_t>(bits) / 8 / sizeof(T);
    const auto f = [&](T a, T b) { return chosen(greatest, a, b); };
    std::vector<T> acc(lanes, start);
    size_t at = 0;
    for (; at + 8 * lanes <= x.size(); at += 8 * lanes)
        for (size_t k = 0; k < lanes; ++k) {
            const auto v = [&](size_t j) { return x[at + j * lanes + k]; };
            acc[k] = f(acc[k], f(f(f(v(0), v(1)), f(v(2), v(3))), f(f(v(4), v(5)), f(v(6), v(7)))));
        }
    for (; at + lanes <= x.size(); at += lanes)
        for (size_t k = 0; k < lanes; ++k) acc[k] = f(acc[k], x[at + k]);
    // As GCC's intrinsics for AVX-512: the upper half first, down to 128 bits.
    const size_t upper_first = bits == 512 ? 16 / sizeof(T) : lanes;
    for (size_t n = lanes; n > 1; n /= 2)
        for (size_t k = 0; k < n / 2; ++k)
            acc[k] = n > upper_first ? f(acc[k + n / 2], acc[k]) : f(acc[k], acc[k + n / 2]);
    T result = std::isnan(acc[0]) ? std::numeric_limits<T>::quiet_NaN() : acc[0];
    for (; at < x.size(); ++at) result = f(result, x[at]);
    return result;
}

// Zeros of both signs among numbers that are neither greater nor smaller than all of them.
template <class T>
std::vector<T> zeros(size_t n, bool greatest, uint64_t* state) {
    std::vector<T> x(n);
    for (T& v : x) {
        *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;  // xorshift64 (Marsaglia 2003)
        const uint64_t kind = *state >> 20 & 7;
        v = kind == 0 ? T(0) : kind == 1 ? T(-0.0) : greatest ? T(-1) : T(1);
    }
    return x;
}

template <class T>
bool has_order(const kernels::HostLoop& loop, bool greatest, int bits) {
    uint64_t state = 88172645463325252u;
    for (const size_t n : {3, 8, 17, 33, 64, 100, 128, 150, 257, 300, 600})
        for (int round = 0; round < 8; ++round) {
            std::vector<T> x = zeros<T>(n, greatest, &state);
            if (round == 7) x[state % n] = -std::numeric_limits<T>::quiet_NaN();
            T result = greatest ? T(-2) : T(2);
            const T want = extremum(greatest, bits, result, x);
            char* args[] = {reinterpret_cast<char*>(&result), reinterpret_cast<char*>(x.data()),
                            reinterpret_cast<char*>(&result)};
            const int64_t strides[] = {0, sizeof(T), 0}, count = static_cast<int64_t>(n);
            loop.fn(args, &count, strides, loop.data);
            if (std::memcmp(&result, &want, sizeof(T)) != 0) return false;
        }
    return true;
}

bool all_have_order(int bits) {
    for (const bool greatest : {true, false}) {
        const char* name = greatest ? "maximum" : "minimum";
        const kernels::HostLoop twice = find_loop({name, {DType::F64, DType::F64, DType::F64}}),
                                single = find_loop({name, {DType::F32, DType::F32, DType::F32}});
        if (!twice.fn || !single.fn || !has_order<double>(twice, greatest, bits) ||
            !has_order<float>(single, greatest, bits))
            return false;
    }
    return true;
}

}  // namespace

void settle_extremum_order() {
    once([] {
        int found = 0;
        for (const int bits : {512, 256, 128})
            if (all_have_order(bits)) found = bits;
        kernels::set_extremum_bits(found);
        return true;
    });
}

}  // namespace stator::frontend::numpy
