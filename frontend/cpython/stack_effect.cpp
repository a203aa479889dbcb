// How many slots each instruction pops and pushes: the table's, and what depends on the argument.
#include "frontend/cpython/raw/raw.h"

#include <bit>
// raw.h must come first.
#include "frontend/cpython/code.h"

namespace stator::frontend {

namespace {

constexpr StackEffect kEffects[] = {
#define INSN(id, pops, pushes, doc) {pops, pushes},
#include "frontend/cpython/instructions.def"
#undef INSN
};

int pops(const Insn& insn) {
    constexpr int kFunctionParts =
        15;  // flags of MAKE_FUNCTION; from 3.13 on SET_FUNCTION_ATTRIBUTE has them
    switch (insn.op) {
        case Opcode::Call: return insn.arg + 2 + ((insn.flags & Insn::kKwOnStack) != 0);
        case Opcode::CallFunctionEx: return 3 + (raw::kMinor >= 14 || (insn.arg & 1));
        case Opcode::BuildMap: return 2 * insn.arg;
        case Opcode::BuildConstKeyMap: return insn.arg + 1;
        case Opcode::FormatValue: return 1 + ((insn.arg & 4) != 0);
        case Opcode::BuildInterpolation: return 2 + (insn.arg & 1);
        case Opcode::MakeFunction:
            return 1 +
                   (raw::kMinor < 13 ? std::popcount(static_cast<unsigned>(insn.arg & kFunctionParts)) : 0);
        case Opcode::MatchOp: return (insn.arg & 3) == 3 ? 3 : 0;
        case Opcode::JumpIfTrueOrPop:
        case Opcode::JumpIfFalseOrPop: return 1;
        default: return insn.arg;
    }
}

int pushes(const Insn& insn) {
    switch (insn.op) {
        case Opcode::LoadGlobal: return 1 + ((insn.flags & Insn::kPushNull) != 0);
        case Opcode::LoadSuperAttr: return 1 + ((insn.flags & Insn::kMethod) != 0);
        case Opcode::UnpackSequence: return insn.arg;
        case Opcode::UnpackEx: return (insn.arg & 255) + 1 + (insn.arg >> 8);
        case Opcode::JumpIfTrueOrPop:
        case Opcode::JumpIfFalseOrPop: return 0;
        default: return 1;
    }
}

}  // namespace

StackEffect stack_effect(const Insn& insn) {
    StackEffect effect = kEffects[static_cast<int>(insn.op)];
    if (effect.pops < 0) effect.pops = pops(insn);
    if (effect.pushes < 0) effect.pushes = pushes(insn);
    return effect;
}

}  // namespace stator::frontend
