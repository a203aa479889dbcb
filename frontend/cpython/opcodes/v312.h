// The opcodes that CPython 3.12 has for itself, or reads in its own way; the others are in opcodes/shared.h.
#pragma once

#include "frontend/cpython/opcodes/shared.h"

namespace stator::frontend {

inline constexpr OpRow kOwnRows[] = {
    {LOAD_CLOSURE, Opcode::LoadFast, How::Local},
    {LOAD_ASSERTION_ERROR, Opcode::LoadConst, How::Object, kAssertionError},
    {BINARY_OP, Opcode::BinaryOp, How::Arg},
    {BINARY_SUBSCR, Opcode::BinarySubscr, How::None},
    {COMPARE_OP, Opcode::CompareOp, How::Compare, 4},
    {BUILD_CONST_KEY_MAP, Opcode::BuildConstKeyMap, How::Arg},
    {FORMAT_VALUE, Opcode::FormatValue, How::Arg},
    {KW_NAMES, Opcode::Nop, How::KwNames},
    {BEFORE_WITH, Opcode::BeforeWith, How::None},
    {RETURN_CONST, Opcode::ReturnValue, How::ConstReturn},
    // Left to CPython.
    {BEFORE_ASYNC_WITH, Opcode::Other, How::None},
    {GET_YIELD_FROM_ITER, Opcode::Other, How::None},
};

}  // namespace stator::frontend
