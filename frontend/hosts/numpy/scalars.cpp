// Arithmetic of Python's and NumPy's scalars, truth values, and the functions of builtins and math on them.
//
// Python ints stay symbolic and exact: relations between them are decided and guarded, sums and products are
// symbolic expressions. Python floats are f64 nodes; where Python raises (division by zero, math domain), a
// guard before the node leaves the trace. NumPy floats follow the array loops, whose bits the scalar
// operators share for + - * / and comparisons; other NumPy scalar operators are left to NumPy.
#include <bit>
#include <cmath>

#include "frontend/cpython/operators.h"
#include "frontend/hosts/numpy/lower.h"

#include <numpy/arrayscalars.h>

namespace stator::frontend::numpy {

namespace {

constexpr int64_t kExactDouble = int64_t{1} << 53;

// An int result: its hint must be what Python computed.
ShadowRef int_result(TraceBuilder& tb, Sym s, PyObject* result) {
    if (!PyLong_CheckExact(result)) return tb.fail(Reason::ModelMismatch, "an int operator");
    int overflow = 0;
    int64_t v = PyLong_AsLongLongAndOverflow(result, &overflow);
    if (overflow || tb.hint(s) != v) return tb.fail(Reason::UnknownOp, "ints beyond 64 bits");
    return tb.new_int(s);
}

bool within_double(TraceBuilder& tb, Sym s) {
    return tb.require(Relation::Lt, s, tb.int_const(kExactDouble)) &&
           tb.require(Relation::Ge, s, tb.int_const(-kExactDouble));
}

ShadowRef fixed_result(TraceBuilder& tb, const Operand& a, const Operand& b, PyObject* result) {
    if (!require_fixed(tb, a) || !require_fixed(tb, b)) return nullptr;
    return tb.constant(result);
}

ShadowRef int_power(TraceBuilder& tb, Sym base, const Operand& a, const Operand& b, PyObject* result) {
    const Sym exponent = b.shadow->sym;
    int overflow = 0;
    if (PyLong_CheckExact(result)) PyLong_AsLongLongAndOverflow(result, &overflow);
    if (!PyLong_CheckExact(result) || overflow) return fixed_result(tb, a, b, result);
    if (const auto fixed = tb.syms().as_const(exponent); fixed && *fixed <= 8) {
        Sym s = tb.int_const(1);
        for (int64_t i = 0; i < *fixed; i++) s = tb.syms().mul(s, base);
        return int_result(tb, s, result);
    }
    if (!tb.require(Relation::Ge, exponent, tb.int_const(0)))
        return tb.fail(Reason::ModelMismatch, "a power of ints");
    return int_result(tb, tb.syms().pow(base, exponent), result);
}

ShadowRef int_shift(TraceBuilder& tb, bool left, Sym x, const Operand& b, PyObject* result) {
    const Sym count = b.shadow->sym;
    if (!tb.require(Relation::Ge, count, tb.int_const(0))) return tb.fail(Reason::Exception);
    if (!tb.require(Relation::Lt, count, tb.int_const(63)))
        return tb.fail(Reason::UnknownOp, "a shift by that much");
    const Sym scale = tb.syms().pow(tb.int_const(2), count);
    return int_result(tb, left ? tb.syms().mul(x, scale) : tb.syms().floordiv(x, scale), result);
}

// `n & 255` is n modulo 256, of negative numbers, too: Python's ints have as many leading ones as are asked
// for.
ShadowRef int_and(TraceBuilder& tb, const Operand& a, const Operand& b, PyObject* result) {
    for (const auto& [mask, n] : {std::pair(&b, &a), std::pair(&a, &b)}) {
        const auto fixed = tb.syms().as_const(mask->shadow->sym);
        const bool is_mask = fixed && *fixed > 0 && *fixed < INT64_MAX && (*fixed & (*fixed + 1)) == 0;
        if (is_mask) return int_result(tb, tb.syms().mod(n->shadow->sym, tb.int_const(*fixed + 1)), result);
    }
    return fixed_result(tb, a, b, result);
}

ShadowRef lower_int_binary(TraceBuilder& tb, int op, const Operand& a, const Operand& b, PyObject* result) {
    Sym x = a.shadow->sym, y = b.shadow->sym;
    graph::SymTable& t = tb.syms();
    switch (op) {
        case nb::Add: return int_result(tb, t.add(x, y), result);
        case nb::Subtract: return int_result(tb, t.sub(x, y), result);
        case nb::Multiply: return int_result(tb, t.mul(x, y), result);
        case nb::FloorDivide:
        case nb::Remainder:
            if (!tb.require(Relation::Ne, y, tb.int_const(0))) return tb.fail(Reason::Exception);
            return int_result(tb, op == nb::FloorDivide ? t.floordiv(x, y) : t.mod(x, y), result);
        case nb::TrueDivide: {
            // Python divides exactly and rounds once; so does the division of two exact doubles.
            if (!tb.require(Relation::Ne, y, tb.int_const(0)) || !within_double(tb, x) ||
                !within_double(tb, y))
                return tb.fail(Reason::UnknownOp, "a quotient of large ints");
            Id in[] = {tb.sym_scalar(x, DType::F64), tb.sym_scalar(y, DType::F64)};
            return in[0] == kNone || in[1] == kNone
                       ? nullptr
                       : finish(tb, tb.pointwise(Op::Divide, in, DType::F64), result);
        }
        case nb::Power: return int_power(tb, x, a, b, result);
        case nb::Lshift: return int_shift(tb, true, x, b, result);
        case nb::Rshift: return int_shift(tb, false, x, b, result);
        case nb::And: return int_and(tb, a, b, result);
        default: return fixed_result(tb, a, b, result);
    }
}

bool guard_compare(TraceBuilder& tb, Op op, Id a, Id b) {
    Id in[] = {a, b};
    Id cond = tb.pointwise(op, in, DType::Bool);
    return cond != kNone && guard_scalar(tb, cond, true);
}

bool guard_finite(TraceBuilder& tb, Id v) {
    Id in[] = {v};
    Id cond = tb.pointwise(Op::IsFinite, in, DType::Bool);
    return cond != kNone && guard_scalar(tb, cond, true);
}

Id double_const(TraceBuilder& tb, double v) {
    return tb.scalar_const(DType::F64, std::bit_cast<uint64_t>(v));
}

ShadowRef lower_float_binary(TraceBuilder& tb, int op, Id x, Id y, PyObject* base, PyObject* result) {
    Id in[] = {x, y};
    switch (op) {
        case nb::Add: return finish(tb, tb.pointwise(Op::Add, in, DType::F64), result);
        case nb::Subtract: return finish(tb, tb.pointwise(Op::Subtract, in, DType::F64), result);
        case nb::Multiply: return finish(tb, tb.pointwise(Op::Multiply, in, DType::F64), result);
        default: break;
    }
    if (!PyFloat_CheckExact(result)) return tb.fail(Reason::UnknownOp, "a complex power");
    if (op == nb::Power) {
        if (!(PyFloat_AsDouble(base) > 0) || !std::isfinite(PyFloat_AS_DOUBLE(result)))
            return tb.fail(Reason::UnknownOp, "a power of a negative number");
        // Inside these bounds float.__pow__ is the C library's pow; outside it may raise or return a complex.
        if (!guard_compare(tb, Op::Greater, x, double_const(tb, 0))) return nullptr;
        Id v = tb.host_loop("py.pow", in, DType::F64);
        return v != kNone && guard_finite(tb, v) ? finish(tb, v, result) : nullptr;
    }
    if (!guard_compare(tb, Op::NotEqual, y, double_const(tb, 0))) return nullptr;
    switch (op) {
        case nb::TrueDivide: return finish(tb, tb.pointwise(Op::Divide, in, DType::F64), result);
        case nb::FloorDivide: return finish(tb, tb.host_loop("py.floor_divide", in, DType::F64), result);
        case nb::Remainder: return finish(tb, tb.host_loop("py.remainder", in, DType::F64), result);
        default: return tb.fail(Reason::UnknownOp, "this operator on floats");
    }
}

bool is_python(const Operand& o) {
    return o.shadow->kind == ShadowKind::Int || o.shadow->box != Box::NpScalar;
}
bool is_number(const Operand& o) {
    return o.shadow->kind == ShadowKind::Int || o.shadow->kind == ShadowKind::Scalar;
}
bool is_python_float(const Operand& o) {
    return o.shadow->kind == ShadowKind::Int ||
           (o.shadow->kind == ShadowKind::Scalar && o.shadow->box == Box::PyFloat);
}

// Operators of NumPy's scalar types that compute as the ufunc's loop does on one element.
bool scalar_operator_is_loop(int op, const LoopTypes& types) {
    bool native_float = types.in[0] == DType::F64 || types.in[0] == DType::F32;
    if (op == nb::Add || op == nb::Subtract || op == nb::Multiply || op == nb::TrueDivide)
        return native_float;
    return types.in[0] == DType::Bool && (op == nb::And || op == nb::Or || op == nb::Xor);
}

constexpr const char* kUfuncs[] = {"add",      "bitwise_and", "floor_divide", "left_shift", "matmul",
                                   "multiply", "remainder",   "bitwise_or",   "power",      "right_shift",
                                   "subtract", "divide",      "bitwise_xor"};

ShadowRef lower_numpy_binary(TraceBuilder& tb, int op, const Operand& a, const Operand& b, PyObject* result) {
    Arg args[2];
    if (!read_arg(tb, a, &args[0]) || !read_arg(tb, b, &args[1])) return nullptr;
    const Ufunc* u = find_ufunc(kUfuncs[op]);
    LoopTypes types;
    if (op != nb::Matmul && PyArray_CheckScalar(result) &&
        resolve_loop(tb, *u, args, std::nullopt, {}, &types) && scalar_operator_is_loop(op, types))
        return finish(tb, emit_ufunc(tb, *u, args, types), result);
    return library_of(tb, operator_function(op), {a, b}, result);
}

}  // namespace

bool guard_scalar(TraceBuilder& tb, Id cond, bool expected) {
    if (!tb.snapshot_hook || !*tb.snapshot_hook)
        return tb.fail(Reason::UnknownOp, "a check on a scalar"), false;
    int32_t snapshot = (*tb.snapshot_hook)();
    if (snapshot < 0) return tb.fail(Reason::UnknownOp, "a check whose state cannot be rebuilt"), false;
    graph::Node n;
    n.op = Op::Guard;
    n.dtype = DType::Bool;
    n.in = {cond};
    n.ints = {expected ? 1 : 0, snapshot};
    return tb.append(std::move(n)) != kNone;
}

ShadowRef lower_scalar_binary(TraceBuilder& tb, int op, const Operand& a, const Operand& b,
                              PyObject* result) {
    if (!tb.resolve(a.shadow, a.obj) || !tb.resolve(b.shadow, b.obj)) return nullptr;
    if (!is_number(a) || !is_number(b)) return tb.fail(Reason::UnknownOp, "an operator on these types");
    if (a.shadow->kind == ShadowKind::Int && b.shadow->kind == ShadowKind::Int)
        return lower_int_binary(tb, op, a, b, result);
    if (is_python_float(a) && is_python_float(b)) {
        Id x = tb.value(a.shadow), y = tb.value(b.shadow);
        x = x == kNone ? kNone : tb.cast(x, DType::F64);
        y = y == kNone ? kNone : tb.cast(y, DType::F64);
        return x == kNone || y == kNone ? nullptr : lower_float_binary(tb, op, x, y, a.obj, result);
    }
    if (is_python(a) && is_python(b)) return library_of(tb, operator_function(op), {a, b}, result);
    return lower_numpy_binary(tb, op, a, b, result);
}

namespace {

// Decides and guards a relation between ints; the answer is then a constant of the trace.
ShadowRef compare_ints(TraceBuilder& tb, int py_op, Sym x, Sym y, PyObject* result) {
    bool r = false;
    switch (py_op) {
        case Py_LT: r = tb.decide(Relation::Lt, x, y); break;
        case Py_GE: r = tb.decide(Relation::Ge, x, y); break;
        case Py_GT: r = tb.decide(Relation::Lt, y, x); break;
        case Py_LE: r = tb.decide(Relation::Ge, y, x); break;
        case Py_EQ: r = tb.decide(Relation::Eq, x, y); break;
        case Py_NE: r = tb.decide(Relation::Ne, x, y); break;
        default: break;
    }
    if ((result == Py_True) != r) return tb.fail(Reason::ModelMismatch, "a comparison of ints");
    return tb.constant(result);
}

constexpr Op kCompareOps[] = {Op::Less,     Op::LessEqual, Op::Equal,
                              Op::NotEqual, Op::Greater,   Op::GreaterEqual};
constexpr const char* kCompareUfuncs[] = {"less",      "less_equal", "equal",
                                          "not_equal", "greater",    "greater_equal"};

}  // namespace

ShadowRef lower_scalar_compare(TraceBuilder& tb, int py_op, const Operand& a, const Operand& b,
                               PyObject* result) {
    if (!tb.resolve(a.shadow, a.obj) || !tb.resolve(b.shadow, b.obj)) return nullptr;
    if (!is_number(a) || !is_number(b)) return tb.fail(Reason::UnknownOp, "a comparison of these types");
    bool int_a = a.shadow->kind == ShadowKind::Int, int_b = b.shadow->kind == ShadowKind::Int;
    if (int_a && int_b) return compare_ints(tb, py_op, a.shadow->sym, b.shadow->sym, result);
    if (is_python_float(a) && is_python_float(b)) {
        // Python compares int and float exactly, which for ints that are doubles is what the hardware does.
        if ((int_a && !within_double(tb, a.shadow->sym)) || (int_b && !within_double(tb, b.shadow->sym)))
            return tb.fail(Reason::UnknownOp, "a comparison of a float with a large int");
        Id in[] = {tb.value(a.shadow), tb.value(b.shadow)};
        for (Id& v : in)
            if (v == kNone || (v = tb.cast(v, DType::F64)) == kNone) return nullptr;
        return finish(tb, tb.pointwise(kCompareOps[py_op], in, DType::Bool), result);
    }
    if (is_python(a) && is_python(b)) return tb.fail(Reason::UnknownOp, "a comparison of these types");
    Arg args[2];
    if (!read_arg(tb, a, &args[0]) || !read_arg(tb, b, &args[1])) return nullptr;
    const Ufunc* u = find_ufunc(kCompareUfuncs[py_op]);
    LoopTypes types;
    if (!resolve_loop(tb, *u, args, std::nullopt, {}, &types)) return nullptr;
    return finish(tb, emit_ufunc(tb, *u, args, types), result);
}

ShadowRef lower_scalar_unary(TraceBuilder& tb, Host::Unary op, const Operand& a, PyObject* result) {
    if (!tb.resolve(a.shadow, a.obj)) return nullptr;
    if (!is_number(a)) return tb.fail(Reason::UnknownOp, "an operator on this type");
    using U = Host::Unary;
    if (a.shadow->kind == ShadowKind::Int) {
        Sym x = a.shadow->sym;
        switch (op) {
            case U::Negative: return int_result(tb, tb.syms().neg(x), result);
            case U::Positive: return a.shadow;
            case U::Invert: return int_result(tb, tb.syms().sub(tb.int_const(-1), x), result);
            case U::Absolute:
                return int_result(tb, tb.decide(Relation::Ge, x, tb.int_const(0)) ? x : tb.syms().neg(x),
                                  result);
        }
    }
    Id v = tb.value(a.shadow);
    if (v == kNone) return nullptr;
    DType t = tb.node(v).dtype;
    bool real = t == DType::F64 || t == DType::F32;
    if (result == a.obj) return a.shadow;
    Id in[] = {v};
    if (real && op == U::Negative) return finish(tb, tb.pointwise(Op::Negative, in, t), result);
    if (real && op == U::Absolute) return finish(tb, tb.pointwise(Op::Absolute, in, t), result);
    if (real && op == U::Positive) return finish(tb, tb.pointwise(Op::Copy, in, t), result);
    if (t == DType::Bool && op == U::Invert && a.shadow->box == Box::NpScalar)
        return finish(tb, tb.pointwise(Op::LogicalNot, in, t), result);
    static constexpr const char* kNames[] = {"neg", "pos", "invert", "abs"};
    PyRef module = module_named("operator");
    PyRef f =
        PyRef::steal(module ? PyObject_GetAttrString(module.get(), kNames[static_cast<int>(op)]) : nullptr);
    if (!f) return PyErr_Clear(), tb.fail(Reason::UnknownOp, "this operator");
    return library_of(tb, f.get(), {a}, result);
}

ShadowRef lower_truth(TraceBuilder& tb, const Operand& a) {
    if (!tb.resolve(a.shadow, a.obj)) return nullptr;
    switch (a.shadow->kind) {
        case ShadowKind::Int:
            return tb.constant(tb.decide(Relation::Ne, a.shadow->sym, tb.int_const(0)) ? Py_True : Py_False);
        case ShadowKind::Scalar: {
            Id v = tb.value(a.shadow);
            if (v == kNone) return nullptr;
            return tb.node(v).dtype == DType::Bool ? a.shadow
                                                   : tb.new_scalar(tb.cast(v, DType::Bool), Box::PyBool);
        }
        case ShadowKind::Array: {
            for (Sym s : tb.shape(a.shadow))
                if (tb.syms().as_const(s) != 1) return tb.fail(Reason::UnknownOp, "the truth of an array");
            Id v = tb.value(a.shadow);
            if (v == kNone) return nullptr;
            if (!tb.node(v).shape.empty()) v = only_element(tb, v);
            // The array stays one: what decides is a number of its own.
            const Id in[] = {v};
            if (v != kNone)
                v = tb.node(v).dtype == DType::Bool ? tb.pointwise(Op::Copy, in, DType::Bool)
                                                    : tb.cast(v, DType::Bool);
            return v == kNone ? nullptr : tb.new_scalar(v, Box::PyBool);
        }
        default: return tb.fail(Reason::UnknownOp, "the truth of this type");
    }
}

namespace {

const Operand* only(const Call& call) {
    return call.args.size() == 1 && !call.kwnames ? &call.args[0] : nullptr;
}

ShadowRef lower_abs(TraceBuilder& tb, const Call& call) {
    const Operand* a = only(call);
    return a ? numpy_host().lower_unary(tb, Host::Unary::Absolute, *a, call.result) : nullptr;
}

// A scalar operand, or a 0-d array, as a graph value.
Id scalar_value(TraceBuilder& tb, const Operand& a) {
    Arg v;
    if (!read_arg(tb, a, &v)) return kNone;
    if (v.weak == Weak::Int) return tb.sym_scalar(v.sym, DType::I64);
    // Conversions of arrays with axes are deprecated: they warn, and will raise.
    return tb.node(v.id).shape.empty() ? v.id : (tb.fail(Reason::UnknownCall, "an array as a scalar"), kNone);
}

bool is_real(DType t) { return !graph::is_complex(t); }

// float(x) and np.float64(x): an exact number in another box.
ShadowRef boxed(TraceBuilder& tb, const Call& call, DType t, Box box) {
    const Operand* a = only(call);
    if (!a || PyUnicode_Check(a->obj)) return tb.fail(Reason::UnknownCall, "a conversion");
    if (call.result == a->obj) return tb.resolve(a->shadow, a->obj) ? a->shadow : nullptr;
    Id v = scalar_value(tb, *a);
    if (v == kNone) return nullptr;
    if (!is_real(tb.node(v).dtype)) return tb.fail(Reason::UnknownCall, "a conversion from complex");
    if (tb.node(v).dtype == DType::I64 && a->shadow->kind == ShadowKind::Int)
        v = tb.sym_scalar(a->shadow->sym, DType::F64);
    if (v == kNone) return nullptr;
    v = tb.cast(v, t);
    Id in[] = {v};
    return tb.new_scalar(tb.pointwise(Op::Copy, in, t), box);
}

ShadowRef lower_float(TraceBuilder& tb, const Call& call) {
    if (!PyFloat_CheckExact(call.result)) return tb.fail(Reason::UnknownCall, "float");
    // float("inf"): as good as a literal.
    const Operand* a = only(call);
    if (a && PyUnicode_CheckExact(a->obj)) {
        const auto bits = std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(call.result));
        if (!require_fixed(tb, *a)) return tb.fail(Reason::UnknownCall, "a conversion");
        return tb.new_scalar(tb.scalar_const(DType::F64, bits), Box::PyFloat);
    }
    return boxed(tb, call, DType::F64, Box::PyFloat);
}

// np.float32(x) of an array, or of what becomes one.
ShadowRef array_converted(TraceBuilder& tb, const Call& call) {
    return only(call) ? lower_as_array(tb, call) : tb.fail(Reason::UnknownCall, "a conversion");
}

template <DType T>
ShadowRef lower_numpy_float(TraceBuilder& tb, const Call& call) {
    DType t;
    if (!dtype_of_object(call.result, &t) || t != T) return tb.fail(Reason::UnknownCall, "a conversion");
    if (is_array(call.result)) return array_converted(tb, call);
    const Operand* a = only(call);
    return a && !PyUnicode_Check(a->obj) ? boxed(tb, call, T, Box::NpScalar) : lower_library(tb, call);
}

// np.int32(n): of a Python int in range a number of the trace, else NumPy's own.
template <DType T>
ShadowRef lower_numpy_int(TraceBuilder& tb, const Call& call) {
    const Operand* a = only(call);
    Sym s;
    DType t;
    if (!a || !dtype_of_object(call.result, &t) || t != T)
        return tb.fail(Reason::UnknownCall, "a conversion");
    if (is_array(call.result)) return array_converted(tb, call);
    if (!read_int(tb, *a, &s)) return lower_library(tb, call);
    Id v = tb.sym_scalar(s, T);
    return v == kNone ? nullptr : tb.new_scalar(v, Box::NpScalar);
}

ShadowRef lower_bool(TraceBuilder& tb, const Call& call) {
    const Operand* a = only(call);
    const ShadowRef s = a ? lower_truth(tb, *a) : nullptr;
    if (!s || s->kind != ShadowKind::Scalar || s->box == Box::PyBool) return s;
    const Id in[] = {tb.value(s)};
    return tb.new_scalar(tb.pointwise(Op::Copy, in, DType::Bool), Box::PyBool);
}

// int(x) of a number that the trace computes is Python's own call, whose result is a new symbol.
ShadowRef lower_int(TraceBuilder& tb, const Call& call) {
    const Operand* a = only(call);
    Sym s;
    if (a && read_int(tb, *a, &s)) return a->shadow;
    if (!a || !tb.resolve(a->shadow, a->obj)) return nullptr;
    // Of an array with axes it is deprecated, which NumPy says in its own way.
    const bool number = a->shadow->kind == ShadowKind::Scalar ||
                        (a->shadow->kind == ShadowKind::Array && tb.shape(a->shadow).empty());
    return number ? lower_library(tb, call) : tb.fail(Reason::UnknownCall, "int of this");
}

// operator.index(n): the int itself.
ShadowRef lower_index(TraceBuilder& tb, const Call& call) {
    const Operand* a = only(call);
    Sym s;
    return a && read_int(tb, *a, &s) ? a->shadow : tb.fail(Reason::UnknownCall, "index of this");
}

// x.item(): the number itself where it is a float.
ShadowRef lower_item(TraceBuilder& tb, const Call& call) {
    const Operand* a = only(call);
    const bool number = a && tb.resolve(a->shadow, a->obj) && a->shadow->kind == ShadowKind::Scalar;
    if (number && PyFloat_CheckExact(call.result)) return boxed(tb, call, DType::F64, Box::PyFloat);
    if (number && PyBool_Check(call.result)) return lower_bool(tb, call);
    return lower_library(tb, call);
}

PyObject* python_bool(bool value) { return value ? Py_True : Py_False; }
PyObject* numpy_bool(bool value) { return value ? PyArrayScalar_True : PyArrayScalar_False; }

// min(a, b) and max(a, b) of two Python numbers: the later one only if strictly beyond.
template <bool Max>
ShadowRef lower_extremum_of_two(TraceBuilder& tb, const Call& call) {
    if (call.args.size() != 2 || call.kwnames) return tb.fail(Reason::UnknownCall, "min or max of these");
    const Operand &a = call.args[0], &b = call.args[1];
    if (!tb.resolve(a.shadow, a.obj) || !tb.resolve(b.shadow, b.obj) || !is_number(a) || !is_number(b))
        return tb.fail(Reason::UnknownCall, "min or max of these");
    if (a.shadow->kind == ShadowKind::Int && b.shadow->kind == ShadowKind::Int) {
        bool second = Max ? tb.decide(Relation::Lt, a.shadow->sym, b.shadow->sym)
                          : tb.decide(Relation::Lt, b.shadow->sym, a.shadow->sym);
        return second ? b.shadow : a.shadow;
    }
    bool same = a.shadow->kind == b.shadow->kind && a.shadow->box == b.shadow->box &&
                a.shadow->dtype == b.shadow->dtype;
    bool real = a.shadow->dtype == DType::F64 || a.shadow->dtype == DType::F32;
    if (!same || !real) {  // the result's type depends on the comparison: guard how it went
        // Comparing them here would warn once more than Python does.
        constexpr int kBeyond = Max ? Py_GT : Py_LT;
        const bool second = call.result != a.obj;
        if (second && call.result != b.obj) return tb.fail(Reason::UnknownCall, "min or max of these");
        const bool numpys = PyArray_CheckScalar(a.obj) || PyArray_CheckScalar(b.obj);
        ShadowRef cond =
            lower_scalar_compare(tb, kBeyond, b, a, numpys ? numpy_bool(second) : python_bool(second));
        if (!cond) return nullptr;
        if (cond->kind == ShadowKind::Scalar && !guard_scalar(tb, tb.value(cond), second)) return nullptr;
        return second ? b.shadow : a.shadow;
    }
    Id x = tb.value(a.shadow), y = tb.value(b.shadow);
    Id pair[] = {Max ? x : y, Max ? y : x};
    Id second = tb.pointwise(Op::Less, pair, DType::Bool);
    Id in[] = {second, y, x};
    Id v = tb.pointwise(Op::Where, in, a.shadow->dtype);
    return v == kNone ? nullptr : tb.new_scalar(v, a.shadow->box);
}

// Functions of the math module on floats. Where Python raises (domain and range errors), the result is not
// finite, or the operand is negative under a root: guards leave the trace before it shows.
Id math_operand(TraceBuilder& tb, const Operand& a) {
    Id v = scalar_value(tb, a);
    if (v == kNone) return kNone;
    if (!is_real(tb.node(v).dtype) || a.shadow->kind == ShadowKind::Array)
        return tb.fail(Reason::UnknownCall, "math of this"), kNone;
    if (a.shadow->kind == ShadowKind::Int) v = tb.sym_scalar(a.shadow->sym, DType::F64);
    return v == kNone ? kNone : tb.cast(v, DType::F64);
}

ShadowRef lower_math_sqrt(TraceBuilder& tb, const Call& call) {
    const Operand* a = only(call);
    Id v = a ? math_operand(tb, *a) : kNone;
    if (v == kNone) return nullptr;
    Id in[] = {v, double_const(tb, 0)};
    Id negative = tb.pointwise(Op::Less, in, DType::Bool);
    if (negative == kNone || !guard_scalar(tb, negative, false)) return nullptr;
    return finish(tb, tb.pointwise(Op::Sqrt, std::span<const Id>(in, 1), DType::F64), call.result);
}

ShadowRef lower_math_fabs(TraceBuilder& tb, const Call& call) {
    const Operand* a = only(call);
    Id v = a ? math_operand(tb, *a) : kNone;
    Id in[] = {v};
    return v == kNone ? nullptr : finish(tb, tb.pointwise(Op::Absolute, in, DType::F64), call.result);
}

ShadowRef math_function(TraceBuilder& tb, const Call& call, const char* loop) {
    std::vector<Id> in;
    for (const Operand& o : call.args) {
        in.push_back(math_operand(tb, o));
        if (in.back() == kNone) return nullptr;
    }
    std::vector<DType> types(in.size() + 1, DType::F64);
    if (call.kwnames || !find_loop({loop, types}).fn) return tb.fail(Reason::UnknownCall, loop);
    if (!PyFloat_CheckExact(call.result) || !std::isfinite(PyFloat_AS_DOUBLE(call.result)))
        return tb.fail(Reason::UnknownCall, "math of a value that is not finite");
    Id v = tb.host_loop(loop, in, DType::F64);
    return v != kNone && guard_finite(tb, v) ? finish(tb, v, call.result) : nullptr;
}

template <const char* const& Loop>
ShadowRef lower_math(TraceBuilder& tb, const Call& call) {
    return math_function(tb, call, Loop);
}

#define STATOR_MATH(X) \
    X(exp)             \
    X(expm1)           \
    X(sin)             \
    X(cos)             \
    X(tan)             \
    X(asin)            \
    X(acos)            \
    X(atan)            \
    X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(log) X(log2) X(log10) X(cbrt) X(pow) X(fmod) X(atan2)
#define X(name) constexpr const char* kLoop_##name = "py." #name;
STATOR_MATH(X)
#undef X

constexpr CallRow kScalarsRows[] = {{"builtins:abs", lower_abs},
                                    {"builtins:float", lower_float},
                                    {"builtins:bool", lower_bool},
                                    {"builtins:int", lower_int},
                                    {"operator:index", lower_index},
                                    {".item", lower_item},
                                    {"generic.item", lower_item},
                                    {"builtins:min", lower_extremum_of_two<false>},
                                    {"builtins:max", lower_extremum_of_two<true>},
                                    {"float64", lower_numpy_float<DType::F64>},
                                    {"float32", lower_numpy_float<DType::F32>},
                                    {"int8", lower_numpy_int<DType::I8>},
                                    {"int16", lower_numpy_int<DType::I16>},
                                    {"int32", lower_numpy_int<DType::I32>},
                                    {"int64", lower_numpy_int<DType::I64>},
                                    {"uint8", lower_numpy_int<DType::U8>},
                                    {"uint16", lower_numpy_int<DType::U16>},
                                    {"uint32", lower_numpy_int<DType::U32>},
                                    {"uint64", lower_numpy_int<DType::U64>},
                                    {"math:sqrt", lower_math_sqrt},
                                    {"math:fabs", lower_math_fabs},
#define X(name) {"math:" #name, lower_math<kLoop_##name>},
                                    STATOR_MATH(X)
#undef X
};

}  // namespace

void register_scalars() { add_rows(kScalarsRows); }

}  // namespace stator::frontend::numpy
