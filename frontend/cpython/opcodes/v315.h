// The opcodes that CPython 3.15 has for itself, or reads in its own way; the others are in opcodes/shared.h.
#pragma once

#include "frontend/cpython/opcodes/shared.h"

namespace stator::frontend {

inline constexpr OpRow kOwnRows[] = {
    {GET_ITER, Opcode::GetIter, How::IterPair},
    {IMPORT_NAME, Opcode::ImportName, How::Import},
    {POP_ITER, Opcode::PopIter, How::IterPair},
};

}  // namespace stator::frontend
