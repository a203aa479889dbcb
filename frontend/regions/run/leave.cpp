// From an exit's values to the frames in which Python goes on. See region.h and resume.cpp.

#include <algorithm>
#include <cstring>
#include <utility>

#include "frontend/clock.h"
#include "frontend/cpython/collection.h"
#include "frontend/cpython/iterators.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/runtime.h"
#include "frontend/regions/run/region.h"
#include "frontend/regions/sequence.h"

namespace stator::frontend::regions {

namespace {

// What the exit wrote down. In the slots of its frames the ids of Values are places in the exit's values.
class ExitValues {
  public:
    // `slots`: of the values in `out`.
    ExitValues(const std::vector<int>& slots, const char* out) : slots_(slots), out_(out) {}
    const char* bits(graph::ValueId id) const {
        return out_ + static_cast<ptrdiff_t>(kSlot) * slots_[static_cast<size_t>(id)];
    }
    int64_t word(graph::ValueId id, int n = 0) const {
        int64_t w;
        std::memcpy(&w, bits(id) + n * kSlot, 8);
        return w;
    }
    double real(graph::ValueId id) const {
        double d;
        std::memcpy(&d, bits(id), 8);
        return d;
    }

  private:
    const std::vector<int>& slots_;
    const char* out_;
};

// An array as the region knows it.
struct Words {
    char* data;
    int64_t shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
};

PyRef reversed(PyObject* sequence) {
    return PyRef::steal(PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyReversed_Type), sequence));
}

// Makes the objects of one exit; what is one object in the program is made once.
class Boxes {
  public:
    Boxes(const ExitValues& values, const std::vector<PyObject*>& old, const std::vector<EntryRows>& rows,
          MadeObjects& made)
        : values_(values), old_(old), rows_(rows), made_(made) {}
    ~Boxes() { made_.clear(); }
    Boxes(const Boxes&) = delete;
    PyObject* box(const Value& v);  // new reference; nullptr with an error, or without one for an empty slot

  private:
    PyObject* number(const Value& v);
    PyObject* make_number(const Value& v);
    PyObject* array(const Value& v);
    PyObject* make_array(const Value& v);
    PyObject* complex(const Value& v) const;
    PyObject* variant(const Value& v);
    PyObject* iterator(const Value& v);
    PyObject* list(const Value& v);
    PyObject* row(const Value& v) const;
    PyRef items(const Value& v);
    Words words(const Value& v) const;
    PyObject* view_of(PyObject* base, const Value& v) const;
    // What was in the slot at entry; of an iterator of an array, the array.
    PyObject* entry(int64_t slot) const { return old_[static_cast<size_t>(slot)]; }
    PyObject* entry_array(int64_t slot) const {
        PyObject* o = entry(slot);
        return o && is_array_iter(o) ? array_iter_state(o).array : o;
    }

    const ExitValues& values_;
    const std::vector<PyObject*>& old_;  // the frame's slots at entry
    const std::vector<EntryRows>& rows_;
    MadeObjects& made_;
};

Words Boxes::words(const Value& v) const {
    Words w;
    w.data = reinterpret_cast<char*>(values_.word(v.id));
    for (int d = 0; d < v.rank; ++d) {
        w.shape[d] = values_.word(v.id, 1 + d);
        w.strides[d] = values_.word(v.id, 1 + v.rank + d);
    }
    return w;
}

PyObject* Boxes::view_of(PyObject* base, const Value& v) const {
    const Words w = words(v);
    return numpy::new_view(base, v.dtype, v.rank, w.shape, w.strides, w.data);
}

// NumPy 2.4 and later give arrays of no elements zero strides, which their parts have, too.
bool has_zero_strides(PyObject* array) {
    const int64_t* strides = numpy::strides(array);
    return numpy::array_size(array) == 0 && numpy::rank(array) > 0 &&
           std::all_of(strides, strides + numpy::rank(array), [](int64_t s) { return s == 0; });
}

