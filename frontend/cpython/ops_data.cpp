// Handlers that compute: operators, comparisons, containers, unpacking, string formatting.
#include "frontend/cpython/ops.h"

namespace stator::frontend::ops {

namespace {

PyObject* power(PyObject* a, PyObject* b) { return PyNumber_Power(a, b, Py_None); }
PyObject* inplace_power(PyObject* a, PyObject* b) { return PyNumber_InPlacePower(a, b, Py_None); }

constexpr int kAdd = 0, kInplaceAdd = 13, kOperators = 26;

// In the order of CPython's NB_* numbers, which all versions share.
constexpr binaryfunc kBinary[kOperators] = {
    PyNumber_Add,
    PyNumber_And,
    PyNumber_FloorDivide,
    PyNumber_Lshift,
    PyNumber_MatrixMultiply,
    PyNumber_Multiply,
    PyNumber_Remainder,
    PyNumber_Or,
    power,
    PyNumber_Rshift,
    PyNumber_Subtract,
    PyNumber_TrueDivide,
    PyNumber_Xor,
    PyNumber_InPlaceAdd,
    PyNumber_InPlaceAnd,
    PyNumber_InPlaceFloorDivide,
    PyNumber_InPlaceLshift,
    PyNumber_InPlaceMatrixMultiply,
    PyNumber_InPlaceMultiply,
    PyNumber_InPlaceRemainder,
    PyNumber_InPlaceOr,
    inplace_power,
    PyNumber_InPlaceRshift,
    PyNumber_InPlaceSubtract,
    PyNumber_InPlaceTrueDivide,
    PyNumber_InPlaceXor,
};

// BINARY_OP of 3.14 releases in the other order than its neighbours. From that version on it leaves its
// operands to unwinding.
Step replace_both(const Op& o, PyObject* result) {
    if (raw::kMinor >= 14 && !result) return Step::Raised;
    constexpr Release kOrder = raw::kMinor < 15 ? Release::BottomFirst : Release::TopFirst;
    return replace<2, kOrder>(o, result);
}

// `s = s + t` and `s += t` on a local string grow it in place, as CPython's specialized instruction does: a
// loop that builds a string stays linear. Only when the next instruction overwrites the local, whose
// reference is given up here.
bool append_to_local(const Op& o) {
    const Insn& store = (&o.in)[1];
    PyObject *left = top(o, 1), *right = top(o);
    if (store.op != Opcode::StoreFast || !PyUnicode_CheckExact(left) || !PyUnicode_CheckExact(right))
        return false;
    raw::slot_t& target = local(o, store.arg);
    if (raw::slot_object(target) != left || left == right) return false;
    raw::slot_t* p = sp(o);
    raw::slot_t added = p[-1];
    PyObject* text = raw::slot_take(p[-2]);  // while the local keeps what is borrowed from it
    set_sp(o, p - 2);
    raw::slot_t old = target;
    target = raw::slot_null();
    raw::slot_close(old);
    PyUnicode_Append(&text, right);
    if (text) push(o, text);
    raw::slot_close(added);
    return true;
}

}  // namespace

Step op_BinaryOp(const Op& o) {
    if ((o.in.arg == kAdd || o.in.arg == kInplaceAdd) && PyUnicode_CheckExact(top(o)) && append_to_local(o)) {
        return PyErr_Occurred() ? Step::Raised : next(o);
    }
    return replace_both(o, kBinary[o.in.arg](top(o, 1), top(o)));
}

Step op_BinarySubscr(const Op& o) { return replace_both(o, PyObject_GetItem(top(o, 1), top(o))); }

Step op_StoreSubscr(const Op& o) { return consume<3>(o, PyObject_SetItem(top(o, 1), top(o), top(o, 2))); }

Step op_DeleteSubscr(const Op& o) { return consume<2>(o, PyObject_DelItem(top(o, 1), top(o))); }

namespace {

// The slice of the two values on top, which leave the stack for it.
PyRef pop_slice(const Op& o) {
    PyRef slice = PyRef::steal(PySlice_New(top(o, 1), top(o), nullptr));
    drop(o);
    drop(o);
    return slice;
}

}  // namespace

Step op_BinarySlice(const Op& o) {
#if PY_VERSION_HEX < 0x030F0000
    PyRef slice = pop_slice(o);
    PyObject* result = slice ? PyObject_GetItem(top(o), slice.get()) : nullptr;
    slice = {};
    return replace<1>(o, result);
#else  // the operands outlive the slice
    PyRef slice = PyRef::steal(PySlice_New(top(o, 1), top(o), nullptr));
    PyObject* result = slice ? PyObject_GetItem(top(o, 2), slice.get()) : nullptr;
    slice = {};
    return replace<3>(o, result);
#endif
}

Step op_StoreSlice(const Op& o) {
    PyRef slice = pop_slice(o);
    int err = slice ? PyObject_SetItem(top(o), slice.get(), top(o, 1)) : -1;
    slice = {};
    return consume<2>(o, err);
}

Step op_CompareOp(const Op& o) {
    PyObject* result = PyObject_RichCompare(top(o, 1), top(o), o.in.arg);
    if (result && (o.in.flags & Insn::kToBool)) {
        int truth = PyObject_IsTrue(result);
        Py_DECREF(result);
        result = truth < 0 ? nullptr : Py_NewRef(truth ? Py_True : Py_False);
    }
    return replace<2>(o, result);
}

Step op_ContainsOp(const Op& o) {
    int found = PySequence_Contains(top(o), top(o, 1));
    return replace<2>(o, found < 0 ? nullptr : Py_NewRef(found ^ o.in.arg ? Py_True : Py_False));
}

Step op_IsOp(const Op& o) {
    return replace<2>(o, Py_NewRef((top(o) == top(o, 1)) ^ o.in.arg ? Py_True : Py_False));
}

Step op_UnaryNegative(const Op& o) { return replace<1>(o, PyNumber_Negative(top(o))); }
Step op_UnaryPositive(const Op& o) { return replace<1>(o, PyNumber_Positive(top(o))); }
Step op_UnaryInvert(const Op& o) { return replace<1>(o, PyNumber_Invert(top(o))); }

Step op_UnaryNot(const Op& o) {
    int truth = PyObject_IsTrue(top(o));
    return replace<1>(o, truth < 0 ? nullptr : Py_NewRef(truth ? Py_False : Py_True));
}

Step op_ToBool(const Op& o) {
    int truth = PyObject_IsTrue(top(o));
    return replace<1>(o, truth < 0 ? nullptr : Py_NewRef(truth ? Py_True : Py_False));
}

Step op_GetLen(const Op& o) {
    Py_ssize_t length = PyObject_Length(top(o));
    PyObject* result = length < 0 ? nullptr : PyLong_FromSsize_t(length);
    if (!result) return Step::Raised;
    push(o, result);
    return next(o);
}

Step op_BuildTuple(const Op& o) {
    PyObject* tuple = PyTuple_New(o.in.arg);
    if (!tuple) return Step::Raised;
    raw::slot_t* base = sp(o) - o.in.arg;
    for (int i = 0; i < o.in.arg; i++) PyTuple_SET_ITEM(tuple, i, raw::slot_take(base[i]));
    set_sp(o, base);
    push(o, tuple);
    return next(o);
}

Step op_BuildList(const Op& o) {
    PyObject* list = PyList_New(o.in.arg);
    if (!list) return Step::Raised;
    raw::slot_t* base = sp(o) - o.in.arg;
    for (int i = 0; i < o.in.arg; i++) PyList_SET_ITEM(list, i, raw::slot_take(base[i]));
    set_sp(o, base);
    push(o, list);
    return next(o);
}

Step op_BuildSet(const Op& o) {
    PyObject* set = PySet_New(nullptr);
    for (int i = o.in.arg - 1; set && i >= 0; i--) {
        if (PySet_Add(set, top(o, i)) < 0) Py_CLEAR(set);
    }
    return replace_many(o, o.in.arg, set);
}

Step op_BuildMap(const Op& o) {
    PyObject* map = PyDict_New();
    for (int i = o.in.arg - 1; map && i >= 0; i--) {
        if (PyDict_SetItem(map, top(o, 2 * i + 1), top(o, 2 * i)) < 0) Py_CLEAR(map);
    }
    return replace_many<Release::TopFirst>(o, 2 * o.in.arg, map);
}

Step op_BuildConstKeyMap(const Op& o) {
    PyObject* keys = top(o);
    PyObject* map = PyDict_New();
    for (int i = 0; map && i < o.in.arg; i++) {
        if (PyDict_SetItem(map, PyTuple_GET_ITEM(keys, i), top(o, o.in.arg - i)) < 0) Py_CLEAR(map);
    }
    return replace_many(o, o.in.arg + 1, map);
}

Step op_BuildString(const Op& o) {
    static PyObject* const empty = PyUnicode_New(0, 0);
    PyObject* text;
    {
        Operands items(sp(o) - o.in.arg, o.in.arg);
        text = _PyUnicode_JoinArray(empty, items.get(), o.in.arg);
    }
    return replace_many<Release::TopFirst>(o, o.in.arg, text);
}

Step op_BuildSlice(const Op& o) {
    if (o.in.arg == 3) return replace<3>(o, PySlice_New(top(o, 2), top(o, 1), top(o)));
    return replace<2>(o, PySlice_New(top(o, 1), top(o), nullptr));
}

// The container of the next handlers lies arg deep, counted without the operands they take off.
Step op_ListAppend(const Op& o) { return consume<1>(o, PyList_Append(top(o, o.in.arg), top(o))); }
Step op_SetAdd(const Op& o) { return consume<1>(o, PySet_Add(top(o, o.in.arg), top(o))); }
Step op_SetUpdate(const Op& o) { return consume<1>(o, _PySet_Update(top(o, o.in.arg), top(o))); }
Step op_MapAdd(const Op& o) { return consume<2>(o, PyDict_SetItem(top(o, o.in.arg + 1), top(o, 1), top(o))); }

Step op_ListExtend(const Op& o) {
    PyObject* iterable = top(o);
    PyObject* none = _PyList_Extend(reinterpret_cast<PyListObject*>(top(o, o.in.arg)), iterable);
    if (!none && PyErr_ExceptionMatches(PyExc_TypeError) && !Py_TYPE(iterable)->tp_iter &&
        !PySequence_Check(iterable)) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "Value after * must be an iterable, not %.200s",
                     Py_TYPE(iterable)->tp_name);
    }
    Py_XDECREF(none);
    return consume<1>(o, none ? 0 : -1);
}

