#include "frontend/cpython/ops.h"
// ops.h must come first.
#include "frontend/cpython/generator_list.h"

namespace stator::frontend::ops {

Step op_Nop(const Op& o) { return next(o); }

Step op_Other(const Op&) { return Step::Cannot; }
// Only class bodies have these, and their code is not stepped.
Step op_LoadClassDeref(const Op&) { return Step::Cannot; }

Step op_Resume(const Op& o) {
    if (o.in.arg < 2 && !serve_breaker(o)) return Step::Raised;
    return next(o);
}

Step op_MakeCell(const Op& o) {
    raw::slot_t initial = local(o, o.in.arg);
    PyObject* cell = PyCell_New(raw::slot_object(initial));
    if (!cell) return Step::Raised;
    local(o, o.in.arg) = raw::slot_steal(cell);
    raw::slot_close(initial);
    return next(o);
}

Step op_CopyFreeVars(const Op& o) {
    PyObject* closure = PyFunction_GET_CLOSURE(raw::function(o.frame));
    const int first = o.code.nlocalsplus - o.in.arg;
    for (int i = 0; i < o.in.arg; i++)
        local(o, first + i) = raw::slot_steal(Py_NewRef(PyTuple_GET_ITEM(closure, i)));
    return next(o);
}

Step op_PopTop(const Op& o) {
    drop(o);
    return next(o);
}

Step op_PopIter(const Op& o) { return op_PopTop(o); }

Step op_PushNull(const Op& o) {
    push_slot(o, raw::slot_null());
    return next(o);
}

Step op_Copy(const Op& o) {
    push_slot(o, raw::slot_again(sp(o)[-o.in.arg]));
    return next(o);
}

Step op_Swap(const Op& o) {
    raw::slot_t* p = sp(o);
    std::swap(p[-1], p[-o.in.arg]);
    return next(o);
}

Step op_LoadFast(const Op& o) {
    raw::slot_t s = local(o, o.in.arg);
    if (raw::slot_empty(s)) {
        raise_unbound(o, o.in.arg);
        return Step::Raised;
    }
    push_slot(o, o.in.flags & Insn::kBorrows ? raw::slot_borrow(s) : raw::slot_copy(s));
    return next(o);
}

Step op_LoadFastCheck(const Op& o) { return op_LoadFast(o); }

Step op_LoadFastAndClear(const Op& o) {
    raw::slot_t s = local(o, o.in.arg);
    local(o, o.in.arg) = raw::slot_null();
    push_slot(o, s);
    return next(o);
}

Step op_StoreFast(const Op& o) {
    raw::slot_t old = local(o, o.in.arg);
    local(o, o.in.arg) = pop_slot(o);
    raw::slot_close(old);
    return next(o);
}

Step op_DeleteFast(const Op& o) {
    raw::slot_t old = local(o, o.in.arg);
    if (raw::slot_empty(old)) {
        raise_unbound(o, o.in.arg);
        return Step::Raised;
    }
    local(o, o.in.arg) = raw::slot_null();
    raw::slot_close(old);
    return next(o);
}

namespace {

// What the function that is being made is going to be called for, below its closure.
PyObject* consumer_on_stack(const Op& o) {
    const int closure = reinterpret_cast<PyCodeObject*>(o.in.obj)->co_nfreevars > 0;
    constexpr int kEmpty = raw::kMinor < 13 ? 1 : 0;  // which of the two slots
    return top(o, closure + kEmpty) ? nullptr : top(o, closure + 1 - kEmpty);
}

}  // namespace

Step op_LoadConst(const Op& o) {
    PyObject* value = o.in.obj;
    if ((o.in.flags & Insn::kForCallable) && !merely_collects(consumer_on_stack(o)))
        value = generator_of(value);
    push(o, Py_NewRef(value));
    return next(o);
}

#if PY_VERSION_HEX < 0x030F0000

namespace {

// A new reference, or NULL with an error set.
PyObject* lookup_in_dicts(PyObject* globals, PyObject* builtins, PyObject* name) {
    Py_hash_t hash = reinterpret_cast<PyASCIIObject*>(name)->hash;
    if (hash == -1) hash = PyObject_Hash(name);
    PyObject* v = _PyDict_GetItem_KnownHash(globals, name, hash);
    if (!v && !PyErr_Occurred()) v = _PyDict_GetItem_KnownHash(builtins, name, hash);
    if (!v && !PyErr_Occurred()) raise_name_error(PyExc_NameError, kNameErrorFormat, name);
    return Py_XNewRef(v);
}

PyObject* lookup_in_mappings(PyObject* globals, PyObject* builtins, PyObject* name) {
    PyObject* v = PyObject_GetItem(globals, name);
    if (v || !PyErr_ExceptionMatches(PyExc_KeyError)) return v;
    PyErr_Clear();
    v = PyObject_GetItem(builtins, name);
    if (!v && PyErr_ExceptionMatches(PyExc_KeyError))
        raise_name_error(PyExc_NameError, kNameErrorFormat, name);
    return v;
}

}  // namespace

#endif

Step op_LoadGlobal(const Op& o) {
    PyObject *globals = o.frame->f_globals, *builtins = o.frame->f_builtins;
#if PY_VERSION_HEX >= 0x030F0000
    // It also finishes a lazy import.
    raw::slot_t found = raw::slot_null();
    _PyEval_LoadGlobalStackRef(globals, builtins, o.in.obj, &found);
    PyObject* v = raw::slot_take(found);
#else
    const bool dicts = PyDict_CheckExact(globals) && PyDict_CheckExact(builtins);
    PyObject* v = dicts ? lookup_in_dicts(globals, builtins, o.in.obj)
                        : lookup_in_mappings(globals, builtins, o.in.obj);
#endif
    if (!v) return Step::Raised;
    const bool null = o.in.flags & Insn::kPushNull;
    if (raw::kMinor < 13 && null) push_slot(o, raw::slot_null());
    push(o, v);
    if (raw::kMinor >= 13 && null) push_slot(o, raw::slot_null());
    return next(o);
}

Step op_StoreGlobal(const Op& o) {
    return consume<1>(o, PyDict_SetItem(o.frame->f_globals, o.in.obj, top(o)));
}

// Of code that is stepped only modules have these, whose names are their globals.
Step op_LoadName(const Op& o) { return raw::is_at_module_level(o.frame) ? op_LoadGlobal(o) : Step::Cannot; }
Step op_StoreName(const Op& o) { return raw::is_at_module_level(o.frame) ? op_StoreGlobal(o) : Step::Cannot; }

Step op_DeleteGlobal(const Op& o) {
    if (PyDict_DelItem(o.frame->f_globals, o.in.obj) == 0) return next(o);
    if (PyErr_ExceptionMatches(PyExc_KeyError)) {
        raise_name_error(PyExc_NameError, kNameErrorFormat, o.in.obj);
    }
    return Step::Raised;
}

Step op_LoadDeref(const Op& o) {
    PyObject* v = PyCell_GET(raw::slot_object(local(o, o.in.arg)));
    if (!v) {
        raise_unbound(o, o.in.arg);
        return Step::Raised;
    }
    push(o, Py_NewRef(v));
    return next(o);
}

Step op_StoreDeref(const Op& o) {
    PyObject* cell = raw::slot_object(local(o, o.in.arg));
    PyObject* old = PyCell_GET(cell);
    PyCell_SET(cell, raw::slot_take(pop_slot(o)));
    Py_XDECREF(old);
    return next(o);
}

Step op_DeleteDeref(const Op& o) {
    PyObject* cell = raw::slot_object(local(o, o.in.arg));
    PyObject* old = PyCell_GET(cell);
    if (!old) {
        raise_unbound(o, o.in.arg);
        return Step::Raised;
    }
    PyCell_SET(cell, nullptr);
    Py_DECREF(old);
    return next(o);
}

Step op_LoadBuildClass(const Op& o) {
    PyObject* builtins = o.frame->f_builtins;
    static PyObject* const name = PyUnicode_InternFromString("__build_class__");
    PyObject* v;
    if (PyDict_CheckExact(builtins)) {
        v = Py_XNewRef(PyDict_GetItemWithError(builtins, name));
        if (!v && !PyErr_Occurred()) PyErr_SetString(PyExc_NameError, "__build_class__ not found");
    } else {
        v = PyObject_GetItem(builtins, name);
        if (!v && PyErr_ExceptionMatches(PyExc_KeyError)) {
            PyErr_SetString(PyExc_NameError, "__build_class__ not found");
        }
    }
    if (!v) return Step::Raised;
    push(o, v);
    return next(o);
}

Step op_ImportName(const Op& o) {
    static PyObject* const name = PyUnicode_InternFromString("__import__");
#if PY_VERSION_HEX >= 0x030D0000
    PyObject* found = nullptr;  // builtins may be any mapping
    PyMapping_GetOptionalItem(o.frame->f_builtins, name, &found);
    const PyRef import = PyRef::steal(found);
#else
    const PyRef import = PyRef::borrow(PyDict_GetItemWithError(o.frame->f_builtins, name));
#endif
    PyObject* result = nullptr;
    if (import) {
        PyObject* locals = raw::locals_dict(o.frame);
        PyObject* args[] = {o.in.obj, o.frame->f_globals, locals ? locals : Py_None, top(o), top(o, 1)};
        result = PyObject_Vectorcall(import.get(), args, 5, nullptr);
    } else if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_ImportError, "__import__ not found");
    }
    return replace<2>(o, result);
}

}  // namespace stator::frontend::ops