PyObject* Boxes::make_array(const Value& v) {
    if (v.part) {  // of an array that may have moved into an object just now
        const PyRef whole = PyRef::steal(box(v.items[0]));
        if (!whole) return nullptr;
        Words w = words(v);
        if (has_zero_strides(whole.get())) std::fill_n(w.strides, v.rank, 0);
        char* data = numpy::data(whole.get()) + (w.data - words(v.items[0]).data);
        return numpy::new_view(whole.get(), v.dtype, v.rank, w.shape, w.strides, data);
    }
    bool fresh = v.fresh;
    if (v.held) {
        const int64_t from = values_.word(v.items[0].id);
        if (from == Held::Nothing) return nullptr;
        if (from <= Held::Entry) return Py_XNewRef(entry(Held::Entry - from));
        if (from >= Held::View) return view_of(entry_array(from - Held::View), v);
        if (from >= Held::Whole) return Py_NewRef(entry_array(from - Held::Whole));
        fresh = true;
    }
    if (!fresh) return view_of(entry_array(v.slot), v);
    const Words w = words(v);
    PyObject* a = numpy::new_array(v.dtype, v.rank, w.shape, {});
    if (a)
        std::memcpy(numpy::data(a), w.data,
                    static_cast<size_t>(PyArray_NBYTES(reinterpret_cast<PyArrayObject*>(a))));
    return a;
}

PyObject* Boxes::array(const Value& v) {
    if (PyObject* made = made_.find(v.object, v.id)) return Py_NewRef(made);
    return made_.keep(v.object, v.id, make_array(v));
}

PyObject* Boxes::make_number(const Value& v) {
    switch (v.kind) {
        case Kind::Int: return PyLong_FromLongLong(values_.word(v.id));
        case Kind::Float: return PyFloat_FromDouble(values_.real(v.id));
        case Kind::Bool: return PyBool_FromLong(*values_.bits(v.id));
        case Kind::Character: return PyUnicode_FromOrdinal(static_cast<int>(values_.word(v.id)));
        default: return numpy::box_scalar(graph::Box::NpScalar, v.dtype, values_.bits(v.id));
    }
}

PyObject* Boxes::number(const Value& v) {
    if (PyObject* made = made_.find(v.object, v.id)) return Py_NewRef(made);
    return made_.keep(v.object, v.id, make_number(v));
}

PyObject* Boxes::complex(const Value& v) const {
    char bits[kSlot] = {};
    const size_t size = static_cast<size_t>(graph::info(v.dtype).size) / 2;
    for (size_t k = 0; k < 2; ++k) std::memcpy(bits + k * size, values_.bits(v.items[k].id), size);
    if (v.kind == Kind::ComplexScalar) return numpy::box_scalar(graph::Box::NpScalar, v.dtype, bits);
    return PyComplex_FromDoubles(values_.real(v.items[0].id), values_.real(v.items[1].id));
}

PyObject* Boxes::variant(const Value& v) {
    const int64_t tag = values_.word(v.items[0].id), as_int = values_.word(v.items[1].id);
    const double as_float = values_.real(v.items[2].id);
    if (tag <= Tag::Entry) return Py_XNewRef(entry(Tag::Entry - tag));
    switch (tag) {
        case Tag::Empty: return nullptr;
        case Tag::Int: return PyLong_FromLongLong(as_int);
        case Tag::Float: return PyFloat_FromDouble(as_float);
        case Tag::Bool: return PyBool_FromLong(as_int != 0);
        default: break;
    }
    const auto t = static_cast<graph::DType>(tag - Tag::Scalar);
    char bits[kSlot] = {};
    if (t == graph::DType::F32) {
        const auto narrow = static_cast<float>(as_float);
        std::memcpy(bits, &narrow, 4);
    } else {
        std::memcpy(bits, graph::is_float(t) ? static_cast<const void*>(&as_float) : &as_int, 8);
    }
    return numpy::box_scalar(graph::Box::NpScalar, t, bits);
}

PyObject* Boxes::iterator(const Value& v) {
    const auto word = [&](int n) { return values_.word(v.items[static_cast<size_t>(n)].id); };
    if (v.kind == Kind::RangeIter) return new_range_iter({word(0), word(1), word(2)});
    const PyRef parts = items(v);
    if (!parts) return nullptr;
    PyObject* const first = PyTuple_GET_ITEM(parts.get(), 0);
    const auto at = [](PyRef it, int64_t position) {
        if (!it) return it.release();
        const PyRef done = PyRef::steal(PyObject_CallMethod(it.get(), "__setstate__", "L", position));
        return done ? it.release() : nullptr;
    };
    const auto call = [](PyTypeObject& type, PyObject* args) {
        return PyRef::steal(PyObject_Call(reinterpret_cast<PyObject*>(&type), args, nullptr));
    };
    switch (v.kind) {
        case Kind::Enumerate: return call(PyEnum_Type, parts.get()).release();
        case Kind::Zip: return call(PyZip_Type, parts.get()).release();
        case Kind::ReversedIter: return at(reversed(first), word(1));
        case Kind::ItemsIter: {
            const auto left = static_cast<int64_t>(v.items[0].items.size()) - v.rank;
            if (v.backward) return at(reversed(first), left - 1);
            return at(PyRef::steal(PyObject_GetIter(first)), v.rank);
        }
        default: break;
    }
    if (!PyArray_CheckExact(first)) return at(PyRef::steal(PyObject_GetIter(first)), word(1));
    PyObject* it = PySeqIter_New(first);
    if (it) set_array_iter_position(it, word(1));
    return it;
}

