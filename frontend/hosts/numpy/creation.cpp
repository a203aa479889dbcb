// Functions that make arrays out of other arrays and scalars: copy, astype, array.
//
// Result dtype and memory order are read off what NumPy returned; both follow from arguments that are fixed
// by guards.

#include "frontend/hosts/numpy/lower.h"
#include "frontend/once.h"
#include "frontend/policy.h"

namespace stator::frontend::numpy {

namespace {

// dtype and order arguments must stay what they were: results are modelled on the array seen.
bool fixed_if_given(TraceBuilder& tb, std::initializer_list<const Operand*> operands) {
    for (const Operand* o : operands)
        if (const Operand* value = given(tb, o); value && !require_fixed(tb, *value)) return false;
    return true;
}

bool contiguous(PyObject* o) { return PyArray_ISONESEGMENT(reinterpret_cast<PyArrayObject*>(o)); }

// The fill value in the array's dtype, as assignment to the whole array casts it.
Id fill_value(TraceBuilder& tb, const Operand& value, DType t) {
    Arg v;
    if (!read_arg(tb, value, &v)) return kNone;
    if (v.id != kNone && !tb.node(v.id).shape.empty())
        return tb.fail(Reason::UnknownCall, "a fill array"), kNone;
    bool lossy = (graph::is_complex(v.dtype) && !graph::is_complex(t)) ||
                 (graph::is_float(v.dtype) && !graph::is_float(t) && !graph::is_complex(t)) ||
                 (t == DType::Bool && v.dtype != DType::Bool);
    if (lossy) return tb.fail(Reason::UnknownCall, "a fill value of another kind"), kNone;
    return arg_id(tb, v, t);
}

bool drops_imaginary(const Operand& a, PyObject* result) {
    DType t;
    return dtype_of_object(result, &t) && graph::is_complex(a.shadow->dtype) && !graph::is_complex(t) &&
           t != DType::Bool;
}

// A fresh array with the (cast) elements of `a`, in the memory order of the result.
ShadowRef converted(TraceBuilder& tb, const Operand& a, PyObject* result) {
    DType t;
    size_t before = tb.graph.nodes.size();
    if (!dtype_of_object(result, &t)) return tb.fail(Reason::ArrayKind, "dtype of the result");
    if (!contiguous(result)) return tb.fail(Reason::UnknownCall, "a copy with gaps");
    if (drops_imaginary(a, result))
        return tb.fail(Reason::UnknownCall, "a conversion from complex, which warns");
    Id v = tb.value(a.shadow);
    return v == kNone ? nullptr : finish_copy(tb, tb.cast(v, t), before, result);
}

ShadowRef lower_astype(TraceBuilder& tb, const Call& call) {
    const Operand* p[7];
    if (!bind(tb, call, {"x", "dtype", "order", "casting", "subok", "copy", "device"}, p)) return nullptr;
    if (!array_operand(tb, p[0])) return nullptr;
    if (!fixed_if_given(tb, {p[1], p[2], p[3], p[4], p[5], p[6]})) return nullptr;
    if (call.result == p[0]->obj) return p[0]->shadow;  // copy=False and nothing to do
    if (unit_axes_at_entry(tb, p[0]->shadow) && !drops_imaginary(*p[0], call.result))
        return lower_library(tb, call);
    return converted(tb, *p[0], call.result);
}

// np.array([x, y, ...]) of numbers that have the result's dtype already, or are Python ints. nullptr without
// a reason when it is something else.
ShadowRef array_of_numbers(TraceBuilder& tb, const Call& call) {
    const Operand& list = call.args[0];
    std::vector<Operand> items;
    DType t;
    bool plain = call.args.size() == 1 && is_array(call.result) && dtype_of_object(call.result, &t) &&
                 (PyList_CheckExact(list.obj) || PyTuple_CheckExact(list.obj)) &&
                 read_items(tb, list, &items) && !items.empty() && items.size() <= policy().listed_numbers;
    if (!plain) return nullptr;
    std::vector<Id> values;
    for (const Operand& o : items) {
        Arg v;
        if (!tb.resolve(o.shadow, o.obj) || is_array(o.obj) || !read_arg(tb, o, &v)) return nullptr;
        bool from_int = v.weak == Weak::Int && (t == DType::F64 || t == DType::I64);
        if (!from_int && (v.weak == Weak::Int || v.dtype != t)) return nullptr;
        values.push_back(arg_id(tb, v, t));
        if (values.back() == kNone) return nullptr;
    }
    auto* r = reinterpret_cast<PyArrayObject*>(call.result);
    if (PyArray_NDIM(r) != 1) return nullptr;
    ShadowRef out = finish(tb, tb.empty(t, {tb.int_const(PyArray_DIM(r, 0))}, call.result), call.result);
    for (size_t i = 0; out && i < values.size(); ++i) {
        ViewStep at;
        at.map = {-1};
        at.step = {0};
        at.start = {tb.int_const(static_cast<int64_t>(i))};
        if (!tb.store(out, &at, values[i])) return nullptr;
    }
    return out;
}

}  // namespace

// np.array, np.asarray, np.ascontiguousarray and their like.
ShadowRef lower_as_array(TraceBuilder& tb, const Call& call) {
    if (call.args.empty()) return nullptr;
    const Operand& a = call.args[0];
    for (const Operand& o : call.args.subspan(1))
        if (!fixed_if_given(tb, {&o})) return nullptr;
    if (host_only(a)) return lower_library(tb, call);
    if (!is_array(a.obj)) {
        size_t before = tb.graph.nodes.size();
        if (ShadowRef out = array_of_numbers(tb, call)) return out;
        tb.rollback(before);
        tb.reason = Reason::None;
        return lower_library(tb, call);
    }
    if (!array_operand(tb, &a)) return nullptr;
    if (call.result == a.obj) return a.shadow;
    if (!is_array(call.result) || PyArray_BASE(reinterpret_cast<PyArrayObject*>(call.result)))
        return tb.fail(Reason::UnknownCall, "this conversion");
    // Whether an argument is copied may depend on its density.
    DType t;
    bool converts = dtype_of_object(call.result, &t) && t != a.shadow->dtype;
    PyObject* always_copies = once([] {
        PyRef np = module_named("numpy");
        return np ? PyObject_GetAttrString(np.get(), "array") : nullptr;
    });
    if (!converts && call.callable != always_copies && !known_density(tb, a.shadow))
        return tb.fail(Reason::UnknownCall, "a conversion of this layout");
    if (unit_axes_at_entry(tb, a.shadow) && !drops_imaginary(a, call.result)) return lower_library(tb, call);
    auto* r = reinterpret_cast<PyArrayObject*>(call.result);
    if (PyArray_NDIM(r) != PyArray_NDIM(reinterpret_cast<PyArrayObject*>(a.obj)))
        return tb.fail(Reason::UnknownCall, "ndmin=");
    return converted(tb, a, call.result);
}

namespace {

// a.fill(v) and np.copyto(dst, src).
ShadowRef lower_fill(TraceBuilder& tb, const Call& call) {
    if (call.args.size() != 2 || call.kwnames || !array_operand(tb, &call.args[0])) return nullptr;
    Id v = fill_value(tb, call.args[1], call.args[0].shadow->dtype);
    if (v == kNone || !store_value(tb, call.args[0].shadow, nullptr, arg_of(tb, v))) return nullptr;
    return tb.constant(call.result);
}

ShadowRef lower_copyto(TraceBuilder& tb, const Call& call) {
    const Operand* p[4];
    if (!bind(tb, call, {"dst", "src", "casting", "where"}, p) || !array_operand(tb, p[0]) || !p[1] ||
        !fixed_if_given(tb, {p[2]}))
        return nullptr;
    if (p[3] && (p[3]->obj != Py_True || !require_fixed(tb, *p[3]))) return lower_change(tb, call);
    Arg v;
    if (!read_arg(tb, *p[1], &v)) return nullptr;
    DType t = p[0]->shadow->dtype;
    if (graph::is_complex(v.dtype) && !graph::is_complex(t))
        return tb.fail(Reason::UnknownCall, "complex into real");
    return store_value(tb, p[0]->shadow, nullptr, v) ? tb.constant(call.result) : nullptr;
}

constexpr CallRow kCreationRows[] = {
    {"astype", lower_astype, true},        {"array", lower_as_array},
    {"asarray", lower_as_array},           {"asanyarray", lower_as_array},
    {"ascontiguousarray", lower_as_array}, {".fill", lower_fill, false, true},
    {"copyto", lower_copyto, false, true},
};

}  // namespace

void register_creation() { add_rows(kCreationRows); }

}  // namespace stator::frontend::numpy
