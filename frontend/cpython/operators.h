// The methods that classes in Python have for binary operators.
#pragma once

#include "frontend/pyref.h"

namespace stator::frontend {

struct OperatorMethods {
    const char *name, *reflected, *in_place, *symbol;
};

// By NB_* of CPython's opcode.h; kOperators further on are those in place.
constexpr int kOperators = 13;
extern const OperatorMethods kOperatorMethods[kOperators];

// What `a OP b` gives, or `a OP= b`, where a's own method has declined. A new reference, or nullptr and an
// exception.
PyObject* reflected(int nb_op, PyObject* a, PyObject* b);

}  // namespace stator::frontend