PyRef Boxes::items(const Value& v) {
    PyRef t = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(v.items.size())));
    for (size_t i = 0; t && i < v.items.size(); ++i) {
        PyObject* item = box(v.items[i]);
        if (!item) return {};
        PyTuple_SET_ITEM(t.get(), static_cast<Py_ssize_t>(i), item);
    }
    return t;
}

PyObject* Boxes::list(const Value& v) {
    if (PyObject* made = made_.find(v.object, MadeObjects::kList)) return Py_NewRef(made);
    const PyRef t = items(v);
    return made_.keep(v.object, MadeObjects::kList, t ? PySequence_List(t.get()) : nullptr);
}

PyObject* Boxes::row(const Value& v) const {
    const auto of =
        std::find_if(rows_.begin(), rows_.end(), [&](const EntryRows& r) { return r.slot == v.slot; });
    return Py_NewRef(of->rows[static_cast<size_t>(values_.word(v.items[0].id))].get());
}

PyObject* Boxes::box(const Value& v) {
    if (v.whole && v.slot >= 0)
        return Py_XNewRef(v.kind == Kind::Array ? entry_array(v.slot) : entry(v.slot));
    switch (v.kind) {
        case Kind::Empty: return nullptr;
        case Kind::Known: return Py_NewRef(v.obj);
        case Kind::Int:
        case Kind::Float:
        case Kind::Bool:
        case Kind::Scalar:
        case Kind::Character: return number(v);
        case Kind::Array: return array(v);
        case Kind::Complex:
        case Kind::ComplexScalar: return complex(v);
        case Kind::Variant: return variant(v);
        case Kind::RangeIter:
        case Kind::ArrayIter:
        case Kind::ReversedIter:
        case Kind::ItemsIter:
        case Kind::Enumerate:
        case Kind::Zip: return iterator(v);
        case Kind::List: return list(v);
        case Kind::Row: return row(v);
        case Kind::Tuple: return items(v).release();
        case Kind::Slice: {
            const PyRef t = items(v);
            return t ? PySlice_New(PyTuple_GET_ITEM(t.get(), 0), PyTuple_GET_ITEM(t.get(), 1),
                                   PyTuple_GET_ITEM(t.get(), 2))
                     : nullptr;
        }
        case Kind::Range: {
            const PyRef t = items(v);
            return t ? PyObject_CallObject(reinterpret_cast<PyObject*>(&PyRange_Type), t.get()) : nullptr;
        }
        default:
            PyErr_SetString(PyExc_SystemError, "stator: a region left with a value that has no object");
            return nullptr;
    }
}

// An iterator that only the frame holds is moved on; nullptr when there is none.
PyObject* moved_on(const Value& v, PyObject* old, const ExitValues& values) {
    if (!old || Py_REFCNT(old) != 1) return nullptr;
    const auto word = [&](int n) { return values.word(v.items[static_cast<size_t>(n)].id); };
    if (v.kind == Kind::RangeIter && is_range_iter(old)) {
        set_range_iter_state(old, {word(0), word(1), word(2)});
        return Py_NewRef(old);
    }
    if (v.kind == Kind::ArrayIter && v.items[0].whole && is_array_iter(old)) {
        set_array_iter_position(old, word(1));
        return Py_NewRef(old);
    }
    return nullptr;
}

}  // namespace

