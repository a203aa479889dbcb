// Items of lists, tuples and strings that were there at entry, by an index that is not known while the region
// is built: to the region they are arrays that nothing writes. A list or tuple of Python's floats, or of its
// ints, is copied when the region is entered; a string's characters are read where they are.
//
// What a region stores to a list stays in its own state (store_item), and where it appends to one
// (builder_append.cpp) it reads none. Sequences of other items, and of few, are looked into item by item
// (sources.cpp).

#include <algorithm>

#include "frontend/regions/builder.h"
#include "frontend/regions/sequence.h"

namespace stator::frontend::regions {

// The region's array of it; nothing with a reason when it has none, or when all has to be built again.
std::optional<Value> Builder::sequence_array(const Value& v) {
    const bool text = v.kind == Kind::Known && PyUnicode_CheckExact(v.obj);
    const bool whole = v.kind == Kind::Passed || (v.kind == Kind::Tuple && v.whole);
    PyObject* o = v.slot < 0 ? nullptr : whole ? object_at(v.slot) : text ? v.obj : nullptr;
    if (!o) return std::nullopt;
    const auto [looked_at, fresh] = item_dtypes_.try_emplace(o);
    if (fresh) looked_at->second = item_dtype(o);
    const std::optional<DType> dtype = looked_at->second;
    if (!dtype || !read_apart(v.slot)) return std::nullopt;
    // A string that was taken to be this very one.
    if (text) {
        texts_.insert(v.obj);
        ++widened_;
        return std::nullopt;
    }
    if (const auto it = sequences_.find(v.slot); it != sequences_.end()) return it->second;
    EntryInput in{};
    in.kind = EntryInput::Sequence;
    in.slot = v.slot;
    in.dtype = *dtype;
    in.rank = 1;
    in.contiguous = in.ordered = true;
    in.extents = {items_in(o)};
    in.value = r_->add({*dtype, 1});
    input_of_[in.value] = static_cast<int>(out_->inputs.size());
    out_->inputs.push_back(in);
    extents_at_entry(in);
    Value array;
    array.kind = Kind::Array;
    array.dtype = *dtype;
    array.rank = 1;
    array.slot = v.slot;
    array.whole = true;
    array.id = in.value;
    return sequences_[v.slot] = std::move(array);
}

// sequence[key]: no value when it is none, or has no array.
std::optional<bool> Builder::item_of_sequence(const Value& sequence, const Value& key, Value* out) {
    if (!key.is_number()) return std::nullopt;
    const int built = widened_;
    const std::optional<Value> array = sequence_array(sequence);
    if (widened_ != built) return false;
    if (!array) return std::nullopt;
    Value item;
    if (!subscript(*array, key, &item)) return false;
    *out = python_item(item);
    return true;
}

bool Builder::shows_sequence(const Value& array) const {
    const auto it = sequences_.find(array.slot);
    return it != sequences_.end() && it->second.id == array.id;
}

// As Python has what was loaded of a sequence's array.
Value Builder::python_item(const Value& item) {
    if (item.dtype == DType::F64) return float_value(item.id);
    if (item.dtype == DType::I64) return int_value(item.id);
    return number(Kind::Character, DType::I64, cast(item.id, item.dtype, DType::I64));
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
std::optional<bool> Builder::compare_characters(int py_op, const Value& a, const Value& b, Value* out) {
    if (a.kind != Kind::Character && b.kind != Kind::Character) return std::nullopt;
    const auto is_text = [](const Value& v) {
        return v.kind == Kind::Character || (v.kind == Kind::Known && PyUnicode_CheckExact(v.obj));
    };
    if (!is_text(a) || !is_text(b)) return std::nullopt;
    const auto code = [&](const Value& v) -> ValueId {
        if (v.kind == Kind::Character) return v.id;
        return PyUnicode_GET_LENGTH(v.obj) == 1 ? const_int(PyUnicode_READ_CHAR(v.obj, 0)) : -1;
    };
    const ValueId x = code(a), y = code(b);
    if (x >= 0 && y >= 0) return compare(py_op, int_value(x), int_value(y), out);
    if (py_op != Py_EQ && py_op != Py_NE) return std::nullopt;
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
