// Scalar evaluation for constant folding.
//
// Invariant: a value comes back only if every IEEE implementation gives it and NumPy would have stayed
// silent. The floating-point environment of the process is left as it was found: recording runs between the
// program's own operations.
#include "graph/passes/scalar_math.h"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

#include "graph/int_math.h"
#include "graph/scalar.h"

namespace stator::graph {

namespace {

using Wide = __int128;
using Bits = std::optional<std::vector<int64_t>>;

Bits boolean(bool b) { return std::vector<int64_t>{b}; }

// ---- integers and bools ----

Wide widen(DType t, int64_t v) { return is_unsigned(t) ? Wide{static_cast<uint64_t>(v)} : Wide{v}; }

template <class T>
std::optional<bool> compare(Op op, T a, T b) {
    switch (op) {
        case Op::Less: return a < b;
        case Op::LessEqual: return a <= b;
        case Op::Greater: return a > b;
        case Op::GreaterEqual: return a >= b;
        case Op::Equal: return a == b;
        case Op::NotEqual: return a != b;
        case Op::LogicalAnd: return a != T{0} && b != T{0};
        case Op::LogicalOr: return a != T{0} || b != T{0};
        case Op::LogicalXor: return (a != T{0}) != (b != T{0});
        default: return std::nullopt;
    }
}

std::optional<Wide> shift(Op op, DType t, Wide a, Wide b) {
    int width = 8 * info(t).size;
    bool within = b >= 0 && b < width;  // NumPy takes a negative count as a large one
    if (op == Op::LeftShift) return within ? a << static_cast<int>(b) : 0;
    return a >> (within ? static_cast<int>(b) : width);
}

std::optional<Wide> integer_binary(Op op, DType t, Wide a, Wide b) {
    switch (op) {
        case Op::Add: return a + b;
        case Op::Subtract: return a - b;
        case Op::Multiply: return a * b;
        case Op::Maximum:
        case Op::Fmax: return std::max(a, b);
        case Op::Minimum:
        case Op::Fmin: return std::min(a, b);
        case Op::BitwiseAnd: return a & b;
        case Op::BitwiseOr: return a | b;
        case Op::BitwiseXor: return a ^ b;
        case Op::LeftShift:
        case Op::RightShift: return shift(op, t, a, b);
        case Op::FloorDivide:
        case Op::Remainder: {
            if (b == 0) return std::nullopt;
            Wide q = a / b, r = a % b;
            if (r != 0 && (r < 0) != (b < 0)) --q, r += b;
            if (op == Op::FloorDivide && is_signed(t) && b == -1 && q == -a &&
                normalize_bits(t, {static_cast<int64_t>(q)})[0] != q)
                return std::nullopt;  // warns
            return op == Op::FloorDivide ? q : r;
        }
        default: return std::nullopt;
    }
}

Bits evaluate_integer(const ScalarNode& s) {
    DType t = s.types[0];
    Wide a = widen(t, s.values[0][0]), b = s.values.size() > 1 ? widen(t, s.values[1][0]) : 0;
    if (s.values.size() > 1)
        if (auto c = compare(s.op, a, b)) return boolean(*c);
    if (s.op == Op::LogicalNot) return boolean(a == 0);
    std::optional<Wide> r;
    switch (s.op) {
        case Op::Copy: r = a; break;
        case Op::Negative: r = -a; break;
        case Op::Absolute: r = a < 0 ? -a : a; break;
        case Op::Square: r = a * a; break;
        case Op::Invert: r = ~a; break;
        default:
            if (s.values.size() == 2) r = integer_binary(s.op, t, a, b);
    }
    if (!r) return std::nullopt;
    std::vector<int64_t> bits = normalize_bits(t, {static_cast<int64_t>(*r)});
    bool bitwise = s.op == Op::Invert || s.op == Op::LeftShift;  // no arithmetic overflow to speak of
    if (widen(t, bits[0]) != *r && !s.may_wrap && !bitwise) return std::nullopt;
    return bits;
}

Bits evaluate_bool(const ScalarNode& s) {
    for (const auto& v : s.values)
        if (v[0] != 0 && v[0] != 1) return std::nullopt;
    bool a = s.values[0][0], b = s.values.size() > 1 && s.values[1][0];
    if (s.values.size() > 1)
        if (auto c = compare(s.op, a, b)) return boolean(*c);
    switch (s.op) {
        case Op::Copy: return boolean(a);
        case Op::LogicalNot:
        case Op::Invert: return boolean(!a);
        case Op::Add:
        case Op::BitwiseOr: return boolean(a || b);
        case Op::Multiply:
        case Op::BitwiseAnd: return boolean(a && b);
        case Op::BitwiseXor: return boolean(a != b);
        default: return std::nullopt;
    }
}

// ---- floats ----

// Runs one operation with clean flags and tells whether it raised one that NumPy reports.
class FlagScope {
  public:
    FlagScope() { std::feholdexcept(&saved_); }
    ~FlagScope() { std::fesetenv(&saved_); }
    FlagScope(const FlagScope&) = delete;
    FlagScope& operator=(const FlagScope&) = delete;
    bool clean() const {
        return std::fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID) == 0;
    }

