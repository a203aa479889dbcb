// Items of lists, tuples and strings that were there at entry, by an index that is not known while the region
// is built: to the region they are arrays. A list or tuple of Python's floats, ints or bools is copied when
// the region is entered; a string's characters are read where they are.
//
// A list that is stored to, a table, is an array that is written. Where the region is left, new objects go
// into the list for what is not as it was (CompiledRegion::put_items). All of the region sees a table as this
// one array: no other list that it reads may be the same one, and none that it appends to (build/append.cpp).
// Lists that the region has made itself are part of its state (store_item). Sequences of other items, and of
// few, are looked into item by item (sources.cpp).

#include <algorithm>

#include "frontend/policy.h"
#include "frontend/regions/build/builder.h"
#include "frontend/regions/sequence.h"

namespace stator::frontend::regions {

namespace {

Kind kind_of_item(DType t) {
    return t == DType::F64    ? Kind::Float
           : t == DType::I64  ? Kind::Int
           : t == DType::Bool ? Kind::Bool
                              : Kind::Character;
}

}  // namespace

std::optional<DType> Builder::dtype_of_items(PyObject* sequence) {
    const auto [looked_at, fresh] = found_.item_dtypes.try_emplace(sequence);
    const bool listed = PyList_CheckExact(sequence) || PyTuple_CheckExact(sequence);
    if (fresh && (!listed || spend(PySequence_Fast_GET_SIZE(sequence) / policy().items_a_step)))
        looked_at->second = item_dtype(sequence);
    return looked_at->second;
}

// The region's array of it: declined when it has none.
Did Builder::sequence_array(const Value& v, Value* out) {
    const bool text = v.kind == Kind::Known && PyUnicode_CheckExact(v.obj);
    const bool whole = v.kind == Kind::Passed || (v.kind == Kind::Tuple && v.whole);
    PyObject* o = v.slot < 0 ? nullptr : whole ? object_at(v.slot) : text ? v.obj : nullptr;
    const std::optional<DType> dtype = o ? dtype_of_items(o) : std::nullopt;
    if (!dtype) return Did::Declined;
    // A string that was taken to be this very one.
    if (text) {
        found_.texts.insert(v.obj);
        return restart();
    }
    if (const auto it = sequences_.find(v.slot); it != sequences_.end()) return *out = it->second, true;
    for (const auto& [slot, array] : sequences_) {
        if (!found_.tables.contains(o) || object_at(slot) != o) continue;
        out_->aliases.emplace_back(v.slot, slot);
        *out = sequences_[v.slot] = array;
        return true;
    }
    if (!read_apart(v.slot)) return Did::Declined;
    Value array;
    array.kind = Kind::Array;
    array.dtype = *dtype;
    array.rank = 1;
    array.slot = v.slot;
    array.whole = true;
    array.id = copy_at_entry(EntryInput::Sequence, v.slot, *dtype, {items_in(o)});
    *out = sequences_[v.slot] = std::move(array);
    return true;
}

// sequence[key]: declined when it is none, or has no array.
Did Builder::item_of_sequence(const Value& sequence, const Value& key, Value* out) {
    if (!key.is_number()) return Did::Declined;
    Value array, item;
    if (Did did = sequence_array(sequence, &array); !did.done()) return did;
    if (!subscript(array, key, &item)) return false;
    *out = python_item(item);
    return true;
}

// All of the region sees the list as one array from here on: it is built again when something has seen it as
// something else.
Did Builder::becomes_table(PyObject* list) {
    const bool fresh = found_.tables.insert(list).second;
    const auto is_list = [&](const auto& seen) { return object_at(seen.first) == list; };
    const bool shared = std::count_if(sequences_.begin(), sequences_.end(), is_list) +
                            std::count_if(rows_.begin(), rows_.end(), is_list) >
                        1;
    if (!fresh || (!shared && std::none_of(list_values_.begin(), list_values_.end(), is_list))) return true;
    return restart();
}

// list[key] = value: declined when it is no list, or has no array.
Did Builder::store_in_sequence(const Value& list, const Value& key, const Value& value) {
    PyObject* o = list.kind == Kind::Passed && list.slot >= 0 ? object_at(list.slot) : nullptr;
    if (!o || !PyList_CheckExact(o) || !key.is_number() || !dtype_of_items(o)) return Did::Declined;
    if (Did did = becomes_table(o); !did.done()) return did;
    Value array;
    if (Did did = sequence_array(list, &array); !did.done()) return did;
    if (value.kind != kind_of_item(array.dtype))
        return unknown("storing " + describe(value) + " into a list of other items");
    std::set<int> others = appended_;
    for (const auto& [slot, other] : sequences_)
        if (other.id != array.id) others.insert(slot);
    for (const auto& [slot, other] : rows_) others.insert(slot);
    for (const auto& [slot, other] : list_values_) others.insert(slot);
    if (!apart_from(list.slot, others)) return unknown("a store into a list that is used otherwise, too");
    stored_lists_.insert(array.slot);
    return store(array, key, value);
}

bool Builder::shows_sequence(const Value& array) const {
    const auto it = array.kind == Kind::Array ? sequences_.find(array.slot) : sequences_.end();
    return it != sequences_.end() && it->second.id == array.id;
}

// As Python has what was loaded of a sequence's array.
Value Builder::python_item(const Value& item) {
    const Kind kind = kind_of_item(item.dtype);
    if (kind != Kind::Character) return number(kind, item.dtype, item.id);
    return number(kind, DType::I64, cast(item.id, item.dtype, DType::I64));
}

// items[key] of numbers of one kind that the region knows one by one.
bool Builder::one_of(const std::vector<Value>& items, const Value& key, Value* out) {
    const bool alike = !items.empty() && std::all_of(items.begin(), items.end(), [&](const Value& v) {
        return v.is_number() && v.kind == items[0].kind && v.dtype == items[0].dtype;
    });
    if (!alike) return unknown("an item of a tuple or list of several kinds of objects");
    graph::Inst wrap;
    wrap.op = graph::RegionOp::Index;
    wrap.in = {key.id, const_int(static_cast<int64_t>(items.size()))};
    const ValueId at = emit(std::move(wrap), {DType::I64, -1}, true);
    if (at < 0) return false;
    ValueId chosen = items[0].id;
    for (size_t i = 1; i < items.size(); ++i) {
        const ValueId here =
            pointwise(graph::Op::Equal, DType::I64, DType::Bool, {at, const_int(static_cast<int64_t>(i))});
        chosen = pointwise(graph::Op::Where, items[0].dtype, items[0].dtype, {here, items[i].id, chosen});
    }
    *out = number(items[0].kind, items[0].dtype, chosen);
    return true;
}

// A character beside another one or a known string: equal, or in which order.
Did Builder::compare_characters(int py_op, const Value& a, const Value& b, Value* out) {
    if (a.kind != Kind::Character && b.kind != Kind::Character) return Did::Declined;
    const auto is_text = [](const Value& v) {
        return v.kind == Kind::Character || (v.kind == Kind::Known && PyUnicode_CheckExact(v.obj));
    };
    if (!is_text(a) || !is_text(b)) return Did::Declined;
    const auto code = [&](const Value& v) -> ValueId {
        if (v.kind == Kind::Character) return v.id;
        return PyUnicode_GET_LENGTH(v.obj) == 1 ? const_int(PyUnicode_READ_CHAR(v.obj, 0)) : -1;
    };
    const ValueId x = code(a), y = code(b);
    if (x >= 0 && y >= 0) return compare(py_op, int_value(x), int_value(y), out);
    if (py_op != Py_EQ && py_op != Py_NE) return Did::Declined;
    *out = bool_value(const_bool(py_op == Py_NE));  // strings of other lengths
    return true;
}

// character in string
bool Builder::character_in(const Value& character, PyObject* string, Value* out) {
    ValueId found = const_bool(false);
    for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(string); ++i) {
        const ValueId one = const_int(PyUnicode_READ_CHAR(string, i));
        const ValueId equal = pointwise(graph::Op::Equal, DType::I64, DType::Bool, {character.id, one});
        found = pointwise(graph::Op::LogicalOr, DType::Bool, DType::Bool, {found, equal});
    }
    *out = bool_value(found);
    return true;
}

}  // namespace stator::frontend::regions