Step op_ListToTuple(const Op& o) { return replace<1>(o, PyList_AsTuple(top(o))); }

Step op_DictUpdate(const Op& o) {
    int err = PyDict_Update(top(o, o.in.arg), top(o));
    if (err < 0 && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Format(PyExc_TypeError, "'%.200s' object is not a mapping", Py_TYPE(top(o))->tp_name);
    }
    return consume<1>(o, err);
}

Step op_DictMerge(const Op& o) {
    // Below the dict: the positional arguments, then the callable (3.13+: an empty slot lies between).
    PyObject* callable = top(o, o.in.arg + (raw::kMinor < 13 ? 2 : 3));
    return consume<1>(o, merge_keywords(callable, top(o, o.in.arg), top(o)));
}

Step op_FormatValue(const Op& o) {
    enum { kConversion = 3, kSpec = 4, kConvertOnly = 8 };
    const bool has_spec = o.in.arg & kSpec;
    PyObject* spec = has_spec ? top(o) : nullptr;
    PyRef value = PyRef::borrow(top(o, has_spec));
    switch (o.in.arg & kConversion) {
        case 1: value = PyRef::steal(PyObject_Str(value.get())); break;
        case 2: value = PyRef::steal(PyObject_Repr(value.get())); break;
        case 3: value = PyRef::steal(PyObject_ASCII(value.get())); break;
        default: break;
    }
    // format() of a plain string without a spec is the string.
    const bool is_result = (o.in.arg & kConvertOnly) || (value && !spec && PyUnicode_CheckExact(value.get()));
    if (value && !is_result) value = PyRef::steal(PyObject_Format(value.get(), spec));
    PyObject* result = value.release();
    return has_spec ? replace<2>(o, result) : replace<1>(o, result);
}

