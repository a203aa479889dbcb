// Handlers that decide what runs next: jumps, loops, `with`, raising and handling exceptions, return.
#include "frontend/cpython/ops.h"

namespace stator::frontend::ops {

Step op_ReturnValue(const Op&) { return Step::Return; }

// A backward jump is where the evaluator serves signals, the garbage collector and other threads.
Step op_Jump(const Op& o) {
    if ((o.in.flags & Insn::kBackward) && !serve_breaker(o)) return Step::Raised;
    return jump(o);
}

namespace {

// Takes the condition off the stack: 1, 0, or -1 with an error set.
int pop_truth(const Op& o) {
    PyObject* value = top(o);
    int truth = value == Py_True ? 1 : value == Py_False ? 0 : PyObject_IsTrue(value);
    drop(o);
    return truth;
}

// Backward conditional jumps (3.11) close loops too.
Step branch(const Op& o, bool taken) {
    if (!taken) return next(o);
    if ((o.in.flags & Insn::kBackward) && !serve_breaker(o)) return Step::Raised;
    return jump(o);
}

bool pop_is_none(const Op& o) {
    bool none = top(o) == Py_None;
    drop(o);
    return none;
}

}  // namespace

Step op_PopJumpIfTrue(const Op& o) {
    int truth = pop_truth(o);
    return truth < 0 ? Step::Raised : branch(o, truth);
}

Step op_PopJumpIfFalse(const Op& o) {
    int truth = pop_truth(o);
    return truth < 0 ? Step::Raised : branch(o, !truth);
}

Step op_PopJumpIfNone(const Op& o) { return branch(o, pop_is_none(o)); }
Step op_PopJumpIfNotNone(const Op& o) { return branch(o, !pop_is_none(o)); }

Step op_JumpIfTrueOrPop(const Op& o) {
    int truth = PyObject_IsTrue(top(o));
    if (truth < 0) return Step::Raised;
    if (truth) return jump(o);
    drop(o);
    return next(o);
}

Step op_JumpIfFalseOrPop(const Op& o) {
    int truth = PyObject_IsTrue(top(o));
    if (truth < 0) return Step::Raised;
    if (!truth) return jump(o);
    drop(o);
    return next(o);
}

Step op_GetIter(const Op& o) { return replace<1>(o, PyObject_GetIter(top(o))); }

Step op_ForIter(const Op& o) {
    PyObject* iter = top(o, kAboveIterator);
    PyObject* value = Py_TYPE(iter)->tp_iternext(iter);
    if (value) {
        push(o, value);
        return next(o);
    }
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_StopIteration)) return Step::Raised;
        PyErr_Clear();
    }
    if (raw::kMinor < 14) drop(o);  // from 3.14 on, POP_ITER at the target does it
    return jump(o);
}

// Reached only by resuming at it; a loop that ends jumps past it.
Step op_EndFor(const Op& o) {
    drop(o);
    if (raw::kMinor < 13) drop(o);
    return next(o);
}

Step op_BeforeWith(const Op& o) {
    static PyObject* const enter_name = PyUnicode_InternFromString("__enter__");
    static PyObject* const exit_name = PyUnicode_InternFromString("__exit__");
    PyObject* manager = top(o);
    PyRef enter = PyRef::steal(_PyObject_LookupSpecial(manager, enter_name));
    if (!enter) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_TypeError, "'%.200s' object does not support the context manager protocol",
                         Py_TYPE(manager)->tp_name);
        }
        return Step::Raised;
    }
    PyObject* exit = _PyObject_LookupSpecial(manager, exit_name);
    if (!exit) {
        if (!PyErr_Occurred()) {
            PyErr_Format(
                PyExc_TypeError,
                "'%.200s' object does not support the context manager protocol (missed __exit__ method)",
                Py_TYPE(manager)->tp_name);
        }
        return Step::Raised;
    }
    raw::slot_t old = sp(o)[-1];
    sp(o)[-1] = raw::slot_steal(exit);
    raw::slot_close(old);
    PyObject* value = PyObject_CallNoArgs(enter.get());
    if (!value) return Step::Raised;
    push(o, value);
    return next(o);
}

