// Other shapes of the same elements: axes in another order, other extents.

#include <algorithm>

#include "frontend/regions/build/builder.h"

namespace stator::frontend::regions {

// An array with its axes in another order: result axis i is axes[i].
bool Builder::permute(const Value& a, const std::vector<int>& axes, Value* out) {
    Value of = a;
    if (a.kind == Kind::Lazy && !as_array(a, &of)) return false;
    graph::ViewSpec spec;
    graph::Inst inst;
    inst.op = graph::RegionOp::View;
    inst.in = {of.id};
    inst.ints = {static_cast<int64_t>(r_->views.size())};
    for (const int axis : axes) spec.push_back({graph::ViewAxis::Slice, static_cast<int8_t>(axis), 0, 0, 0});
    r_->views.push_back(std::move(spec));
    *out = part_of(of);
    out->permuted |= !std::is_sorted(axes.begin(), axes.end());
    out->walk.clear();
    out->id = emit(std::move(inst), {of.dtype, static_cast<int8_t>(of.rank)});
    for (size_t i = 0; i < axes.size(); ++i)
        extents_.try_emplace({out->id, static_cast<int>(i)}, extent(of.id, axes[i]));
    return true;
}

// Whether a part of a dense array has gaps between its rows, so that NumPy cannot but copy it where it makes
// a vector of it; -1 where that is not known.
ValueId Builder::has_gaps(const Value& array) {
    if (array.kind != Kind::Array || array.rank < 2 || array.part_of < 0) return -1;
    const auto input = input_of_.find(array.part_of);
    const bool dense =
        dense_.contains(array.part_of) ||
        (input != input_of_.end() && out_->inputs[static_cast<size_t>(input->second)].contiguous);
    const auto& insts = r_->blocks[static_cast<size_t>(block_)].insts;
    const auto made =
        std::find_if(insts.begin(), insts.end(), [&](const graph::Inst& i) { return i.result == array.id; });
    if (!dense || made == insts.end() || made->op != graph::RegionOp::View) return -1;
    const graph::ViewAxis& last = r_->views[static_cast<size_t>(made->ints[0])].back();
    const int axes = r_->types[static_cast<size_t>(array.part_of)].rank;
    if (last.kind != graph::ViewAxis::Slice || last.axis != axes - 1) return -1;
    const auto holds = [&](graph::Op op, ValueId x, ValueId y) {
        return pointwise(op, DType::I64, DType::Bool, {x, y});
    };
    const ValueId columns = extent(array.id, array.rank - 1), rows = extent(array.id, array.rank - 2);
    const ValueId several = holds(graph::Op::Greater, columns, const_int(1));
    const ValueId many = holds(graph::Op::Greater, rows, const_int(1));
    const ValueId narrow = holds(graph::Op::Less, columns, extent(array.part_of, axes - 1));
    const auto both = [&](ValueId x, ValueId y) {
        return pointwise(graph::Op::LogicalAnd, DType::Bool, DType::Bool, {x, y});
    };
    return both(narrow, both(several, many));
}

// The elements in the order of C with other extents, one of which may be -1. Of an array in one piece it is a
// view of it; of others it is a copy or a view, so only expressions may read it.
bool Builder::reshape(const Value& a, const std::vector<Value>& items, Value* out, bool ravels) {
    using graph::Op;
    using graph::RegionOp;
    const auto holds = [&](Op op, ValueId x, ValueId y) {
        return guard(pointwise(op, DType::I64, DType::Bool, {x, y}));
    };
    ValueId total = const_int(1), named = const_int(1);
    for (const ValueId e : extents_of(a)) total = pointwise(Op::Multiply, DType::I64, DType::I64, {total, e});
    std::vector<ValueId> extents;
    int open = -1;
    for (const Value& v : items) {
        ValueId n;
        if (!to_int(v, &n)) return false;
        const auto k = known_int(n);
        if (k && *k == -1 && open < 0) {
            open = static_cast<int>(extents.size());
        } else {
            if (k ? *k < 0 : !holds(Op::GreaterEqual, n, const_int(0)))
                return unknown("a reshape to such extents");
            named = checked(RegionOp::CheckedMul, DType::I64, named, n);
            if (named < 0) return false;
        }
        extents.push_back(n);
    }
    if (open >= 0) {
        const ValueId n =
            named == const_int(1) ? total : checked(RegionOp::FloorDiv, DType::I64, total, named);
        if (n < 0) return false;
        extents[static_cast<size_t>(open)] = n;
        named = pointwise(Op::Multiply, DType::I64, DType::I64, {named, n});
    }
    if (named != total && !holds(Op::Equal, named, total)) return false;
    // A view of an array without elements has other strides than a fresh one.
    if (!known_int(total) && !holds(Op::Greater, total, const_int(0))) return false;
    if (known_int(total) == 0) return unknown("a reshape of nothing");
    Value of = a;
    ValueId copied = -1;
    const bool dense = a.kind == Kind::Array && is_dense(a);
    if (!dense) {
        ExprRef e;
        if (a.permuted && a.kind == Kind::Lazy)
            return unknown("a reshape of an expression of transposed arrays");
        const bool kept = code().insns[static_cast<size_t>(pc_ + 1)].op == Opcode::StoreFast;
        const ValueId gaps = kept && extents.size() == 1 ? has_gaps(a) : -1;
        // A vector of what has gaps views a copy that only it names, but ravel's is the copy.
        if (gaps >= 0 && !ravels && !guard(gaps)) return false;
        if (gaps >= 0 && ravels) copied = gaps;
        const bool hidden = kept && ((a.kind == Kind::Lazy && !a.mask) || (gaps >= 0 && !ravels));
        if (!lazy_of(a, &e) || !scratch_of(e, extents_of(a), &of, hidden)) return false;
    }
    graph::Inst inst;
    inst.op = RegionOp::Reshape;
    inst.in = {of.id};
    inst.in.insert(inst.in.end(), extents.begin(), extents.end());
    *out = part_of(of);
    out->copied = copied;
    out->walk.clear();
    out->rank = static_cast<int>(extents.size());
    out->id = emit(std::move(inst), {of.dtype, static_cast<int8_t>(out->rank)});
    for (size_t i = 0; i < extents.size(); ++i)
        extents_.try_emplace({out->id, static_cast<int>(i)}, extents[i]);
    return true;
}

}  // namespace stator::frontend::regions
