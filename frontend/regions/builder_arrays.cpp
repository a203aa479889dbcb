// Arrays: elements, views, elementwise expressions, stores.
//
// An expression of arrays stays a tree (Expr) until it is stored: then it is one nest over the destination.
// What an element may raise is known only when it is computed, and NumPy computes the whole expression before
// it stores anything: so an expression that may raise goes into scratch memory first, and is copied when no
// flag was up.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "frontend/regions/builder.h"

namespace stator::frontend::regions {

namespace {

using graph::RegionOp;
using graph::ViewAxis;

enum Nb {
    Add,
    And,
    FloorDivide,
    Lshift,
    Matmul,
    Multiply,
    Remainder,
    Or,
    Power,
    Rshift,
    Subtract,
    TrueDivide,
    Xor
};
bool is_complex(const Value& v) { return v.is_complex_number() || graph::is_complex(v.dtype); }

}  // namespace

std::vector<ValueId> Builder::extents_of(const Value& v) {
    if (v.mask) return packed_extents(v);
    if (v.kind == Kind::Lazy) return v.extents;
    std::vector<ValueId> out;
    for (int axis = 0; axis < v.rank; ++axis) out.push_back(extent(v.id, axis));
    return out;
}

// ---- keys ----

// a[i:i + 1], and parts between constants that are inside of the axis: their extents are known.
bool Builder::known_part(ValueId start, ValueId stop, ValueId n, KeyPart* out, bool* found) {
    using graph::Op;
    const auto low = start < 0 ? std::optional<int64_t>(0) : known_int(start);
    const auto high = stop < 0 ? std::nullopt : known_int(stop);
    const auto size = known_int(n);
    out->kind = KeyPart::Slice;
    out->const_step = 1;
    out->step = const_int(1);
    if (low && high) {
        if (*low < 0 || *high <= *low) return true;
        const auto now = plural_.find(n);
        const int64_t hint = size ? *size : now == plural_.end() ? 0 : now->second;
        if (hint < *high) return true;
        constexpr int64_t kPlural = 2;
        if (!size && *high > kPlural &&
            !guard(pointwise(Op::GreaterEqual, DType::I64, DType::Bool, {n, const_int(*high)})))
            return false;
        out->a = const_int(*low);
        out->count = const_int(*high - *low);
        return *found = true;
    }
    if (low || start < 0 || stop < 0 || !is_next(start, stop)) return true;
    if (!guard(pointwise(Op::GreaterEqual, DType::I64, DType::Bool, {start, const_int(0)}))) return false;
    graph::Inst inst;
    inst.op = RegionOp::Index;
    inst.in = {start, n};
    out->a = emit(std::move(inst), {DType::I64, -1}, true);
    out->count = const_int(1);
    return *found = out->a >= 0;
}

// Whether this block has computed `next` as v + 1.
bool Builder::is_next(ValueId v, ValueId next) const {
    for (const graph::Inst& i : r_->blocks[static_cast<size_t>(block_)].insts)
        if (i.result == next) return i.op == RegionOp::CheckedAdd && i.in[0] == v && known_int(i.in[1]) == 1;
    return false;
}

namespace {

constexpr int64_t kAnyStep = INT64_MAX;  // a step of which only is known that it is positive

}  // namespace

bool Builder::slice_part(const Value& slice, ValueId n, KeyPart* out) {
    using graph::Op;
    const auto i64 = [&](Op op, ValueId a, ValueId b) {
        return pointwise(op, DType::I64, DType::I64, {a, b});
    };
    const auto bound = [&](const Value& v, ValueId* id) {
        return v.is_none() ? (*id = -1, true) : to_int(v, id);
    };
    ValueId start, stop, step;
    if (!bound(slice.items[0], &start) || !bound(slice.items[1], &stop) || !bound(slice.items[2], &step))
        return false;
    int64_t k = 1;
    if (step >= 0) {
        k = known_int(step).value_or(kAnyStep);
        if (k == 0 || k == INT64_MIN) return unknown("a slice with such a step");
        if (k == kAnyStep && !guard(pointwise(Op::Greater, DType::I64, DType::Bool, {step, const_int(0)})))
            return false;
    }
    const ValueId zero = const_int(0), one = const_int(1), last = i64(Op::Subtract, n, one);
    bool found = false;
    if (k == 1 && !known_part(start, stop, n, out, &found)) return false;
    if (found) return true;
    // As PySlice_AdjustIndices: into [0, n], or [-1, n - 1] backwards.
    const auto clamp = [&](ValueId v) {
        const ValueId low = k > 0 ? zero : const_int(-1), high = k > 0 ? n : last;
        const auto c = known_int(v);
        if (c && *c >= 0) return i64(Op::Minimum, v, high);
        const ValueId from_end = i64(Op::Maximum, i64(Op::Add, v, n), low);
        if (c) return from_end;
        const ValueId negative = pointwise(Op::Less, DType::I64, DType::Bool, {v, zero});
        return pointwise(Op::Where, DType::I64, DType::I64, {negative, from_end, i64(Op::Minimum, v, high)});
    };
    start = start < 0 ? (k > 0 ? zero : last) : clamp(start);
    stop = stop < 0 ? (k > 0 ? n : const_int(-1)) : clamp(stop);
    const ValueId span = k > 0 ? i64(Op::Subtract, stop, start) : i64(Op::Subtract, start, stop);
    out->kind = KeyPart::Slice;
    out->a = start;
    out->const_step = k;
    out->step = k == kAnyStep ? step : const_int(k);
    if (k == 1 || k == -1) {
        out->count = start == zero && stop == n ? n : i64(Op::Maximum, span, zero);
    } else {
        // (span + size - 1) / size, without what may overflow.
        const ValueId size =
            k == kAnyStep ? i64(Op::Minimum, step, i64(Op::Maximum, n, one)) : const_int(k > 0 ? k : -k);
        const ValueId rounded = i64(Op::Add, i64(Op::Maximum, span, zero), i64(Op::Subtract, size, one));
        out->count = checked(RegionOp::FloorDiv, DType::I64, rounded, size);
        if (out->count < 0) return false;
    }
    return true;
}

bool Builder::parse_key(const Value& array, const Value& key, std::vector<KeyPart>* parts,
                        std::vector<ValueId>*) {
    const std::vector<Value> single{key};
    const std::vector<Value>& items = key.kind == Kind::Tuple ? key.items : single;
    int takes = 0;
    for (const Value& v : items) takes += v.is_number() || v.kind == Kind::Slice;
    if (takes > array.rank) return unknown("too many indices");
    int axis = 0;
    bool ellipsis = false;
    for (const Value& v : items) {
        KeyPart p{};
        if (v.is_none()) {
            p.kind = KeyPart::New;
            parts->push_back(p);
        } else if (v.kind == Kind::Known && v.obj == Py_Ellipsis && !ellipsis) {
            ellipsis = true;
            p.kind = KeyPart::All;
            for (int i = takes; i < array.rank; ++i, ++axis) parts->push_back(p);
        } else if (v.kind == Kind::Slice) {
            if (!slice_part(v, extent(array.id, axis++), &p)) return false;
            parts->push_back(p);
        } else if (v.is_number()) {
            if (v.dtype == DType::Bool || !to_int(v, &p.a)) return unknown("an index that is " + describe(v));
            graph::Inst inst;
            inst.op = RegionOp::Index;
            inst.in = {p.a, extent(array.id, axis++)};
            p.kind = KeyPart::Index;
            p.a = emit(std::move(inst), {DType::I64, -1}, true);
            if (p.a < 0) return false;
            parts->push_back(p);
        } else {
            return unknown("an index that is " + describe(v));
        }
    }
    for (; axis < array.rank; ++axis) parts->push_back({KeyPart::All, -1, -1, -1, 1});
    return true;
}

// A view of it, whose id, extents and order are to follow. What lies in memory that only the region knows is
// a part of an array that the region may have to make an object of: that is its item.
Value Builder::part_of(const Value& array) {
    Value v = array;
    v.whole = v.held = false;
    v.part_of = -1;
    if (array.held) v.slot = -1;
    if (array.part) return v;
    v.part = array.fresh || array.held || array.slot == -2;
    v.items.clear();
    if (v.part) v.items.push_back(array);
    return v;
}

bool Builder::view(const Value& array, const std::vector<KeyPart>& parts, Value* out) {
    graph::Inst inst;
    inst.op = RegionOp::View;
    inst.in = {array.id};
    graph::ViewSpec spec;
    std::vector<ValueId> extents;
    *out = part_of(array);
    out->part_of = array.id;
    int8_t axis = 0;
    const auto operand = [&](ValueId id) {
        inst.in.push_back(id);
        return static_cast<int>(inst.in.size()) - 1;
    };
    for (const KeyPart& p : parts) {
        ViewAxis a;
        a.axis = axis;
        switch (p.kind) {
            case KeyPart::Index:
                a.kind = ViewAxis::Drop;
                a.start = operand(p.a);
                ++axis;
                break;
            case KeyPart::Slice:
                a.start = operand(p.a);
                a.count = operand(p.count);
                a.step = operand(p.step);
                extents.push_back(p.count);
                if (p.const_step < 0) out->backward = true;
                ++axis;
                break;
            case KeyPart::All:
                extents.push_back(extent(array.id, axis));
                ++axis;
                break;
            case KeyPart::New:
                a.kind = ViewAxis::New;
                a.axis = -1;
                a.count = operand(const_int(1));
                extents.push_back(const_int(1));
                break;
        }
        spec.push_back(a);
    }
    out->walk.clear();
    if (array.whole || (array.fresh && !array.part)) {
        int8_t at = 0;
        for (const KeyPart& p : parts) {
            if (extents.size() == 1 && (p.kind == KeyPart::Slice || p.kind == KeyPart::All))
                out->walk = p.kind == KeyPart::Slice && p.const_step == kAnyStep
                                ? ""
                                : fmt::format("{}:{}", at, p.kind == KeyPart::All ? 1 : p.const_step);
            at = static_cast<int8_t>(at + (p.kind != KeyPart::New));
        }
    }
    inst.ints = {static_cast<int64_t>(r_->views.size())};
    r_->views.push_back(std::move(spec));
    out->rank = static_cast<int>(extents.size());
    out->id = emit(std::move(inst), {array.dtype, static_cast<int8_t>(out->rank)});
    for (size_t i = 0; i < extents.size(); ++i)
        extents_.try_emplace({out->id, static_cast<int>(i)}, extents[i]);
    return true;
}

bool Builder::subscript(const Value& array, const Value& key, Value* out) {
    if (key.is_array() && key.dtype == DType::Bool) return compress(array, key, out);
    if (is_index_array(key)) return gather(array, key, out);
    std::vector<KeyPart> parts;
    if (!parse_key(array, key, &parts, nullptr)) return false;
    const bool element =
        std::all_of(parts.begin(), parts.end(), [](const KeyPart& p) { return p.kind == KeyPart::Index; });
    if (!element) return view(array, parts, out);
    std::vector<ValueId> at;
    for (const KeyPart& p : parts) at.push_back(p.a);
    return load_element(array, at, out);
}

bool Builder::load_element(const Value& array, const std::vector<ValueId>& at, Value* out) {
    if (array.dtype == DType::F16) return unknown("elements of " + describe(array));
    const auto load = [&](ValueId from, DType t) {
        graph::Inst inst;
        inst.op = RegionOp::Load;
        inst.in = {from};
        inst.in.insert(inst.in.end(), at.begin(), at.end());
        return scalar_value(t, emit(std::move(inst), {t, -1}));
    };
    if (!graph::is_complex(array.dtype)) return *out = load(array.id, array.dtype), true;
    const DType t = array.dtype == DType::C64 ? DType::F32 : DType::F64;
    *out = composed(Kind::ComplexScalar, {load(part(array.id, 0), t), load(part(array.id, 1), t)});
    out->dtype = array.dtype;
    return true;
}

// array[position], which is in range: an element, or a row.
bool Builder::item_at(const Value& array, ValueId position, Value* out) {
    if (array.rank > 1) {
        std::vector<KeyPart> parts(static_cast<size_t>(array.rank), KeyPart{KeyPart::All, -1, -1, -1, 1});
        parts[0] = KeyPart{KeyPart::Index, position, -1, -1, 1};
        return view(array, parts, out);
    }
    return load_element(array, {position}, out);
}

// ---- stores ----

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
        for (const NestOut& o : components({array.id, v})) {
            graph::Inst store;
            store.op = RegionOp::Store;
            store.in = {o.dest};
            for (const KeyPart& p : parts) store.in.push_back(p.a);
            store.in.push_back(o.value->id);
            emit_effect(std::move(store));
        }
        written(array);
        effect();
        return true;
    }
    Value dest;
    if (!view(array, parts, &dest)) return false;
    if (value.kind == Kind::Array && value.id == dest.id) return true;  // a[key] op= x has stored it
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
        const bool overlaps = value.kind == Kind::Array && may_share(memory_of(value), memory_of(dest));
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
    const bool hazard = overlaps(e, dest);
    if (hazard && !e->checked() && only_narrow_ones_move(e, dest)) {
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
    if (reads_in_place(*e, dest)) return true;
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
    return scratch_of(v->expr, v->extents, v, true);
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
    return scratch_of(v.expr, v.extents, out);
}

