// See unseen_changes.h.
#include "frontend/drive/unseen_changes.h"

#include "frontend/cpython/stepper.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/runtime.h"

namespace stator::frontend {

// Whether an instruction is known to change no array: it moves what there is, or computes with numbers and
// arrays of NumPy's.
bool changes_nothing(const Frame& f, const Insn& insn) {
    const auto is_plain = [&](int from_top) {
        PyObject* o = f.depth() > from_top ? f.slot(f.depth() - 1 - from_top) : nullptr;
        return o && (PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyBool_Check(o) ||
                     PyUnicode_CheckExact(o) || PyTuple_CheckExact(o) || PyList_CheckExact(o) ||
                     PyDict_CheckExact(o) || numpy::is_plain_array(o));
    };
    constexpr int kOperators = 13;  // those above are in place
    switch (insn.op) {
        case Opcode::Nop:
        case Opcode::Resume:
        case Opcode::LoadFast:
        case Opcode::LoadFastCheck:
        case Opcode::LoadConst:
        case Opcode::LoadGlobal:
        case Opcode::LoadDeref:
        case Opcode::PushNull:
        case Opcode::Copy:
        case Opcode::Swap:
        case Opcode::Jump:
        case Opcode::BuildTuple:
        case Opcode::BuildList:
        case Opcode::IsOp:
        case Opcode::PopJumpIfNone:
        case Opcode::PopJumpIfNotNone: return true;
        case Opcode::BinaryOp: return insn.arg < kOperators && is_plain(0) && is_plain(1);
        case Opcode::CompareOp:
        case Opcode::BinarySubscr: return is_plain(0) && is_plain(1);
        case Opcode::PopJumpIfTrue:
        case Opcode::PopJumpIfFalse: return is_plain(0);
        case Opcode::Call: {
            PyObject* callable = call_operands(f, insn).callable;
            bool quiet = false;
            return callable && (PyExceptionClass_Check(callable) || numpy::is_pure(callable, &quiet));
        }
        case Opcode::RaiseVarargs: return true;
        default: return false;
    }
}

// The same of all that lies ahead of a place, by the instructions alone: no calls but of what is raised, no
// stores to what others may see, and nothing that runs generators or imports. Operators and subscripts are
// taken for those of numbers and arrays.
bool changes_nothing_ahead(const CodeInfo& code, int pc) {
    const auto changes = [&](size_t i) {
        const Insn& insn = code.insns[i];
        constexpr int kOperators = 13;
        switch (insn.op) {
            case Opcode::BinaryOp: return insn.arg >= kOperators;
            case Opcode::Call:
                return i + 1 == code.insns.size() || code.insns[i + 1].op != Opcode::RaiseVarargs;
            case Opcode::StoreGlobal:
            case Opcode::StoreDeref:
            case Opcode::StoreAttr:
            case Opcode::DeleteAttr:
            case Opcode::StoreSubscr:
            case Opcode::DeleteSubscr:
            case Opcode::StoreSlice:
            case Opcode::CallFunctionEx:
            case Opcode::GetIter:
            case Opcode::ForIter:
            case Opcode::BeforeWith:
            case Opcode::LoadSpecial:
            case Opcode::ImportName:
            case Opcode::Other: return true;
            default: return false;
        }
    };
    for (auto i = static_cast<size_t>(code.first_ahead[static_cast<size_t>(pc)]); i < code.insns.size(); ++i)
        if (changes(i)) return false;
    return true;
}

}  // namespace stator::frontend
