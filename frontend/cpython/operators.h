// Binary operators: their codes, and the methods that classes in Python have for them.
#pragma once

#include "frontend/pyref.h"

namespace stator::frontend {

// NB_* of CPython's opcode.h, the same in all versions. Those in place are kOperators further on.
namespace nb {
enum Code : int {
    Add,
    And,
    FloorDivide,
    Lshift,
    Matmul,
    Multiply,
    Remainder,
    Or,
    Power,
    Rshift,
    Subtract,
    TrueDivide,
    Xor
};
}  // namespace nb

struct OperatorMethods {
    const char *name, *reflected, *in_place, *symbol;
};

// By nb::Code.
constexpr int kOperators = 13;
extern const OperatorMethods kOperatorMethods[kOperators];

// What `a OP b` gives, or `a OP= b`, where a's own method has declined. A new reference, or nullptr and an
// exception.
PyObject* reflected(int nb_op, PyObject* a, PyObject* b);

}  // namespace stator::frontend
