// The opcodes that CPython 3.14 has for itself, or reads in its own way; the others are in opcodes/shared.h.
#pragma once

#include "frontend/cpython/opcodes/shared.h"

namespace stator::frontend {

inline constexpr OpRow kOwnRows[] = {
    {POP_ITER, Opcode::PopIter, How::None},
    // Left to CPython.
    {GET_YIELD_FROM_ITER, Opcode::Other, How::None},
};

}  // namespace stator::frontend