Step op_WithExceptStart(const Op& o) {
    // [exit, (self or NULL from 3.14 on,) lasti, previous exception, exception]
    PyObject* value = top(o);
    PyObject* self = raw::kMinor < 14 ? nullptr : top(o, 3);
    PyObject* exit = top(o, raw::kMinor < 14 ? 3 : 4);
    PyRef traceback = PyRef::steal(PyException_GetTraceback(value));
    PyObject* args[] = {nullptr, self, PyExceptionInstance_Class(value), value,
                        traceback ? traceback.get() : Py_None};
    PyObject* result =
        PyObject_Vectorcall(exit, args + 1 + !self, (3 + !!self) | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
    if (!result) return Step::Raised;
    push(o, result);
    return next(o);
}

Step op_PushExcInfo(const Op& o) {
    _PyErr_StackItem* info = o.ts->exc_info;
    raw::slot_t* p = sp(o);
    raw::slot_t raised = p[-1];
    PyObject* previous = info->exc_value;
    p[-1] = raw::slot_steal(previous ? previous : Py_NewRef(Py_None));
    info->exc_value = Py_NewRef(raw::slot_object(raised));
    push_slot(o, raised);
    return next(o);
}

Step op_PopExcept(const Op& o) {
    _PyErr_StackItem* info = o.ts->exc_info;
    PyObject* handled = info->exc_value;
    // "Nothing handled" is None on the stack and NULL in the thread state (up to 3.13 None will do there
    // too).
    PyObject* previous = raw::slot_take(pop_slot(o));
    if (previous == Py_None) Py_CLEAR(previous);
    info->exc_value = previous;
    Py_XDECREF(handled);
    return next(o);
}

namespace {

void set_raised(PyObject* steal_value) {
#if PY_VERSION_HEX < 0x030C0000
    PyErr_Restore(Py_NewRef(PyExceptionInstance_Class(steal_value)), steal_value,
                  PyException_GetTraceback(steal_value));
#else
    PyErr_SetRaisedException(steal_value);
#endif
}

void raise_again(PyThreadState* ts) {
    for (_PyErr_StackItem* item = ts->exc_info; item; item = item->previous_item) {
        if (item->exc_value && item->exc_value != Py_None) {
            set_raised(Py_NewRef(item->exc_value));
            return;
        }
    }
    PyErr_SetString(PyExc_RuntimeError, "No active exception to reraise");
}

// An instance for `raise X`, where X is an exception or a class of them; NULL with an error set.
PyRef instantiate(PyObject* exc) {
    if (PyExceptionInstance_Check(exc)) return PyRef::borrow(exc);
    if (!PyExceptionClass_Check(exc)) {
        PyErr_SetString(PyExc_TypeError, "exceptions must derive from BaseException");
        return {};
    }
    PyRef value = PyRef::steal(PyObject_CallNoArgs(exc));
    if (value && !PyExceptionInstance_Check(value.get())) {
        PyErr_Format(PyExc_TypeError, "calling %R should have returned an instance of BaseException, not %R",
                     exc, Py_TYPE(value.get()));
        return {};
    }
    return value;
}

bool set_cause(PyObject* value, PyObject* cause) {
    PyRef fixed;
    if (PyExceptionClass_Check(cause)) {
        fixed = PyRef::steal(PyObject_CallNoArgs(cause));
        if (!fixed) return false;
#if PY_VERSION_HEX >= 0x030C0000
        if (!PyExceptionInstance_Check(fixed.get())) {
            PyErr_Format(PyExc_TypeError,
                         "calling %R should have returned an instance of BaseException, not %R", cause,
                         Py_TYPE(fixed.get()));
            return false;
        }
#endif
    } else if (PyExceptionInstance_Check(cause)) {
        fixed = PyRef::borrow(cause);
    } else if (cause != Py_None) {
        PyErr_SetString(PyExc_TypeError, "exception causes must derive from BaseException");
        return false;
    }
    PyException_SetCause(value, fixed.release());
    return true;
}

}  // namespace

Step op_RaiseVarargs(const Op& o) {
    if (o.in.arg == 0) {
        raise_again(o.ts);
        return Step::Raised;
    }
    PyRef cause = PyRef::steal(o.in.arg == 2 ? raw::slot_take(pop_slot(o)) : nullptr);
    PyRef exc = PyRef::steal(raw::slot_take(pop_slot(o)));
    PyRef value = instantiate(exc.get());
    if (value && (!cause || set_cause(value.get(), cause.get()))) {
        // `raise C` names C, which the instance of a peculiar metaclass need not be of; otherwise the value's
        // class.
        PyObject* type =
            PyExceptionClass_Check(exc.get()) ? exc.get() : PyExceptionInstance_Class(value.get());
        PyErr_SetObject(type, value.get());
    }
    return Step::Raised;
}

Step op_Reraise(const Op& o) {
    if (o.in.arg) raw::set_at(o.frame, raw::lasti_of_slot(sp(o)[-1 - o.in.arg]));
    set_raised(raw::slot_take(pop_slot(o)));
    return Step::Raised;
}

namespace {

constexpr const char* kCannotCatch = "catching classes that do not inherit from BaseException is not allowed";
constexpr const char* kCannotCatchGroup =
    "catching ExceptionGroup with except* is not allowed. Use except instead.";

// Calls `check` on a type or on each of a tuple of types until it says no.
template <typename Check>
bool each_type(PyObject* types, Check check) {
    if (!PyTuple_Check(types)) return check(types);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(types); i++) {
        if (!check(PyTuple_GET_ITEM(types, i))) return false;
    }
    return true;
}

bool valid_except_types(PyObject* types) {
    if (each_type(types, [](PyObject* t) { return PyExceptionClass_Check(t) != 0; })) return true;
    PyErr_SetString(PyExc_TypeError, kCannotCatch);
    return false;
}

bool valid_except_star_types(PyObject* types) {
    if (!valid_except_types(types)) return false;
    bool group = false;
    bool ok = each_type(types, [&](PyObject* t) {
        int is = PyObject_IsSubclass(t, PyExc_BaseExceptionGroup);
        group = is > 0;
        return is == 0;
    });
    if (group) PyErr_SetString(PyExc_TypeError, kCannotCatchGroup);
    return ok;
}

}  // namespace