// ---- expressions ----

bool Builder::lazy_of(const Value& v, ExprRef* out) {
    if (v.mask) {
        Value packed;
        return pack(v, false, &packed) && lazy_of(packed, out);
    }
    if (v.kind == Kind::Lazy) return *out = v.expr, true;
    auto e = std::make_shared<Expr>();
    e->kind = Expr::Leaf;
    e->dtype = v.dtype;
    e->id = v.id;
    e->slot = memory_of(v);
    *out = e;
    return true;
}

bool Builder::cast_expr(ExprRef* e, DType to) {
    if ((*e)->dtype == to) return true;
    if (graph::is_complex(to) || graph::is_complex((*e)->dtype)) return cast_complex(e, to);
    if (!graph::is_native(graph::Op::Cast, (*e)->dtype)) return unknown("this conversion");
    auto c = std::make_shared<Expr>();
    c->kind = Expr::Op;
    c->op = graph::Op::Cast;
    c->dtype = to;
    const bool narrows = graph::is_float((*e)->dtype) &&
                         (!graph::is_float(to) || graph::info(to).size < graph::info((*e)->dtype).size);
    c->faults = (*e)->faults || narrows;
    c->indexes = (*e)->indexes;
    c->in = {*e};
    *e = c;
    return true;
}

// Extents of the common shape, the last axes against each other. Extents that are not known to be equal or 1
// have to be equal.
bool Builder::join_extents(const std::vector<ValueId>& a, const std::vector<ValueId>& b,
                           std::vector<ValueId>* out) {
    const auto& longer = a.size() >= b.size() ? a : b;
    const auto& shorter = a.size() >= b.size() ? b : a;
    *out = longer;
    const size_t shift = longer.size() - shorter.size();
    for (size_t i = 0; i < shorter.size(); ++i) {
        const ValueId x = longer[i + shift], y = shorter[i];
        if (x == y) continue;
        const auto kx = known_int(x), ky = known_int(y);
        if (ky && *ky == 1) continue;
        if (kx && *kx == 1) {
            (*out)[i + shift] = y;
            continue;
        }
        if (!guard(pointwise(graph::Op::Equal, DType::I64, DType::Bool, {x, y}))) return false;
    }
    return true;
}

