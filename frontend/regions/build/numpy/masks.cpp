// Elements that a mask selects: `a[mask]`, `a[mask] = v`.
//
// `a[mask]` is an expression over all of the mask's points that only those count of where it holds. Operators
// on several that have the same mask keep it, so that `z[m] = z[m] ** 2 + c[m]` is one nest with a condition.
// Everything else packs it: how many elements there are is a value of the region.

#include "frontend/once.h"
#include "frontend/regions/build/builder.h"

namespace stator::frontend::regions {

namespace {

using graph::RegionOp;

// np.count_nonzero gives an int, and a NumPy scalar from NumPy 2.4 on.
bool counts_are_scalars() {
    return once([] {
        const PyRef numpy = module_named("numpy");
        const PyRef n =
            PyRef::steal(numpy ? PyObject_CallMethod(numpy.get(), "count_nonzero", "(i)", 1) : nullptr);
        if (!n) PyErr_Clear();
        return n && !PyLong_CheckExact(n.get());
    });
}

}  // namespace

// Brings arrays with masks to one that they share, or packs them.
bool Builder::one_mask(std::vector<Value>& in, Operands* out) {
    const Value* like = nullptr;
    bool share = true;
    for (const Value& v : in) {
        if (!v.is_array()) continue;
        if (!like) like = &v;
        share &= v.mask && same(v.mask, like->mask) && v.mask_rank == like->mask_rank &&
                 v.extents.size() == like->extents.size();
    }
    if (like && share) {
        out->mask = like->mask;
        out->mask_rank = like->mask_rank;
        return true;
    }
    for (Value& v : in)
        if (v.mask && !pack(v, false, &v)) return false;
    return true;
}

bool Builder::compress(const Value& from, const Value& by, Value* out) {
    Value array = from, mask = by;
    if (array.mask && !pack(from, false, &array)) return false;
    if (mask.mask && !pack(by, false, &mask)) return false;
    if (mask.rank == 0 || mask.rank > array.rank) return unknown("such a mask");
    if (array.permuted || mask.permuted) return unknown("a mask and an array in another order than C's");
    const std::vector<ValueId> extents = extents_of(array), own = extents_of(mask);
    for (size_t axis = 0; axis < own.size(); ++axis)
        if (own[axis] != extents[axis] &&
            !guard(pointwise(graph::Op::Equal, DType::I64, DType::Bool, {own[axis], extents[axis]})))
            return false;
    *out = {};
    out->kind = Kind::Lazy;
    out->dtype = array.dtype;
    out->extents = extents;
    out->mask_rank = mask.rank;
    out->rank = 1 + array.rank - mask.rank;
    return lazy_of(array, &out->expr) && lazy_of(mask, &out->mask);
}

// A mask over the first axes as one over all of them.
ExprRef Builder::spread(const ExprRef& mask, const std::vector<ValueId>& extents, size_t rank) {
    if (rank == extents.size() || mask->kind == Expr::Number || mask->kind == Expr::Axis) return mask;
    auto copy = std::make_shared<Expr>(*mask);
    if (mask->kind == Expr::Leaf) {
        graph::Inst inst;
        inst.op = RegionOp::View;
        inst.in = {mask->id};
        graph::ViewSpec spec(rank);
        for (size_t axis = 0; axis < rank; ++axis) spec[axis].axis = static_cast<int8_t>(axis);
        for (size_t axis = rank; axis < extents.size(); ++axis) {
            inst.in.push_back(extents[axis]);
            spec.push_back({graph::ViewAxis::New, -1, 0, static_cast<int>(inst.in.size()) - 1, 0});
        }
        inst.ints = {static_cast<int64_t>(r_->views.size())};
        r_->views.push_back(std::move(spec));
        copy->id = emit(std::move(inst), {mask->dtype, static_cast<int8_t>(extents.size())});
        copy->whole = copy->narrow = -1;
    } else {
        for (ExprRef& x : copy->in) x = spread(x, extents, rank);
    }
    return copy;
}

// How many elements of the mask are true.
ValueId Builder::count(const ExprRef& mask, const std::vector<ValueId>& extents) {
    graph::NestBody body;
    std::map<const Expr*, ValueId> done;
    graph::Inst when;
    when.op = RegionOp::NestWhen;
    when.in = {nest_value(body, mask, done)};
    body.insts.push_back(std::move(when));
    ValueId n = -1;
    emit_nest(RegionOp::Pack, std::move(body), extents, mask->faults, mask->indexes, &n);
    return n;
}

std::vector<ValueId> Builder::packed_extents(const Value& v) {
    const auto first = v.extents.begin() + v.mask_rank;
    std::vector<ValueId> out{count(v.mask, {v.extents.begin(), first})};
    out.insert(out.end(), first, v.extents.end());
    return out;
}

// The selected elements one after the other in memory. The memory is for all of them.
bool Builder::pack(const Value& v, bool fresh, Value* out) {
    if (v.permuted) return unknown("a mask of an array in another order than C's");
    const auto rank = static_cast<size_t>(v.mask_rank);
    ValueId most = const_int(1);
    for (size_t axis = 0; axis < rank; ++axis)
        most = pointwise(graph::Op::Multiply, DType::I64, DType::I64, {most, v.extents[axis]});
    std::vector<ValueId> extents{most};
    extents.insert(extents.end(), v.extents.begin() + v.mask_rank, v.extents.end());
    Value all;
    if (!memory(v.dtype, extents, fresh, &all)) return false;
    Value flat = all;
    if (all.rank > 1) {
        graph::Inst inst;
        inst.op = RegionOp::Flatten;
        inst.in = {all.id};
        flat.id = emit(std::move(inst), {v.dtype, 1});
    }
    const ExprRef mask = spread(v.mask, v.extents, rank);
    graph::NestBody body;
    std::map<const Expr*, ValueId> done;
    graph::Inst when;
    when.op = RegionOp::NestWhen;
    when.in = {nest_value(body, mask, done)};
    body.insts.push_back(std::move(when));
    const std::vector<NestOut> outs = components({flat.id, v.expr});
    std::vector<ValueId> values;
    for (const NestOut& o : outs) values.push_back(nest_value(body, o.value, done));
    for (size_t k = 0; k < outs.size(); ++k) {
        graph::Inst append;
        append.op = RegionOp::NestAppend;
        append.in = {outs[k].dest, values[k]};
        body.insts.push_back(std::move(append));
    }
    ValueId n = -1;
    if (!emit_nest(RegionOp::Pack, std::move(body), v.extents, v.expr->faults || mask->faults,
                   v.expr->indexes || mask->indexes, &n))
        return false;
    if (all.rank > 1 && (n = count(v.mask, {v.extents.begin(), v.extents.begin() + v.mask_rank})) < 0)
        return false;
    graph::Inst view;
    view.op = RegionOp::View;
    view.in = {all.id, n};
    graph::ViewSpec spec(extents.size());
    for (size_t axis = 0; axis < extents.size(); ++axis) spec[axis].axis = static_cast<int8_t>(axis);
    spec[0].count = 1;
    view.ints = {static_cast<int64_t>(r_->views.size())};
    r_->views.push_back(std::move(spec));
    extents[0] = n;
    all.id = emit(std::move(view), {v.dtype, static_cast<int8_t>(extents.size())});
    dense_.insert(all.id);
    *out = std::move(all);
    for (size_t axis = 0; axis < extents.size(); ++axis)
        extents_[{out->id, static_cast<int>(axis)}] = extents[axis];
    return true;
}

// dest[mask] = value. NumPy computes all of the value first, and of the mask.
bool Builder::store_masked(const Value& dest, const Value& by, const Value& value) {
    // NumPy reads both while it stores.
    const auto lies_in = [&](const Value& v) {
        return v.kind == Kind::Array && !v.mask && aliasing_.may_share(memory_of(v), memory_of(dest));
    };
    if (lies_in(by) && by.id != dest.id) return unknown("a mask in the memory that is stored to");
    if (lies_in(value)) return unknown("under a mask, an array in the same memory");
    Value selected;
    if (!compress(dest, by, &selected)) return false;
    const std::vector<ValueId>& extents = selected.extents;
    const auto rank = static_cast<size_t>(selected.mask_rank);
    ExprRef e, mask = selected.mask;
    if (value.is_number() || value.is_complex_number()) {
        if (!element_expr(value, dest.dtype, &e)) return false;
    } else if (value.mask && same(value.mask, mask) && value.extents.size() == extents.size()) {
        e = value.expr;
        if (!cast_expr(&e, dest.dtype)) return false;
    } else if (value.is_array() && value.rank == 1 && selected.rank == 1) {
        // An element for each place, one after the other. Where there are more or fewer, Python raises.
        Value packed = value;
        if (value.mask && !pack(value, false, &packed)) return false;
        if (packed.kind == Kind::Lazy && !scratch_of(packed.expr, packed.extents, &packed)) return false;
        const ValueId n = count(mask, extents);
        if (n < 0 || !guard(pointwise(graph::Op::Equal, DType::I64, DType::Bool, {extents_of(packed)[0], n})))
            return false;
        auto next = std::make_shared<Expr>();
        next->kind = Expr::Next;
        next->dtype = packed.dtype;
        next->id = packed.id;
        next->slot = memory_of(packed);
        e = std::move(next);
        if (!cast_expr(&e, dest.dtype)) return false;
    } else if (value.is_array()) {
        return store_packed(dest, by, value);
    } else {
        return unknown("storing " + describe(value) + " where a mask holds");
    }
    if (!no_lazy_left()) return false;
    if (mask->checked() || aliasing_.overlaps(mask, dest)) {
        Value temp;
        const std::vector<ValueId> own(extents.begin(), extents.begin() + selected.mask_rank);
        if (!scratch_of(mask, own, &temp) || !lazy_of(temp, &mask)) return false;
    }
    mask = spread(mask, extents, rank);
    if (!aliasing_.overlaps(e, dest) && is_cheap(e)) {
        if (e->checked() && !probe(extents, mask, e)) return false;
    } else if (e->checked() || aliasing_.overlaps(e, dest)) {
        Value temp;
        if (!memory(e->dtype, extents, false, &temp) || !put(extents, mask, temp.id, e, true) ||
            !lazy_of(temp, &e))
            return false;
    }
    if (!put(extents, mask, dest.id, e, false)) return false;
    written(dest);
    effect();
    return true;
}

// The same, of an array that has a row for each place: a store at indices, which is what NumPy does,
// too. Where there are more or fewer, Python raises.
bool Builder::store_packed(const Value& dest, const Value& by, const Value& value) {
    Value key;
    key.kind = Kind::Tuple;
    for (int axis = 0; axis < by.rank; ++axis) {
        Value index;
        index.kind = Kind::Lazy;
        index.dtype = DType::I64;
        index.rank = by.rank;
        index.extents = extents_of(by);
        auto place = std::make_shared<Expr>();
        place->kind = Expr::Axis;
        place->dtype = DType::I64;
        place->axis = axis;
        index.expr = std::move(place);
        Value chosen;
        if (!compress(index, by, &chosen) || !pack(chosen, false, &chosen)) return false;
        key.items.push_back(std::move(chosen));
    }
    // NumPy's error of arrays that do not fit is another one with indices.
    Value plain = value;
    if (value.mask && !pack(value, false, &plain)) return false;
    const ValueId n = extents_of(key.items[0])[0];
    if (plain.rank != 1 + dest.rank - by.rank)
        return unknown("storing " + describe(value) + " where a mask holds");
    const ValueId own = extents_of(plain)[0];
    return guard(pointwise(graph::Op::Equal, DType::I64, DType::Bool, {own, n})) && scatter(dest, key, plain);
}

// ---- reductions of masks ----

// sum, count_nonzero, any and all of bools.
bool Builder::reduce_mask(const std::string& name, const Value& a, Value* out) {
    ExprRef e;
    if (!lazy_of(a, &e)) return false;
    const std::vector<ValueId> extents = a.mask ? packed_extents(a) : extents_of(a);
    if (name == "all") e = op_expr(graph::Op::LogicalNot, DType::Bool, {e});
    const ValueId n = count(e, extents);
    if (n < 0) return false;
    if (name == "sum") return *out = scalar_value(DType::I64, n), true;
    if (name == "count_nonzero")
        return *out = counts_are_scalars() ? scalar_value(DType::I64, n) : int_value(n), true;
    const graph::Op op = name == "all" ? graph::Op::Equal : graph::Op::NotEqual;
    *out = scalar_value(DType::Bool, pointwise(op, DType::I64, DType::Bool, {n, const_int(0)}));
    return true;
}

}  // namespace stator::frontend::regions
