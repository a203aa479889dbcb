// What a region reads when it is entered: which slots, as what. See builder.h.

#include <fmt/format.h>

#include <string_view>

#include "frontend/cpython/functions.h"
#include "frontend/cpython/iterators.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/names.h"
#include "frontend/policy.h"
#include "frontend/regions/build/builder.h"
#include "frontend/regions/entry.h"
#include "frontend/regions/sequence.h"
#include "guards/check/functions.h"
#include "guards/check/names.h"

namespace stator::frontend::regions {

namespace {}  // namespace

bool keeps_identity(PyObject* o) {
    return o == Py_None || o == Py_Ellipsis || PyModule_Check(o) || guards::is_function(o) ||
           PyCFunction_Check(o) || PyType_Check(o) || PyUnicode_Check(o) ||
           PyObject_TypeCheck(o, &PyUFunc_Type) || numpy::is_dispatcher(o);
}

namespace {

std::vector<int64_t> extents_now(PyObject* array) {
    auto* a = reinterpret_cast<PyArrayObject*>(array);
    return {PyArray_DIMS(a), PyArray_DIMS(a) + PyArray_NDIM(a)};
}

}  // namespace

// How many references there are to an iterator that nobody else has: the frame's, or that of the iterator in
// which it is, of what that told of itself and of source_objects_.
Py_ssize_t Builder::holders(int slot) const {
    return slot < out_->depth ? own_references(*out_, f_, slot) : 3;
}

Py_ssize_t own_references(const BuiltRegion& b, const Frame& f, int slot) {
    if (!b.hidden_iterator || slot == 0 || f.slot(slot) != f.slot(0)) return 1;
    return 2 + f.held_by_caller(f.slot(slot));
}

// enumerate, zip or reversed; `std::nullopt` when they are over something else than regions know, or others
// hold the iterators in them.
std::optional<Value> Builder::entry_iterator(PyObject* o, int slot) {
    if (Py_REFCNT(o) != holders(slot)) return std::nullopt;
    const PyRef state = iterator_state(o);
    if (!state) return std::nullopt;
    const bool zip = Py_TYPE(o) == &PyZip_Type, counts = Py_TYPE(o) == &PyEnum_Type;
    const bool forward = is_sequence_iter(o);
    Value v = composed(zip       ? Kind::Zip
                       : counts  ? Kind::Enumerate
                       : forward ? Kind::ArrayIter
                                 : Kind::ReversedIter,
                       {});
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(state.get()); ++i) {
        EntrySource s{EntrySource::State, slot};
        s.index = static_cast<int>(i);
        s.count = static_cast<int>(PyTuple_GET_SIZE(state.get()));
        v.items.push_back(source_value(std::move(s), PyTuple_GET_ITEM(state.get(), i)));
        Value& item = v.items.back();
        if (forward && i == 0) {
            // What is found out here is for the next attempt, if there is one: this one goes on.
            Value items;
            Did did = sequence_array(item, &items);
            if (!did.done()) did = rows_iterated(item, &items);
            if (!did.done()) return std::nullopt;
            item = std::move(items);
        }
        const bool iterates = zip || (counts && i == 0);
        const bool iterated = item.kind == Kind::Array || item.kind == Kind::Rows;
        if (iterates ? !item.is_iterator() : i == 0 ? !iterated : item.kind != Kind::Int) return std::nullopt;
        if (!iterated) item.whole = false, item.slot = -1;
    }
    return v.items.size() == 2 || zip ? std::optional(v) : std::nullopt;
}

// The items of a tuple or list, each with a slot of its own.
Value Builder::entry_items(PyObject* o, int slot) {
    const bool list = PyList_CheckExact(o);
    Value v = composed(list ? Kind::List : Kind::Tuple, {});
    out_->lengths.push_back({slot, Py_TYPE(o), PySequence_Fast_GET_SIZE(o)});
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
        EntrySource s{EntrySource::Item, slot};
        s.index = static_cast<int>(i);
        v.items.push_back(source_value(std::move(s), PySequence_Fast_GET_ITEM(o, i)));
        // What a variable is rebound to is like other numbers.
        if (v.items.back().is_number()) v.items.back().whole = false, v.items.back().slot = -1;
    }
    return v;
}

