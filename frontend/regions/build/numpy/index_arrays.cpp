// Elements at computed places: `x[i]`, `x[i, j]`, `x[i, 1:]` with arrays of indices, read and stored.
//
// Reading is an expression (Expr::Take): an index that is out of range makes the nest leave. Before anything
// is stored all indices are looked at; then elements are stored in order, so that the last one of a place
// stays.

#include <algorithm>

#include "frontend/hosts/numpy/lower.h"
#include "frontend/regions/build/builder.h"

namespace stator::frontend::regions {

namespace {

using graph::RegionOp;

bool is_indices(const Value& v) {
    return v.is_array() && graph::is_integer(v.dtype) && v.dtype != DType::U64 && v.rank > 0;
}

}  // namespace

bool Builder::is_index_array(const Value& key) {
    if (is_indices(key)) return true;
    return key.kind == Kind::Tuple && std::any_of(key.items.begin(), key.items.end(), is_indices);
}

// The places that the key names, as a shape, and the element at each of them.
bool Builder::index_exprs(const Value& array, const Value& key, Operands* places, ExprRef* element) {
    const std::vector<Value> single{key};
    const std::vector<Value>& items = key.kind == Kind::Tuple ? key.items : single;
    if (items.size() > static_cast<size_t>(array.rank)) return unknown("such an index");
    const auto rank = static_cast<size_t>(array.rank);
    // Which axes are indexed; the others keep a part of theirs.
    std::vector<KeyPart> parts(rank, KeyPart{KeyPart::All, -1, -1, -1, 1});
    std::vector<Value> indices;
    std::vector<size_t> axes;
    for (size_t axis = 0; axis < items.size(); ++axis) {
        const Value& v = items[axis];
        if (v.kind == Kind::Slice) {
            if (!slice_part(v, extent(array.id, static_cast<int>(axis)), &parts[axis])) return false;
            continue;
        }
        ValueId at = -1;
        if (!is_indices(v) && (!v.is_number() || v.dtype == DType::Bool || !to_int(v, &at)))
            return unknown("an index that is " + describe(v));
        axes.push_back(axis);
        indices.push_back(v);
    }
    const bool together = axes.back() - axes.front() + 1 == axes.size();
    const size_t before = together ? axes.front() : 0;
    Value from = array;
    const bool whole =
        std::all_of(parts.begin(), parts.end(), [](const KeyPart& p) { return p.kind == KeyPart::All; });
    if (!whole && !view(array, parts, &from)) return false;
    Operands at;
    if (!operands_of(indices, &at)) return false;
    if (at.mask && axes.size() != rank) return unknown("a mask among indices");
    const std::vector<ValueId> own = extents_of(from);
    std::vector<ValueId> kept;
    for (size_t axis = 0; axis < rank; ++axis)
        if (std::find(axes.begin(), axes.end(), axis) == axes.end()) kept.push_back(own[axis]);
    const std::vector<ValueId> after(kept.begin() + static_cast<ptrdiff_t>(before), kept.end());
    std::vector<ValueId> inner = at.extents;
    inner.insert(inner.end(), after.begin(), after.end());
    *places = {};
    places->extents.assign(kept.begin(), kept.begin() + static_cast<ptrdiff_t>(before));
    places->extents.insert(places->extents.end(), inner.begin(), inner.end());
    places->mask = at.mask;
    places->mask_rank = at.mask_rank;
    // What is in front of the indices varies fastest in memory.
    places->permuted = at.permuted || before > 0 || (array.permuted && !kept.empty());
    auto take = std::make_shared<Expr>();
    take->kind = Expr::Take;
    take->dtype = array.dtype;
    take->id = from.id;
    take->slot = memory_of(from);
    take->extents = own;
    take->indexes = true;
    size_t index = 0, slices = 0;
    for (size_t axis = 0; axis < rank; ++axis) {
        if (index < axes.size() && axes[index] == axis) {
            ExprRef x = at.in[index];
            if (!x) {
                ValueId id;
                if (!to_int(indices[index], &id)) return false;
                x = number_expr(DType::I64, id);
            }
            if (!cast_expr(&x, DType::I64)) return false;
            x = spread(x, inner, at.extents.size());
            if (!align(x, inner, places->extents, &x)) return false;
            take->faults |= x->faults;
            take->in.push_back(x);
            const ValueId some =
                pointwise(graph::Op::Greater, DType::I64, DType::Bool, {own[axis], const_int(0)});
            if (!guard(some)) return false;
            ++index;
            continue;
        }
        auto x = std::make_shared<Expr>();
        x->kind = Expr::Axis;
        x->dtype = DType::I64;
        x->axis = static_cast<int>(slices < before ? slices : slices + at.extents.size());
        ++slices;
        take->in.push_back(x);
    }
    *element = take;
    return true;
}

bool Builder::gather(const Value& array, const Value& key, Value* out) {
    Operands places;
    ExprRef element;
    if (!index_exprs(array, key, &places, &element)) return false;
    *out = lazy(places, element);
    return true;
}

bool Builder::scatter(const Value& array, const Value& key, const Value& value) {
    Operands places;
    ExprRef element, e;
    if (!index_exprs(array, key, &places, &element)) return false;
    if (value.is_number() || value.is_complex_number()) {
        if (!element_expr(value, array.dtype, &e)) return false;
    } else if (value.is_array() && places.mask) {
        if (!value.mask || !same(value.mask, places.mask) || value.extents.size() != places.extents.size())
            return unknown("storing " + describe(value) + " at masked indices");
        e = value.expr;
        if (!cast_expr(&e, array.dtype)) return false;
    } else if (value.is_array() && value.rank <= static_cast<int>(places.extents.size())) {
        Value plain = value;
        ExprRef own;
        if ((value.mask && !pack(value, false, &plain)) || !lazy_of(plain, &own) ||
            !align(own, extents_of(plain), places.extents, &e) || !cast_expr(&e, array.dtype))
            return false;
    } else {
        return unknown("storing " + describe(value) + " at indices");
    }
    if (!no_lazy_left()) return false;
    const ExprRef mask =
        places.mask ? spread(places.mask, places.extents, static_cast<size_t>(places.mask_rank)) : nullptr;
    const auto into_scratch = [&](ExprRef* x) {
        Value temp;
        return memory((*x)->dtype, places.extents, false, &temp) &&
               put(places.extents, mask, temp.id, *x, true) && lazy_of(temp, x);
    };
    if (mask && (mask->checked() || aliasing_.reads(mask, array)))
        return unknown("such a mask among indices");
    if ((e->checked() || aliasing_.reads(e, array)) && !into_scratch(&e)) return false;
    auto place = std::make_shared<Expr>(*element);
    for (ExprRef& x : place->in) {
        const bool itself = aliasing_.reads(x, array);
        if (itself && !numpy::copies_indices()) return unknown("indices that the store changes");
        if ((x->checked() || itself) && !into_scratch(&x)) return false;
    }
    for (const bool stores : {false, true}) {
        graph::NestBody body;
        std::map<const Expr*, ValueId> done;
        if (mask) {
            graph::Inst when;
            when.op = RegionOp::NestWhen;
            when.in = {nest_value(body, mask, done)};
            body.insts.push_back(std::move(when));
        }
        const std::vector<ValueId> at = places_in_range(body, *place, done);
        if (stores)
            for (const NestOut& o : components({place->id, e})) {
                graph::Inst inst;
                inst.op = RegionOp::NestScatter;
                const ValueId v = nest_value(body, o.value, done);
                inst.in = {o.dest};
                inst.in.insert(inst.in.end(), at.begin(), at.end());
                inst.in.push_back(v);
                body.insts.push_back(std::move(inst));
            }
        if (!emit_nest(RegionOp::Nest, std::move(body), places.extents, false, true, nullptr)) return false;
    }
    written(array);
    effect();
    return true;
}

// np.where of three operands.
bool Builder::where(const Value& c, const Value& a, const Value& b, Value* out) {
    DType t;
    if (!promote(a, b, false, &t)) return false;
    Operands of;
    if (!operands_of({c, a, b}, &of)) return false;
    if (of.extents.empty()) return unknown("np.where of numbers");
    const std::vector<Value> in{c, a, b};
    for (size_t i = 0; i < 3; ++i) {
        ExprRef& x = of.in[i];
        ValueId id;
        if (x) {
            if (i > 0 && !cast_expr(&x, t)) return false;
        } else if (i == 0) {
            if (!truth(in[i], &id)) return false;
            x = number_expr(DType::Bool, id);
        } else {
            if (!convert(in[i], t, &id)) return false;
            x = number_expr(t, id);
        }
    }
    if (of.in[0]->dtype != DType::Bool) {
        if (graph::is_complex(of.in[0]->dtype)) return unknown("np.where of " + describe(c));
        const ExprRef zero = number_expr(of.in[0]->dtype, cast(const_int(0), DType::I64, of.in[0]->dtype));
        of.in[0] = op_expr(graph::Op::NotEqual, DType::Bool, {of.in[0], zero});
    }
    ExprRef e = op_expr(graph::Op::Where, t, of.in);
    *out = lazy(of, e);
    return true;
}

// An operation's `out`: NumPy computes into it what it would have made.
bool Builder::into(const Value& dest, const Value& value, Value* out) {
    if (dest.kind != Kind::Array) return unknown("a result stored in " + describe(dest));
    if (!fits_in_place(value.dtype, dest.dtype) || !value.is_array() || value.mask || value.rank > dest.rank)
        return unknown("a result of another kind than where it is stored");
    if (!assign(dest, value)) return false;
    *out = dest;
    return true;
}

}  // namespace stator::frontend::regions
