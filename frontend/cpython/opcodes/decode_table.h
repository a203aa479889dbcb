// One row per real opcode of the running CPython: which instruction of instructions.def it is, and how to
// read its argument. The rows are in opcodes/shared.h and opcodes/v3NN.h; decode.cpp is the only reader. An
// opcode that is not listed makes the whole code object undecodable, so new ones are never guessed at; rows
// of `Other` are known and left to CPython.
#pragma once

#include <cstdint>

#include "frontend/cpython/code.h"

namespace stator::frontend {

enum class How : uint8_t {
    None,            // no argument
    Arg,             // kept as it is
    Fixed,           // arg = OpRow::extra, whatever the argument
    Local,           // slot in localsplus
    Const,           // obj = constant
    SmallInt,        // obj = the small int
    Common,          // obj = the version's common constant
    Object,          // obj = the object that OpRow::extra names (CommonObject)
    Name,            // obj = name
    NameNull,        // obj = name arg >> 1, arg & 1: flag PushNull
    AttrMethod,      // obj = name arg >> 1, arg & 1: LoadMethod instead of LoadAttr
    SuperAttr,       // obj = name arg >> 2, arg & 1: flag Method
    Forward,         // jumps arg units forward from its end
    Backward,        // jumps arg units back from its end
    IterPair,        // GET_ITER, POP_ITER of 3.15: the iterator and the slot above it (kAboveIterator)
    Leave,           // ForIter: lands OpRow::extra units behind where Forward would
    Compare,         // arg >> OpRow::extra = comparison; from 3.13 on, 16 = flag ToBool
    Subscript,       // BINARY_OP of 3.14: NB_SUBSCR becomes BinarySubscr
    KwNames,         // names for the Call that follows: obj of that Call
    Part,            // belongs to the instruction that follows (PRECALL)
    Extended,        // EXTENDED_ARG
    ConstReturn,     // LoadConst, ReturnValue
    BorrowedLocals,  // OpRow::extra loads: of slot arg, or of the slots arg >> 4 and arg & 15
    TwoLocals,       // OpRow::id on slot arg >> 4, then OpRow::extra (an Opcode) on slot arg & 15
    Intrinsic1,      // CallIntrinsic1, or the instruction that older versions had for it
    KwCall,          // Call with flag KwOnStack
    Convert,         // conversion only: arg | 8
    Import,          // ImportName of 3.15: obj = name arg >> 2; `lazy import` is left to CPython
    MatchClass,      // MatchOp 3, arg = positional patterns
};

enum CommonObject : int32_t { kAssertionError, kNone };

struct OpRow {
    uint8_t cpython;
    Opcode id;
    How how;
    int32_t extra = 0;
};

}  // namespace stator::frontend
