// list.append in a loop: one call of a routine that makes the object and appends it.
//
// The list was there when the region was entered, and nothing in the region looks into it: what such a one
// holds would be part of the state. The items may be numbers, tuples of them, and arrays that only the
// list is going to hold.

#include <algorithm>

#include "frontend/regions/build/builder.h"
#include "frontend/regions/entry.h"

namespace stator::frontend::regions {

namespace {

void item_words(const Value& v, std::vector<ValueId>* out) {
    if (v.is_number() || v.kind == Kind::Array) out->push_back(v.id);
    for (const Value& item : v.items) item_words(item, out);
}

bool holds(const Value& v, ValueId array) {
    return (v.kind == Kind::Array && v.id == array) ||
           std::any_of(v.items.begin(), v.items.end(), [&](const Value& i) { return holds(i, array); });
}

}  // namespace

// Whether what is in the slot is none of the objects in the others; every run has to find it so.
bool Builder::apart_from(int slot, const std::set<int>& others) {
    if (std::any_of(others.begin(), others.end(), [&](int o) { return object_at(o) == object_at(slot); }))
        return false;
    for (const int o : others) out_->apart.emplace(slot, o);
    return true;
}

// Whether what is in the slot can be read at entry: only lists that are appended or stored to change while a
// region runs.
bool Builder::read_apart(int slot) { return apart_from(slot, appended_) && apart_from(slot, stored_lists_); }

// The address of an object that was there at entry, as an input.
ValueId Builder::address_of(int slot, EntryInput::Kind kind) {
    for (const EntryInput& in : out_->inputs)
        if (in.kind == kind && in.slot == slot) return in.value;
    EntryInput in{};
    in.kind = kind;
    in.slot = slot;
    in.dtype = DType::I64;
    in.rank = -1;
    in.value = r_->add({DType::I64, -1});
    input_of_[in.value] = static_cast<int>(out_->inputs.size());
    out_->inputs.push_back(in);
    return in.value;
}

bool Builder::append_item(Value* v) {
    switch (v->kind) {
        case Kind::Int:
        case Kind::Float:
        case Kind::Bool:
        case Kind::Scalar:
        case Kind::Complex:
        case Kind::ComplexScalar: v->whole = false; return true;
        case Kind::Known: return true;
        case Kind::Tuple:
            return std::all_of(v->items.begin(), v->items.end(), [&](Value& i) {
                return i.kind != Kind::Tuple && !i.is_array() && append_item(&i);
            });
        default: break;
    }
    const bool expression = v->kind == Kind::Lazy;
    if (!v->is_array() || v->permuted || (!expression && (!v->fresh || v->part || v->held)))
        return unknown("appending " + describe(*v));
    if (expression) {
        const Value lazy = *v;
        if (!as_array(lazy, v)) return false;
    }
    if (std::any_of(s_.slots.begin(), s_.slots.end(), [&](const Value& s) { return holds(s, v->id); }))
        return unknown("appending an array that a variable holds");
    v->held = false;
    v->items.clear();
    return true;
}

Did Builder::call_append(PyObject* callable, std::vector<Value>& args, Value* out) {
    // Builtin types of 3.12 and later keep their dict elsewhere.
    static PyObject* const append =
        PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyList_Type), "append");
    if (callable != append || args.size() != 2) return Did::Declined;
    *out = known(Py_None);
    return append_to(args[0], args[1]);
}

// The list that a comprehension makes lies on the stack.
bool Builder::on_list_append(const Insn& insn) {
    const Value item = pop();
    return append_to(top(insn.arg - 1), item);
}

bool Builder::append_to(const Value& list, Value item) {
    const bool at_entry = list.kind == Kind::Passed && list.slot >= 0 && object_at(list.slot) &&
                          PyList_CheckExact(object_at(list.slot));
    if (!at_entry) return unknown("appending to " + describe(list));
    std::set<int> read;
    for (const auto& [slot, value] : list_values_) read.insert(slot);
    for (const auto& [slot, value] : sequences_) read.insert(slot);
    for (const auto& [slot, value] : rows_) read.insert(slot);
    if (!apart_from(list.slot, read)) return unknown("appending to a list that is read");
    if (!append_item(&item)) return false;
    if (!no_lazy_left()) return false;
    std::vector<ValueId> operands{address_of(list.slot, EntryInput::List)};
    item_words(item, &operands);
    Value cell;
    if (!memory(DType::I64, {}, false, &cell) || !library("append", append_routine(item), cell, operands))
        return false;
    appended_.insert(list.slot);
    effect();
    return true;
}

}  // namespace stator::frontend::regions