// An array as a view of the common shape.
bool Builder::align(const Value& v, const std::vector<ValueId>& extents, Value* out) {
    const std::vector<ValueId> own = extents_of(v);
    graph::Inst inst;
    inst.op = RegionOp::View;
    inst.in = {v.id};
    graph::ViewSpec spec;
    const auto operand = [&](ValueId id) {
        inst.in.push_back(id);
        return static_cast<int>(inst.in.size()) - 1;
    };
    const size_t shift = extents.size() - own.size();
    bool changes = shift > 0;
    for (size_t i = 0; i < extents.size(); ++i) {
        const auto axis = static_cast<int8_t>(i) - static_cast<int8_t>(shift);
        ViewAxis a;
        a.axis = static_cast<int8_t>(axis);
        const bool stretch = axis >= 0 && own[static_cast<size_t>(axis)] != extents[i] &&
                             known_int(own[static_cast<size_t>(axis)]) == 1;
        if (axis >= 0 && !stretch) {
            if (own[static_cast<size_t>(axis)] != extents[i] &&
                !guard(pointwise(graph::Op::Equal, DType::I64, DType::Bool,
                                 {own[static_cast<size_t>(axis)], extents[i]})))
                return false;
            spec.push_back(a);
            continue;
        }
        changes = true;
        if (stretch) spec.push_back({ViewAxis::Drop, a.axis, operand(const_int(0)), 0, 0});
        a.kind = ViewAxis::New;
        a.axis = -1;
        a.count = operand(extents[i]);
        spec.push_back(a);
    }
    *out = v;
    if (!changes) return true;
    out->whole = false;
    out->rank = static_cast<int>(extents.size());
    inst.ints = {static_cast<int64_t>(r_->views.size())};
    r_->views.push_back(std::move(spec));
    out->id = emit(std::move(inst), {v.dtype, static_cast<int8_t>(out->rank)});
    for (size_t i = 0; i < extents.size(); ++i)
        extents_.try_emplace({out->id, static_cast<int>(i)}, extents[i]);
    return true;
}

