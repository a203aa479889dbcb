// Stores to attributes of objects that were there at entry.
//
// Such an attribute is a variable more: its value lies behind the locals of the region's own frame in every
// state, exits list it, and it is stored for real where the region is left. What the region stores to is
// found by meeting the stores: then all of it is built again. The attribute is there at entry, so no store
// gives a dict a new key, and holds what nobody sees go away (GuardProgram::can_store, asked at each entry).

#include <algorithm>

#include "frontend/cpython/functions.h"
#include "frontend/regions/build/builder.h"
#include "frontend/regions/entry.h"
#include "guards/check/names.h"

namespace stator::frontend::regions {

using guards::GuardProgram;

namespace {

// What a stored attribute may hold when the region is entered.
bool can_be_variable(PyObject* o) {
    switch (classify(o).kind) {
        case EntryKind::Int:
        case EntryKind::Float:
        case EntryKind::Bool:
        case EntryKind::Complex:
        case EntryKind::Scalar:
        case EntryKind::Array: return true;
        default: return o == Py_None || PyUnicode_CheckExact(o);
    }
}

}  // namespace

// Where a local lies in a state; from -1 down: a stored attribute.
size_t Builder::place_of(const Level& level, int local) const {
    return static_cast<size_t>(local >= 0 ? level.base + local : nlocals_ - 1 - local);
}

// Called when the locals have been read.
bool Builder::read_stored_attributes() {
    for (StoredAttribute& a : found_.stored_attributes) {
        int owner = a.from;
        for (const auto& [step, now] : a.path) {
            EntrySource s = step;
            s.parent = s.parent >= 0 ? owner : -1;
            owner = source_slot(std::move(s), now.get());
        }
        PyObject* now = nullptr;
        EntrySource s{EntrySource::Attribute, owner};
        s.name = a.name;
        s.place = GuardProgram::classify_attr(a.object.get(), a.name.get(), &now);
        if (s.place != GuardProgram::AttrPlace::Instance || !can_be_variable(now))
            return unknown(std::string("attribute ") + guards::utf8(a.name.get()));
        Value v = source_value(s, now);
        out_->cells.push_back({owner, source_slot(std::move(s), now), a.name});
        // As variables that are rebound.
        if (v.is_number() || v.is_complex_number()) v.whole = false, v.slot = -1;
        s_.slots.push_back(std::move(v));
    }
    return true;
}

// What the region has in the attribute, nullptr when it does not store to it.
Value* Builder::stored_attribute(const Value& owner, PyObject* name) {
    PyObject* o = object_at(owner.slot);
    for (size_t i = 0; i < found_.stored_attributes.size(); ++i) {
        const StoredAttribute& a = found_.stored_attributes[i];
        if (a.object.get() != o || PyUnicode_Compare(a.name.get(), name) != 0) continue;
        if (owner.slot != out_->cells[i].owner) out_->aliases.emplace_back(owner.slot, out_->cells[i].owner);
        return &s_.slots[static_cast<size_t>(nlocals_) + i];
    }
    return nullptr;
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
        StoredAttribute a{PyRef::borrow(o), PyRef::borrow(insn.obj), owner.slot, {}};
        while (a.from >= out_->depth) {
            const EntrySource& s = out_->sources[static_cast<size_t>(a.from - out_->depth)];
            a.path.emplace(a.path.begin(), s, PyRef::borrow(object_at(a.from)));
            a.from = s.parent;
        }
        found_.stored_attributes.push_back(std::move(a));
        learnt_ = true;
        return false;
    }
    if (v.kind == Kind::Lazy && !fresh_array(&v)) return false;
    const bool fits = v.is_number() || v.is_complex_number() || v.kind == Kind::Array ||
                      v.kind == Kind::Variant || v.is_none() ||
                      (v.kind == Kind::Known && PyUnicode_CheckExact(v.obj));
    if (!fits || !becomes_object(v)) return unknown(text + " of " + describe(v));
    *stored_attribute(owner, insn.obj) = std::move(v);
    return true;
}

}  // namespace stator::frontend::regions