// A slice. Bounds next to 0 are constants, because of what follows from them: which elements two statements
// share, how long a part is. Such ints are one object each, so where others come they are others.
Value Builder::entry_slice(PyObject* o, int slot) {
    Value v = composed(Kind::Slice, {});
    auto* slice = reinterpret_cast<PySliceObject*>(o);
    int index = 0;
    for (PyObject* bound : {slice->start, slice->stop, slice->step}) {
        EntrySource s{EntrySource::Bound, slot};
        s.index = index++;
        const EntryKind kind = classify(bound);
        const int64_t n =
            kind.kind == EntryKind::Int ? PyLong_AsLongLong(bound) : policy().region_slice_bound + 1;
        if (n < -policy().region_slice_bound || n > policy().region_slice_bound) {
            v.items.push_back(source_value(std::move(s), bound));
            if (v.items.back().is_number()) v.items.back().whole = false, v.items.back().slot = -1;
        } else {
            out_->same.emplace_back(source_slot(std::move(s), bound), PyRef::borrow(bound));
            v.items.push_back(int_value(constant_at_entry(n)));
        }
    }
    return v;
}

std::optional<Value> Builder::entry_value(PyObject* o, int slot) {
    EntryInput in{};
    in.slot = slot;
    const auto add = [&](EntryInput::Kind kind, DType t, int rank) {
        in.kind = kind;
        in.dtype = t;
        in.rank = rank;
        in.value = r_->add({t, static_cast<int8_t>(rank)});
        input_of_[in.value] = static_cast<int>(out_->inputs.size());
        out_->inputs.push_back(in);
        return in.value;
    };
    if (!o) return Value{};
    EntryKind kind = classify(o);
    Value v;
    switch (kind.kind) {
        case EntryKind::Int: v = int_value(add(EntryInput::Int, DType::I64, -1)); break;
        case EntryKind::Float: v = float_value(add(EntryInput::Float, DType::F64, -1)); break;
        case EntryKind::Bool: v = bool_value(add(EntryInput::Bool, DType::Bool, -1)); break;
        case EntryKind::Complex:
            v = composed(Kind::Complex, {float_value(add(EntryInput::Real, DType::F64, -1)),
                                         float_value(add(EntryInput::Imaginary, DType::F64, -1))});
            v.dtype = DType::C128;
            break;
        case EntryKind::ComplexScalar: {
            const DType part = part_type(kind.dtype);
            v = composed(Kind::ComplexScalar,
                         {scalar_value(part, add(EntryInput::ScalarReal, part, -1)),
                          scalar_value(part, add(EntryInput::ScalarImaginary, part, -1))});
            v.dtype = kind.dtype;
            break;
        }
        case EntryKind::Scalar: v = scalar_value(kind.dtype, add(EntryInput::Scalar, kind.dtype, -1)); break;
        case EntryKind::Array: {
            for (const EntryInput& other : out_->inputs)
                if (other.kind == EntryInput::Array && !other.of_iterator && object_at(other.slot) == o) {
                    out_->aliases.emplace_back(slot, other.slot);
                    in.slot = other.slot;
                    v.id = other.value;
                }
            in.contiguous = kind.contiguous;
            in.extents = extents_now(o);
            v.kind = Kind::Array;
            v.dtype = kind.dtype;
            v.rank = kind.rank;
            v.permuted = !kind.ordered;
            v.backward = kind.backward;
            in.ordered = kind.ordered;
            in.backward = kind.backward;
            if (v.id < 0) v.id = add(EntryInput::Array, kind.dtype, kind.rank);
            v.slot = in.slot;
            return v;
        }
        case EntryKind::RangeIter: {
            if (Py_REFCNT(o) != holders(slot)) return std::nullopt;
            v = composed(Kind::RangeIter, {int_value(add(EntryInput::RangeNext, DType::I64, -1)),
                                           int_value(add(EntryInput::RangeLeft, DType::I64, -1)),
                                           int_value(add(EntryInput::RangeStep, DType::I64, -1))});
            return v;
        }
        case EntryKind::ArrayIter: {
            if (Py_REFCNT(o) != holders(slot)) return std::nullopt;
            in.of_iterator = true;
            PyObject* over = array_iter_state(o).array;
            const EntryKind array = over ? classify(over) : EntryKind{};
            if (array.kind != EntryKind::Array) return std::nullopt;
            Value a;
            a.kind = Kind::Array;
            a.dtype = array.dtype;
            a.rank = array.rank;
            a.permuted = !array.ordered;
            a.backward = array.backward;
            a.whole = true;
            a.slot = slot;
            in.contiguous = array.contiguous;
            in.extents = extents_now(over);
            in.ordered = array.ordered;
            in.backward = array.backward;
            a.id = add(EntryInput::Array, array.dtype, array.rank);
            v = composed(Kind::ArrayIter, {a, int_value(add(EntryInput::IterPosition, DType::I64, -1))});
            return v;
        }
        case EntryKind::Compound: return entry_iterator(o, slot);
        case EntryKind::Tuple:
            if (nesting_ < policy().region_entry_nesting) {
                ++nesting_;
                v = entry_items(o, slot);
                --nesting_;
            } else {
                v.kind = Kind::Passed;
            }
            break;
        case EntryKind::Slice: v = entry_slice(o, slot); break;
        case EntryKind::List:  // looked into where something does
        case EntryKind::Other:
            if (!keeps_identity(o) || found_.texts.contains(o)) {
                v.kind = Kind::Passed;
                v.whole = true;
                v.obj = reinterpret_cast<PyObject*>(Py_TYPE(o));
                break;
            }
            v = known(keep(o));
            (guards::is_function(o) ? out_->same_code : out_->same).emplace_back(slot, PyRef::borrow(o));
            break;
    }
    v.slot = slot;
    return v;
}