// Whether broadcasting to `extents` repeats anything.
bool Builder::spreads(const std::vector<ValueId>& own, const std::vector<ValueId>& extents) const {
    if (own.size() != extents.size()) return true;
    for (size_t i = 0; i < own.size(); ++i)
        if (own[i] != extents[i] && known_int(own[i]) == 1) return true;
    return false;
}

bool Builder::align(const ExprRef& e, const std::vector<ValueId>& own, const std::vector<ValueId>& extents,
                    ExprRef* out) {
    if (own == extents || e->kind == Expr::Number) return *out = e, true;
    // Spread over no points at all it would raise nothing, and over many the same again and again.
    if (e->checked() && e->kind != Expr::Leaf && spreads(own, extents)) {
        Value computed;
        ExprRef leaf;
        return scratch_of(e, own, &computed) && lazy_of(computed, &leaf) && align(leaf, own, extents, out);
    }
    auto copy = std::make_shared<Expr>(*e);
    if (e->kind == Expr::Leaf) {
        Value v, aligned;
        v.kind = Kind::Array;
        v.dtype = e->dtype;
        v.rank = static_cast<int>(own.size());
        v.id = e->id;
        v.slot = e->slot;
        for (size_t i = 0; i < own.size(); ++i) extents_.try_emplace({v.id, static_cast<int>(i)}, own[i]);
        if (!align(v, extents, &aligned)) return false;
        copy->id = aligned.id;
        if (e->narrow < 0 && aligned.id != v.id) copy->narrow = v.id, copy->narrow_extents = own;
        copy->whole = -1;
    } else if (e->kind == Expr::Axis) {
        const size_t shift = extents.size() - own.size();
        copy->axis += static_cast<int>(shift);
        const ValueId n = own[static_cast<size_t>(e->axis)];
        if (known_int(n) == 1 && n != extents[static_cast<size_t>(copy->axis)]) {  // one position everywhere
            copy->kind = Expr::Number;
            copy->id = const_int(0);
        }
    } else {
        for (ExprRef& x : copy->in)
            if (!align(x, own, extents, &x)) return false;
    }
    *out = copy;
    return true;
}

