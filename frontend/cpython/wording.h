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
        case Opcode::DeleteGlobal:
        case Opcode::DeleteDeref:
        case Opcode::DeleteFast: return "a del statement";
        case Opcode::DeleteAttr: return "a del statement of an attribute";
        case Opcode::DeleteSubscr: return "a del statement of an item";
        case Opcode::CallFunctionEx: return "a call with * or **";
        case Opcode::BeforeWith:
        case Opcode::LoadSpecial: return "a with statement";
        case Opcode::PushExcInfo:
        case Opcode::CheckExcMatch:
        case Opcode::CheckEgMatch:
        case Opcode::Reraise:
        case Opcode::PopExcept: return "an exception handler";
        case Opcode::WithExceptStart: return "an exception in a with statement";
        case Opcode::GetLen:
        case Opcode::MatchOp: return "a match statement";
        case Opcode::LoadName:
        case Opcode::StoreName:
        case Opcode::LoadClassDeref:
        case Opcode::LoadBuildClass: return "a class statement";
        case Opcode::LoadSuperAttr: return "super()";
        case Opcode::DictUpdate:
        case Opcode::DictMerge: return "an update of a dict";
        case Opcode::SetFunctionAttribute: return "a function made here";
        case Opcode::BuildInterpolation:
        case Opcode::BuildTemplate: return "a t-string";
        case Opcode::LoadGlobal: return "a global variable";
        case Opcode::LoadDeref: return "a variable that functions share";
        case Opcode::LoadAttr:
        case Opcode::LoadMethod: return "an attribute";
        case Opcode::BinaryOp:
        case Opcode::UnaryNegative:
        case Opcode::UnaryPositive:
        case Opcode::UnaryInvert:
        case Opcode::UnaryNot: return "an operator";
        case Opcode::CompareOp: return "a comparison";
        case Opcode::ContainsOp: return "a containment test";
        case Opcode::IsOp: return "an identity test";
        case Opcode::ToBool: return "a test of truth";
        case Opcode::BinarySubscr:
        case Opcode::BinarySlice:
        case Opcode::BuildSlice: return "a subscript";
        case Opcode::StoreSubscr:
        case Opcode::StoreSlice: return "a store to an item";
        case Opcode::BuildTuple:
        case Opcode::ListToTuple: return "a tuple";
        case Opcode::BuildList:
        case Opcode::ListAppend:
        case Opcode::ListExtend: return "a list";
        case Opcode::UnpackSequence: return "an unpacking";
        case Opcode::Call: return "a call";
        case Opcode::GetIter:
        case Opcode::ForIter:
        case Opcode::EndFor:
        case Opcode::PopIter: return "a loop";
        case Opcode::ReturnValue: return "a return";
        default: return "what the interpreter does here";
    }
}

}  // namespace stator::frontend
