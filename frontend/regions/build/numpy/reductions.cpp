// Reductions, of all elements and along axes: which axes a call reduces, and what extents its result has.

#include <algorithm>
#include <array>
#include <string_view>

#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/names.h"
#include "frontend/regions/build/builder.h"
#include "frontend/regions/routines/gapped_reduction.h"

namespace stator::frontend::regions {

// Of a number that was a constant in this block.
std::optional<bool> Builder::known_bool(const Value& v) const {
    if (v.kind == Kind::Empty) return false;
    if (v.kind != Kind::Bool) return std::nullopt;
    for (const graph::Inst& i : r_->blocks[static_cast<size_t>(block_)].insts)
        if (i.result == v.id && i.op == graph::RegionOp::Const) return i.ints[0] != 0;
    return std::nullopt;
}

std::vector<ValueId> Builder::reduced_extents(const Value& a, const Reduction& r) {
    std::vector<ValueId> out;
    const std::vector<ValueId> own = extents_of(a);
    for (int axis = 0; axis < a.rank; ++axis) {
        const bool reduced = std::binary_search(r.axes.begin(), r.axes.end(), axis);
        if (!reduced) out.push_back(own[static_cast<size_t>(axis)]);
        if (reduced && r.keepdims) out.push_back(const_int(1));
    }
    return out;
}

// Reductions along some axes. Where the last axis is kept and longer than 1, NumPy adds row to row: that is a
// nest over all points in the order of C, which computes the operand as it goes. Elsewhere it is the ufunc's
// loop.
bool Builder::reduce_along(const std::string& ufunc, const Reduction& r, const Value& a, Value* out) {
    const bool sum = ufunc == "add";
    const bool in_order = a.kind == Kind::Lazy ? !a.permuted && !a.mask : is_dense(a);
    const bool types = a.dtype == DType::F64 || a.dtype == DType::F32 || a.dtype == DType::I64;
    if ((!sum && ufunc != "maximum" && ufunc != "minimum") || !types || !in_order || r.axes.empty())
        return unknown("a reduction of " + describe(a));
    const std::vector<ValueId> extents = extents_of(a);
    ValueId count = const_int(1);
    for (const int axis : r.axes)
        count = pointwise(graph::Op::Multiply, DType::I64, DType::I64,
                          {count, extents[static_cast<size_t>(axis)]});
    if (!sum && !guard(pointwise(graph::Op::Greater, DType::I64, DType::Bool, {count, const_int(0)})))
        return false;
    const auto last = known_int(extents.back());
    const bool rows = r.axes.back() != a.rank - 1 && (plural_.count(extents.back()) || (last && *last > 1));
    Reduction flat = r;
    flat.keepdims = false;
    if (sum && rows) {
        if (!accumulate(graph::Op::Add, flat, a, out)) return false;
    } else {
        LibraryRoutine routine = reduction_routine(ufunc, a.dtype, a.rank, r.axes);
        Value x;
        if (!routine.fn) return unknown("a reduction of " + describe(a));
        if (!as_array(a, &x) || !memory(a.dtype, reduced_extents(a, flat), true, out) ||
            !library(ufunc + ".reduce", std::move(routine), *out, {x.id}, r.axes))
            return false;
    }
    return !r.keepdims || keep_reduced_axes(r, out);
}

// dest[kept] += a, from 0 on.
bool Builder::accumulate(graph::Op op, const Reduction& r, const Value& a, Value* out) {
    const std::vector<ValueId> extents = extents_of(a), kept = reduced_extents(a, r);
    if (!memory(a.dtype, kept, true, out) ||
        !fill(out->id, kept, number_expr(a.dtype, cast(const_int(0), DType::I64, a.dtype)), false))
        return false;
    graph::Inst inst;
    inst.op = graph::RegionOp::View;
    inst.in = {out->id};
    graph::ViewSpec spec;
    int8_t at = 0;
    for (int axis = 0; axis < a.rank; ++axis) {
        graph::ViewAxis x;
        if (std::binary_search(r.axes.begin(), r.axes.end(), axis)) {
            inst.in.push_back(extents[static_cast<size_t>(axis)]);
            x = {graph::ViewAxis::New, -1, 0, static_cast<int>(inst.in.size()) - 1, 0};
        } else {
            x.axis = at++;
        }
        spec.push_back(x);
    }
    inst.ints = {static_cast<int64_t>(r_->views.size())};
    r_->views.push_back(std::move(spec));
    Value spread = *out;
    spread.rank = a.rank;
    spread.id = emit(std::move(inst), {a.dtype, static_cast<int8_t>(a.rank)});
    for (size_t d = 0; d < extents.size(); ++d) extents_[{spread.id, static_cast<int>(d)}] = extents[d];
    ExprRef sum, e;
    return lazy_of(spread, &sum) && lazy_of(a, &e) &&
           fill(spread.id, extents, op_expr(op, a.dtype, {sum, e}), true);
}

// Axes that were reduced, with extent 1. What a variable holds then is not a view.
bool Builder::keep_reduced_axes(const Reduction& r, Value* v) {
    graph::Inst inst;
    inst.op = graph::RegionOp::Reshape;
    inst.in = {v->id};
    std::vector<ValueId> extents;
    int at = 0;
    const int rank = v->rank + static_cast<int>(r.axes.size());
    for (int axis = 0; axis < rank; ++axis)
        extents.push_back(std::binary_search(r.axes.begin(), r.axes.end(), axis) ? const_int(1)
                                                                                 : extent(v->id, at++));
    inst.in.insert(inst.in.end(), extents.begin(), extents.end());
    v->rank = rank;
    v->id = emit(std::move(inst), {v->dtype, static_cast<int8_t>(rank)});
    for (size_t d = 0; d < extents.size(); ++d) extents_[{v->id, static_cast<int>(d)}] = extents[d];
    return true;
}

// What is known of the extents of an array that NumPy's own call has made.
void Builder::note_extents(PyObject* callable, const std::vector<Value>& args, const Value& made) {
    if (made.kind != Kind::Array) return;
    std::vector<ValueId> extents;
    if (reducing_.array.is_array()) {
        extents = reduced_extents(reducing_.array, reducing_.reduction);
    } else if (PyObject_TypeCheck(callable, &PyUFunc_Type) &&
               !reinterpret_cast<PyUFuncObject*>(callable)->core_enabled) {
        for (const Value& v : args) {
            if (!v.is_array()) continue;
            const std::vector<ValueId> own = extents_of(v);
            if (!extents.empty() && own != extents) return;
            extents = own;
        }
    }
    if (extents.size() != static_cast<size_t>(made.rank)) return;
    for (size_t d = 0; d < extents.size(); ++d) extents_[{made.id, static_cast<int>(d)}] = extents[d];
}

// Whether it is known to lie in memory in one piece, in the order of C.
bool Builder::is_dense(const Value& v) const {
    if (v.kind == Kind::Lazy) return true;  // it is going to be
    if (v.part || v.permuted) return false;
    if (v.slot == -2) return dense_.count(v.id) > 0;
    if (v.fresh) return true;
    if (!v.whole) return false;
    for (const EntryInput& in : out_->inputs)
        if (in.kind == EntryInput::Array && in.slot == v.slot && in.value == v.id) return in.contiguous;
    return false;
}

// A reduction of all elements. NumPy calls the loop once for a vector, and for an array in one piece as if it
// were one.
bool Builder::reduce(const std::string& ufunc, const Value& a, Value* out) {
    const bool types = a.dtype == DType::F64 || a.dtype == DType::F32 || a.dtype == DType::I64;
    if (!a.is_array() || !types || a.permuted) return unknown("a reduction of " + describe(a));
    Value x;
    if (!as_array(a, &x)) return false;
    if (a.rank != 1 && !is_dense(a)) {
        LibraryRoutine routine = gapped_reduction_routine(ufunc, a.dtype, a.rank);
        Value cell;
        if (!routine.fn) return unknown("a reduction of " + describe(a));
        return memory(a.dtype, {}, false, &cell) &&
               library(ufunc + ".reduce gathered", std::move(routine), cell, {x.id}) &&
               load_element(cell, {}, out);
    }
    if (x.rank > 1) {
        graph::Inst flat;
        flat.op = graph::RegionOp::Flatten;
        flat.in = {x.id};
        x.id = emit(std::move(flat), {x.dtype, 1});
        x.rank = 1;
        x.whole = false;
    }
    ValueId start = cast(const_int(0), DType::I64, a.dtype), rest = x.id;
    if (ufunc != "add") {  // from the first element on
        const ValueId n = extent(x.id, 0);
        if (!guard(pointwise(graph::Op::Greater, DType::I64, DType::Bool, {n, const_int(0)}))) return false;
        graph::Inst first;
        first.op = graph::RegionOp::Load;
        first.in = {x.id, const_int(0)};
        start = emit(std::move(first), {a.dtype, -1});
        Value tail;
        const Value key = composed(Kind::Slice, {int_value(const_int(1)), known(Py_None), known(Py_None)});
        if (!subscript(x, key, &tail)) return false;
        rest = tail.id;
    }
    graph::Inst inst;
    inst.op = graph::RegionOp::Reduce;
    inst.operand = a.dtype;
    inst.ints = {call_index({graph::RegionCall::UfuncLoop, ufunc, {a.dtype, a.dtype, a.dtype}})};
    inst.in = {rest, start};
    *out = scalar_value(a.dtype, emit(std::move(inst), {a.dtype, -1}));
    return finite(out->id, a.dtype);
}

}  // namespace stator::frontend::regions
