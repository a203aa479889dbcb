// Reductions as nodes of a trace's graph.
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

bool reduces_nothing(TraceBuilder& tb, const Reduction& r) {
    return !r.axes.empty() && has_empty_axis(tb, tb.shape(r.array->shadow));
}

Id reduce_nothing(TraceBuilder& tb, const Reduction& r, std::string_view ufunc, DType dtype,
                  PyObject* result) {
    const bool one = ufunc == "multiply" || ufunc == "logical_and";
    if (!one && ufunc != "add" && ufunc != "logical_or") return kNone;
    const Shape from = tb.shape(r.array->shadow);
    Shape shape;
    for (size_t d = 0; d < from.size(); d++)
        if (std::find(r.axes.begin(), r.axes.end(), static_cast<int>(d)) == r.axes.end())
            shape.push_back(from[d]);
    const Id identity = tb.cast(tb.scalar_const(DType::Bool, one), dtype);
    if (shape.empty()) return identity;
    const bool same_rank = is_array(result) && PyArray_NDIM(reinterpret_cast<PyArrayObject*>(result)) ==
                                                   static_cast<int>(shape.size());
    return same_rank ? tb.full(identity, std::move(shape), result) : kNone;  // not with keepdims
}

namespace {

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

}  // namespace stator::frontend::numpy