bool Builder::is_iterator_at_entry(PyObject* o) const {
    if (!o) return false;
    const auto kind = classify(o).kind;
    return kind == EntryKind::RangeIter || kind == EntryKind::ArrayIter || kind == EntryKind::Compound;
}

bool Builder::read_entry() {
    const int depth = f_.depth();
    out_->depth = depth;
    out_->hidden_iterator =
        nlocals_ > 0 && f_.slot_is_object(0) &&
        PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(code_.code->co_localsplusnames, 0), ".0") == 0;
    std::vector<char> named(static_cast<size_t>(depth), 0);
    for (size_t i = 0; i < code_.insns.size(); ++i) {
        const Insn& insn = code_.insns[i];
        if (!inside_[i]) continue;
        switch (insn.op) {
            case Opcode::LoadFast:
            case Opcode::LoadFastCheck:
            case Opcode::StoreFast:
            case Opcode::DeleteFast:
            case Opcode::LoadFastAndClear: named[static_cast<size_t>(insn.arg)] = 1; break;
            default: break;
        }
    }
    for (int i = 0; i < depth; ++i) {
        if (!f_.slot_is_object(i)) return unknown("an exception that is being handled");
        PyObject* o = f_.slot(i);
        if (i == nlocals_ && !read_stored_places()) return false;
        const bool on_stack = i >= nlocals_;
        Value passed;
        passed.kind = Kind::Passed;
        passed.slot = i;
        passed.whole = true;
        // Above an iterator, as the region's own loops have it.
        if (kAboveIterator && i > nlocals_ && !o && f_.slot(i - 1) && PyIter_Check(f_.slot(i - 1))) {
            s_.slots.push_back({});
            continue;
        }
        // Only its own iterator is the loop's.
        if (on_stack && !(i == depth - 1 - kAboveIterator &&
                          code_.insns[static_cast<size_t>(header_)].op == Opcode::ForIter)) {
            s_.slots.push_back(passed);
            continue;
        }
        const bool changes = !on_stack && stored_[static_cast<size_t>(i)];
        // What it is rebound to before anything reads it does not matter.
        if (changes && !exposed_[static_cast<size_t>(i)]) {
            s_.slots.push_back(passed);
            continue;
        }
        // What a variable holds moves on when Python asks it for an item in what is left to it. The object
        // stays.
        if (!on_stack && is_iterator_at_entry(o)) {
            if (changes) return unknown("a variable that holds " + kind_for_messages(o));
            s_.slots.push_back(passed);
            continue;
        }
        if (on_stack || named[static_cast<size_t>(i)]) {
            auto v = entry_value(o, i);
            if (!v && changes) {
                return unknown("a variable that holds " + kind_for_messages(o));
            }
            if (v) {
                if (!o) out_->empty.push_back(i);
                // What the loop rebinds has no fixed place, but for arrays, which keep their identity.
                v->whole = o && (v->kind == Kind::Array || v->kind == Kind::Known ||
                                 v->kind == Kind::Passed || v->kind == Kind::List || (!changes && !on_stack));
                if (v->kind == Kind::RangeIter) v->whole = false;
                if ((v->kind == Kind::Tuple || v->kind == Kind::Slice) && changes) v->whole = false;
                // What is rebound is like what the loop makes, from the first iteration on.
                if (!v->whole && (v->is_number() || v->is_complex_number())) v->slot = -1;
                s_.slots.push_back(std::move(*v));
                continue;
            }
            if (on_stack) return unknown("a loop over " + (o ? kind_for_messages(o) : "nothing"));
        }
        s_.slots.push_back(passed);
    }
    return depth > nlocals_ || read_stored_places();
}