// Axes of extent 1 do not count.
bool Builder::lies_across(const Value& v) const {
    if (!v.permuted || v.kind == Kind::Lazy) return v.permuted;
    int long_axes = 0;
    for (int axis = 0; axis < v.rank; ++axis) {
        const auto e = extents_.find({v.id, axis});
        long_axes += e == extents_.end() || known_int(e->second) != 1;
    }
    return long_axes > 1;
}

// The operands of an elementwise operation as expressions over one shape; numbers stay nullptr.
bool Builder::operands_of(std::vector<Value> in, Operands* out) {
    if (!one_mask(in, out)) return false;
    const auto own_extents = [&](const Value& v) { return v.mask ? v.extents : extents_of(v); };
    bool first = true;
    for (const Value& v : in) {
        if (!v.is_array()) continue;
        if (v.rank == 0) return unknown("an array of no axes");
        const std::vector<ValueId> own = own_extents(v);
        if (first)
            out->extents = own;
        else if (std::vector<ValueId> joined; join_extents(out->extents, own, &joined))
            out->extents = joined;
        else
            return false;
        first = false;
    }
    for (const Value& v : in) {
        ExprRef own, x;
        if (v.is_array()) {
            if (v.mask)
                own = v.expr;
            else if (!lazy_of(v, &own))
                return false;
            if (!align(own, own_extents(v), out->extents, &x)) return false;
        }
        out->permuted |= lies_across(v);
        out->in.push_back(std::move(x));
    }
    return true;
}

Value Builder::lazy(const Operands& of, ExprRef e) {
    Value v;
    v.kind = Kind::Lazy;
    v.dtype = e->dtype;
    v.expr = std::move(e);
    v.extents = of.extents;
    v.mask = of.mask;
    v.mask_rank = of.mask_rank;
    v.permuted = of.permuted;
    v.rank = static_cast<int>(of.extents.size()) + (of.mask ? 1 - of.mask_rank : 0);
    return v;
}

