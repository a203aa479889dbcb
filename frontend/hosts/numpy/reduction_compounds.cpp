// Functions that NumPy makes of reductions and elementwise steps: var, std, norm along an axis, ptp, and
// outer. Each follows NumPy's own steps, so that each rounding is NumPy's.
//
// NumPy keeps what it reduces (squares, say) in memory whose axes lie as the operand's do: where the operand
// reduces in order, so do the squares.
#include "frontend/hosts/call_pure.h"
#include "frontend/hosts/numpy/reductions.h"
#include "frontend/hosts/numpy/runtime.h"
#include "kernels/schedule/reduction_order.h"

namespace stator::frontend::numpy {

namespace {

bool is_real_float(DType t) { return t == DType::F64 || t == DType::F32; }

// The squares of the differences from `mean`, which has the axes that are left.
Id squared_deviations(TraceBuilder& tb, const Reduction& r, Id mean) {
    const Id v = tb.value(r.array->shadow);
    if (mean != kNone && !tb.node(mean).shape.empty())
        mean = tb.broadcast(keep_axes(tb, mean, r.axes), tb.shape(r.array->shadow));
    const Id deviation =
        v == kNone || mean == kNone ? kNone : emit(tb, "subtract", {arg_of(tb, v), arg_of(tb, mean)});
    return deviation == kNone ? kNone : emit(tb, "square", {arg_of(tb, deviation)});
}

// numpy._core._methods._var: the mean, then the sum of the squared deviations from it, divided by the count
// less ddof. _std takes the root.
template <bool Root>
ShadowRef lower_variance(TraceBuilder& tb, const Call& call) {
    const Operand* p[9];
    Reduction r;
    const size_t before = tb.graph.nodes.size();
    if (!bind(tb, call, {"a", "axis", "dtype", "out", "ddof", "keepdims", "where", "mean", "correction"},
              p) ||
        !no_out(tb, p[3]))
        return nullptr;
    if (any_given(tb, {p[2], p[6], p[7]})) return lower_library(tb, call);
    // Both together are an error, but for a ddof of 0.
    if (given(tb, p[8]) && p[4]) return lower_library(tb, call);
    const Operand* less = given(tb, p[8]) ? p[8] : given(tb, p[4]);
    int64_t ddof = 0;
    if ((less && !read_fixed_int(tb, *less, &ddof)) || !read_request(tb, p[0], p[1], p[5], &r))
        return nullptr;
    const DType dtype = r.array->shadow->dtype;
    if (!is_real_float(dtype)) return lower_library(tb, call);
    const Sym count = reduced_count(tb, r);
    // Of fewer NumPy warns.
    if (tb.hint(count) <= ddof || !tb.require(Relation::Lt, tb.int_const(ddof), count))
        return lower_library(tb, call);
    const Id mean = divided_by_count(tb, reduce_node(tb, r, "add", dtype), count, dtype);
    const Id sum = sum_of_values(tb, r, squared_deviations(tb, r, mean));
    Id variance = divided_by_count(tb, sum, tb.syms().sub(count, tb.int_const(ddof)), dtype);
    if (Root && variance != kNone) variance = emit(tb, "sqrt", {arg_of(tb, variance)});
    return variance == kNone ? nullptr : finish_reduction(tb, r, variance, before, call.result);
}

// x.dot(x) of a vector, then its root.
ShadowRef norm_of_vector(TraceBuilder& tb, const Call& call, const Operand& x) {
    PyObject* dot = PyDict_GetItemString(PyArray_Type.tp_dict, "dot");
    PyObject* objects[] = {x.obj, x.obj};
    constexpr uint32_t kAll = 15;
    const StrictErrors nothing_matters(kAll, kAll);  // the call itself has warned already
    const PyRef square = dot ? call_pure(dot, objects, 2, nullptr, OnWarning::Ignore) : PyRef();
    if (!square) return PyErr_Clear(), nullptr;
    const Operand both[] = {x, x};
    const ShadowRef s = lower_library(tb, {dot, both, nullptr, square.get()});
    const Id v = s ? tb.value(s) : kNone;
    const Id root = v == kNone ? kNone : emit(tb, "sqrt", {arg_of(tb, v)});
    return root == kNone ? nullptr : finish(tb, root, call.result);
}

// numpy.linalg.norm(x, ord=None, axis=None, keepdims=False) of order 2 along one axis: the root of the sum of
// x * x. Without an axis, of a vector.
ShadowRef lower_norm(TraceBuilder& tb, const Call& call) {
    const Operand* p[4];
    Reduction r;
    const size_t before = tb.graph.nodes.size();
    if (!bind(tb, call, {"x", "ord", "axis", "keepdims"}, p)) return nullptr;
    int64_t order = 2;
    if (const Operand* o = given(tb, p[1]); o && (!read_fixed_int(tb, *o, &order) || order != 2))
        return nullptr;
    if (!read_request(tb, p[0], p[2], p[3], &r)) return nullptr;
    if (!is_real_float(r.array->shadow->dtype)) return nullptr;
    if (r.flat) {
        const bool vector =
            tb.shape(r.array->shadow).size() == 1 && c_contiguous(tb, *r.array) && !r.keepdims;
        return vector ? norm_of_vector(tb, call, *r.array) : nullptr;
    }
    if (r.axes.size() != 1 || !reduces_in_order(tb, r)) return nullptr;
    const Id v = tb.value(r.array->shadow);
    const Id square = v == kNone ? kNone : emit(tb, "multiply", {arg_of(tb, v), arg_of(tb, v)});
    const Id sum = sum_of_values(tb, r, square);
    const Id root = sum == kNone ? kNone : emit(tb, "sqrt", {arg_of(tb, sum)});
    return root == kNone ? nullptr : finish_reduction(tb, r, root, before, call.result);
}

// np.ptp(a, axis, out, keepdims): the greatest less the least.
ShadowRef lower_ptp(TraceBuilder& tb, const Call& call) {
    const Operand* p[4];
    Reduction r;
    const size_t before = tb.graph.nodes.size();
    if (!bind(tb, call, {"a", "axis", "out", "keepdims"}, p) || !no_out(tb, p[2]) ||
        !read_request(tb, p[0], p[1], p[3], &r))
        return nullptr;
    const DType dtype = r.array->shadow->dtype;
    if (dtype == DType::Bool) return nullptr;
    const Id greatest = reduce_node(tb, r, "maximum", dtype);
    const Id least = greatest == kNone ? kNone : reduce_node(tb, r, "minimum", dtype);
    if (least == kNone) return nullptr;
    const Id range = emit(tb, "subtract", {arg_of(tb, greatest), arg_of(tb, least)});
    return range == kNone ? nullptr : finish_reduction(tb, r, range, before, call.result);
}

// np.outer(a, b) of vectors: a column times a row.
ShadowRef lower_outer(TraceBuilder& tb, const Call& call) {
    const Operand* p[3];
    const size_t before = tb.graph.nodes.size();
    if (!bind(tb, call, {"a", "b", "out"}, p) || !no_out(tb, p[2])) return nullptr;
    Id v[2];
    for (int i = 0; i < 2; ++i) {
        if (!p[i] || !is_array(p[i]->obj) || !tb.resolve(p[i]->shadow, p[i]->obj) ||
            p[i]->shadow->kind != ShadowKind::Array || tb.shape(p[i]->shadow).size() != 1)
            return nullptr;
        const Id whole = tb.value(p[i]->shadow);
        if (whole == kNone) return nullptr;
        v[i] = keep_axes(tb, whole, {1 - i});
    }
    const Id product = emit(tb, "multiply", {arg_of(tb, v[0]), arg_of(tb, v[1])});
    return product == kNone ? nullptr : finish_copy(tb, product, before, call.result);
}

constexpr CallRow kReductionCompoundsRows[] = {
    {"var", lower_variance<false>, true}, {".var", lower_variance<false>, true},
    {"std", lower_variance<true>, true},  {".std", lower_variance<true>, true},
    {"linalg.norm", lower_norm, true},    {"ptp", lower_ptp, true},
    {"outer", lower_outer, true},
};

}  // namespace

void register_reduction_compounds() { add_rows(kReductionCompoundsRows); }

}  // namespace stator::frontend::numpy
