// The stepper: dispatch over the decoded instructions, and unwinding.
//
// Dispatch is one indexed call per instruction (table order = instructions.def). The instruction pointer is
// set AT the instruction before its handler runs, whatever the handler is, so nothing that runs Python code
// can be seen at the wrong line.
//
// Unwinding is the evaluator's: a traceback entry unless the instruction re-raises, the handler looked up by
// the instruction (not by the pointer, which RERAISE moves to where the exception came from), the stack cut
// to the handler's depth, then the unit for handlers that want it, then the exception. Monitoring events
// of 3.12+ (RAISE, EXCEPTION_HANDLED, PY_UNWIND) are not fired: traced frames are not stepped.
#include "frontend/cpython/ops.h"
// ops.h must come first (Python.h with core declarations).
#include <frameobject.h>

namespace stator::frontend {

namespace {

constexpr ops::Function kFunctions[] = {
#define INSN(id, pops, pushes, doc) ops::op_##id,
#include "frontend/cpython/instructions.def"
#undef INSN
};

PyObject* handled_exception(PyThreadState* ts) {
    for (_PyErr_StackItem* item = ts->exc_info; item; item = item->previous_item) {
        if (item->exc_value && item->exc_value != Py_None) return item->exc_value;
    }
    return nullptr;
}

PyObject* current_exception(PyThreadState* ts) {
#if PY_VERSION_HEX < 0x030C0000
    return ts->curexc_value;
#else
    return ts->current_exception;
#endif
}

PyObject* take_exception() {
#if PY_VERSION_HEX < 0x030C0000
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb);
    PyErr_NormalizeException(&type, &value, &tb);
    PyException_SetTraceback(value, tb ? tb : Py_None);
    Py_XDECREF(tb);
    Py_XDECREF(type);
    return value;
#else
    return PyErr_GetRaisedException();
#endif
}

// RERAISE and a bare `raise` pass an exception on; it has its entry for this frame already.
bool is_reraise(PyThreadState* ts, const Insn& in) {
    if (in.op == Opcode::Reraise) return true;
    if (in.op != Opcode::RaiseVarargs || in.arg != 0) return false;
    PyObject* current = current_exception(ts);
    return current && current == handled_exception(ts);
}

}  // namespace

Step step(Frame& f, const CodeInfo& code, int* pc) {
    const Insn& in = code.insns[*pc];
    raw::set_at(f.raw(), in.op_unit);
    return kFunctions[static_cast<int>(in.op)]({f.ts(), f.raw(), code, in, pc});
}

bool unwind(Frame& f, const CodeInfo& code, int* pc) {
    const Insn& in = code.insns[*pc];
    raw::IFrame* frame = f.raw();
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "error return without exception set");
    if (!raw::incomplete(frame) && !is_reraise(f.ts(), in)) {
        // Where there is no memory for the frame's object the exception goes on without its entry.
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        PyFrameObject* object = PyThreadState_GetFrame(f.ts());
        PyErr_Restore(type, value, traceback);
        if (object) PyTraceBack_Here(object);
        Py_XDECREF(object);
    }
    Handler handler;
    if (!code.find_handler(*pc, &handler)) return false;
    f.drop(f.depth() - code.nlocalsplus - handler.depth);
    if (handler.push_lasti) {
        raw::slot_t* sp = raw::sp(frame);
        *sp = raw::slot_of_lasti(raw::at(frame));
        raw::set_sp(frame, sp + 1);
    }
    f.push(take_exception());
    *pc = handler.target;
    return true;
}

CallOperands call_operands(const Frame& f, const Insn& insn) {
    CallOperands out;
    const bool on_stack = insn.flags & Insn::kKwOnStack;
    out.nargs = insn.arg;
    out.first_arg_slot = f.depth() - insn.arg - on_stack;
    const int base = out.first_arg_slot - 2;
    // 3.11, 3.12: [NULL, callable] or [method, self]; from 3.13 on: [callable, NULL or self].
    const bool has_self = f.slot(raw::kMinor < 13 ? base : base + 1) != nullptr;
    out.callable_slot = raw::kMinor < 13 && !has_self ? base + 1 : base;
    out.self_slot = has_self ? base + 1 : -1;
    out.callable = f.slot(out.callable_slot);
    out.self = has_self ? f.slot(out.self_slot) : nullptr;
    out.kwnames = on_stack ? f.peek(0) : insn.op == Opcode::Call ? insn.obj : nullptr;
    return out;
}

}  // namespace stator::frontend
