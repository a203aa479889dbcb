// Python's builtins as they were when stator was imported.
//
// Which function a program calls is asked by identity. What the frame that runs right now calls its builtins
// is no answer: code that namedtuple or dataclasses have written has others or none, and so may a module. Nor
// is what a program has put into their place since.
#pragma once

#include "frontend/pyref.h"

namespace stator::frontend {

// The names and what they stand for: a dict that nobody else has. Made when first asked for, which importing
// stator does.
PyObject* builtins_at_import();

// Borrowed; nullptr when there was none of that name.
PyObject* builtin(const char* name);

}  // namespace stator::frontend
