// sum(... for ...): where the sum of a list of the items is the same.
//
// sum adds each item before it asks for the next, so collecting the items first turns evaluations and
// additions round. Nobody can tell where the additions are those of numbers and arrays, which run no code of
// the program (a warning of an addition comes behind those of later items while the call is recorded), and
// where the items are few: a list holds all of them. Both are decided before the generator is made, by what
// its expression names and loops over.
#pragma once

#include "frontend/cpython/code.h"

namespace stator::frontend {

// What the frame that makes the generator has at hand.
struct MakingFrame {
    const Insn* load;   // pushes the code of generator_list.h, which is made into a function behind it
    const Insn* end;    // of the frame's instructions
    PyObject* closure;  // the function's: a tuple of cells, or nullptr; borrowed
    PyObject *globals, *builtins;
    PyObject* (*local)(const void* frame, int slot);  // borrowed, nullptr when unset
    const void* frame;
};

bool sums_few_numbers(PyObject* callable, const MakingFrame& made);

}  // namespace stator::frontend
