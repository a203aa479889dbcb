// Reductions. Results are arrays, also those without axes, and nothing waits for them. Extremes, positions
// and sums of integers do not depend on an order. CuPy adds up floats in the order of its own kernels or of
// CUB's, by version and size: such sums and means are its own calls, unless fastmath=True leaves the order
// open. They are then deterministic for a shape, and at least as accurate as CuPy's.
#include <algorithm>

#include "frontend/hosts/cupy/lower.h"
#include "guards/check/functions.h"
#include "kernels/schedule/reduction_order.h"

namespace stator::frontend::cupy {

namespace {

struct Row {
    std::string_view name;
    const char* ufunc;
    enum Kind : uint8_t { Sum, Extremum, Mean, Position } kind;
};
constexpr Row kRows[] = {
    {"sum", "add", Row::Sum},
    {"prod", "multiply", Row::Sum},
    {"max", "maximum", Row::Extremum},
    {"min", "minimum", Row::Extremum},
    {"amax", "maximum", Row::Extremum},
    {"amin", "minimum", Row::Extremum},
    {"any", "logical_or", Row::Extremum},
    {"all", "logical_and", Row::Extremum},
    {"mean", "add", Row::Mean},
    {"argmax", "argmax", Row::Position},
    {"argmin", "argmin", Row::Position},
};

struct Request {
    const Operand* array;
    std::vector<int> axes;
    bool flat = false, keepdims = false;
};

// (a, axis, dtype, out, keepdims) for sums and means, (a, axis, out, keepdims) for the rest.
bool read_request(TraceBuilder& tb, const Row& row, const Call& call, Request* out) {
    const bool typed = row.kind == Row::Sum || row.kind == Row::Mean;
    const bool position = row.kind == Row::Position && !guards::is_function(call.callable);
    const Operand* p[5];
    const bool bound = typed ? numpy::bind(tb, call, {"a", "axis", "dtype", "out", "keepdims"}, p)
                       : position
                           ? numpy::bind(tb, call, {"a", "axis", "out", "dtype", "keepdims"}, p)
                           : (p[4] = nullptr, numpy::bind(tb, call, {"a", "axis", "out", "keepdims"}, p));
    if (!bound || !p[0] || !is_cupy_array(p[0]->obj) || !tb.resolve(p[0]->shadow, p[0]->obj) ||
        p[0]->shadow->kind != ShadowKind::Array)
        return false;
    const Operand* to = typed ? p[3] : p[2];
    const Operand* dtype = typed ? p[2] : position ? p[3] : nullptr;
    const Operand* keepdims = typed || position ? p[4] : p[3];
    out->array = p[0];
    if (numpy::given(tb, to)) return false;
    dtype = numpy::given(tb, dtype);
    if (dtype && !numpy::require_fixed(tb, *dtype)) return false;
    const Operand* axis = numpy::given(tb, p[1]);
    out->flat = !axis;
    if (!numpy::read_axes(tb, axis, static_cast<int>(tb.shape(p[0]->shadow).size()), &out->axes))
        return false;
    keepdims = numpy::given(tb, keepdims);
    return !keepdims || numpy::read_fixed_bool(tb, *keepdims, &out->keepdims);
}

// The reduced axes again, with extent 1.
Id keep_axes(TraceBuilder& tb, Id v, const std::vector<int>& axes) {
    const Shape from = tb.node(v).shape;
    ViewStep step;
    size_t next = 0;
    for (int d = 0; d < static_cast<int>(from.size() + axes.size()); ++d) {
        if (std::ranges::find(axes, d) != axes.end()) {
            step.shape.push_back(tb.int_const(1));
            continue;
        }
        step.map.push_back(d);
        step.step.push_back(1);
        step.start.push_back(tb.int_const(0));
        step.shape.push_back(from[next++]);
    }
    return tb.view(v, step);
}

bool reducible(TraceBuilder& tb, Id id) {
    if (kernels::can_reduce(tb.graph, id, true)) return true;
    if (id + 1 == static_cast<Id>(tb.graph.nodes.size())) tb.graph.nodes.pop_back();
    return false;
}

Id position(TraceBuilder& tb, const Row& row, const Request& r, const Shape& shape, DType out) {
    if ((!r.flat && r.axes.size() != 1) || out != DType::I64) return kNone;
    const bool flat = r.flat || shape.size() == 1;
    graph::Node n;
    n.op = Op::ArgReduce;
    n.dtype = DType::I64;
    n.name = row.ufunc;
    n.in = {tb.value(r.array->shadow)};
    n.ints = {flat ? -1 : r.axes[0]};
    for (size_t d = 0; d < shape.size(); ++d)
        if (!flat && static_cast<int>(d) != r.axes[0]) n.shape.push_back(shape[d]);
    if (n.in[0] == kNone) return kNone;
    const Id id = tb.append(std::move(n));
    return kernels::can_reduce(tb.graph, id, false) ? id : kNone;
}

// The sum divided by the number of elements, in the dtype of the result.
Id averaged(TraceBuilder& tb, const Request& r, const Shape& shape, Id sum, DType t) {
    Sym count = tb.int_const(1);
    for (int axis : r.axes) count = tb.syms().mul(count, shape[static_cast<size_t>(axis)]);
    Id n = tb.sym_scalar(count, DType::I64);
    if (n == kNone) return kNone;
    const Id in[] = {sum, tb.cast(n, t)};
    return tb.pointwise(Op::Divide, in, t);
}

}  // namespace

ShadowRef lower_reduction(TraceBuilder& tb, std::string_view name, const Call& call) {
    const auto* row = std::ranges::find(kRows, name, &Row::name);
    Request r;
    guards::TensorView result;
    if (row == std::end(kRows) || !is_cupy_array(call.result) ||
        !guards::read_cupy_array(call.result, &result) || !read_request(tb, *row, call, &r))
        return nullptr;
    const size_t before = tb.graph.nodes.size();
    const Shape shape = tb.shape(r.array->shadow);
    const DType source = r.array->shadow->dtype, to = result.dtype;
    for (Sym s : shape)
        if (tb.hint(s) == 0) return nullptr;
    if (r.axes.empty() || graph::is_complex(source) || graph::is_complex(to)) return nullptr;
    const bool adds = row->kind == Row::Sum || row->kind == Row::Mean;
    if (adds && graph::is_float(to) && !tb.any_order)
        return tb.fail(Reason::UnknownOp, "CuPy adds up floats in an order of its own (see fastmath)");
    if (row->kind == Row::Mean && (source != to || (to != DType::F32 && to != DType::F64))) return nullptr;
    Id v = kNone;
    if (row->kind == Row::Position) {
        v = position(tb, *row, r, shape, to);
    } else if (const Id operand = tb.value(r.array->shadow); operand != kNone && converts(source, to)) {
        v = tb.reduce(row->ufunc, tb.cast(operand, to), r.axes, to);
        if (!reducible(tb, v)) return nullptr;
    }
    if (v != kNone && row->kind == Row::Mean) v = averaged(tb, r, shape, v, to);
    if (v == kNone) return nullptr;
    if (r.keepdims) v = keep_axes(tb, v, r.axes);
    return finish(tb, v, before, call.result);
}

}  // namespace stator::frontend::cupy
