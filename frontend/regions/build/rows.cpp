// Rows: items of lists and tuples that were there at entry and hold lists, tuples or strings of numbers or
// characters (`dp[i][j]`, `for row in grid: for x in row`).
//
// To the region all items of all rows are one array, a table, copied when it is entered as those of a list of
// numbers are (build/sequences.cpp): of two axes where all rows are equally long, else of one, beside
// another that says where rows begin. A row is a value of its own kind, which knows its number only, so it is
// the very object again where Python goes on. Rows that are stored to get new objects where the region is
// left. Where something changes, no row may be shown by anything else, another row included ([[0] * 3] * 2),
// which each entry checks (rows_apart).

#include <algorithm>

#include "frontend/policy.h"
#include "frontend/regions/build/builder.h"

namespace stator::frontend::regions {

// Done when it can be a table, else declined. Short lists are rather looked into item by item: their numbers
// are in registers, and a loop over them is a version of its code for each. Where only the run knows which
// row it is, all is built again with the list as a table.
Did Builder::becomes_rows(PyObject* o) {
    const auto [looked_at, fresh] = found_.row_kinds.try_emplace(o);
    const bool listed = PyList_CheckExact(o) || PyTuple_CheckExact(o);
    if (fresh && listed && !spend(PySequence_Fast_GET_SIZE(o) / policy().rows_a_step)) return false;
    if (fresh) looked_at->second = rows_kind(o);
    if (!looked_at->second) return Did::Declined;
    const bool first = PyList_CheckExact(o) && found_.indexed.insert(o).second;
    if (!first || std::none_of(list_values_.begin(), list_values_.end(),
                               [&](const auto& seen) { return object_at(seen.first) == o; }))
        return true;
    return restart();
}

// An array that is copied when the region is entered.
ValueId Builder::copy_at_entry(EntryInput::Kind kind, int slot, DType dtype, std::vector<int64_t> extents) {
    EntryInput in{};
    in.kind = kind;
    in.slot = slot;
    in.dtype = dtype;
    in.rank = static_cast<int>(extents.size());
    in.contiguous = in.ordered = true;
    in.extents = std::move(extents);
    in.value = r_->add({dtype, static_cast<int8_t>(in.rank)});
    input_of_[in.value] = static_cast<int>(out_->inputs.size());
    out_->inputs.push_back(in);
    extents_at_entry(in);
    return in.value;
}

bool rows_apart(const BuiltRegion& b, const std::vector<PyObject*>& slots) {
    std::vector<std::pair<PyObject*, bool>> seen;  // and whether it changes
    for (const EntryInput& in : b.inputs) {
        if (!in.is_copied() && in.kind != EntryInput::List) continue;
        PyObject* o = slots[static_cast<size_t>(in.slot)];
        const bool has_rows = in.kind == EntryInput::Rows || in.kind == EntryInput::RowItems;
        for (Py_ssize_t i = 0; has_rows && i < items_in(o); ++i)
            seen.emplace_back(PySequence_Fast_GET_ITEM(o, i), in.written);
        seen.emplace_back(o, in.kind == EntryInput::List || (in.written && !has_rows));
    }
    for (const auto& [slot, type, items] : b.lengths)
        seen.emplace_back(slots[static_cast<size_t>(slot)], false);
    std::sort(seen.begin(), seen.end());
    for (size_t i = 1; i < seen.size(); ++i)
        if (seen[i].first == seen[i - 1].first && seen[i].second) return false;
    return true;
}

// When all that is read and stored is known.
bool Builder::settle_rows() {
    const auto any = [&](auto f) { return std::any_of(out_->inputs.begin(), out_->inputs.end(), f); };
    out_->rows_change = !rows_.empty() && any([](const EntryInput& in) {
        return in.kind == EntryInput::List || (in.is_copied() && in.written);
    });
    std::vector<PyObject*> slots;
    for (size_t i = 0; i < static_cast<size_t>(out_->depth) + out_->sources.size(); ++i)
        slots.push_back(object_at(static_cast<int>(i)));
    return !out_->rows_change || rows_apart(*out_, slots) ||
           unknown("a store into a row that is used otherwise, too");
}

// Declined when it has no rows.
Did Builder::table_of(const Value& v, const Table** out) {
    const bool whole = v.kind == Kind::Passed || v.kind == Kind::Rows ||
                       ((v.kind == Kind::Tuple || v.kind == Kind::List) && v.whole);
    PyObject* o = whole && v.slot >= 0 ? object_at(v.slot) : nullptr;
    if (!o) return Did::Declined;
    if (Did did = becomes_rows(o); !did.done()) return did;
    const RowsKind& kind = *found_.row_kinds[o];
    if (const auto it = rows_.find(v.slot); it != rows_.end()) return *out = &it->second, true;
    for (const auto& [slot, table] : rows_) {
        if (!found_.tables.contains(o) || object_at(slot) != o) continue;
        out_->aliases.emplace_back(v.slot, slot);
        *out = &(rows_[v.slot] = table);
        return true;
    }
    if (!read_apart(v.slot)) return Did::Declined;
    asked_.insert(v.slot);  // extents that are 1 are constants
    Table t;
    t.lists = kind.lists;
    t.items.kind = Kind::Array;
    t.items.dtype = kind.dtype;
    t.items.rank = kind.each >= 0 ? 2 : 1;
    t.items.slot = v.slot;
    t.items.whole = true;
    if (kind.each >= 0) {
        t.items.id = copy_at_entry(EntryInput::Rows, v.slot, kind.dtype, {kind.rows, kind.each});
    } else {
        t.starts = copy_at_entry(EntryInput::RowStarts, v.slot, DType::I64, {kind.rows + 1});
        t.items.id = copy_at_entry(EntryInput::RowItems, v.slot, kind.dtype, {kind.items});
    }
    *out = &(rows_[v.slot] = std::move(t));
    return true;
}

ValueId Builder::rows_in(const Table& t) {
    if (t.starts < 0) return extent(t.items.id, 0);
    return pointwise(graph::Op::Subtract, DType::I64, DType::I64, {extent(t.starts, 0), const_int(1)});
}

Value Builder::row_at(const Table& t, ValueId number) const {
    Value row = composed(Kind::Row, {int_value(number)});
    row.slot = t.items.slot;
    return row;
}

namespace {

Value places(ValueId starts) {
    Value v;
    v.kind = Kind::Array;
    v.dtype = DType::I64;
    v.rank = 1;
    v.id = starts;
    return v;
}

}  // namespace

ValueId Builder::row_length(const Value& row) {
    const Table& t = rows_.at(row.slot);
    if (t.starts < 0) return extent(t.items.id, 1);
    const ValueId number = row.items[0].id;
    const ValueId next = pointwise(graph::Op::Add, DType::I64, DType::I64, {number, const_int(1)});
    Value begin, end;
    load_element(places(t.starts), {number}, &begin);
    load_element(places(t.starts), {next}, &end);
    return pointwise(graph::Op::Subtract, DType::I64, DType::I64, {end.id, begin.id});
}

// Where the item at a position that is in range lies in the table's array.
std::vector<ValueId> Builder::place_in_table(const Value& row, ValueId position) {
    const Table& t = rows_.at(row.slot);
    const ValueId number = row.items[0].id;
    if (t.starts < 0) return {number, position};
    Value begin;
    load_element(places(t.starts), {number}, &begin);
    return {pointwise(graph::Op::Add, DType::I64, DType::I64, {begin.id, position})};
}

Value Builder::item_of_row(const Value& row, ValueId position) {
    Value item;
    load_element(rows_.at(row.slot).items, place_in_table(row, position), &item);
    return python_item(item);
}

bool Builder::index_into(const Value& key, ValueId extent, ValueId* out) {
    graph::Inst inst;
    inst.op = graph::RegionOp::Index;
    ValueId at;
    if (key.dtype == DType::Bool || !to_int(key, &at)) return unknown("an index that is " + describe(key));
    inst.in = {at, extent};
    *out = emit(std::move(inst), {DType::I64, -1}, true);
    return *out >= 0;
}

// rows[key] or row[key]: declined when it is neither.
Did Builder::subscript_rows(const Value& from, const Value& key, Value* out) {
    if (!key.is_number()) return Did::Declined;
    ValueId at;
    if (from.kind == Kind::Row) {
        if (!index_into(key, row_length(from), &at)) return false;
        *out = item_of_row(from, at);
        return true;
    }
    const Table* t = nullptr;
    if (Did did = table_of(from, &t); !did.done()) return did;
    if (!index_into(key, rows_in(*t), &at)) return false;
    *out = row_at(*t, at);
    return true;
}

// row[key] = value: declined when it is no row.
Did Builder::store_in_row(const Value& row, const Value& key, const Value& value) {
    if (row.kind != Kind::Row || !key.is_number()) return Did::Declined;
    const Table t = rows_.at(row.slot);
    if (!t.lists) return unknown("a store into " + describe(row));
    if (Did did = becomes_table(object_at(row.slot)); !did.done()) return did;
    Value item;
    item.dtype = t.items.dtype;
    item.id = -1;
    ValueId at;
    if (!index_into(key, row_length(row), &at)) return false;
    if (value.kind != python_item(item).kind)
        return unknown("storing " + describe(value) + " into a list of other items");
    std::set<int> others = appended_;
    for (const auto& [slot, other] : sequences_) others.insert(slot);
    for (const auto& [slot, other] : list_values_) others.insert(slot);
    if (!apart_from(row.slot, others)) return unknown("a store into a list that is used otherwise, too");
    ExprRef e;
    if (!element_expr(value, t.items.dtype, &e) || !no_lazy_left()) return false;
    stored_lists_.insert(row.slot);
    store_element(t.items, place_in_table(row, at), e);
    for (EntryInput& in : out_->inputs)
        if (in.value == t.items.id) in.written = true;
    effect();
    return true;
}

// a, b = row: declined when it is none.
Did Builder::unpack_row(const Value& row, int count) {
    if (row.kind != Kind::Row) return Did::Declined;
    const ValueId n = row_length(row);
    if (known_int(n) != count &&
        !guard(pointwise(graph::Op::Equal, DType::I64, DType::Bool, {n, const_int(count)})))
        return false;
    for (int i = count; i-- > 0;) push(item_of_row(row, const_int(i)));
    return true;
}

// What an iterator of rows, or of a row's items, is over: declined when that is something else.
Did Builder::rows_iterated(const Value& over, Value* out) {
    if (over.kind == Kind::Row) return *out = over, true;
    const Table* t = nullptr;
    if (Did did = table_of(over, &t); !did.done()) return did;
    *out = {};
    out->kind = Kind::Rows;
    out->slot = t->items.slot;
    out->whole = true;
    return true;
}

}  // namespace stator::frontend::regions
