// The opcodes that CPython 3.13 has for itself, or reads in its own way; the others are in opcodes/shared.h.
#pragma once

#include "frontend/cpython/opcodes/shared.h"

namespace stator::frontend {

inline constexpr OpRow kOwnRows[] = {
    {LOAD_ASSERTION_ERROR, Opcode::LoadConst, How::Object, kAssertionError},
    {BINARY_OP, Opcode::BinaryOp, How::Arg},
    {BINARY_SUBSCR, Opcode::BinarySubscr, How::None},
    {BUILD_CONST_KEY_MAP, Opcode::BuildConstKeyMap, How::Arg},
    {FOR_ITER, Opcode::ForIter, How::Leave, 2},
    {BEFORE_WITH, Opcode::BeforeWith, How::None},
    {RETURN_CONST, Opcode::ReturnValue, How::ConstReturn},
    // Left to CPython.
    {BEFORE_ASYNC_WITH, Opcode::Other, How::None},
    {GET_YIELD_FROM_ITER, Opcode::Other, How::None},
};

}  // namespace stator::frontend