namespace {

// A number that is what it was keeps its object.
bool same_number(PyObject* a, PyObject* b) {
    if (Py_TYPE(a) != Py_TYPE(b)) return false;
    if (PyFloat_CheckExact(a))
        return std::memcmp(&reinterpret_cast<PyFloatObject*>(a)->ob_fval,
                           &reinterpret_cast<PyFloatObject*>(b)->ob_fval, 8) == 0;
    return PyLong_CheckExact(a) && PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

}  // namespace

// Takes them out of the frame's slots. False with an error.
bool CompiledRegion::store_places(std::vector<PyObject*>* slots) const {
    if (built_->cells.empty()) return true;
    const auto first = slots->begin() + built_->exits.front()->frames.front().code->nlocalsplus;
    const auto last = first + static_cast<ptrdiff_t>(built_->cells.size());
    auto at = first;
    bool ok = true;
    for (const BuiltRegion::Cell& c : built_->cells) {
        PyObject *now = *at++, *before = entry_[static_cast<size_t>(c.slot)];
        if (ok && now && now != before && !same_number(now, before))
            ok = c.globals ? PyDict_SetItem(c.globals.get(), c.name.get(), now) == 0
                           : PyObject_SetAttr(entry_[static_cast<size_t>(c.owner)], c.name.get(), now) == 0;
        Py_XDECREF(now);
    }
    slots->erase(first, last);
    return ok;
}

// What goes into lists that the code stored to. False with an error.
bool CompiledRegion::items_to_store(std::vector<NewItem>* made) {
    if (stored_lists_.empty()) return true;
    const int64_t begun = copied_ ? thread_ns() : 0;
    const bool ok = std::all_of(stored_lists_.begin(), stored_lists_.end(), [&](const StoredList& s) {
        const size_t size = static_cast<size_t>(graph::info(s.dtype).size);
        const char *now = arrays_[s.place], *before = s.before.data();
        for (size_t i = 0; i < s.lists.size(); ++i) {
            if (!make_items(s.lists[i].get(), s.dtype, now, before, s.items[i], made)) return false;
            now += s.items[i] * size, before += s.items[i] * size;
        }
        return true;
    });
    if (copied_) copying_ns_ += thread_ns() - begun;
    return ok;
}

// Objects are made before the frame is touched, so that a failure leaves it as it was.
bool CompiledRegion::leave(Frame& f, int exit, std::vector<ResumeFrame>* inner) {
    const NoCollection quiet;  // a finalizer would find attributes and items as they were
    const ResumePoint& r = *built_->exits[static_cast<size_t>(exit)];
    const ExitValues values(exit_slots(exit), out_.data());
    const std::vector<PyObject*>& old = entry_;
    const auto depth = static_cast<size_t>(f.depth());
    Boxes boxes(values, old, entry_rows_, made_);
    std::vector<ResumeFrame> frames(r.frames.size() - 1);
    std::vector<PyObject*>& own_slots = left_.slots;
    for (size_t k = 0; k < r.frames.size(); ++k) {
        const ResumePoint::Stop& stop = r.frames[k];
        ResumeFrame& frame = k == 0 ? left_ : frames[k - 1];
        if (k > 0) {
            frame.func = PyRef::borrow(stop.function_slot >= 0 ? old[static_cast<size_t>(stop.function_slot)]
                                                               : stop.function);
            frame.unit = stop.code->insns[static_cast<size_t>(stop.pc)].unit;
        }
        // Attributes and globals lie between the locals and the stack.
        const auto locals = static_cast<size_t>(stop.code->nlocalsplus);
        const size_t cells = k == 0 ? built_->cells.size() : 0;
        for (size_t i = 0; i < stop.slots.size(); ++i) {
            const size_t slot = i < locals + cells ? i : i - cells;
            const bool own = k == 0 && slot < depth && (i < locals || i >= locals + cells);
            PyObject* o = moved_on(stop.slots[i], own ? old[slot] : nullptr, values);
            if (!o) o = boxes.box(stop.slots[i]);
            if (!o && PyErr_Occurred()) return left_.clear(), false;
            frame.slots.push_back(o);
        }
    }
    std::vector<NewItem> items;
    if (!items_to_store(&items) || !store_places(&own_slots)) return left_.clear(), false;
    put_items(&items);
    f.clear_slots();
    for (size_t i = 0; i < own_slots.size(); ++i)
        f.init_slot(static_cast<int>(i), std::exchange(own_slots[i], nullptr));
    f.set_depth(static_cast<int>(own_slots.size()));
    own_slots.clear();
    f.borrow_loads(*r.frames[0].code, r.frames[0].pc, r.frames.size() > 1);
    *inner = std::move(frames);
    return true;
}

// Where the exit's values are in `out_`.
const std::vector<int>& CompiledRegion::exit_slots(int exit) {
    std::vector<int>& slots = exit_slots_[static_cast<size_t>(exit)];
    if (!slots.empty()) return slots;
    const graph::Region& r = *built_->graph;
    const std::vector<graph::ValueId>& values = r.exits[static_cast<size_t>(exit)].values;
    for (int at = 0; slots.size() < values.size();) {
        const graph::ValueId v = values[slots.size()];
        slots.push_back(at);
        at += slots_of(r.types[static_cast<size_t>(v)]);
    }
    return slots;
}

}  // namespace stator::frontend::regions