  private:
    std::fenv_t saved_;
};

template <class T>
std::optional<T> float_unary(Op op, T a) {
    switch (op) {
        case Op::Copy: return a;
        case Op::Negative: return -a;
        case Op::Absolute: return std::fabs(a);
        case Op::Square: return a * a;
        case Op::Reciprocal: return T{1} / a;
        case Op::Sqrt: return std::sqrt(a);
        case Op::Floor: return std::floor(a);
        case Op::Ceil: return std::ceil(a);
        case Op::Trunc: return std::trunc(a);
        case Op::Rint: return std::nearbyint(a);
        default: return std::nullopt;
    }
}

template <class T>
std::optional<T> float_binary(Op op, T a, T b) {
    switch (op) {
        case Op::Add: return a + b;
        case Op::Subtract: return a - b;
        case Op::Multiply: return a * b;
        case Op::Divide: return a / b;
        case Op::Copysign: return std::copysign(a, b);
        // Which zero wins depends on the host's loop.
        case Op::Maximum:
            return a == b && std::signbit(a) != std::signbit(b) ? std::nullopt
                                                                : std::optional(std::max(a, b));
        case Op::Minimum:
            return a == b && std::signbit(a) != std::signbit(b) ? std::nullopt
                                                                : std::optional(std::min(a, b));
        default: return std::nullopt;
    }
}

template <class T>
std::optional<bool> float_predicate(Op op, T a) {
    switch (op) {
        case Op::IsNan: return std::isnan(a);
        case Op::IsInf: return std::isinf(a);
        case Op::IsFinite: return std::isfinite(a);
        case Op::SignBit: return std::signbit(a);
        case Op::LogicalNot: return a == T{0};
        default: return std::nullopt;
    }
}

template <class T>
Bits evaluate_float(const ScalarNode& s) {
    using U = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    // volatile: the compiler knows nothing of flags and must not compute ahead of the scope.
    volatile T x = std::bit_cast<T>(static_cast<U>(s.values[0][0]));
    volatile T y = s.values.size() > 1 ? std::bit_cast<T>(static_cast<U>(s.values[1][0])) : T{0};
    FlagScope flags;
    T a = x, b = y;
    bool binary = s.values.size() > 1;
    if (auto p = binary ? compare(s.op, a, b) : float_predicate(s.op, a)) return boolean(*p);
    if (std::isnan(a) || std::isnan(b)) return std::nullopt;
    auto r = binary ? float_binary(s.op, a, b) : float_unary(s.op, a);
    if (!r) return std::nullopt;
    volatile T result = *r;
    if (!flags.clean() || std::isnan(result)) return std::nullopt;
    return normalize_bits(s.dtype, {static_cast<int64_t>(std::bit_cast<U>(static_cast<T>(result)))});
}

// ---- casts ----

double float_value(DType t, int64_t bits) {
    if (t == DType::F16) return half_to_float(static_cast<uint16_t>(bits));
    if (t == DType::F32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
    return std::bit_cast<double>(bits);
}

Bits from_float(DType to, double v) {
    if (to == DType::Bool) return boolean(v != 0);  // NaN is true
    if (std::isnan(v)) return std::nullopt;
    if (is_integer(to)) {
        int bits = 8 * info(to).size;
        double t = std::trunc(v), low = is_signed(to) ? -std::ldexp(1.0, bits - 1) : 0;
        if (!(t >= low && t < std::ldexp(1.0, is_signed(to) ? bits - 1 : bits))) return std::nullopt;
        return normalize_bits(to, {to == DType::U64 ? static_cast<int64_t>(static_cast<uint64_t>(t))
                                                    : static_cast<int64_t>(t)});
    }
    volatile double x = v;
    FlagScope flags;
    if (to == DType::F64) return std::vector<int64_t>{std::bit_cast<int64_t>(v)};
    if (to == DType::F32) {
        volatile float f = static_cast<float>(x);
        if (!flags.clean()) return std::nullopt;
        return std::vector<int64_t>{std::bit_cast<uint32_t>(static_cast<float>(f))};
    }
    bool exact = false;
    uint16_t h = to_half(v, &exact);
    bool ordinary = std::fabs(v) >= 0x1p-14 && std::fabs(v) < 65520.0;  // inexact at worst
    if (to != DType::F16 || (!exact && !ordinary)) return std::nullopt;
    return std::vector<int64_t>{h};
}

Bits evaluate_cast(const ScalarNode& s) {
    DType from = s.types[0], to = s.dtype;
    int64_t v = s.values[0][0];
    if (is_complex(from) || is_complex(to) || from == DType::BF16 || to == DType::BF16) return std::nullopt;
    if (is_float(from)) return from_float(to, float_value(from, v));
    if (from == DType::Bool && v != 0 && v != 1) return std::nullopt;
    if (to == DType::Bool) return boolean(v != 0);
    if (is_integer(to)) return normalize_bits(to, {v});
    Wide w = widen(from, v);
    // Rounds once, from the integer itself: through f64 an i64 would round twice on its way to f32.
    if (to == DType::F64) return std::vector<int64_t>{std::bit_cast<int64_t>(static_cast<double>(w))};
    if (to == DType::F32) return std::vector<int64_t>{std::bit_cast<uint32_t>(static_cast<float>(w))};
    bool exact_in_double = w <= (Wide{1} << 53) && w >= -(Wide{1} << 53);
    return exact_in_double ? from_float(to, static_cast<double>(w)) : std::nullopt;
}

}  // namespace

Bits evaluate(const ScalarNode& s) {
    DType t = s.types[0];
    if (s.op == Op::Cast) return evaluate_cast(s);
    if (s.op == Op::Where) return std::nullopt;
    if (t == DType::Bool) return evaluate_bool(s);
    if (is_integer(t)) return evaluate_integer(s);
    if (!is_native(s.op, t)) return std::nullopt;
    if (t == DType::F32) return evaluate_float<float>(s);
    if (t == DType::F64) return evaluate_float<double>(s);
    return std::nullopt;
}

}  // namespace stator::graph
