// np.gradient, by NumPy's own steps, so that each rounding is NumPy's.
#include <algorithm>

#include "frontend/hosts/numpy/lower.h"

namespace stator::frontend::numpy {

namespace {

// Elements [from, from + length) along one axis.
Id part(TraceBuilder& tb, Id v, int axis, Sym from, Sym length) {
    ViewStep step = whole(tb.node(v).shape, tb);
    narrow(step, axis, from, length);
    return tb.view(v, step);
}

// The elements at one index along an axis, that axis dropped.
Id slab(TraceBuilder& tb, Id v, int axis, Sym index) {
    ViewStep step = whole(tb.node(v).shape, tb);
    step.map[axis] = -1;
    step.step[axis] = 0;
    step.start[axis] = index;
    step.shape.erase(step.shape.begin() + axis);
    for (int& m : step.map)
        if (m > axis) m--;
    return tb.view(v, step);
}

// Spacing between samples: a Python number stays weak. `twice` is what NumPy divides interior differences by.
struct Spacing {
    Arg once, twice;
};

bool read_spacing(TraceBuilder& tb, const Operand* o, Spacing* out) {
    Id two = tb.scalar_const(DType::F64, 0x4000000000000000);
    Id one = tb.scalar_const(DType::F64, 0x3ff0000000000000);
    if (o) {
        if (!read_arg(tb, *o, &out->once)) return false;
        if (out->once.array || graph::is_complex(out->once.dtype))
            return tb.fail(Reason::UnknownCall, "gradient with coordinates"), false;
    } else {
        out->once = arg_of(tb, one);
        out->once.weak = Weak::Float;
        out->once.array = false;
    }
    // 2. * ax_dx: a Python float, or a NumPy scalar in the scalar's own precision.
    bool strong = out->once.weak == Weak::No;
    DType t = strong ? out->once.dtype : DType::F64;
    if (strong && t != DType::F32 && t != DType::F64)
        return tb.fail(Reason::UnknownCall, "gradient with this spacing"), false;
    Id in[] = {tb.cast(two, t), arg_id(tb, out->once, t)};
    if (in[1] == kNone) return false;
    out->twice = arg_of(tb, tb.pointwise(Op::Multiply, in, t));
    out->twice.array = false;
    if (!strong) out->twice.weak = Weak::Float;
    return out->twice.id != kNone;
}

// numpy.gradient with edge_order=1: central differences inside, one-sided ones at both ends, three stores per
// axis.
ShadowRef gradient_axis(TraceBuilder& tb, Id f, int axis, const Spacing& dx, PyObject* result) {
    graph::SymTable& t = tb.syms();
    DType dtype;
    if (!is_array(result) || !dtype_of_object(result, &dtype))
        return tb.fail(Reason::ArrayKind, "dtype of the result");
    const Shape shape = tb.node(f).shape;
    Sym n = shape[axis], zero = tb.int_const(0), one = tb.int_const(1);
    if (tb.hint(n) < 2) return tb.fail(Reason::UnknownCall, "gradient of so few samples");
    ShadowRef out = finish(tb, tb.empty(dtype, shape, result), result);
    if (!out) return nullptr;
    Sym inner = fixed_extent(tb, t.sub(n, tb.int_const(2)));
    if (tb.hint(inner) > 0) {
        Id ahead = part(tb, f, axis, tb.int_const(2), inner), behind = part(tb, f, axis, zero, inner);
        Id rise = emit(tb, "subtract", {arg_of(tb, ahead), arg_of(tb, behind)});
        Id slope = rise == kNone ? kNone : emit(tb, "divide", {arg_of(tb, rise), dx.twice});
        ViewStep step = whole(shape, tb);
        narrow(step, axis, one, inner);
        if (slope == kNone || !store_value(tb, out, &step, arg_of(tb, slope))) return nullptr;
    }
    Sym last = t.sub(n, one);
    const Sym edges[2][3] = {{zero, one, zero}, {last, last, t.sub(n, tb.int_const(2))}};
    for (const auto& [at, upper, lower] : edges) {
        Id rise = emit(tb, "subtract",
                       {arg_of(tb, slab(tb, f, axis, upper)), arg_of(tb, slab(tb, f, axis, lower))});
        Id slope = rise == kNone ? kNone : emit(tb, "divide", {arg_of(tb, rise), dx.once});
        if (slope == kNone) return nullptr;
        ViewStep edge = whole(shape, tb);
        edge.map[axis] = -1;
        edge.step[axis] = 0;
        edge.start[axis] = at;
        edge.shape.erase(edge.shape.begin() + axis);
        for (int& m : edge.map)
            if (m > axis) m--;
        if (!store_value(tb, out, &edge, arg_of(tb, slope))) return nullptr;
    }
    return out;
}

ShadowRef lower_gradient(TraceBuilder& tb, const Call& call) {
    size_t keywords = call.kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(call.kwnames)) : 0;
    size_t positional = call.args.size() - keywords;
    if (positional < 1 || !array_operand(tb, &call.args[0])) return nullptr;
    const Operand& a = call.args[0];
    const Operand* axis = nullptr;
    for (size_t k = 0; k < keywords; k++) {
        PyObject* name = PyTuple_GET_ITEM(call.kwnames, static_cast<Py_ssize_t>(k));
        const Operand& value = call.args[positional + k];
        int64_t order = 1;
        if (PyUnicode_CompareWithASCIIString(name, "axis") == 0)
            axis = given(tb, &value);
        else if (!read_fixed_int(tb, value, &order) || order != 1)
            return tb.fail(Reason::UnknownCall, "edge_order=");
    }
    DType t = a.shadow->dtype;
    if (t == DType::F16 || graph::is_complex(t) || t == DType::Bool)
        return tb.fail(Reason::UnknownCall, "gradient of this dtype");
    std::vector<int> axes;
    const Shape shape = tb.shape(a.shadow);
    if (!read_axes(tb, axis, static_cast<int>(shape.size()), &axes)) return nullptr;
    if (axis && !PyLong_CheckExact(axis->obj) && axes.size() > 1)
        return tb.fail(Reason::UnknownCall, "gradient along these axes");
    size_t spacings = positional - 1;
    if (spacings > 1 && spacings != axes.size()) return tb.fail(Reason::UnknownCall, "gradient");
    std::vector<PyObject*> results{call.result};
    if (axes.size() > 1) {
        if (!PyTuple_CheckExact(call.result) ||
            PyTuple_GET_SIZE(call.result) != static_cast<Py_ssize_t>(axes.size()))
            return tb.fail(Reason::ModelMismatch, "gradient");
        results.assign(&PyTuple_GET_ITEM(call.result, 0), &PyTuple_GET_ITEM(call.result, 0) + axes.size());
    }
    Id f = tb.value(a.shadow);
    if (f == kNone || (f = tb.cast(f, graph::is_integer(t) ? DType::F64 : t)) == kNone) return nullptr;
    std::vector<ShadowRef> out;
    for (size_t i = 0; i < axes.size(); i++) {
        Spacing dx;
        const Operand* given_spacing = spacings == 0 ? nullptr : &call.args[1 + (spacings == 1 ? 0 : i)];
        if (!read_spacing(tb, given_spacing, &dx)) return nullptr;
        out.push_back(gradient_axis(tb, f, axes[i], dx, results[i]));
        if (!out.back()) return nullptr;
    }
    return axes.size() == 1 ? out[0] : tb.tuple(std::move(out));
}

constexpr CallRow kCompoundsRows[] = {
    {"gradient", lower_gradient, true},
};

}  // namespace

void register_compounds() { add_rows(kCompoundsRows); }

}  // namespace stator::frontend::numpy
