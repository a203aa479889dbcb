// Subscripts of arrays: what a key selects, elements and views.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "frontend/regions/build/builder.h"

namespace stator::frontend::regions {

namespace {

using graph::RegionOp;
using graph::ViewAxis;

constexpr int64_t kAnyStep = INT64_MAX;  // a step of which only is known that it is positive

}  // namespace

// a[i:i + 1], and parts between constants that are inside of the axis: their extents are known. Declined:
// others.
Did Builder::known_part(ValueId start, ValueId stop, ValueId n, KeyPart* out) {
    using graph::Op;
    const auto low = start < 0 ? std::optional<int64_t>(0) : known_int(start);
    const auto high = stop < 0 ? std::nullopt : known_int(stop);
    const auto size = known_int(n);
    out->kind = KeyPart::Slice;
    out->const_step = 1;
    out->step = const_int(1);
    if (low && high) {
        if (*low < 0 || *high <= *low) return Did::Declined;
        const auto now = plural_.find(n);
        const int64_t hint = size ? *size : now == plural_.end() ? 0 : now->second;
        if (hint < *high) return Did::Declined;
        if (!size && *high > kPlural &&
            !guard(pointwise(Op::GreaterEqual, DType::I64, DType::Bool, {n, const_int(*high)})))
            return false;
        out->a = const_int(*low);
        out->count = const_int(*high - *low);
        return true;
    }
    if (low || start < 0 || stop < 0 || !is_next(start, stop)) return Did::Declined;
    if (!guard(pointwise(Op::GreaterEqual, DType::I64, DType::Bool, {start, const_int(0)}))) return false;
    graph::Inst inst;
    inst.op = RegionOp::Index;
    inst.in = {start, n};
    out->a = emit(std::move(inst), {DType::I64, -1}, true);
    out->count = const_int(1);
    return out->a >= 0;
}

// Whether this block has computed `next` as v + 1.
bool Builder::is_next(ValueId v, ValueId next) const {
    for (const graph::Inst& i : r_->blocks[static_cast<size_t>(block_)].insts)
        if (i.result == next) return i.op == RegionOp::CheckedAdd && i.in[0] == v && known_int(i.in[1]) == 1;
    return false;
}

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
        constexpr int64_t kFar = int64_t{1} << 62;
        if (k == 0 || (k != kAnyStep && (k >= kFar || k <= -kFar)))
            return unknown("a slice with such a step");
        if (k == kAnyStep && !guard(pointwise(Op::Greater, DType::I64, DType::Bool, {step, const_int(0)})))
            return false;
    }
    const ValueId zero = const_int(0), one = const_int(1), last = i64(Op::Subtract, n, one);
    if (k == 1)
        if (Did did = known_part(start, stop, n, out); did.handled()) return did.done();
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
    if (known_int(out->count) != 0) return true;
    out->a = zero;  // as NumPy's get_view_from_index
    out->step = one;
    out->const_step = 1;
    return true;
}

// What a variable, a tuple or a list is going to hold.
bool Builder::settle_strides(Value* v) {
    for (const ValueId count : v->counts)
        if (!known_int(count) && !plural_.contains(count) &&
            !guard(pointwise(graph::Op::Greater, DType::I64, DType::Bool, {count, const_int(0)})))
            return false;
    v->counts.clear();
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
    v.object = new_object();
    v.whole = v.held = false;
    v.part_of = v.copied = -1;
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
                if (p.const_step < 0) out->backward = array.rank > 1 || !array.backward;
                if (p.const_step != 1) out->counts.push_back(p.count);
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
    const auto is_ellipsis = [](const Value& v) { return v.kind == Kind::Known && v.obj == Py_Ellipsis; };
    if (is_ellipsis(key) || std::any_of(key.items.begin(), key.items.end(), is_ellipsis))
        return unknown("an array without axes, which an index with ... gives");  // not a scalar
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
    const DType t = part_type(array.dtype);
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

}  // namespace stator::frontend::regions