ExprRef Builder::number_expr(DType t, ValueId id) {
    auto n = std::make_shared<Expr>();
    n->kind = Expr::Number;
    n->dtype = t;
    n->id = id;
    return n;
}

ExprRef Builder::op_expr(graph::Op op, DType result, std::vector<ExprRef> in) {
    auto e = std::make_shared<Expr>();
    e->kind = Expr::Op;
    e->op = op;
    e->dtype = result;
    e->faults = graph::is_float(in.back()->dtype) && graph::info(op).faults != "-";
    for (const ExprRef& x : in) {
        e->faults |= x->faults;
        e->indexes |= x->indexes;
    }
    e->in = std::move(in);
    return e;
}

bool Builder::elementwise(graph::Op op, DType operand, DType result, const std::vector<Value>& in,
                          Value* out) {
    if (graph::is_complex(operand) || operand == DType::F16)
        return unknown("arrays of " + std::string(graph::info(operand).text));
    Operands of;
    if (!operands_of(in, &of)) return false;
    for (size_t i = 0; i < in.size(); ++i) {
        ExprRef& x = of.in[i];
        if (x) {
            if (!cast_expr(&x, operand)) return false;
            continue;
        }
        ValueId id;
        if (!convert(in[i], operand, &id)) return false;
        x = number_expr(operand, id);
    }
    *out = lazy(of, op_expr(op, result, of.in));
    return true;
}

// NumPy's casting rule "same_kind", of what is known here.
bool Builder::fits_in_place(DType from, DType to) {
    return from == to || (graph::is_float(from) && graph::is_float(to)) ||
           (graph::is_complex(from) && graph::is_complex(to)) ||
           (graph::is_signed(from) && graph::is_signed(to));
}

bool Builder::binary_arrays(int nb, bool in_place, const Value& a, const Value& b, Value* out) {
    using graph::Op;
    const auto fits = [](const Value& v) { return v.is_array() || v.is_number() || v.is_complex_number(); };
    if (!fits(a) || !fits(b)) return unknown("an operator on " + describe(a) + " and " + describe(b));
    if (nb == Matmul) return !in_place && a.is_array() && b.is_array() ? product(a, b, out) : unknown("@=");
    Value lazy;
    if (is_complex(a) || is_complex(b)) {
        if (in_place && a.is_array() && !several(a)) return false;
        if (!binary_complex(nb, a, b, &lazy)) return false;
    } else if (!binary_real(nb, a, b, &lazy)) {
        return false;
    }
    if (!in_place || !a.is_array()) return *out = lazy, true;
    if (a.kind == Kind::Lazy) {  // a fresh array, nobody else's
        if (!fits_in_place(lazy.dtype, a.dtype) || lazy.rank != a.rank)
            return unknown("an operator in place that changes the kind");
        if (!cast_expr(&lazy.expr, a.dtype)) return false;
        lazy.dtype = a.dtype;
        return *out = lazy, true;
    }
    if (a.slot == -1 && a.holder < 0) return unknown("an operator in place on an array of several places");
    if (!fits_in_place(lazy.dtype, a.dtype) || lazy.rank != a.rank)
        return unknown("an operator in place that changes the kind");
    if (!assign(a, lazy)) return false;
    *out = a;
    return true;
}

bool Builder::binary_real(int nb, const Value& a, const Value& b, Value* out) {
    using graph::Op;
    DType t;
    if (!promote(a, b, nb == TrueDivide, &t)) return false;
    Op op;
    std::vector<Value> in{a, b};
    switch (nb) {
        case Add: op = Op::Add; break;
        case Subtract: op = Op::Subtract; break;
        case Multiply: op = Op::Multiply; break;
        case TrueDivide: op = Op::Divide; break;
        case And: op = Op::BitwiseAnd; break;
        case Or: op = Op::BitwiseOr; break;
        case Xor: op = Op::BitwiseXor; break;
        case Power:
            if (b.kind != Kind::Int || known_int(b.id) != 2) return power_by_constant(t, a, b, out);
            if (a.dtype == DType::Bool) return unknown("a power of arrays");
            op = Op::Square;
            in.pop_back();
            break;
        default: return unknown("this operator on arrays");
    }
    if (!graph::is_native(op, t)) return unknown("this operator on " + describe(a));
    return elementwise(op, t, t, in, out);
}

