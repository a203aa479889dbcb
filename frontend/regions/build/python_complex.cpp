// Python's complex numbers: their operators by the formulas of CPython's complexobject.c, of which every step
// is a double of its own.
//
// Infinite parts and those that are no numbers are Python's: versions differ in what becomes of them, and
// some raise. From 3.14 on a float is no complex number with a zero part, powers aside.

#include <optional>

#include "frontend/cpython/builtins.h"
#include "frontend/regions/build/builder.h"

namespace stator::frontend::regions {

using graph::Op;

// complex(re, im), and abs() of what it makes or of NumPy's doubles, which ask the C library's hypot, too.
Did Builder::call_complex(PyObject* callable, const std::vector<Value>& args, Value* out) {
    static PyObject* const abs = builtin("abs");
    const bool doubles = args.size() == 1 && args[0].is_complex_number() && args[0].dtype == DType::C128;
    if (callable == abs && doubles) {
        if (!c_function("complex hypot", {args[0].items[0].id, args[0].items[1].id}, out)) return false;
        if (args[0].kind == Kind::ComplexScalar) *out = number(Kind::Scalar, DType::F64, out->id);
        return true;
    }
    if (callable != reinterpret_cast<PyObject*>(&PyComplex_Type) || args.empty() || args.size() > 2)
        return Did::Declined;
    ValueId parts[2] = {-1, const_float(0)};
    for (size_t k = 0; k < args.size(); ++k)
        if (!as_double(args[k], &parts[k])) return unknown("complex() of " + describe(args[k]));
    *out = composed(Kind::Complex, {float_value(parts[0]), float_value(parts[1])});
    out->dtype = DType::C128;
    return true;
}

// Whether two numbers, one of them complex, are equal: both parts are, of ints as doubles. A number of
// NumPy's other than a double decides what the other one is converted to.
Did Builder::complex_equal(int py_op, const Value& a, const Value& b, Value* out) {
    const auto parts = [&](const Value& v) -> std::optional<Parts> {
        if (v.is_complex_number() && v.dtype == DType::C128) return Parts{v.items[0].id, v.items[1].id};
        if (v.kind == Kind::Float || (v.kind == Kind::Scalar && v.dtype == DType::F64))
            return Parts{v.id, const_float(0)};
        if (v.kind == Kind::Int) return Parts{int_to_float(v.id), const_float(0)};
        return std::nullopt;
    };
    const auto x = parts(a), y = parts(b);
    if (!x || !y) return Did::Declined;
    const auto same = [&](ValueId p, ValueId q) {
        return pointwise(Op::Equal, DType::F64, DType::Bool, {p, q});
    };
    ValueId equal =
        pointwise(Op::LogicalAnd, DType::Bool, DType::Bool, {same(x->re, y->re), same(x->im, y->im)});
    if (py_op == Py_NE) equal = pointwise(Op::LogicalNot, DType::Bool, DType::Bool, {equal});
    const auto is_numpys = [](const Value& v) {
        return v.kind == Kind::Scalar || v.kind == Kind::ComplexScalar;
    };
    // complex.__eq__ takes an np.float64 for the float that it is.
    const bool pythons = a.kind == Kind::Complex && b.kind == Kind::Scalar;
    *out = (is_numpys(a) || is_numpys(b)) && !pythons ? scalar_value(DType::Bool, equal) : bool_value(equal);
    return true;
}

ValueId Builder::f64(Op op, ValueId x, ValueId y) { return pointwise(op, DType::F64, DType::F64, {x, y}); }

Builder::Parts Builder::complex_product(const Parts& x, const Parts& y) {
    return scalar_product(DType::F64, x, y);
}

// R. L. Smith's algorithm, as _Py_c_quot has it: the larger part of y is divided by. Leaves where that is 0.
std::optional<Builder::Parts> Builder::complex_quotient(const Parts& x, const Parts& y) {
    const auto size = [&](ValueId v) { return pointwise(Op::Absolute, DType::F64, DType::F64, {v}); };
    const ValueId first = pointwise(Op::GreaterEqual, DType::F64, DType::Bool, {size(y.re), size(y.im)});
    const auto pick = [&](ValueId a, ValueId b) {
        return pointwise(Op::Where, DType::F64, DType::F64, {first, a, b});
    };
    const ValueId larger = pick(y.re, y.im), smaller = pick(y.im, y.re);
    if (!guard(pointwise(Op::NotEqual, DType::F64, DType::Bool, {larger, const_float(0)})))
        return std::nullopt;
    const ValueId ratio = f64(Op::Divide, smaller, larger);
    const ValueId by = f64(Op::Add, larger, f64(Op::Multiply, smaller, ratio));
    const ValueId u = pick(x.re, x.im), v = pick(x.im, x.re), turned = f64(Op::Multiply, u, ratio);
    return Parts{f64(Op::Divide, f64(Op::Add, u, f64(Op::Multiply, v, ratio)), by),
                 f64(Op::Divide, pick(f64(Op::Subtract, v, turned), f64(Op::Subtract, turned, v)), by)};
}

// By squaring, as c_powi.
std::optional<Builder::Parts> Builder::complex_power(const Parts& x, int64_t n) {
    const Parts one{const_float(1), const_float(0)};
    Parts r = one, square = x;
    const int64_t size = n < 0 ? -n : n;
    for (int64_t bit = 1; bit <= size; bit <<= 1) {
        if (size & bit) r = complex_product(r, square);
        square = complex_product(square, square);
    }
    return n > 0 ? std::optional(r) : complex_quotient(one, r);
}

// Of complex numbers with each other and with floats; powers by a known small number.
bool Builder::binary_python_complex(int nb, const Value& a, const Value& b, Value* out) {
    enum Nb { Add = 0, Multiply = 5, Power = 8, Subtract = 10, TrueDivide = 11 };
    constexpr bool kMixed = PY_MINOR_VERSION >= 14;
    constexpr int64_t kMostSquared = 100;  // INT_EXP_CUTOFF: further ones are by logarithms
    const auto refused = [&] { return unknown("this operator on " + describe(a)); };
    const auto parts = [&](const Value& v) -> std::optional<Parts> {
        if (v.kind == Kind::Complex) return Parts{v.items[0].id, v.items[1].id};
        Parts p{-1, const_float(0)};
        const bool fits = !kMixed && (v.kind == Kind::Float || v.kind == Kind::Int) && as_double(v, &p.re);
        return fits ? std::optional(p) : std::nullopt;
    };
    const std::optional<Parts> x = parts(a), y = parts(b);
    std::optional<Parts> r;
    if (nb == Power) {
        const auto n = b.kind == Kind::Int ? known_int(b.id) : std::nullopt;
        if (a.kind != Kind::Complex || !n || *n > kMostSquared || *n < -kMostSquared) return refused();
        r = complex_power(*x, *n);
    } else if (!x || !y) {
        return refused();
    } else if (nb == Multiply) {
        r = complex_product(*x, *y);
    } else if (nb == TrueDivide) {
        r = complex_quotient(*x, *y);
    } else if (nb == Add || nb == Subtract) {
        const Op op = nb == Add ? Op::Add : Op::Subtract;
        r = Parts{f64(op, x->re, y->re), f64(op, x->im, y->im)};
    } else {
        return refused();
    }
    if (!r) return false;
    *out = composed(Kind::Complex, {float_value(r->re), float_value(r->im)});
    out->dtype = DType::C128;
    return finite(r->re, DType::F64) && finite(r->im, DType::F64);
}

}  // namespace stator::frontend::regions
