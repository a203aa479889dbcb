// Arrays: stores, and the memory that expressions are computed into.
//
// An expression of arrays stays a tree (Expr) until it is stored: then it is one nest over the destination.
// What an element may raise is known only when it is computed, and NumPy computes the whole expression before
// it stores anything: so an expression that may raise goes into scratch memory first, and is copied when no
// flag was up.

#include <algorithm>
#include <utility>

#include "frontend/regions/build/builder.h"

namespace stator::frontend::regions {

namespace {

using graph::RegionOp;

}  // namespace

std::vector<ValueId> Builder::extents_of(const Value& v) {
    if (v.mask) return packed_extents(v);
    if (v.kind == Kind::Lazy) return v.extents;
    std::vector<ValueId> out;
    for (int axis = 0; axis < v.rank; ++axis) out.push_back(extent(v.id, axis));
    return out;
}

// Expressions read when they are stored: nothing that they read may change before. And behind a store Python
// must be able to go on, in all frames.
bool Builder::no_lazy_left() {
    for (const Value& v : s_.slots)
        if (v.is_lazy()) return unknown("an expression that is stored twice");
    return can_resume() || unknown("a store in the middle of an expression");
}

// Converts as an assignment to an element does; what would warn or raise leaves.
bool Builder::element_of(const Value& v, DType to, ValueId* out) {
    if (!v.is_number()) return unknown("storing " + describe(v) + " to an element");
    if (graph::is_complex(to) || to == DType::F16)
        return unknown("elements of " + std::string(graph::info(to).text));
    if (to == DType::Bool) return truth(v, out);
    if (graph::is_float(v.dtype) && !graph::is_float(to)) {
        const ValueId x = cast(v.id, v.dtype, DType::F64);
        const ValueId low =
            pointwise(graph::Op::Greater, DType::F64, DType::Bool, {x, const_float(-2147483649.0)});
        const ValueId high =
            pointwise(graph::Op::Less, DType::F64, DType::Bool, {x, const_float(2147483648.0)});
        if (!guard(pointwise(graph::Op::LogicalAnd, DType::Bool, DType::Bool, {low, high}))) return false;
        Value i = int_value(cast(x, DType::F64, DType::I64));
        return convert(i, to, out);
    }
    if (v.kind == Kind::Scalar && graph::is_integer(v.dtype) && graph::is_integer(to) && v.dtype != to) {
        if (v.dtype == DType::U64) return unknown("storing " + describe(v));
        return convert(int_value(cast(v.id, v.dtype, DType::I64)), to, out);
    }
    if (v.kind == Kind::Int && graph::is_float(to)) return convert(v, to, out);
    return convert(v, to, out);
}

void Builder::store_element(const Value& array, const std::vector<ValueId>& at, const ExprRef& value) {
    for (const NestOut& o : components({array.id, value})) {
        graph::Inst store;
        store.op = RegionOp::Store;
        store.in = {o.dest};
        store.in.insert(store.in.end(), at.begin(), at.end());
        store.in.push_back(o.value->id);
        emit_effect(std::move(store));
    }
}

// A tuple or list of numbers into a vector: NumPy converts each as if it were stored alone. A single one
// would be stored to all elements.
bool Builder::assign_items(const Value& dest, const std::vector<Value>& items) {
    const auto n = static_cast<int64_t>(items.size());
    std::vector<ExprRef> elements(items.size());
    if (dest.rank != 1 || n < 2) return unknown("storing items into " + describe(dest));
    for (size_t k = 0; k < items.size(); ++k) {
        if (!items[k].is_number() && !items[k].is_complex_number())
            return unknown("storing " + describe(items[k]) + " among other items");
        if (!element_expr(items[k], dest.dtype, &elements[k])) return false;
    }
    const ValueId extent = extents_of(dest)[0];
    if (known_int(extent) != n &&
        !guard(pointwise(graph::Op::Equal, DType::I64, DType::Bool, {extent, const_int(n)})))
        return false;
    if (!no_lazy_left()) return false;
    for (size_t k = 0; k < items.size(); ++k)
        store_element(dest, {const_int(static_cast<int64_t>(k))}, elements[k]);
    written(dest);
    effect();
    return true;
}

bool Builder::store(const Value& array, const Value& key, const Value& value) {
    if (array.slot < 0 && !array.fresh && array.holder < 0)
        return unknown("a store into an array of several places");
    if (key.is_array() && key.dtype == DType::Bool) return store_masked(array, key, value);
    if (is_index_array(key)) return scatter(array, key, value);
    std::vector<KeyPart> parts;
    if (!parse_key(array, key, &parts, nullptr)) return false;
    const bool element =
        std::all_of(parts.begin(), parts.end(), [](const KeyPart& p) { return p.kind == KeyPart::Index; });
    if (element) {
        ExprRef v;
        if (!element_expr(value, array.dtype, &v) || !no_lazy_left()) return false;
        std::vector<ValueId> at;
        for (const KeyPart& p : parts) at.push_back(p.a);
        store_element(array, at, v);
        written(array);
        effect();
        return true;
    }
    Value dest;
    if (!view(array, parts, &dest)) return false;
    if (value.kind == Kind::Array && value.id == dest.id) return true;  // a[key] op= x has stored it
    const Value from = looked_into(value);
    if (from.kind == Kind::Tuple || from.kind == Kind::List) return assign_items(dest, from.items);
    return assign(dest, value);
}

bool Builder::assign(const Value& dest, const Value& value) {
    const std::vector<ValueId> extents = extents_of(dest);
    ExprRef e;
    if (value.is_number() || value.is_complex_number()) {
        if (!element_expr(value, dest.dtype, &e)) return false;
    } else if (value.is_array()) {
        // NumPy copies a vector onto one that overlaps it element by element, in an order that is right for
        // equal strides only.
        const bool overlaps =
            value.kind == Kind::Array && aliasing_.may_share(memory_of(value), memory_of(dest));
        const std::string from = value.whole || (value.fresh && !value.part) ? "0:1" : value.walk;
        if (overlaps && dest.rank == 1 && value.id != dest.id && (from.empty() || from != dest.walk))
            return unknown("storing a part of an array into another part of it");
        if (value.rank > dest.rank) return unknown("storing " + describe(value) + " into " + describe(dest));
        ExprRef own;
        if (!lazy_of(value, &own) || !align(own, extents_of(value), extents, &e) ||
            !cast_expr(&e, dest.dtype))
            return false;
    } else {
        return unknown("storing " + describe(value));
    }
    if (!no_lazy_left()) return false;
    const bool hazard = aliasing_.overlaps(e, dest);
    if (hazard && !e->checked() && aliasing_.only_narrow_ones_move(e, dest)) {
        std::map<const Expr*, ExprRef> done;
        if (!copy_moving(&e, dest, extents, done)) return false;
    } else if (!hazard && graph::is_complex(dest.dtype) && is_cheap(e)) {
        if (e->checked() && !probe(extents, nullptr, e)) return false;
    } else if (e->checked() || hazard) {
        Value temp;
        if (!scratch_of(e, extents, &temp) || !lazy_of(temp, &e)) return false;
    }
    if (!fill(dest.id, extents, e, false)) return false;
    written(dest);
    effect();
    return true;
}

// Of an expression that reads what is overwritten meanwhile, operands that are broadcast (a row, a column)
// are copied first, instead of putting the whole result into scratch memory.
bool Builder::copy_moving(ExprRef* e, const Value& dest, const std::vector<ValueId>& extents,
                          std::map<const Expr*, ExprRef>& done) {
    if (aliasing_.reads_in_place(*e, dest)) return true;
    if (auto it = done.find(e->get()); it != done.end()) return *e = it->second, true;
    const Expr* const was = e->get();
    auto copy = std::make_shared<Expr>(**e);
    if (copy->kind == Expr::Leaf) {
        auto narrow = std::make_shared<Expr>(*copy);
        narrow->id = std::exchange(narrow->narrow, -1);
        Value temp;
        ExprRef leaf, wide;
        if (!scratch_of(narrow, narrow->narrow_extents, &temp) || !lazy_of(temp, &leaf) ||
            !align(leaf, extents_of(temp), extents, &wide))
            return false;
        *e = wide;
    } else {
        for (ExprRef& x : copy->in)
            if (!copy_moving(&x, dest, extents, done)) return false;
        *e = copy;
    }
    done.emplace(was, *e);
    return true;
}

// Memory of the region's own. Fresh: for an array that a variable is going to hold.
bool Builder::memory(DType t, const std::vector<ValueId>& extents, bool fresh, Value* out) {
    graph::Inst inst;
    inst.op = RegionOp::Scratch;
    inst.in = extents;
    const int site = fresh ? site_here() : -1;
    if (fresh)
        inst.ints = {keep_clear(site, &inst), kSite};
    else
        inst.ints = {cells_++};
    inst.exit = exit_here();
    if (inst.exit < 0) return false;
    Value v;
    v.kind = Kind::Array;
    v.dtype = t;
    v.rank = static_cast<int>(extents.size());
    v.id = emit(std::move(inst), {t, static_cast<int8_t>(v.rank)});
    v.slot = fresh ? kFreshSlots + site : -2;
    dense_.insert(v.id);
    v.fresh = fresh;
    for (size_t i = 0; i < extents.size(); ++i) extents_[{v.id, static_cast<int>(i)}] = extents[i];
    *out = std::move(v);
    return true;
}

bool Builder::scratch_of(const ExprRef& value, const std::vector<ValueId>& extents, Value* out, bool fresh) {
    Value made;
    if (!memory(value->dtype, extents, fresh, &made) || !fill(made.id, extents, value, true)) return false;
    *out = std::move(made);
    return true;
}

// An expression becomes an array that a variable holds, in memory of its own (sites.cpp).
bool Builder::fresh_array(Value* v) {
    if (v->permuted) return unknown("an array whose axes are not in the order of C");
    if (v->mask) return pack(*v, true, v);
    if (is_lazy_part(*v)) return part_in_memory(Value(*v), v);
    return scratch_of(v->expr, v->extents, v, true);
}

// A vector that Python copied (Value::copied).
bool Builder::copied_array(Value* v) {
    Value copy;
    if (!guard(v->copied) || !copy_of(*v, &copy) || !fresh_array(&copy)) return false;
    *v = std::move(copy);
    return true;
}

bool Builder::copy_of(const Value& array, Value* out) {
    *out = {};
    out->kind = Kind::Lazy;
    out->dtype = array.dtype;
    out->rank = array.rank;
    out->extents = extents_of(array);
    return lazy_of(array, &out->expr);
}

bool Builder::as_array(const Value& v, Value* out) {
    if (v.kind == Kind::Array) return *out = v, true;
    if (v.mask) return pack(v, false, out);
    // Its place in memory shows: in the order of sums, and in the strides of what is made of it.
    if (v.permuted) return unknown("an array whose axes are not in the order of C");
    return scratch_of(v.expr, v.extents, out);
}

// ---- what is stored to ----

void Builder::mark_written(int slot) {
    for (EntryInput& in : out_->inputs)
        if (in.is_memory() && in.slot == slot) in.written = true;
}

void Builder::written(const Value& array) {
    if (array.slot >= 0)
        mark_written(array.slot);
    else if (array.holder >= 0)
        aliasing_.writes(array.holder);
}

}  // namespace stator::frontend::regions