// ---- products and reductions ----

bool Builder::dot(const Value& a, const Value& b, bool operator_, Value* out) {
    if (!a.is_array() || !b.is_array() || a.rank != 1 || b.rank != 1 || a.dtype != b.dtype ||
        (a.dtype != DType::F64 && a.dtype != DType::F32))
        return unknown("a product of " + describe(a) + " and " + describe(b));
    Value x, y;
    // np.dot copies what lies backwards; the operator's loop takes it as it is.
    const auto operand = [&](const Value& v, Value* to) {
        if (v.kind == Kind::Lazy) return as_array(v, to);
        if (!v.backward || operator_) return *to = v, true;
        ExprRef e;
        return lazy_of(v, &e) && scratch_of(e, extents_of(v), to);
    };
    if (!operand(a, &x) || !operand(b, &y)) return false;
    const ValueId n = extents_of(x)[0], m = extents_of(y)[0];
    if (n != m && !guard(pointwise(graph::Op::Equal, DType::I64, DType::Bool, {n, m}))) return false;
    graph::Inst inst;
    inst.op = RegionOp::Dot;
    inst.operand = a.dtype;
    inst.ints = {call_index({graph::RegionCall::Dot, operator_ ? "dot" : "np.dot", {a.dtype}})};
    inst.in = {x.id, y.id};
    *out = scalar_value(a.dtype, emit(std::move(inst), {a.dtype, -1}));
    return finite(out->id, a.dtype);
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
    if (!a.is_array() || !types || a.permuted || (a.rank != 1 && !is_dense(a)))
        return unknown("a reduction of " + describe(a));
    Value x;
    if (!as_array(a, &x)) return false;
    if (x.rank > 1) {
        graph::Inst flat;
        flat.op = RegionOp::Flatten;
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
        first.op = RegionOp::Load;
        first.in = {x.id, const_int(0)};
        start = emit(std::move(first), {a.dtype, -1});
        Value tail;
        const Value key = composed(Kind::Slice, {int_value(const_int(1)), known(Py_None), known(Py_None)});
        if (!subscript(x, key, &tail)) return false;
        rest = tail.id;
    }
    graph::Inst inst;
    inst.op = RegionOp::Reduce;
    inst.operand = a.dtype;
    inst.ints = {call_index({graph::RegionCall::UfuncLoop, ufunc, {a.dtype, a.dtype, a.dtype}})};
    inst.in = {rest, start};
    *out = scalar_value(a.dtype, emit(std::move(inst), {a.dtype, -1}));
    return finite(out->id, a.dtype);
}

// An array of one value.
bool Builder::filled(const Value& shape, DType t, double value, Value* out) {
    *out = {};
    const std::vector<Value> one{shape};
    for (const Value& n : shape.kind == Kind::Tuple ? shape.items : one) {
        ValueId id;
        if (!to_int(n, &id)) return false;
        if (!guard(pointwise(graph::Op::GreaterEqual, DType::I64, DType::Bool, {id, const_int(0)})))
            return false;
        out->extents.push_back(id);
    }
    const auto constant = [&](DType part, double v) {
        return number_expr(part, cast(const_float(v), DType::F64, part));
    };
    const DType half = t == DType::C64 ? DType::F32 : DType::F64;
    const ExprRef e =
        graph::is_complex(t) ? pair(t, constant(half, value), constant(half, 0)) : constant(t, value);
    out->kind = Kind::Lazy;
    out->dtype = t;
    out->rank = static_cast<int>(out->extents.size());
    out->expr = e;
    return out->rank > 0 || unknown("an array of no axes");
}

bool Builder::compare_arrays(int py_op, const Value& a, const Value& b, Value* out) {
    using graph::Op;
    constexpr Op ops[] = {Op::Less, Op::LessEqual, Op::Equal, Op::NotEqual, Op::Greater, Op::GreaterEqual};
    if (is_complex(a) || is_complex(b)) return compare_complex(py_op, a, b, out);
    DType t;
    if (!promote(a, b, false, &t)) return false;
    return elementwise(ops[py_op], t, DType::Bool, {a, b}, out);
}

}  // namespace stator::frontend::regions
