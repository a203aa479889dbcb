// Objects that a region reaches from its frame when it is entered: items of tuples and lists, attributes,
// cells, globals.
//
// Each has a number behind the frame's own slots, so what holds for what is in an entry slot (inputs, what is
// written, whose part a view is) holds for it, too. Nothing runs while a region does: what was found at entry
// stays.

#include <fmt/format.h>

#include "frontend/hosts/numpy/lower.h"
#include "frontend/regions/build/builder.h"
#include "frontend/regions/entry.h"
#include "frontend/regions/sequence.h"
#include "guards/check/functions.h"
#include "guards/check/module.h"
#include "guards/check/names.h"

namespace stator::frontend::regions {

using guards::GuardProgram;

namespace {

bool same_source(const EntrySource& a, const EntrySource& b) {
    return a.kind == b.kind && a.parent == b.parent && a.object.get() == b.object.get() &&
           a.name.get() == b.name.get() && a.index == b.index;
}

}  // namespace

PyObject* Builder::object_at(int slot) const {
    if (slot < out_->depth) return f_.slot(slot);
    return source_objects_[static_cast<size_t>(slot - out_->depth)].get();
}

// Its number; `now` is what is there while the region is built.
int Builder::source_slot(EntrySource s, PyObject* now) {
    for (size_t i = 0; i < out_->sources.size(); ++i)
        if (same_source(out_->sources[i], s)) return out_->depth + static_cast<int>(i);
    out_->sources.push_back(std::move(s));
    source_objects_.push_back(PyRef::borrow(now));
    return out_->depth + static_cast<int>(out_->sources.size()) - 1;
}

// What is there, as a value that nothing rebinds.
Value Builder::source_value(EntrySource s, PyObject* now) {
    const int slot = source_slot(std::move(s), now);
    auto [it, fresh] = source_values_.try_emplace(slot);
    if (!fresh) return it->second;
    const size_t inputs = out_->inputs.size();
    auto v = entry_value(now, slot);
    if (!v) {
        v.emplace();
        v->kind = Kind::Passed;
    }
    if (!v->is_iterator()) {
        v->slot = v->slot < 0 ? slot : v->slot;
        v->whole = true;
    }
    for (size_t i = inputs; i < out_->inputs.size(); ++i) extents_at_entry(out_->inputs[i]);
    return source_values_[slot] = *v;
}

// A list that was there at entry is looked into where its items are asked for: many are only handed on.
Value Builder::looked_into(const Value& v) {
    if (v.kind != Kind::Passed || v.slot < 0 || !object_at(v.slot)) return v;
    PyObject* o = object_at(v.slot);
    const bool named = !PyTuple_CheckExact(o) && guards::is_plain_tuple(o);
    const bool list =
        classify(o).kind == EntryKind::List && !found_.tables.contains(o) && !found_.indexed.contains(o);
    if (!named && (!list || !read_apart(v.slot))) return v;
    auto [it, fresh] = list_values_.try_emplace(v.slot);
    if (fresh) {
        Value list = entry_items(o, v.slot);
        list.slot = v.slot;
        list.whole = true;
        list_values_[v.slot] = std::move(list);
    }
    return list_values_[v.slot];
}

// A constant that all of the region sees.
ValueId Builder::constant_at_entry(int64_t v) {
    graph::Inst inst;
    inst.op = graph::RegionOp::Const;
    inst.ints = {v};
    const ValueId id = inst.result = r_->add({DType::I64, -1});
    consts_[id] = v;
    r_->blocks[0].insts.push_back(std::move(inst));
    return id;
}

// Extents of inputs are values of the entry, where all of the region sees them.
void Builder::extents_at_entry(const EntryInput& in) {
    for (int axis = 0; in.is_memory() && axis < in.rank; ++axis) {
        const int64_t now = in.extents[static_cast<size_t>(axis)];
        const bool fixed = now == 0 || now == 1;
        graph::Inst inst;
        inst.op = fixed ? graph::RegionOp::Const : graph::RegionOp::Extent;
        if (!fixed) inst.in = {in.value};
        inst.ints = {fixed ? now : axis};
        inst.result = r_->add({DType::I64, -1});
        extents_[{in.value, axis}] = inst.result;
        if (fixed)
            consts_[inst.result] = now;
        else
            plural_[inst.result] = now;
        r_->blocks[0].insts.push_back(std::move(inst));
    }
}

// An attribute of an object that was there at entry, where reading it runs no code.
bool Builder::attribute(const Value& owner, PyObject* name, Value* out, bool* is_method) {
    const std::string text = guards::utf8(name);
    PyObject* o = owner.kind == Kind::Passed && owner.slot >= 0 ? object_at(owner.slot) : nullptr;
    if (!o || PyType_Check(o)) return unknown("attribute " + text + " of " + describe(owner));
    if (Value* stored = stored_attribute(owner, name)) {
        *is_method = false;
        if (!bound(stored)) return false;
        *out = *stored;
        return true;
    }
    PyObject* value = nullptr;
    const auto place = GuardProgram::classify_attr(o, name, &value);
    EntrySource s{EntrySource::Attribute, owner.slot};
    s.name = PyRef::borrow(name);
    s.place = place;
    *is_method = place == GuardProgram::AttrPlace::Method;
    switch (place) {
        case GuardProgram::AttrPlace::Method:
            s.object = PyRef::borrow(value);
            source_slot(std::move(s), value);
            *out = known(keep(value));
            return true;
        case GuardProgram::AttrPlace::Instance:
        case GuardProgram::AttrPlace::ClassAttr: *out = source_value(std::move(s), value); return true;
        default: return unknown("attribute " + text + " of " + describe(owner));
    }
}

// The contents of the cell in a slot of the frame that is followed.
bool Builder::on_load_deref(const Insn& insn) {
    const Value& cell = local(insn.arg);
    PyObject* o = cell.kind == Kind::Passed && cell.slot >= 0 ? object_at(cell.slot) : nullptr;
    if (!o || !PyCell_Check(o) || !PyCell_GET(o)) return unknown("a variable of another scope");
    push(source_value({EntrySource::Cell, cell.slot}, PyCell_GET(o)));
    return true;
}

// At the beginning of a function: the cells of its closure.
bool Builder::on_copy_free_variables(const Insn& insn) {
    const Level& level = s_.levels.back();
    PyObject* closure = PyFunction_GET_CLOSURE(level.function);
    if (!closure || PyTuple_GET_SIZE(closure) != insn.arg) return unknown("a closure");
    for (int i = 0; i < insn.arg; ++i) {
        EntrySource s{EntrySource::FunctionCell, level.function_slot};
        if (level.function_slot < 0) s.object = PyRef::borrow(level.function);
        s.index = i;
        Value cell;
        cell.kind = Kind::Passed;
        cell.whole = true;
        cell.slot = source_slot(std::move(s), PyTuple_GET_ITEM(closure, i));
        local(level.code->nlocalsplus - insn.arg + i) = std::move(cell);
    }
    return true;
}

// ---- at entry ----

PyRef iterator_state(PyObject* o) {
    if (!o || (Py_TYPE(o) != &PyEnum_Type && Py_TYPE(o) != &PyZip_Type && Py_TYPE(o) != &PyReversed_Type &&
               !is_sequence_iter(o)))
        return {};
    const PyRef told = PyRef::steal(PyObject_CallMethod(o, "__reduce__", nullptr));
    if (!told || !PyTuple_CheckExact(told.get()) || PyTuple_GET_SIZE(told.get()) < 2)
        return PyErr_Clear(), PyRef{};
    // A tuple of our own, so that what it holds is held once more, whatever the iterator's own looks like.
    const PyRef all = PyRef::steal(PySequence_List(PyTuple_GET_ITEM(told.get(), 1)));
    bool ok = static_cast<bool>(all);
    for (Py_ssize_t i = 2; ok && i < PyTuple_GET_SIZE(told.get()); ++i)
        ok = PyList_Append(all.get(), PyTuple_GET_ITEM(told.get(), i)) == 0;
    PyRef state = PyRef::steal(ok ? PyList_AsTuple(all.get()) : nullptr);
    if (!state) return PyErr_Clear(), PyRef{};
    if (Py_TYPE(o) != &PyEnum_Type) return state;
    // A count near the end of 64 bits may pass it.
    int overflow = 0;
    const int64_t count = PyLong_AsLongLongAndOverflow(PyTuple_GET_ITEM(state.get(), 1), &overflow);
    return overflow || count >= kFarCount ? PyRef{} : std::move(state);
}

namespace {

// New reference; nullptr when it is not as it was. `holders`: references to an iterator that nobody else has.
PyObject* find(const EntrySource& s, PyObject* parent, Py_ssize_t holders) {
    PyObject* o = s.parent >= 0 ? parent : s.object.get();
    PyObject* found = nullptr;
    if (!o) return nullptr;
    switch (s.kind) {
        case EntrySource::Item:
            if (guards::is_plain_tuple(o) && PyTuple_GET_SIZE(o) > s.index)
                found = PyTuple_GET_ITEM(o, s.index);
            if (PyList_CheckExact(o) && PyList_GET_SIZE(o) > s.index) found = PyList_GET_ITEM(o, s.index);
            break;
        case EntrySource::Bound:
            if (PySlice_Check(o)) {
                auto* slice = reinterpret_cast<PySliceObject*>(o);
                found = s.index == 0 ? slice->start : s.index == 1 ? slice->stop : slice->step;
            }
            break;
        case EntrySource::Attribute:
            if (GuardProgram::classify_attr(o, s.name.get(), &found) != s.place) return nullptr;
            if (s.place == GuardProgram::AttrPlace::Method && found != s.object.get()) return nullptr;
            break;
        case EntrySource::Cell: found = PyCell_Check(o) ? PyCell_GET(o) : nullptr; break;
        case EntrySource::FunctionCell: {
            PyObject* closure = guards::is_function(o) ? PyFunction_GET_CLOSURE(o) : nullptr;
            if (closure && PyTuple_GET_SIZE(closure) > s.index) found = PyTuple_GET_ITEM(closure, s.index);
            break;
        }
        case EntrySource::State: {
            if (!o || Py_REFCNT(o) != holders) return nullptr;  // others see it move
            const PyRef state = iterator_state(o);
            if (!state || PyTuple_GET_SIZE(state.get()) != s.count) return nullptr;
            return Py_NewRef(PyTuple_GET_ITEM(state.get(), s.index));
        }
        case EntrySource::DictItem:
            if (PyDict_CheckExact(o)) found = PyDict_GetItem(o, s.name.get());
            break;
        case EntrySource::Global: found = PyDict_GetItem(o, s.name.get()); break;
        case EntrySource::BoundTo: found = PyMethod_GET_SELF(o); break;
        case EntrySource::Constant: found = o; break;
    }
    return Py_XNewRef(found);
}

}  // namespace

bool find_objects(const BuiltRegion& b, Frame& f, std::vector<PyObject*>* slots, std::vector<PyRef>* owned) {
    for (int i = 0; i < b.depth; ++i) slots->push_back(f.slot(i));
    for (const EntrySource& s : b.sources) {
        PyObject* parent = s.parent >= 0 ? (*slots)[static_cast<size_t>(s.parent)] : nullptr;
        const Py_ssize_t holders = s.parent >= 0 && s.parent < b.depth ? own_references(b, f, s.parent) : 2;
        owned->push_back(PyRef::steal(find(s, parent, holders)));
        slots->push_back(owned->back().get());
        if (!slots->back()) return false;
    }
    return true;
}

std::string source_text(const BuiltRegion& b, const CodeInfo& code, int slot) {
    if (slot < code.nlocalsplus) return guards::utf8(PyTuple_GET_ITEM(code.code->co_localsplusnames, slot));
    if (slot < b.depth) return fmt::format("stack{}", slot - code.nlocalsplus);
    const EntrySource& s = b.sources[static_cast<size_t>(slot - b.depth)];
    const std::string base = s.parent >= 0 ? source_text(b, code, s.parent) : "";
    switch (s.kind) {
        case EntrySource::Item: return fmt::format("{}[{}]", base, s.index);
        case EntrySource::Bound: {
            constexpr const char* kNames[] = {"start", "stop", "step"};
            return base + "." + kNames[s.index];
        }
        case EntrySource::Attribute: return base + "." + guards::utf8(s.name.get());
        case EntrySource::Cell: return base + ".cell_contents";
        case EntrySource::FunctionCell: return fmt::format("{}.__closure__[{}]", base, s.index);
        case EntrySource::State: return fmt::format("{}.__reduce__()[{}]", base, s.index);
        case EntrySource::Global: return guards::utf8(s.name.get());
        case EntrySource::BoundTo: return "the object of a method";
        case EntrySource::Constant: return "a constant";
        case EntrySource::DictItem: return fmt::format("{}[\"{}\"]", base, guards::utf8(s.name.get()));
    }
    return base;
}

}  // namespace stator::frontend::regions
