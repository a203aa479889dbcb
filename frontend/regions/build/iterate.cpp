// Iterators: ranges and arrays, items of small tuples and lists, and enumerate, zip and reversed of them.
//
// An iterator is a Value with its state. That of a tuple or list has its position as part of its kind, so a
// loop over one is a version of the code for each item: items may be of different kinds.

#include <functional>

#include "frontend/policy.h"
#include "frontend/regions/build/builder.h"
#include "frontend/regions/entry.h"

namespace stator::frontend::regions {

namespace {

constexpr bool kIteratorStays = PY_MINOR_VERSION >= 14;  // at the end of a loop, for POP_ITER

}  // namespace

bool Builder::on_get_iter(const Insn&) {
    Value v = pop(), out;
    if (!iterator_of(v, &out)) return false;
    push(std::move(out));
    return true;
}

// The tuple or list of numbers, or of rows of them, that a constant is or that was there at entry.
PyObject* Builder::rollable(const Value& over) const {
    if (over.kind != Kind::Tuple && over.kind != Kind::List) return nullptr;
    PyObject* o = over.whole && over.slot >= 0 ? object_at(over.slot) : over.obj;
    const bool listed = o && (PyTuple_CheckExact(o) || PyList_CheckExact(o));
    return listed && (item_dtype(o) || rows_kind(o)) ? o : nullptr;
}

// A loop over a few items has a version of its code for each of them, which multiplies with those of loops
// inside and with the kinds of variables. True when there is one that need not: all is built again then.
bool Builder::roll_loops(const State& s) {
    bool any = false;
    for (const Value& v : s.slots)
        if (PyObject* o = v.kind == Kind::ItemsIter && !v.backward ? rollable(v.items[0]) : nullptr)
            any |= found_.rolled.insert(keep(o)).second;
    return any;
}

bool Builder::iterator_of(const Value& over, Value* out) {
    Value v = looked_into(over);
    if (v.is_iterator()) return *out = v, true;
    if (PyObject* o = found_.rolled.empty() ? nullptr : rollable(v); o && found_.rolled.contains(o)) {
        if (!v.whole || v.slot < 0) {
            EntrySource s{EntrySource::Constant};
            s.object = PyRef::borrow(o);
            v = source_value(std::move(s), o);
        }
        Value items;
        Did did = sequence_array(v, &items);
        if (!did.handled()) did = rows_iterated(v, &items);
        if (did.done()) *out = composed(Kind::ArrayIter, {items, int_value(const_int(0))});
        if (did.handled()) return did.done();
    }
    if (v.kind == Kind::Array && becomes_object(v)) {
        *out = composed(Kind::ArrayIter, {v, int_value(const_int(0))});
        return true;
    }
    if (v.kind == Kind::Tuple || v.kind == Kind::List) {
        *out = composed(Kind::ItemsIter, {v});
        return true;
    }
    Value items;
    Did did = sequence_array(v, &items);
    if (!did.handled()) did = rows_iterated(v, &items);
    if (did.done()) *out = composed(Kind::ArrayIter, {items, int_value(const_int(0))});
    if (did.handled()) return did.done();
    if (v.kind != Kind::Range) return unknown("a loop over " + describe(v));
    const ValueId start = v.items[0].id, stop = v.items[1].id, step = v.items[2].id;
    const ValueId zero = const_int(0);
    ValueId left;
    const auto s = known_int(step);
    using graph::Op;
    const auto op = [&](Op o, ValueId a, ValueId b) { return pointwise(o, DType::I64, DType::I64, {a, b}); };
    if (s && *s == 0) return unknown("a range with a step of 0");
    if (!s) {  // upwards, or Python does it
        if (!guard(pointwise(Op::Greater, DType::I64, DType::Bool, {step, zero}))) return false;
    }
    const bool down = s && *s < 0;
    const ValueId span = down ? checked(graph::RegionOp::CheckedSub, DType::I64, start, stop)
                              : checked(graph::RegionOp::CheckedSub, DType::I64, stop, start);
    if (span < 0) return false;
    const ValueId length = op(Op::Maximum, span, zero);
    if (s && (*s == 1 || *s == -1)) {
        left = length;
    } else {  // rounded up
        const ValueId size = down ? const_int(-*s) : step;
        const ValueId more =
            checked(graph::RegionOp::CheckedAdd, DType::I64, length, op(Op::Subtract, size, const_int(1)));
        if (more < 0) return false;
        left = checked(graph::RegionOp::FloorDiv, DType::I64, more, size);
        if (left < 0) return false;
    }
    *out = composed(Kind::RangeIter, {int_value(start), int_value(left), int_value(step)});
    return true;
}

// How many items there are to iterate over.
ValueId Builder::items_of_iterated(const Value& over) {
    if (over.kind == Kind::Rows) return rows_in(rows_.at(over.slot));
    return over.kind == Kind::Row ? row_length(over) : extents_of(over)[0];
}

// Whether there is another item: -1 when that is known (`*known`).
ValueId Builder::has_next(const Value& it, bool* known) {
    const auto i64 = [&](graph::Op op, ValueId a, ValueId b) {
        return pointwise(op, DType::I64, DType::Bool, {a, b});
    };
    switch (it.kind) {
        case Kind::RangeIter: return i64(graph::Op::Greater, it.items[1].id, const_int(0));
        case Kind::ArrayIter: return i64(graph::Op::Less, it.items[1].id, items_of_iterated(it.items[0]));
        case Kind::ReversedIter: return i64(graph::Op::GreaterEqual, it.items[1].id, const_int(0));
        case Kind::ItemsIter: *known = static_cast<size_t>(it.rank) < it.items[0].items.size(); return -1;
        case Kind::Enumerate: return has_next(it.items[0], known);
        default: break;
    }
    ValueId all = -1;  // Zip
    *known = !it.items.empty();
    for (const Value& part : it.items) {
        bool more = true;
        const ValueId one = has_next(part, &more);
        if (one < 0 && !more) return *known = false, -1;
        if (one >= 0)
            all = all < 0 ? one : pointwise(graph::Op::LogicalAnd, DType::Bool, DType::Bool, {all, one});
    }
    return all;
}

// The next item, of which there is one.
bool Builder::advance(Value* it, Value* item) {
    const auto step = [&](Value& v, graph::Op op, ValueId by) {
        v.id = pointwise(op, DType::I64, DType::I64, {v.id, by});
    };
    switch (it->kind) {
        case Kind::RangeIter:
            *item = int_value(it->items[0].id);
            step(it->items[0], graph::Op::Add, it->items[2].id);
            step(it->items[1], graph::Op::Subtract, const_int(1));
            return true;
        case Kind::ArrayIter:
        case Kind::ReversedIter:
            if (it->items[0].kind == Kind::Rows)
                *item = row_at(rows_.at(it->items[0].slot), it->items[1].id);
            else if (it->items[0].kind == Kind::Row)
                *item = item_of_row(it->items[0], it->items[1].id);
            else if (!item_at(it->items[0], it->items[1].id, item))
                return false;
            if (shows_sequence(it->items[0])) *item = python_item(*item);
            step(it->items[1], it->kind == Kind::ArrayIter ? graph::Op::Add : graph::Op::Subtract,
                 const_int(1));
            return true;
        case Kind::ItemsIter: {
            const std::vector<Value>& items = it->items[0].items;
            const auto at = static_cast<size_t>(it->rank++);
            *item = it->backward ? items[items.size() - 1 - at] : items[at];
            return true;
        }
        case Kind::Enumerate: {
            Value inner;
            const Value count = int_value(it->items[1].id);
            if (!advance(&it->items[0], &inner)) return false;
            step(it->items[1], graph::Op::Add, const_int(1));
            *item = composed(Kind::Tuple, {count, inner});
            return true;
        }
        default: break;
    }
    *item = composed(Kind::Tuple, {});  // Zip
    for (Value& part : it->items)
        if (!advance(&part, &item->items.emplace_back())) return false;
    return true;
}

bool Builder::on_for_iter(const Insn& insn) {
    const auto iterator = [&]() -> Value& { return top(kAboveIterator); };
    if (!iterator().is_iterator()) return unknown("a loop over " + describe(iterator()));
    bool known = true;
    const ValueId more = has_next(iterator(), &known);
    State off = s_;
    if (!kIteratorStays) off.slots.pop_back();
    if (more < 0 && !known) {
        s_ = std::move(off);
        return jump_to(insn.target);
    }
    if (more >= 0) {  // what is read of the item is read on the side where there is one
        graph::Terminator t;
        t.kind = graph::Terminator::Branch;
        t.cond = more;
        const auto body = static_cast<graph::BlockId>(r_->blocks.size());
        r_->blocks.emplace_back();
        t.then.to = body;
        bool ok = true;
        if (inside(insn.target))
            t.other = edge_to(insn.target, std::move(off), &ok);
        else
            ok = leave_at(insn.target, off, &t.other);
        if (!ok) return false;
        end_block(std::move(t));
        write_to(body);
    }
    Value item;
    if (!advance(&iterator(), &item)) return false;
    push(std::move(item));
    return jump_to(pc_ + 1);
}

// ---- what makes them ----

bool Builder::call_enumerate(std::vector<Value>& args, Value* out) {
    Value it, start = args.size() > 1 ? args[1] : int_value(const_int(0));
    if (args.empty() || args.size() > 2 || start.kind != Kind::Int) return unknown("a call of enumerate");
    if (const auto k = known_int(start.id);
        k ? *k >= kFarCount
          : !guard(pointwise(graph::Op::Less, DType::I64, DType::Bool, {start.id, const_int(kFarCount)})))
        return unknown("enumerate from so far");
    if (!iterator_of(args[0], &it)) return false;
    *out = composed(Kind::Enumerate, {it, int_value(start.id)});
    return true;
}

bool Builder::call_zip(std::vector<Value>& args, Value* out) {
    *out = composed(Kind::Zip, {});
    for (const Value& a : args)
        if (!iterator_of(a, &out->items.emplace_back())) return false;
    return !args.empty() || unknown("zip() of nothing");
}

bool Builder::call_reversed(std::vector<Value>& args, Value* out) {
    if (args.size() != 1) return unknown("a call of reversed");
    const Value v = looked_into(args[0]);
    if (v.kind == Kind::Tuple || v.kind == Kind::List) {
        *out = composed(Kind::ItemsIter, {v});
        out->backward = true;
        return true;
    }
    if (v.kind == Kind::Array && becomes_object(v)) {
        const ValueId last =
            pointwise(graph::Op::Subtract, DType::I64, DType::I64, {extents_of(v)[0], const_int(1)});
        *out = composed(Kind::ReversedIter, {v, int_value(last)});
        return true;
    }
    if (v.kind != Kind::Range) return unknown("reversed() of " + describe(v));
    // From the last item back: start + (length - 1) * step.
    Value it;
    if (!iterator_of(v, &it)) return false;
    const ValueId left = it.items[1].id, step = it.items[2].id;
    const auto i64 = [&](graph::Op op, ValueId a, ValueId b) {
        return pointwise(op, DType::I64, DType::I64, {a, b});
    };
    const ValueId rest = i64(graph::Op::Multiply, i64(graph::Op::Subtract, left, const_int(1)), step);
    *out = composed(Kind::RangeIter, {int_value(i64(graph::Op::Add, it.items[0].id, rest)), int_value(left),
                                      int_value(i64(graph::Op::Subtract, const_int(0), step))});
    return true;
}

// ---- small lists ----

// An object that a list of the region's own may hold.
bool Builder::becomes_list_item(Value* v) {
    if ((v->kind == Kind::Lazy && !fresh_array(v)) || !settle_strides(v)) return false;
    const bool shared = v->kind == Kind::List && (v->whole || names_of(*v) != 1);
    if (v->kind == Kind::Empty || shared || has_iterator(*v)) return unknown("a list with " + describe(*v));
    return true;
}

bool Builder::on_build_list(const Insn& insn) {
    if (static_cast<size_t>(insn.arg) > policy().region_list_items) return unknown("a list of many items");
    Value list = composed(Kind::List, {});
    list.items.assign(s_.slots.end() - insn.arg, s_.slots.end());
    for (Value& v : list.items)
        if (!becomes_list_item(&v)) return false;
    list.object = new_object();
    s_.slots.resize(s_.slots.size() - static_cast<size_t>(insn.arg));
    push(std::move(list));
    return true;
}

// `[1.0, 2.0, 3.0]` is an empty list and a constant tuple; `[x, *t]`.
bool Builder::on_list_extend(const Insn& insn) {
    const Value from = looked_into(pop());
    Value& list = s_.slots[s_.slots.size() - static_cast<size_t>(insn.arg)];
    if (from.kind != Kind::Tuple || list.kind != Kind::List || list.whole)
        return unknown("a list with the items of " + describe(from));
    if (list.items.size() + from.items.size() > policy().region_list_items)
        return unknown("a list of many items");
    for (Value v : from.items) {
        if (!becomes_list_item(&v)) return false;
        list.items.push_back(std::move(v));
    }
    return true;
}

// Into a list that one variable holds: what it holds is part of the state, not of memory.
bool Builder::store_item(const Value& list, const Value& key, const Value& value) {
    const int64_t n = static_cast<int64_t>(list.items.size());
    const int64_t i = key.kind == Kind::Int ? known_int(key.id).value_or(n) : n;
    const bool fits = becomes_object(value) && !has_iterator(value) && value.kind != Kind::List &&
                      value.kind != Kind::Empty;
    if (list.whole || i < -n || i >= n || !fits || names_of(list) != 1)
        return unknown("a store into " + describe(list));
    for (Value& v : s_.slots)
        if (v.kind == Kind::List && v.object == list.object)
            v.items[static_cast<size_t>(i < 0 ? i + n : i)] = value;
    return true;
}

// How many places hold a list that the region has made.
int Builder::names_of(const Value& list) const {
    const std::function<int(const Value&)> count = [&](const Value& v) {
        int n = v.kind == Kind::List && !v.whole && v.object == list.object;
        for (const Value& item : v.items) n += count(item);
        return n;
    };
    int n = 0;
    for (const Value& v : s_.slots) n += count(v);
    return n;
}

}  // namespace stator::frontend::regions
