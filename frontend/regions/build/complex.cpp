// Complex numbers: pairs of floats (Expr::Pair), computed part by part as NumPy's loops do.
//
// NumPy multiplies arrays with one fused operation for each part where the processor has them. Which form
// this process's loops have is found out by asking them (numpy/complex_forms.h); of what they do otherwise
// (division, transcendentals) nothing is known here.

#include <algorithm>
#include <cmath>

#include "frontend/cpython/operators.h"
#include "frontend/hosts/numpy/complex_forms.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/temporaries.h"
#include "frontend/regions/build/builder.h"

namespace stator::frontend::regions {

namespace {

ExprRef fma(const ExprRef& a, const ExprRef& b, const ExprRef& c) {
    auto e = std::make_shared<Expr>();
    e->kind = Expr::Fma;
    e->dtype = a->dtype;
    e->faults = true;
    e->indexes = a->indexes || b->indexes || c->indexes;
    e->in = {a, b, c};
    return e;
}

}  // namespace

ExprRef Builder::pair(DType t, ExprRef re, ExprRef im) {
    auto e = std::make_shared<Expr>();
    e->kind = Expr::Pair;
    e->dtype = t;
    e->faults = re->faults || im->faults;
    e->indexes = re->indexes || im->indexes;
    e->in = {std::move(re), std::move(im)};
    return e;
}

bool Builder::cast_complex(ExprRef* e, DType to) {
    if (!graph::is_complex(to)) return unknown("a complex array where another is wanted");
    ExprRef re = component(*e, 0), im = component(*e, 1);
    if (!cast_expr(&re, part_type(to)) || !cast_expr(&im, part_type(to))) return false;
    *e = pair(to, re, im);
    return true;
}

// A number as an assignment to an element of dtype `to` converts it.
bool Builder::element_expr(const Value& v, DType to, ExprRef* out) {
    ValueId id;
    if (!graph::is_complex(to)) {
        if (!element_of(v, to, &id)) return false;
        *out = number_expr(to, id);
        return true;
    }
    const DType t = part_type(to);
    ExprRef parts[2];
    for (size_t k = 0; k < 2; ++k) {
        if (v.is_complex_number()) {
            if (!element_of(v.items[k], t, &id)) return false;
        } else if (k == 0) {
            if (!element_of(v, t, &id)) return false;
        } else {
            id = cast(const_float(0), DType::F64, t);
        }
        parts[k] = number_expr(t, id);
    }
    *out = pair(to, parts[0], parts[1]);
    return true;
}

bool Builder::promote_complex(const Value& a, const Value& b, DType* out) {
    const auto strong = [](const Value& v) {
        return v.kind == Kind::Scalar || v.kind == Kind::ComplexScalar || v.kind == Kind::Bool ||
               v.is_array();
    };
    DType t = DType::Bool;
    bool any = false;
    for (const Value* v : {&a, &b}) {
        if (!strong(*v)) continue;
        if (any && t != v->dtype) {
            PyArray_Descr* d = PyArray_PromoteTypes(numpy::descr_of(t), numpy::descr_of(v->dtype));
            const bool known = d && numpy::dtype_of_number(d->type_num, &t);
            Py_XDECREF(d);
            PyErr_Clear();
            if (!known) return unknown("operands of " + describe(a) + " and " + describe(b));
        } else {
            t = v->dtype;
        }
        any = true;
    }
    if (!graph::is_complex(t)) t = t == DType::F32 || t == DType::F16 ? DType::C64 : DType::C128;
    *out = t;
    return true;
}

bool Builder::complex_operands(const std::vector<Value>& in, DType t, Operands* out) {
    if (!operands_of(in, out)) return false;
    for (size_t i = 0; i < in.size(); ++i) {
        if (out->in[i] ? !cast_complex(&out->in[i], t) : !element_expr(in[i], t, &out->in[i])) return false;
    }
    return true;
}

bool Builder::binary_complex(int nb, const Value& a, const Value& b, Value* out) {
    using graph::Op;
    DType t;
    std::vector<Value> in{a, b};
    if (nb == nb::Power) {
        if (b.kind != Kind::Int || known_int(b.id) != 2) return unknown("a power of " + describe(a));
        in.pop_back();
        t = a.dtype;
    } else if (!promote_complex(a, b, &t)) {
        return false;
    }
    Operands of;
    if (!complex_operands(in, t, &of)) return false;
    const ExprRef &x = of.in[0], &y = of.in.back();
    const DType p = part_type(t);
    ExprRef re, im;
    const auto part_op = [&](Op op, size_t i, size_t j) { return op_expr(op, p, {x->in[i], y->in[j]}); };
    switch (nb) {
        case nb::Add:
        case nb::Subtract: {
            const Op op = nb == nb::Add ? Op::Add : Op::Subtract;
            re = part_op(op, 0, 0), im = part_op(op, 1, 1);
            break;
        }
        case nb::Power:
        case nb::Multiply: {
            const numpy::ComplexForms& forms = numpy::complex_forms(t);
            const bool backward = std::ranges::any_of(in, [](const Value& v) { return v.backward; });
            if (!forms.fused_product || (backward && !forms.backward_product))
                return unknown("a product of complex arrays");
            const ExprRef minus = op_expr(Op::Negative, p, {part_op(Op::Multiply, 1, 1)});
            re = fma(x->in[0], y->in[0], minus);
            im = fma(x->in[0], y->in[1], part_op(Op::Multiply, 1, 0));
            break;
        }
        default: return unknown("this operator on " + describe(a));
    }
    *out = lazy(of, pair(t, re, im));
    return true;
}

// A loop whose result stands still, as that of one element does when it goes into an array that is there,
// takes NumPy's other form of a product.
bool Builder::several(const Value& dest) {
    ValueId n = const_int(1);
    for (const ValueId e : extents_of(dest))
        n = pointwise(graph::Op::Multiply, DType::I64, DType::I64, {n, e});
    return guard(pointwise(graph::Op::NotEqual, DType::I64, DType::Bool, {n, const_int(1)}));
}

// NumPy computes `a * b` of a large b that is a temporary as `b * a` into b: where that shows, large products
// with what may be one are Python's. What a variable holds, too, is none.
bool Builder::keeps_order(int nb_op, const Value& right) {
    const bool made = right.kind == Kind::Lazy || (right.kind == Kind::Array && right.fresh && !right.part);
    if (nb_op != nb::Multiply || !made || !numpy::exchanges_operands(right.dtype)) return true;
    const auto is_right = [&](const Value& v) {
        return v.kind == right.kind && (v.kind == Kind::Lazy ? v.expr == right.expr : v.id == right.id);
    };
    if (std::ranges::any_of(s_.slots, is_right)) return true;
    ValueId bytes = const_int(graph::info(right.dtype).size);
    for (const ValueId e : extents_of(right))
        bytes = pointwise(graph::Op::Multiply, DType::I64, DType::I64, {bytes, e});
    return guard(
        pointwise(graph::Op::Less, DType::I64, DType::Bool, {bytes, const_int(numpy::kReusedBytes)}));
}

// Whether a square may be computed to where `dest` lies, of what has been there or lies like it.
bool Builder::squares_into(const Value& dest) {
    return !graph::is_complex(dest.dtype) || dest.kind == Kind::Lazy || is_dense(dest) ||
           numpy::complex_forms(dest.dtype).gapped_square || unknown("a square into " + describe(dest));
}

bool Builder::compare_complex(int py_op, const Value& a, const Value& b, Value* out) {
    using graph::Op;
    if (py_op != Py_EQ && py_op != Py_NE) return unknown("an order of complex numbers");
    DType t;
    Operands of;
    if (!promote_complex(a, b, &t) || !complex_operands({a, b}, t, &of)) return false;
    const Op op = py_op == Py_EQ ? Op::Equal : Op::NotEqual;
    const ExprRef re = op_expr(op, DType::Bool, {of.in[0]->in[0], of.in[1]->in[0]}),
                  im = op_expr(op, DType::Bool, {of.in[0]->in[1], of.in[1]->in[1]});
    *out = lazy(of, op_expr(py_op == Py_EQ ? Op::LogicalAnd : Op::LogicalOr, DType::Bool, {re, im}));
    return true;
}

bool Builder::binary_complex_ufunc(const std::string& name, const Value& a, const Value& b, Value* out) {
    if (name == "add") return binary_complex(nb::Add, a, b, out);
    if (name == "subtract") return binary_complex(nb::Subtract, a, b, out);
    if (name == "multiply") return binary_complex(nb::Multiply, a, b, out);
    if (name == "equal" || name == "not_equal")
        return compare_complex(name == "equal" ? Py_EQ : Py_NE, a, b, out);
    return unknown("np." + name + " of " + describe(a) + " and " + describe(b));
}

// As NumPy's vector loops: the larger part times the root of one and the square of their quotient.
ExprRef Builder::modulus(const ExprRef& z) {
    using graph::Op;
    const DType p = part_type(z->dtype);
    const auto op = [&](Op o, std::vector<ExprRef> in) {
        const bool is_test = o == Op::Equal || o == Op::NotEqual || o == Op::LogicalOr;
        const DType t = is_test ? DType::Bool : p;
        return op_expr(o, t, std::move(in));
    };
    const auto constant = [&](double v) { return number_expr(p, cast(const_float(v), DType::F64, p)); };
    const ExprRef inf = constant(HUGE_VAL), nan = constant(std::nan("")), one = constant(1),
                  zero = constant(0);
    ExprRef re = op(Op::Absolute, {z->in[0]}), im = op(Op::Absolute, {z->in[1]});
    const ExprRef re_inf = op(Op::Equal, {re, inf}), im_inf = op(Op::Equal, {im, inf});
    im = op(Op::Where, {re_inf, inf, im});
    re = op(Op::Where, {im_inf, inf, re});
    const ExprRef re_nan = op(Op::NotEqual, {re, re}), im_nan = op(Op::NotEqual, {im, im});
    im = op(Op::Where, {re_nan, nan, im});
    re = op(Op::Where, {im_nan, nan, re});
    const ExprRef larger = op(Op::Maximum, {re, im}), smaller = op(Op::Minimum, {im, re});
    const ExprRef no_quotient =
        op(Op::LogicalOr, {op(Op::Equal, {larger, zero}), op(Op::Equal, {smaller, inf})});
    const ExprRef divisor = op(Op::Where, {no_quotient, one, larger}),
                  dividend = op(Op::Where, {no_quotient, zero, smaller});
    const ExprRef ratio = op(Op::Divide, {dividend, divisor});
    auto result = std::make_shared<Expr>(*op(Op::Multiply, {op(Op::Sqrt, {fma(ratio, ratio, one)}), larger}));
    // NumPy's loop clears the flags that it raised.
    result->faults = z->faults;
    return result;
}

bool Builder::unary_complex(const std::string& name, const Value& a, Value* out) {
    using graph::Op;
    if (name == "square") return binary_complex(nb::Power, a, int_value(const_int(2)), out);
    if (name == "absolute" && (a.backward || !numpy::complex_forms(a.dtype).plain_modulus))
        return unknown("abs() of " + describe(a));
    Operands of;
    if (!a.is_array() || !complex_operands({a}, a.dtype, &of))
        return unknown("np." + name + " of " + describe(a));
    const ExprRef& z = of.in[0];
    const DType p = part_type(a.dtype);
    const ExprRef minus_im = op_expr(Op::Negative, p, {z->in[1]});
    if (name == "absolute")
        *out = lazy(of, modulus(z));
    else if (name == "negative")
        *out = lazy(of, pair(a.dtype, op_expr(Op::Negative, p, {z->in[0]}), minus_im));
    else if (name == "conjugate")
        *out = lazy(of, pair(a.dtype, z->in[0], minus_im));
    else
        return unknown("np." + name + " of " + describe(a));
    return true;
}

// z.real and z.imag: parts of its memory.
bool Builder::complex_part(const Value& a, int which, Value* out) {
    if (!graph::is_complex(a.dtype)) return unknown("a part of " + describe(a));
    if (a.kind == Kind::Lazy) {
        Operands of;
        if (!complex_operands({a}, a.dtype, &of)) return false;
        *out = lazy(of, of.in[0]->in[static_cast<size_t>(which)]);
        out->complex = of.in[0];
        return true;
    }
    *out = part_of(a);
    out->dtype = part_type(a.dtype);
    out->id = part(a.id, which);
    out->walk.clear();
    for (int axis = 0; axis < a.rank; ++axis) extents_.try_emplace({out->id, axis}, extent(a.id, axis));
    return true;
}

// Whether a value is a part of complex numbers that are not in memory yet; then it is put there with them.
bool Builder::is_lazy_part(const Value& v) const {
    return v.complex && !v.mask && (v.expr == v.complex->in[0] || v.expr == v.complex->in[1]);
}

bool Builder::part_in_memory(const Value& v, Value* out) {
    Value whole;
    return scratch_of(v.complex, v.extents, &whole, true) &&
           complex_part(whole, v.expr == v.complex->in[1], out);
}

}  // namespace stator::frontend::regions
