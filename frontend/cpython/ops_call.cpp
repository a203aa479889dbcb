// Handlers that call or look up: attributes, methods, calls, making functions.
//
// A Python function is called through its vectorcall, so its arguments stay on this frame's stack until it
// returns (the evaluator, when it can, moves them to the callee, where `del x` may then drop the last
// reference earlier).
#include "frontend/cpython/ops.h"
// ops.h must come first.
#include "frontend/cpython/evaluated.h"
#include "frontend/cpython/functions.h"

namespace stator::frontend::ops {

Step op_LoadAttr(const Op& o) { return replace<1>(o, PyObject_GetAttr(top(o), o.in.obj)); }

Step op_LoadMethod(const Op& o) {
    PyObject* method = nullptr;
    const bool unbound = _PyObject_GetMethod(top(o), o.in.obj, &method);
    if (!method) return Step::Raised;
    raw::slot_t* p = sp(o);
    if (unbound) {  // [method, self]
        raw::slot_t self = p[-1];
        p[-1] = raw::slot_steal(method);
        push_slot(o, self);
        return next(o);
    }
    raw::slot_t owner = p[-1];
    p[-1] = raw::kMinor < 13 ? raw::slot_null() : raw::slot_steal(method);
    push_slot(o, raw::kMinor < 13 ? raw::slot_steal(method) : raw::slot_null());
    raw::slot_close(owner);
    return next(o);
}

Step op_StoreAttr(const Op& o) { return consume<2>(o, PyObject_SetAttr(top(o), o.in.obj, top(o, 1))); }

Step op_DeleteAttr(const Op& o) { return consume<1>(o, PyObject_SetAttr(top(o), o.in.obj, nullptr)); }

namespace {

// After a call the evaluator serves signals; if a handler raises, the result is on the stack and the call is
// to blame.
Step finish_call(const Op& o, int operands, PyObject* result) {
    const int pc = *o.pc;
    Step s = replace_many(o, operands, result);
#if PY_VERSION_HEX >= 0x030F0000
    // After the call of an __enter__ no interrupt is served: it would leave without the __exit__ (gh-148874).
    if (pc > 0 && (&o.in - 1)->op == Opcode::LoadSpecial) return s;
#endif
    if (s == Step::Next && !serve_breaker(o)) {
        *o.pc = pc;
        return Step::Raised;
    }
    return s;
}

}  // namespace

Step op_Call(const Op& o) {
    const bool names_on_stack = o.in.flags & Insn::kKwOnStack;
    PyObject* names = names_on_stack ? top(o) : o.in.obj;
    const int total = o.in.arg + 2 + names_on_stack;
    raw::slot_t* base = sp(o) - total;
    const bool has_self = !raw::slot_empty(base[raw::kMinor < 13 ? 0 : 1]);
    PyObject* callable = raw::slot_object(base[raw::kMinor < 13 && !has_self ? 1 : 0]);
    const int nargs = o.in.arg + has_self;
    const size_t positional = nargs - (names ? PyTuple_GET_SIZE(names) : 0);
    PyObject* result;
    {
        Operands args(base + 2 - has_self, nargs);
        result = applies_operators(callable, args.get(), positional)
                     ? vectorcall_from_evaluator(callable, args.get(), positional, names)
                     : PyObject_Vectorcall(callable, args.get(), positional | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                           names);
    }
    return finish_call(o, total, result);
}

namespace {

// f(*args, **kwargs): what the evaluator makes of the two before it calls.
PyObject* call_with(PyObject* callable, PyObject* args, PyObject* kwargs) {
    PyRef dict, tuple;
    if (kwargs && !PyDict_CheckExact(kwargs)) {
        dict = PyRef::steal(PyDict_New());
        if (!dict || merge_keywords(callable, dict.get(), kwargs) < 0) return nullptr;
        kwargs = dict.get();
    }
    if (!PyTuple_CheckExact(args)) {
        if (!Py_TYPE(args)->tp_iter && !PySequence_Check(args)) {
            raise_not_iterable_arguments(callable, args);
            return nullptr;
        }
        tuple = PyRef::steal(PySequence_Tuple(args));
        if (!tuple) return nullptr;
        args = tuple.get();
    }
    const auto positional = static_cast<size_t>(PyTuple_GET_SIZE(args));
    const bool evaluated = applies_operators(callable, &PyTuple_GET_ITEM(args, 0), positional);
    return (evaluated ? call_from_evaluator : PyObject_Call)(callable, args, kwargs);
}

}  // namespace

Step op_CallFunctionEx(const Op& o) {
    // 3.11, 3.12: [NULL, f, args, kwargs?]; 3.13: [f, NULL, args, kwargs?]; 3.14: [f, NULL, args, kwargs or
    // NULL].
    const bool kwargs_slot = raw::kMinor >= 14 || (o.in.arg & 1);
    PyObject* kwargs = kwargs_slot ? top(o) : nullptr;
    PyObject* args = top(o, kwargs_slot);
    PyObject* callable = top(o, kwargs_slot + (raw::kMinor < 13 ? 1 : 2));
    return finish_call(o, 3 + kwargs_slot, call_with(callable, args, kwargs));
}

Step op_MakeFunction(const Op& o) {
    PyObject* function = new_function(top(o), o.frame->f_globals);
    if (!function) return replace<1>(o, nullptr);
    drop(o);
    if (raw::kMinor < 13) {
        for (int part : {kPartClosure, kPartAnnotations, kPartKwDefaults, kPartDefaults}) {
            if (o.in.arg & part) set_function_part(function, part, raw::slot_take(pop_slot(o)));
        }
    }
    push(o, function);
    return next(o);
}

Step op_SetFunctionAttribute(const Op& o) {
    raw::slot_t function = pop_slot(o);
    PyObject* value = raw::slot_take(pop_slot(o));
    push_slot(o, function);
    set_function_part(raw::slot_object(function), o.in.arg, value);
    return next(o);
}

}  // namespace stator::frontend::ops
