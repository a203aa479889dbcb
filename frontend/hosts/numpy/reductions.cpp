// Reductions: sum, prod, min, max, any, all, argmin, argmax as functions, methods and ufunc.reduce.
//
// The order in which floats are added decides the bits. A reduce node promises the order in which NumPy
// reduces a C-contiguous operand (kernels/schedule/reduction_order.h); it is used when that is the operand's
// layout, or when the layout does not matter: integers and bools, or one axis of an operand whose axes lie in
// C order. Everything else stays NumPy's call. Floats with a dtype conversion go through NumPy's buffer,
// block by block: NumPy's call too.
#include <algorithm>
#include <limits>

#include "frontend/hosts/numpy/extremum_order.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/reductions.h"
#include "frontend/hosts/numpy/sum_order.h"
#include "kernels/schedule/reduction_order.h"

namespace stator::frontend::numpy {

namespace {

// Every element at a positive stride, axes in C order, in every replay: guards fix signs and order of an
// input's strides, and steps keep the order when they are 1 or the input is dense.
bool ordered_view(TraceBuilder& tb, const Operand& a) {
    if (!std::is_sorted(a.shadow->perm.begin(), a.shadow->perm.end())) return false;
    if (!known_density(tb, a.shadow))
        for (const ViewStep& step : a.shadow->path)
            for (int64_t s : step.step)
                if (step.reshape || (s != 0 && s != 1)) return false;
    auto* o = reinterpret_cast<PyArrayObject*>(a.obj);
    for (int d = 0; d < PyArray_NDIM(o); d++)
        if (PyArray_STRIDE(o, d) <= 0 && PyArray_DIM(o, d) > 1) return false;
    return true;
}

bool has_empty_axis(TraceBuilder& tb, const Shape& shape) {
    return std::any_of(shape.begin(), shape.end(), [&](Sym s) { return tb.hint(s) == 0; });
}

bool reduces_something(TraceBuilder& tb, const Reduction& r) {
    return !r.axes.empty() && !has_empty_axis(tb, tb.shape(r.array->shadow));
}

}  // namespace

Id keep_axes(TraceBuilder& tb, Id v, const std::vector<int>& axes) {
    Shape from = tb.node(v).shape;
    if (from.empty()) {
        ViewStep step;
        step.shape.assign(axes.size(), tb.int_const(1));
        return tb.view(v, step);
    }
    ViewStep step;
    size_t rank = from.size() + axes.size(), next = 0;
    for (size_t d = 0; d < rank; d++) {
        if (std::find(axes.begin(), axes.end(), static_cast<int>(d)) != axes.end()) {
            step.shape.push_back(tb.int_const(1));
            continue;
        }
        step.map.push_back(static_cast<int>(d));
        step.step.push_back(1);
        step.start.push_back(tb.int_const(0));
        step.shape.push_back(from[next++]);
    }
    return tb.view(v, step);
}

namespace {

// What reducing along an axis without elements gives: the ufunc's identity, where it has one.
Id reduce_nothing(TraceBuilder& tb, const Reduction& r, std::string_view ufunc, DType dtype,
                  PyObject* result) {
    bool one = ufunc == "multiply" || ufunc == "logical_and";
    if (!one && ufunc != "add" && ufunc != "logical_or") return kNone;
    const Shape from = tb.shape(r.array->shadow);
    Shape shape;
    for (size_t d = 0; d < from.size(); d++)
        if (std::find(r.axes.begin(), r.axes.end(), static_cast<int>(d)) == r.axes.end())
            shape.push_back(from[d]);
    Id identity = tb.cast(tb.scalar_const(DType::Bool, one), dtype);
    return shape.empty() ? identity : tb.full(identity, std::move(shape), result);
}

// Whether NumPy hands each trailing run of reduced axes to its loop in one piece.
bool run_is_whole(TraceBuilder& tb, Id id, const Shape& shape, const std::vector<int>& axes) {
    int64_t longest = longest_pairwise_run();
    if (longest == std::numeric_limits<int64_t>::max() || kernels::trailing_run(tb.graph, id) == 0)
        return longest > 0;
    Sym run = tb.int_const(1);
    for (int d = static_cast<int>(shape.size()) - 1; d >= 0; d--) {
        bool reduced = std::find(axes.begin(), axes.end(), d) != axes.end();
        if (!reduced && tb.syms().as_const(shape[d]) != 1) break;
        run = tb.syms().mul(run, shape[d]);
    }
    return tb.hint(run) <= longest && tb.require(Relation::Lt, run, tb.int_const(longest + 1));
}

}  // namespace

bool reduces_in_order(TraceBuilder& tb, const Reduction& r) {
    if (!reduces_something(tb, r)) return false;
    return tb.for_gpu || c_contiguous(tb, *r.array) || (r.axes.size() == 1 && ordered_view(tb, *r.array));
}

namespace {

// Runs of elements that are adjacent go through another loop of NumPy's than those with gaps, which chooses
// among 0.0 and -0.0, and NaNs, in another order.
bool lies_as_kernels_take_it(TraceBuilder& tb, const Reduction& r, std::string_view ufunc, Id reduce) {
    const bool extremum = ufunc == "maximum" || ufunc == "minimum";
    return !extremum || kernels::trailing_run(tb.graph, reduce) == 0 || c_contiguous(tb, *r.array);
}

}  // namespace

Id reduce_node(TraceBuilder& tb, const Reduction& r, const char* ufunc, DType dtype) {
    const Shape shape = tb.shape(r.array->shadow);
    DType source = r.array->shadow->dtype;
    bool logical = dtype == DType::Bool && ufunc[0] == 'l';
    bool inexact = graph::is_float(dtype) || graph::is_complex(dtype);
    bool ordered = inexact && !logical && !tb.for_gpu;
    if (ordered && source != dtype) return kNone;
    if (graph::is_complex(source) || (source == DType::F16 && !tb.for_gpu)) return kNone;
    if (ordered ? !reduces_in_order(tb, r) : !reduces_something(tb, r)) return kNone;
    Id v = tb.value(r.array->shadow);
    if (v == kNone) return kNone;
    v = tb.cast(v, dtype);
    if (ordered) settle_extremum_order();
    Id id = tb.reduce(ufunc, v, r.axes, dtype);
    const bool same =
        !ordered || (lies_as_kernels_take_it(tb, r, ufunc, id) && run_is_whole(tb, id, shape, r.axes));
    if (same && kernels::can_reduce(tb.graph, id, !ordered)) return id;
    if (id + 1 == static_cast<Id>(tb.graph.nodes.size()))
        tb.graph.nodes.pop_back();  // the reduction just appended
    return kNone;
}

Id sum_of_values(TraceBuilder& tb, const Reduction& r, Id values) {
    if (values == kNone) return kNone;
    const Id sum = tb.reduce("add", values, r.axes, tb.node(values).dtype);
    const bool same = kernels::can_reduce(tb.graph, sum, tb.for_gpu) &&
                      (tb.for_gpu || run_is_whole(tb, sum, tb.shape(r.array->shadow), r.axes));
    return same ? sum : kNone;
}

Id divided_by_count(TraceBuilder& tb, Id sum, Sym n, DType dtype) {
    const Id count = sum == kNone ? kNone : tb.sym_scalar(n, DType::I64);
    const Id quotient = count == kNone ? kNone : emit(tb, "divide", {arg_of(tb, sum), arg_of(tb, count)});
    return quotient == kNone ? kNone : tb.cast(quotient, dtype);
}

Sym reduced_count(TraceBuilder& tb, const Reduction& r) {
    Sym count = tb.int_const(1);
    for (int axis : r.axes) count = tb.syms().mul(count, tb.shape(r.array->shadow)[axis]);
    return count;
}

ShadowRef finish_reduction(TraceBuilder& tb, const Reduction& r, Id v, size_t before, PyObject* result) {
    if (r.keepdims) v = keep_axes(tb, v, r.axes);
    return finish_copy(tb, v, before, result);
}

bool read_request(TraceBuilder& tb, const Operand* array, const Operand* axis, const Operand* keepdims,
                  Reduction* out) {
    if (!array || !is_array(array->obj))
        return tb.fail(Reason::UnknownCall, "a reduction of no ndarray"), false;
    if (!tb.resolve(array->shadow, array->obj) || array->shadow->kind != ShadowKind::Array) return false;
    out->array = array;
    axis = given(tb, axis);
    out->flat = !axis;
    if (!read_axes(tb, axis, static_cast<int>(tb.shape(array->shadow).size()), &out->axes)) return false;
    keepdims = given(tb, keepdims);
    return !keepdims || read_fixed_bool(tb, *keepdims, &out->keepdims);
}

namespace {

ShadowRef reduce_call(TraceBuilder& tb, const Call& call, const Reduction& r, const char* ufunc) {
    DType dtype;
    size_t before = tb.graph.nodes.size();
    if (!dtype_of_object(call.result, &dtype)) return tb.fail(Reason::ArrayKind, "dtype of the result");
    bool nothing = has_empty_axis(tb, tb.shape(r.array->shadow)) && !r.axes.empty() && !r.keepdims;
    if (graph::is_complex(r.array->shadow->dtype) && !graph::is_complex(dtype) && dtype != DType::Bool)
        return tb.fail(Reason::UnknownCall, "a conversion from complex, which warns");
    Id v = nothing ? reduce_nothing(tb, r, ufunc, dtype, call.result) : reduce_node(tb, r, ufunc, dtype);
    if (nothing && v != kNone) return finish(tb, v, call.result);
    return v == kNone ? lower_library(tb, call) : finish_reduction(tb, r, v, before, call.result);
}

}  // namespace

bool any_given(TraceBuilder& tb, std::initializer_list<const Operand*> operands) {
    return std::any_of(operands.begin(), operands.end(), [&](const Operand* o) { return given(tb, o); });
}

bool no_out(TraceBuilder& tb, const Operand* out) {
    if (given(tb, out)) tb.fail(Reason::UnknownCall, "out=");
    return !given(tb, out);
}

namespace {

bool fixed_dtype(TraceBuilder& tb, const Operand* dtype) {
    const Operand* value = given(tb, dtype);
    return !value || require_fixed(tb, *value);
}

// Of a NumPy float, without anything else: its value, but that a sum begins with 0.
bool reduces_number(TraceBuilder& tb, const Operand* a, std::initializer_list<const Operand*> others) {
    DType t;
    return a && PyArray_CheckScalar(a->obj) && !PyArray_Check(a->obj) && dtype_of_object(a->obj, &t) &&
           graph::is_float(t) && t != DType::F16 &&
           std::none_of(others.begin(), others.end(), [&](const Operand* o) { return given(tb, o); }) &&
           tb.resolve(a->shadow, a->obj);
}

ShadowRef reduced_number(TraceBuilder& tb, const ShadowRef& a, std::string_view ufunc, PyObject* result) {
    const Id v = tb.value(a);
    if (v == kNone || ufunc != "add") return v == kNone ? nullptr : finish(tb, v, result);
    const DType t = tb.node(v).dtype;
    const Id in[] = {tb.cast(tb.scalar_const(DType::Bool, 0), t), v};
    return finish(tb, tb.pointwise(Op::Add, in, t), result);
}

// np.sum and np.prod, and the methods: (a, axis, dtype, out, keepdims, initial, where).
template <const char* const& Name>
ShadowRef lower_sum(TraceBuilder& tb, const Call& call) {
    const Operand* p[7];
    Reduction r;
    if (!bind(tb, call, {"a", "axis", "dtype", "out", "keepdims", "initial", "where"}, p)) return nullptr;
    if (reduces_number(tb, p[0], {p[1], p[2], p[3], p[4], p[5], p[6]}))
        return reduced_number(tb, p[0]->shadow, Name, call.result);
    if (!no_out(tb, p[3])) return nullptr;
    if (any_given(tb, {p[5], p[6]})) return lower_library(tb, call);
    if (!fixed_dtype(tb, p[2]) || !read_request(tb, p[0], p[1], p[4], &r)) return nullptr;
    return reduce_call(tb, call, r, Name);
}

// np.min, max, any, all: (a, axis, out, keepdims, initial, where); any and all have no initial.
template <const char* const& Name>
ShadowRef lower_extremum(TraceBuilder& tb, const Call& call) {
    const Operand* p[6];
    Reduction r;
    if (!bind(tb, call, {"a", "axis", "out", "keepdims", "initial", "where"}, p)) return nullptr;
    if (!no_out(tb, p[2])) return nullptr;
    if (any_given(tb, {p[4], p[5]})) return lower_library(tb, call);
    if (!read_request(tb, p[0], p[1], p[3], &r)) return nullptr;
    return reduce_call(tb, call, r, Name);
}

// ndarray's methods pass (axis, dtype, out, keepdims) or (axis, out, keepdims) in the same order as the
// functions do.

// np.argmax and argmin, and the methods: (a, axis, out, *, keepdims).
template <const char* const& Name>
ShadowRef lower_argument(TraceBuilder& tb, const Call& call) {
    const Operand* p[4];
    Reduction r;
    size_t before = tb.graph.nodes.size();
    if (!bind(tb, call, {"a", "axis", "out", "keepdims"}, p)) return nullptr;
    if (!no_out(tb, p[2]) || !read_request(tb, p[0], p[1], p[3], &r)) return nullptr;
    const Shape shape = tb.shape(r.array->shadow);
    DType source = r.array->shadow->dtype;
    if ((!r.flat && r.axes.size() != 1) || shape.empty() || has_empty_axis(tb, shape) ||
        graph::is_complex(source))
        return lower_library(tb, call);
    bool flat = r.flat || shape.size() == 1;
    graph::Node n;
    n.op = Op::ArgReduce;
    n.dtype = DType::I64;
    n.name = Name;
    n.in = {tb.value(r.array->shadow)};
    n.ints = {flat ? -1 : r.axes[0]};
    for (size_t d = 0; d < shape.size(); d++)
        if (!flat && static_cast<int>(d) != r.axes[0]) n.shape.push_back(shape[d]);
    if (n.in[0] == kNone) return nullptr;
    Id id = tb.append(std::move(n));
    if (!kernels::can_reduce(tb.graph, id, false)) {
        tb.graph.nodes.pop_back();
        return lower_library(tb, call);
    }
    return finish_reduction(tb, r, id, before, call.result);
}

constexpr const char* kAdd = "add";
constexpr const char* kMultiply = "multiply";
constexpr const char* kMaximum = "maximum";
constexpr const char* kMinimum = "minimum";
constexpr const char* kAnd = "logical_and";
constexpr const char* kOr = "logical_or";
constexpr const char* kArgmax = "argmax";
constexpr const char* kArgmin = "argmin";

// ufunc.reduce(self, array, axis=0, dtype=None, out=None, keepdims=False, initial, where)
ShadowRef lower_ufunc_reduce(TraceBuilder& tb, const Call& call) {
    const Operand* p[8];
    Reduction r;
    if (!bind(tb, call, {"self", "array", "axis", "dtype", "out", "keepdims", "initial", "where"}, p) ||
        !p[0] || !p[1])
        return nullptr;
    const Ufunc* u = ufunc_of(p[0]->obj);
    if (!u || !require_fixed(tb, *p[0])) return tb.fail(Reason::UnknownCall, "reduce");
    if (!no_out(tb, p[4])) return nullptr;
    if (any_given(tb, {p[6], p[7]})) return lower_library(tb, call);
    if (!fixed_dtype(tb, p[3])) return nullptr;
    Operand zero{tb.new_int(tb.int_const(0)), nullptr};
    PyRef zero_object = PyRef::steal(PyLong_FromLong(0));
    zero.obj = zero_object.get();
    if (!read_request(tb, p[1], p[2] ? p[2] : &zero, p[5], &r)) return nullptr;
    for (const char* name : {kAdd, kMultiply, kMaximum, kMinimum, kAnd, kOr})
        if (u->name == name) return reduce_call(tb, call, r, name);
    return lower_library(tb, call);
}

constexpr CallRow kReductionsRows[] = {
    {"sum", lower_sum<kAdd>, true},
    {".sum", lower_sum<kAdd>, true},
    {"prod", lower_sum<kMultiply>, true},
    {".prod", lower_sum<kMultiply>, true},
    {"max", lower_extremum<kMaximum>, true},
    {".max", lower_extremum<kMaximum>, true},
    {"amax", lower_extremum<kMaximum>, true},
    {"min", lower_extremum<kMinimum>, true},
    {".min", lower_extremum<kMinimum>, true},
    {"amin", lower_extremum<kMinimum>, true},
    {"any", lower_extremum<kOr>, true},
    {".any", lower_extremum<kOr>, true},
    {"all", lower_extremum<kAnd>, true},
    {".all", lower_extremum<kAnd>, true},
    {"argmax", lower_argument<kArgmax>, true},
    {".argmax", lower_argument<kArgmax>, true},
    {"argmin", lower_argument<kArgmin>, true},
    {".argmin", lower_argument<kArgmin>, true},
    {"ufunc.reduce", lower_ufunc_reduce, true},
    {"ufunc.accumulate", lower_library},
    {"ufunc.reduceat", lower_library},
    {"ufunc.outer", lower_library},
};

}  // namespace

// A bound method of a ufunc, found as one object: the ufunc comes first in the arguments then.
ShadowRef lower_ufunc_method(TraceBuilder& tb, const Call& call) {
    PyObject* self = PyCFunction_GET_SELF(call.callable);
    std::vector<Operand> args{{tb.constant(self), self}};
    args.insert(args.end(), call.args.begin(), call.args.end());
    PyRef name = PyRef::steal(PyObject_GetAttrString(call.callable, "__name__"));
    PyObject* method = name ? PyDict_GetItem(PyUFunc_Type.tp_dict, name.get()) : nullptr;
    PyErr_Clear();
    if (!method) return tb.fail(Reason::UnknownCall, "a method of a ufunc");
    return numpy_host().lower_call(tb, {method, args, call.kwnames, call.result});
}

bool is_reduction(Lowering lower) {
    return std::any_of(std::begin(kReductionsRows), std::end(kReductionsRows), [&](const CallRow& row) {
        return row.lower == lower && std::string_view(row.where).find("ufunc") == std::string_view::npos;
    });
}

void register_reductions() { add_rows(kReductionsRows); }

}  // namespace stator::frontend::numpy