Step op_CheckExcMatch(const Op& o) {
    PyObject* types = top(o);
    int match = valid_except_types(types) ? PyErr_GivenExceptionMatches(top(o, 1), types) : -1;
    return replace<1>(o, match < 0 ? nullptr : Py_NewRef(match ? Py_True : Py_False));
}

namespace {

struct Split {
    PyRef match, rest;
};

// The part of an exception (group) that `types` selects, and the rest; both None when it selects nothing.
bool split_group(raw::IFrame* frame, PyObject* value, PyObject* types, Split& out) {
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *match = nullptr, *rest = nullptr;
    int err = raw::exception_group_match(frame, value, types, &match, &rest);
    out.match = PyRef::steal(match);
    out.rest = PyRef::steal(rest);
    return err >= 0 && match && rest;
#else
    (void)frame;
    out.match = out.rest = PyRef::borrow(Py_None);
    if (value == Py_None) return true;
    const bool is_group =
        PyObject_TypeCheck(value, reinterpret_cast<PyTypeObject*>(PyExc_BaseExceptionGroup));
    if (PyErr_GivenExceptionMatches(value, types)) {
        if (is_group) {
            out.match = PyRef::borrow(value);
            return true;
        }
        out.match = PyRef::steal(PyObject_CallFunction(PyExc_BaseExceptionGroup, "s(O)", "", value));
        return static_cast<bool>(out.match);
    }
    if (!is_group) return true;
    PyRef pair = PyRef::steal(PyObject_CallMethod(value, "split", "(O)", types));
    if (!pair) return false;
    if (!PyTuple_CheckExact(pair.get()) || PyTuple_GET_SIZE(pair.get()) < 2) {
        PyErr_Format(PyExc_TypeError, "%.200s.split must return a tuple, not %.200s", Py_TYPE(value)->tp_name,
                     Py_TYPE(pair.get())->tp_name);
        return false;
    }
    out.match = PyRef::borrow(PyTuple_GET_ITEM(pair.get(), 0));
    out.rest = PyRef::borrow(PyTuple_GET_ITEM(pair.get(), 1));
    return true;
#endif
}

}  // namespace

Step op_CheckEgMatch(const Op& o) {
    Split split;
    PyObject *types = top(o), *value = top(o, 1);
    if (!valid_except_star_types(types) || !split_group(o.frame, value, types, split)) return Step::Raised;
    drop(o);
    if (split.match.get() == Py_None) {
        push(o, split.match.release());
        return next(o);
    }
    PyErr_SetHandledException(split.match.get());
    raw::slot_t old = sp(o)[-1];
    sp(o)[-1] = raw::slot_steal(split.rest.release());
    push(o, split.match.release());
    raw::slot_close(old);
    return next(o);
}

}  // namespace stator::frontend::ops
