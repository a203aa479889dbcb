// Named tuples of Python's `collections.namedtuple` (and typing.NamedTuple, which makes such).
#pragma once

#include "frontend/pyref.h"

namespace stator::frontend {

// The names of the items of such a class, a tuple of strings; nothing for any other class.
PyRef fields_of(PyTypeObject* type);

// Whether this is a class's `__new__`, as collections wrote it.
bool makes_from_fields(PyObject* function);

// Whether this is a class's `_replace`, as collections wrote it.
bool replaces_fields(PyObject* function);

}  // namespace stator::frontend
