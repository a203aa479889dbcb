// Stores to attributes of objects that were there at entry, and to globals, which are what variables at
// module level are.
//
// Such a place is a variable more: its value lies behind the locals of the region's own frame in every
// state, exits list it, and it is stored for real where the region is left. What the region stores to is
// found by meeting the stores: then all of it is built again. The place is there at entry, so no store
// gives a dict a new key, and holds what nobody sees go away (GuardProgram::can_store, asked at each entry).

#include <algorithm>

#include "frontend/cpython/functions.h"
#include "frontend/regions/build/builder.h"
#include "frontend/regions/entry.h"
#include "guards/check/names.h"

namespace stator::frontend::regions {

using guards::GuardProgram;

namespace {

// What such a place may hold when the region is entered.
bool can_be_variable(PyObject* o) {
    switch (classify(o).kind) {
        case EntryKind::Int:
        case EntryKind::Float:
        case EntryKind::Bool:
        case EntryKind::Complex:
        case EntryKind::Scalar:
        case EntryKind::ComplexScalar:
        case EntryKind::Array: return true;
        default: return o == Py_None || PyUnicode_CheckExact(o);
    }
}

}  // namespace

// Where a local lies in a state; from -1 down: a stored place.
size_t Builder::place_of(const Level& level, int local) const {
    return static_cast<size_t>(local >= 0 ? level.base + local : nlocals_ - 1 - local);
}

// Called when the locals have been read.
bool Builder::read_stored_places() {
    for (StoredPlace& p : found_.stored_places) {
        int owner = p.from;
        for (const auto& [step, now] : p.path) {
            EntrySource s = step;
            s.parent = s.parent >= 0 ? owner : -1;
            owner = source_slot(std::move(s), now.get());
        }
        EntrySource s{p.is_global ? EntrySource::Global : EntrySource::Attribute, owner};
        s.name = p.name;
        PyObject* now = nullptr;
        if (p.is_global) {
            s.object = p.object;
            now = PyDict_GetItem(p.object.get(), p.name.get());
        } else {
            s.place = GuardProgram::classify_attr(p.object.get(), p.name.get(), &now);
            if (s.place != GuardProgram::AttrPlace::Instance) now = nullptr;
        }
        const std::string what = p.is_global ? "global variable " : "attribute ";
        if (!now || !can_be_variable(now)) return unknown(what + guards::utf8(p.name.get()));
        Value v = source_value(s, now);
        out_->cells.push_back(
            {owner, source_slot(std::move(s), now), p.name, p.is_global ? p.object : PyRef{}});
        // As variables that are rebound.
        if (v.is_number() || v.is_complex_number()) v.whole = false, v.slot = -1;
        s_.slots.push_back(std::move(v));
    }
    return true;
}

// What the region has in the place, nullptr when it does not store to it. `object`: whose attribute it is, or
// the dict of globals.
Value* Builder::stored_place(PyObject* object, PyObject* name) {
    for (size_t i = 0; i < found_.stored_places.size(); ++i) {
        const StoredPlace& p = found_.stored_places[i];
        if (p.object.get() == object && PyUnicode_Compare(p.name.get(), name) == 0)
            return &s_.slots[static_cast<size_t>(nlocals_) + i];
    }
    return nullptr;
}

Value* Builder::stored_attribute(const Value& owner, PyObject* name) {
    Value* const stored = stored_place(object_at(owner.slot), name);
    if (!stored) return nullptr;
    const auto i = static_cast<size_t>(stored - s_.slots.data()) - static_cast<size_t>(nlocals_);
    if (owner.slot != out_->cells[i].owner) out_->aliases.emplace_back(owner.slot, out_->cells[i].owner);
    return stored;
}

bool Builder::on_store_attr(const Insn& insn) {
    const Value owner = pop();
    Value v = pop();
    const std::string text = std::string("a store to attribute ") + guards::utf8(insn.obj);
    PyObject* o = owner.kind == Kind::Passed && owner.slot >= 0 ? object_at(owner.slot) : nullptr;
    if (!o) return unknown(text + " of " + describe(owner));
    Value* stored = stored_attribute(owner, insn.obj);
    if (!stored) {
        PyObject* now = nullptr;
        if (!GuardProgram::can_store(o, insn.obj)) return unknown(text + ", which may run code");
        if (GuardProgram::classify_attr(o, insn.obj, &now) != GuardProgram::AttrPlace::Instance)
            return unknown(text + ", which is not there yet");
        if (!can_be_variable(now)) return unknown(text + ", which holds " + kind_for_messages(now));
        StoredPlace p{PyRef::borrow(o), PyRef::borrow(insn.obj), owner.slot, {}};
        while (p.from >= out_->depth) {
            const EntrySource& s = out_->sources[static_cast<size_t>(p.from - out_->depth)];
            p.path.emplace(p.path.begin(), s, PyRef::borrow(object_at(p.from)));
            p.from = s.parent;
        }
        return found_store(std::move(p));
    }
    if (!becomes_stored(&v, text)) return false;
    *stored_attribute(owner, insn.obj) = std::move(v);
    return true;
}

// All is built again, with the place as a variable.
bool Builder::found_store(StoredPlace p) {
    found_.stored_places.push_back(std::move(p));
    learnt_ = true;
    return false;
}

// What is stored, as the place keeps it.
bool Builder::becomes_stored(Value* v, const std::string& text) {
    if (v->kind == Kind::Lazy && !fresh_array(v)) return false;
    if (v->copied >= 0 && !copied_array(v)) return false;
    if (!settle_strides(v)) return false;
    const bool fits = v->is_number() || v->is_complex_number() || v->kind == Kind::Array ||
                      v->kind == Kind::Variant || v->is_none() ||
                      (v->kind == Kind::Known && PyUnicode_CheckExact(v->obj));
    return (fits && becomes_object(*v)) || unknown(text + " of " + describe(*v));
}

// `global x`, or any assignment at module level.
bool Builder::on_store_global(const Insn& insn) {
    Value v = pop();
    const std::string text = std::string("a store to global variable ") + guards::utf8(insn.obj);
    PyObject* globals = globals_of(s_.levels.back());
    if (!PyDict_CheckExact(globals)) return unknown(text + " of a namespace that is no dict");
    if (!stored_place(globals, insn.obj)) {
        PyObject* now = PyDict_GetItem(globals, insn.obj);
        if (!now) return unknown(text + ", which is not there yet");
        if (!can_be_variable(now) || !GuardProgram::can_store_global(globals, insn.obj))
            return unknown(text + ", which holds " + kind_for_messages(now));
        StoredPlace p{PyRef::borrow(globals), PyRef::borrow(insn.obj), -1, {}};
        p.is_global = true;
        return found_store(std::move(p));
    }
    if (!becomes_stored(&v, text)) return false;
    *stored_place(globals, insn.obj) = std::move(v);
    return true;
}

}  // namespace stator::frontend::regions
