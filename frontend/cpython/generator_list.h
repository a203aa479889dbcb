// Generator expressions that are used up where they are made: `a, b = (f(x) for x in (p, q))`,
// `tuple(... for ...)`.
//
// A generator is a frame that runs a piece at a time, which neither the stepper nor the recorder can follow.
// Where what consumes it runs no code of the program between two items, collecting them in a list first is
// the same. So its code is rewritten, instruction by instruction and in place, to that of a list
// comprehension: an ordinary function, which is recorded, inlined, exited from and resumed as any other. Line
// numbers and the names in tracebacks stay; while it runs, the frame that calls it is at the instruction that
// consumes the items.
#pragma once

#include "frontend/cpython/code.h"

namespace stator::frontend {

// Puts the code of such functions into the instructions that load a generator expression's. Where a callable
// consumes it (Insn::kForCallable) the stepper looks at which one it is, and takes `generator_of` the code
// when it is none that merely collects.
void collect_generators(CodeInfo& info);
PyObject* generator_of(PyObject* list_code);  // borrowed

// tuple, list, sorted.
bool merely_collects(PyObject* callable);

// Whether a frame of this code is that of such a function.
bool collects_generator(PyCodeObject* code);

// As a generator does when code in it raises StopIteration: RuntimeError from that. From Python 3.12 on the
// code itself has a handler.
void stop_iteration_is_error();

}  // namespace stator::frontend