namespace {

// What CPython says when an iterator has more than was asked for; 3.14 also says how many a sized container
// has.
void raise_too_many(PyObject* sequence, int expected) {
    if (raw::kMinor >= 14 &&
        (PyTuple_CheckExact(sequence) || PyList_CheckExact(sequence) || PyDict_CheckExact(sequence))) {
        Py_ssize_t size = PyObject_Size(sequence);
        if (size > expected) {
            PyErr_Format(PyExc_ValueError, "too many values to unpack (expected %d, got %zd)", expected,
                         size);
            return;
        }
    }
    PyErr_Format(PyExc_ValueError, "too many values to unpack (expected %d)", expected);
}

PyObject* unpacking_iterator(PyObject* sequence) {
    PyObject* it = PyObject_GetIter(sequence);
    if (!it && PyErr_ExceptionMatches(PyExc_TypeError) && !Py_TYPE(sequence)->tp_iter &&
        !PySequence_Check(sequence)) {
        PyErr_Format(PyExc_TypeError, "cannot unpack non-iterable %.200s object", Py_TYPE(sequence)->tp_name);
    }
    return it;
}

// Takes `before` values from the iterator. With `after` >= 0 a list of the rest and its last `after` values
// follow. False with an error set, otherwise out[0] is the first value.
bool unpack(PyObject* sequence, int before, int after, std::vector<PyRef>& out) {
    PyRef it = PyRef::steal(unpacking_iterator(sequence));
    if (!it) return false;
    out.reserve(before + 1 + (after > 0 ? after : 0));
    for (int i = 0; i < before; i++) {
        PyObject* item = PyIter_Next(it.get());
        if (!item) {
            if (PyErr_Occurred()) return false;
            PyErr_Format(PyExc_ValueError,
                         after < 0 ? "not enough values to unpack (expected %d, got %d)"
                                   : "not enough values to unpack (expected at least %d, got %d)",
                         after < 0 ? before : before + after, i);
            return false;
        }
        out.push_back(PyRef::steal(item));
    }
    if (after < 0) {
        PyRef extra = PyRef::steal(PyIter_Next(it.get()));
        if (extra) raise_too_many(sequence, before);
        return !PyErr_Occurred();
    }
    PyRef rest = PyRef::steal(PySequence_List(it.get()));
    if (!rest) return false;
    Py_ssize_t size = PyList_GET_SIZE(rest.get());
    if (size < after) {
        PyErr_Format(PyExc_ValueError, "not enough values to unpack (expected at least %d, got %zd)",
                     before + after, before + size);
        return false;
    }
    out.push_back(rest);
    for (Py_ssize_t i = size - after; i < size; i++)
        out.push_back(PyRef::borrow(PyList_GET_ITEM(rest.get(), i)));
    return PyList_SetSlice(rest.get(), size - after, size, nullptr) == 0;
}

Step unpack_onto_stack(const Op& o, int before, int after) {
    std::vector<PyRef> values;
    const bool ok = unpack(top(o), before, after, values);
    raw::slot_t sequence = pop_slot(o);
    if (ok) {
        for (size_t i = values.size(); i-- > 0;) push(o, values[i].release());
    }
    raw::slot_close(sequence);
    return ok ? next(o) : Step::Raised;
}

}  // namespace

Step op_UnpackSequence(const Op& o) {
    PyObject* sequence = top(o);
    PyObject** items = nullptr;
    if (PyTuple_CheckExact(sequence) && PyTuple_GET_SIZE(sequence) == o.in.arg) {
        items = reinterpret_cast<PyTupleObject*>(sequence)->ob_item;
    } else if (PyList_CheckExact(sequence) && PyList_GET_SIZE(sequence) == o.in.arg) {
        items = reinterpret_cast<PyListObject*>(sequence)->ob_item;
    }
    if (!items) return unpack_onto_stack(o, o.in.arg, -1);
    raw::slot_t owner = pop_slot(o);
    for (int i = o.in.arg; i-- > 0;) push(o, Py_NewRef(items[i]));
    raw::slot_close(owner);
    return next(o);
}

Step op_UnpackEx(const Op& o) { return unpack_onto_stack(o, o.in.arg & 0xFF, o.in.arg >> 8); }

}  // namespace stator::frontend::ops