namespace {

void count_uses(const graph::Region& r, std::vector<int>& uses) {
    uses.assign(r.types.size(), 0);
    const auto use = [&](ValueId v) {
        if (v >= 0) ++uses[static_cast<size_t>(v)];
    };
    const auto insts = [&](const std::vector<graph::Inst>& list) {
        for (const graph::Inst& i : list)
            for (ValueId v : i.in) use(v);
    };
    for (const graph::Block& b : r.blocks) {
        insts(b.insts);
        use(b.end.cond);
        for (ValueId v : b.end.then.args) use(v);
        for (ValueId v : b.end.other.args) use(v);
    }
    for (const graph::NestBody& n : r.nests) insts(n.insts);
    for (const graph::RegionExit& e : r.exits)
        for (ValueId v : e.values) use(v);
}

}  // namespace

// Inputs that nothing needs are not read and not guarded.
void Builder::finish_inputs(BuiltRegion& out) {
    std::vector<int> uses;
    count_uses(*r_, uses);
    std::vector<EntryInput> kept;
    for (EntryInput& in : out.inputs) {
        if (!uses[static_cast<size_t>(in.value)]) {
            const bool stack = in.slot >= nlocals_ && in.slot < out.depth;
            if (stack || asked_.contains(in.slot)) out.guarded.push_back(std::move(in));
            continue;
        }
        graph::RegionInput ri;
        ri.value = in.value;
        ri.contiguous = in.contiguous;
        ri.written = in.written;
        ri.source = source_text(out, code_, in.slot);
        if (in.kind == EntryInput::RangeNext) ri.source += ".next";
        if (in.kind == EntryInput::RangeLeft) ri.source += ".left";
        if (in.kind == EntryInput::RangeStep) ri.source += ".step";
        if (in.kind == EntryInput::Real) ri.source += ".real";
        if (in.kind == EntryInput::Imaginary || in.kind == EntryInput::ScalarImaginary) ri.source += ".imag";
        if (in.kind == EntryInput::RowStarts) ri.source += ".starts";
        r_->inputs.push_back(std::move(ri));
        kept.push_back(std::move(in));
    }
    out.inputs = std::move(kept);
}

}  // namespace stator::frontend::regions
