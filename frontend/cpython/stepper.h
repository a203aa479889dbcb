// Executes one decoded instruction in a real, linked frame, exactly as CPython's evaluator would: same
// results, same exceptions, same order of effects. The driver is a loop around `step`.
#pragma once

#include "frontend/cpython/code.h"
#include "frontend/cpython/frame.h"

namespace stator::frontend {

enum class Step : uint8_t {
    Next,    // *pc is the next instruction
    Return,  // the value to return is on top of the stack, *pc unchanged
    Raised,  // a Python error is set, *pc is the raising instruction; operands as CPython leaves them when
             // unwinding
    Cannot,  // the instruction is not one the stepper executes; nothing happened
};

// Precondition: the frame is linked. Sets the frame's instruction pointer before anything can run Python
// code.
Step step(Frame& f, const CodeInfo& code, int* pc);

// After Raised: adds the traceback entry, finds the handler in this frame and unwinds to it: true, *pc is the
// handler and the exception is on the stack; false: no handler, the frame must be finished with an error set
// (finish_unwound).
bool unwind(Frame& f, const CodeInfo& code, int* pc);
PyObject* finish_unwound(Frame& f);  // pops the frame with the error set; returns NULL

// The operands of a Call instruction before it executes, independent of the version's stack order.
struct CallOperands {
    PyObject* callable;  // borrowed
    PyObject* self;      // bound first argument from LoadMethod, or NULL
    int callable_slot, self_slot, first_arg_slot;
    int nargs;          // positional and keyword, without self
    PyObject* kwnames;  // tuple or NULL
};
CallOperands call_operands(const Frame& f, const Insn& insn);

}  // namespace stator::frontend
