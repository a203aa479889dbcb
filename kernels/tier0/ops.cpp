// See tier0/ops.h. One template converts an element; a table over both dtypes picks the loop.
#include "kernels/tier0/ops.h"

#include <emmintrin.h>

#include <array>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "kernels/tier0/half.h"

namespace stator::kernels::tier0 {
namespace {

using graph::DType;

struct Half {
    uint16_t bits;
};
struct Brain {  // bfloat16
    uint16_t bits;
};
template <class T>
struct Complex {
    T re, im;
};
struct Bool {
    uint8_t byte;
};

// The C++ type of each row of STATOR_DTYPES, in order.
template <DType t>
auto representation() {
    if constexpr (t == DType::Bool)
        return Bool{};
    else if constexpr (t == DType::I8)
        return int8_t{};
    else if constexpr (t == DType::U8)
        return uint8_t{};
    else if constexpr (t == DType::I16)
        return int16_t{};
    else if constexpr (t == DType::BF16)
        return Brain{};
    else if constexpr (t == DType::U16)
        return uint16_t{};
    else if constexpr (t == DType::I32)
        return int32_t{};
    else if constexpr (t == DType::U32)
        return uint32_t{};
    else if constexpr (t == DType::I64)
        return int64_t{};
    else if constexpr (t == DType::U64)
        return uint64_t{};
    else if constexpr (t == DType::F16)
        return Half{};
    else if constexpr (t == DType::F32)
        return float{};
    else if constexpr (t == DType::F64)
        return double{};
    else if constexpr (t == DType::C64)
        return Complex<float>{};
    else
        return Complex<double>{};
}
template <DType t>
using Rep = decltype(representation<t>());
template <int i>
using RepAt = Rep<static_cast<DType>(i)>;

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<Complex<T>> = true;

template <class T>
T load(const char* p) {
    T v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
template <class T>
void store(char* p, T v) {
    std::memcpy(p, &v, sizeof v);
}

float brain_to_float(Brain x) { return std::bit_cast<float>(uint32_t{x.bits} << 16); }

// To the nearest, ties to even.
Brain float_to_brain(float x) {
    const auto bits = std::bit_cast<uint32_t>(x);
    if ((bits & 0x7fffffff) > 0x7f800000) return {0x7fc0};
    return {static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

// cvttsd2si and cvttss2si: the least integer for what does not fit, with the invalid flag.
int32_t truncate32(double x) { return _mm_cvttsd_si32(_mm_set_sd(x)); }
int32_t truncate32(float x) { return _mm_cvttss_si32(_mm_set_ss(x)); }
int64_t truncate64(double x) { return _mm_cvttsd_si64(_mm_set_sd(x)); }
int64_t truncate64(float x) { return _mm_cvttss_si64(_mm_set_ss(x)); }

template <class D, class F>
D float_to_int(F x, uint32_t& faults) {
    if constexpr (std::is_same_v<D, uint32_t>) {
        // NumPy's loop gives 2^31 for numbers below -2^31 where it runs in vectors and wraps around in its
        // tail, both depending on the build: reported as a fault, so that eager decides.
        if (!(x >= F{-2147483648.0} && x < F{4294967296.0})) faults |= kFaultInvalid;
        return static_cast<D>(truncate64(x));
    } else if constexpr (std::is_same_v<D, uint64_t>) {
        constexpr F kTop = F{9223372036854775808.0};
        if (x >= kTop) return static_cast<uint64_t>(truncate64(x - kTop)) ^ uint64_t { 1 } << 63;
        return static_cast<uint64_t>(truncate64(x));
    } else if constexpr (sizeof(D) == 8) {
        return static_cast<D>(truncate64(x));
    } else {
        return static_cast<D>(truncate32(x));
    }
}

template <class S, class D>
D convert(S x, uint32_t& faults) {
    if constexpr (std::is_same_v<S, D>) {
        return x;
    } else if constexpr (std::is_same_v<S, Brain>) {
        return convert<float, D>(brain_to_float(x), faults);
    } else if constexpr (std::is_same_v<D, Brain>) {
        return float_to_brain(convert<S, float>(x, faults));
    } else if constexpr (std::is_same_v<D, Bool>) {
        if constexpr (is_complex<S>)
            return {x.re != 0 || x.im != 0};
        else if constexpr (std::is_same_v<S, Half>)
            return {(x.bits & 0x7fff) != 0};
        else
            return {x != 0};
    } else if constexpr (std::is_same_v<S, Bool>) {
        return convert<uint8_t, D>(x.byte != 0, faults);
    } else if constexpr (is_complex<S> && is_complex<D>) {
        return {static_cast<decltype(D::re)>(x.re), static_cast<decltype(D::re)>(x.im)};
    } else if constexpr (is_complex<S>) {
        return convert<decltype(S::re), D>(x.re, faults);
    } else if constexpr (is_complex<D>) {
        return {convert<S, decltype(D::re)>(x, faults), 0};
    } else if constexpr (std::is_same_v<S, Half>) {
        return convert<float, D>(half_to_float(x.bits), faults);
    } else if constexpr (std::is_same_v<D, Half>) {
        if constexpr (std::is_same_v<S, double>)
            return {double_to_half(x, faults)};
        else
            return {
                float_to_half(static_cast<float>(x), faults)};  // integers too go through single precision
    } else if constexpr (std::is_floating_point_v<S> && std::is_integral_v<D>) {
        return float_to_int<D>(x, faults);
    } else {
        return static_cast<D>(x);
    }
}

template <class S, class D>
uint32_t cast_loop(Operand in, Operand out, int64_t n) {
    uint32_t faults = 0;
    for (int64_t i = 0; i < n; ++i)
        store(out.ptr + i * out.stride, convert<S, D>(load<S>(in.ptr + i * in.stride), faults));
    return faults;
}

using CastLoop = uint32_t (*)(Operand, Operand, int64_t);
template <int from, int... to>
constexpr std::array<CastLoop, graph::kDTypeCount> cast_row(std::integer_sequence<int, to...>) {
    return {cast_loop<RepAt<from>, RepAt<to>>...};
}
template <int... from>
constexpr auto cast_table(std::integer_sequence<int, from...> all) {
    return std::array<std::array<CastLoop, graph::kDTypeCount>, graph::kDTypeCount>{cast_row<from>(all)...};
}
constexpr auto kCasts = cast_table(std::make_integer_sequence<int, graph::kDTypeCount>{});

struct Bytes16 {
    uint64_t a, b;
};
template <class T>
void copy_loop(Operand in, Operand out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) store(out.ptr + i * out.stride, load<T>(in.ptr + i * in.stride));
}
template <class T>
void where_loop(Operand c, Operand yes, Operand no, Operand out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        const char* from = c.ptr[i * c.stride] ? yes.ptr + i * yes.stride : no.ptr + i * no.stride;
        store(out.ptr + i * out.stride, load<T>(from));
    }
}
// By the size's logarithm: 1, 2, 4, 8, 16.
constexpr decltype(&copy_loop<uint8_t>) kCopies[] = {
    copy_loop<uint8_t>, copy_loop<uint16_t>, copy_loop<uint32_t>, copy_loop<uint64_t>, copy_loop<Bytes16>};
constexpr decltype(&where_loop<uint8_t>) kWheres[] = {where_loop<uint8_t>, where_loop<uint16_t>,
                                                      where_loop<uint32_t>, where_loop<uint64_t>,
                                                      where_loop<Bytes16>};
int log2_of(int size) { return std::countr_zero(static_cast<unsigned>(size)); }

// Quiet comparisons throughout: NaN raises nothing here.
template <class T>
bool is_nan(T x) {
    if constexpr (is_complex<T>)
        return x.re != x.re || x.im != x.im;
    else if constexpr (std::is_same_v<T, Half>)
        return (x.bits & 0x7fff) > 0x7c00;
    else if constexpr (std::is_same_v<T, Brain>)
        return is_nan(brain_to_float(x));
    else if constexpr (std::is_floating_point_v<T>)
        return x != x;
    else
        return false;
}
template <class T>
bool less(T a, T b) {
    if constexpr (is_complex<T>)
        return less(a.re, b.re) || (a.re == b.re && less(a.im, b.im));
    else if constexpr (std::is_same_v<T, Half>)
        return less(half_to_float(a.bits), half_to_float(b.bits));
    else if constexpr (std::is_same_v<T, Brain>)
        return less(brain_to_float(a), brain_to_float(b));
    else if constexpr (std::is_same_v<T, Bool>)
        return !a.byte && b.byte;
    else if constexpr (std::is_floating_point_v<T>)
        return __builtin_isless(a, b);
    else
        return a < b;
}
template <class T, bool maximum>
bool better_of(const char* a, const char* b) {
    const T x = load<T>(a), y = load<T>(b);
    if (is_nan(x)) return false;
    if (is_nan(y)) return true;
    return maximum ? less(x, y) : less(y, x);
}
template <int... t>
constexpr std::array<std::array<Better, 2>, graph::kDTypeCount> better_table(
    std::integer_sequence<int, t...>) {
    return {std::array<Better, 2>{better_of<RepAt<t>, false>, better_of<RepAt<t>, true>}...};
}
constexpr auto kBetter = better_table(std::make_integer_sequence<int, graph::kDTypeCount>{});

}  // namespace

uint32_t cast(DType from, DType to, Operand in, Operand out, int64_t n) {
    return kCasts[static_cast<int>(from)][static_cast<int>(to)](in, out, n);
}

void copy(int size, Operand in, Operand out, int64_t n) {
    if (in.stride == size && out.stride == size) {
        std::memmove(out.ptr, in.ptr, static_cast<size_t>(n * size));
        return;
    }
    kCopies[log2_of(size)](in, out, n);
}

void where(int size, Operand condition, Operand yes, Operand no, Operand out, int64_t n) {
    kWheres[log2_of(size)](condition, yes, no, out, n);
}

void index(DType to, int64_t start, int64_t step, Operand out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        int64_t value = start + i * step;
        cast(DType::I64, to, {reinterpret_cast<char*>(&value), 0}, {out.ptr + i * out.stride, 0}, 1);
    }
}

Better better(DType type, bool maximum) { return kBetter[static_cast<int>(type)][maximum]; }

}  // namespace stator::kernels::tier0
