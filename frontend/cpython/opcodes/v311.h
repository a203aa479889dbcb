// The opcodes that CPython 3.11 has for itself, or reads in its own way; the others are in opcodes/shared.h.
#pragma once

#include "frontend/cpython/opcodes/shared.h"

namespace stator::frontend {

inline constexpr OpRow kOwnRows[] = {
    {LOAD_CLOSURE, Opcode::LoadFast, How::Local},
    {LOAD_ASSERTION_ERROR, Opcode::LoadConst, How::Object, kAssertionError},
    {LOAD_CLASSDEREF, Opcode::LoadClassDeref, How::Local},
    {LOAD_ATTR, Opcode::LoadAttr, How::Name},
    {LOAD_METHOD, Opcode::LoadMethod, How::Name},
    {BINARY_OP, Opcode::BinaryOp, How::Arg},
    {BINARY_SUBSCR, Opcode::BinarySubscr, How::None},
    {COMPARE_OP, Opcode::CompareOp, How::Compare, 0},
    {UNARY_POSITIVE, Opcode::UnaryPositive, How::None},
    {BUILD_CONST_KEY_MAP, Opcode::BuildConstKeyMap, How::Arg},
    {LIST_TO_TUPLE, Opcode::ListToTuple, How::None},
    {FORMAT_VALUE, Opcode::FormatValue, How::Arg},
    {KW_NAMES, Opcode::Nop, How::KwNames},
    {PRECALL, Opcode::Nop, How::Part},
    {POP_JUMP_FORWARD_IF_TRUE, Opcode::PopJumpIfTrue, How::Forward},
    {POP_JUMP_FORWARD_IF_FALSE, Opcode::PopJumpIfFalse, How::Forward},
    {POP_JUMP_FORWARD_IF_NONE, Opcode::PopJumpIfNone, How::Forward},
    {POP_JUMP_FORWARD_IF_NOT_NONE, Opcode::PopJumpIfNotNone, How::Forward},
    {POP_JUMP_BACKWARD_IF_TRUE, Opcode::PopJumpIfTrue, How::Backward},
    {POP_JUMP_BACKWARD_IF_FALSE, Opcode::PopJumpIfFalse, How::Backward},
    {POP_JUMP_BACKWARD_IF_NONE, Opcode::PopJumpIfNone, How::Backward},
    {POP_JUMP_BACKWARD_IF_NOT_NONE, Opcode::PopJumpIfNotNone, How::Backward},
    {JUMP_IF_TRUE_OR_POP, Opcode::JumpIfTrueOrPop, How::Forward},
    {JUMP_IF_FALSE_OR_POP, Opcode::JumpIfFalseOrPop, How::Forward},
    {FOR_ITER, Opcode::ForIter, How::Leave, 0},
    {BEFORE_WITH, Opcode::BeforeWith, How::None},
    // Left to CPython.
    {DELETE_NAME, Opcode::Other, How::Name},
    {PREP_RERAISE_STAR, Opcode::Other, How::None},
    {BEFORE_ASYNC_WITH, Opcode::Other, How::None},
    {GET_YIELD_FROM_ITER, Opcode::Other, How::None},
    {PRINT_EXPR, Opcode::Other, How::None},
    {IMPORT_STAR, Opcode::Other, How::None},
    {ASYNC_GEN_WRAP, Opcode::Other, How::None},
    {SEND, Opcode::Other, How::Forward},
    {GET_AWAITABLE, Opcode::Other, How::Arg},
};

}  // namespace stator::frontend
