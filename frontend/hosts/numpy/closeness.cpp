// np.isclose, and np.allclose and np.array_equal down to one bool. Each follows NumPy's own steps.
#include <bit>
#include <cmath>
#include <numeric>

#include "frontend/hosts/numpy/lower.h"
#include "kernels/schedule/reduction_order.h"

namespace stator::frontend::numpy {

namespace {

// Whether all elements hold, as the call's bool; nullptr (without a reason) when NumPy has to do it.
ShadowRef all_of(TraceBuilder& tb, Id holds, PyObject* result) {
    if (holds == kNone || tb.node(holds).shape.empty()) return nullptr;
    std::vector<int> axes(tb.node(holds).shape.size());
    std::iota(axes.begin(), axes.end(), 0);
    for (Sym s : tb.node(holds).shape)
        if (tb.hint(s) == 0) return nullptr;
    const Id all = tb.reduce("logical_and", holds, axes, DType::Bool);
    return kernels::can_reduce(tb.graph, all, true) ? finish(tb, all, result) : nullptr;
}

// A float64, as an array or a number. Python's numbers are not weak against another one.
bool read_double(TraceBuilder& tb, const Operand* o, Arg* out) {
    if (!o || !read_arg(tb, *o, out)) return false;
    if (!is_array(o->obj) && (PyFloat_CheckExact(o->obj) || PyLong_CheckExact(o->obj))) {
        const Id v = arg_id(tb, *out, DType::F64);
        if (v == kNone) return false;
        *out = arg_of(tb, v);
        out->array = false;
    }
    return out->dtype == DType::F64;
}

// A tolerance that guards fix: NumPy warns of those that are not finite.
bool read_tolerance(TraceBuilder& tb, const Operand* o, double otherwise, Arg* out) {
    double value = otherwise;
    if (o) {
        if ((!PyFloat_CheckExact(o->obj) && !PyLong_CheckExact(o->obj)) || !require_fixed(tb, *o))
            return false;
        value = PyFloat_AsDouble(o->obj);
        if (PyErr_Occurred()) return PyErr_Clear(), false;
    }
    if (!std::isfinite(value)) return false;
    *out = arg_of(tb, tb.scalar_const(DType::F64, std::bit_cast<uint64_t>(value)));
    out->array = false;
    return true;
}

// numpy.isclose: |x - y| <= atol + rtol * |y|, where y is finite, or x == y. What is invalid in it NumPy does
// not tell of; a replay in which it is falls back to NumPy's own call.
Id closeness(TraceBuilder& tb, const Call& call) {
    const Operand* p[5];
    Arg x, y, rtol, atol;
    bool equal_nan = false;
    if (!bind(tb, call, {"a", "b", "rtol", "atol", "equal_nan"}, p) || !read_double(tb, p[0], &x) ||
        !read_double(tb, p[1], &y) || !read_tolerance(tb, p[2], 1e-5, &rtol) ||
        !read_tolerance(tb, p[3], 1e-8, &atol))
        return kNone;
    if (p[4] && (!read_fixed_bool(tb, *p[4], &equal_nan) || equal_nan)) return kNone;
    const auto of = [&](Id v) { return arg_of(tb, v); };
    const Id far = emit(tb, "subtract", {x, y}), size = emit(tb, "absolute", {y});
    if (far == kNone || size == kNone) return kNone;
    const Id distance = emit(tb, "absolute", {of(far)}), relative = emit(tb, "multiply", {rtol, of(size)});
    if (distance == kNone || relative == kNone) return kNone;
    const Id tolerance = emit(tb, "add", {atol, of(relative)}), finite = emit(tb, "isfinite", {y});
    if (tolerance == kNone || finite == kNone) return kNone;
    const Id near = emit(tb, "less_equal", {of(distance), of(tolerance)}), same = emit(tb, "equal", {x, y});
    if (near == kNone || same == kNone) return kNone;
    const Id both = emit(tb, "bitwise_and", {of(near), of(finite)});
    return both == kNone ? kNone : emit(tb, "bitwise_or", {of(both), of(same)});
}

// Of arrays a view of the array that was computed: NumPy ends with `result[()]`.
ShadowRef lower_isclose(TraceBuilder& tb, const Call& call) {
    const Id holds = closeness(tb, call);
    if (holds == kNone || !is_array(call.result)) return finish(tb, holds, call.result);
    PyObject* base = PyArray_BASE(reinterpret_cast<PyArrayObject*>(call.result));
    if (!base || !is_array(base)) return tb.fail(Reason::ModelMismatch, "no view");
    const ShadowRef computed = finish(tb, holds, base);
    if (!computed) return nullptr;
    const Shape shape = tb.shape(computed);
    std::vector<int> axes(shape.size());
    std::iota(axes.begin(), axes.end(), 0);
    return tb.new_view(computed, permuted(tb, shape, axes), call.result);
}

ShadowRef lower_allclose(TraceBuilder& tb, const Call& call) {
    return all_of(tb, closeness(tb, call), call.result);
}

// np.array_equal(a1, a2) of arrays with the same extents.
ShadowRef lower_array_equal(TraceBuilder& tb, const Call& call) {
    const Operand* p[3];
    bool equal_nan = false;
    if (!bind(tb, call, {"a1", "a2", "equal_nan"}, p) || !array_operand(tb, p[0]) || !array_operand(tb, p[1]))
        return nullptr;
    if (p[2] && (!read_fixed_bool(tb, *p[2], &equal_nan) || equal_nan)) return nullptr;
    const Shape a = tb.shape(p[0]->shadow), b = tb.shape(p[1]->shadow);
    if (a.size() != b.size() || p[0]->shadow->dtype != p[1]->shadow->dtype) return nullptr;
    for (size_t d = 0; d < a.size(); ++d)
        if (tb.hint(a[d]) != tb.hint(b[d])) return nullptr;
    Arg x, y;
    if (!read_arg(tb, *p[0], &x) || !read_arg(tb, *p[1], &y)) return nullptr;
    return all_of(tb, emit(tb, "equal", {x, y}), call.result);
}

constexpr CallRow kClosenessRows[] = {
    {"isclose", lower_isclose, true},
    {"allclose", lower_allclose, true},
    {"array_equal", lower_array_equal, true},
};

}  // namespace

void register_closeness() { add_rows(kClosenessRows); }

}  // namespace stator::frontend::numpy
