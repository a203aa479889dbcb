// Bytecode instructions in the words of the program's text, for reasons that people read.
#pragma once

#include "frontend/cpython/code.h"

namespace stator::frontend {

inline const char* in_words(Opcode op) {
    switch (op) {
        case Opcode::MakeFunction: return "a function, lambda or generator expression made here";
        case Opcode::LoadFastAndClear: return "a comprehension";
        case Opcode::StoreDeref: return "an assignment to a variable that an inner function shares";
        case Opcode::StoreGlobal: return "an assignment to a global variable";
        case Opcode::StoreAttr: return "an assignment to an attribute";
        case Opcode::ImportName:
        case Opcode::ImportFrom: return "an import statement";
        case Opcode::RaiseVarargs: return "a raise or assert statement";
        case Opcode::FormatValue:
        case Opcode::BuildString: return "an f-string";
        case Opcode::BuildSet:
        case Opcode::SetAdd:
        case Opcode::SetUpdate: return "a set";
        case Opcode::BuildMap:
        case Opcode::BuildConstKeyMap:
        case Opcode::MapAdd: return "a dict";
        case Opcode::UnpackEx: return "an assignment with a starred target";
        case Opcode::DeleteFast: return "a del statement";
        case Opcode::DeleteSubscr: return "a del statement of an item";
        case Opcode::CallFunctionEx: return "a call with * or **";
        case Opcode::BeforeWith:
        case Opcode::LoadSpecial: return "a with statement";
        case Opcode::PushExcInfo:
        case Opcode::CheckExcMatch:
        case Opcode::PopExcept: return "an exception handler";
        case Opcode::MatchOp: return "a match statement";
        default: return name(op);
    }
}

}  // namespace stator::frontend
