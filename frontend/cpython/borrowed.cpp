// See Frame::borrow_loads.
//
// CPython's compiler turns a load of a local into LOAD_FAST_BORROW where what is pushed is popped in the same
// basic block and before the local is stored to (optimize_load_fast in flowgraph.c). So the references that
// are not counted are found by following the block of an instruction from its beginning.
#include "frontend/cpython/raw/raw.h"

#include <vector>
// raw.h must come first.
#include "frontend/cpython/code.h"
#include "frontend/cpython/frame.h"
#include "frontend/cpython/resume_frame.h"

namespace stator::frontend {

namespace {

constexpr int kOwned = -1;

bool ends_block(const Insn& insn) {
    return insn.target >= 0 || insn.op == Opcode::ReturnValue || insn.op == Opcode::RaiseVarargs ||
           insn.op == Opcode::Reraise;
}

// What the instructions of a block have pushed and not popped: for each value the local that it was loaded
// from without a reference, or kOwned.
class BlockStack {
  public:
    void execute(const Insn& insn) {
        const auto arg = static_cast<size_t>(insn.arg);
        switch (insn.op) {
            case Opcode::LoadFast:
            case Opcode::LoadFastCheck:
                return values_.push_back(insn.flags & Insn::kBorrows ? insn.arg : kOwned);
            case Opcode::Copy: return values_.push_back(from_top(arg));
            case Opcode::Swap: {
                need(arg);
                std::swap(values_.back(), values_[values_.size() - arg]);
                return;
            }
            case Opcode::LoadMethod: {  // [method, self]
                const int self = from_top(1);
                pop(1);
                values_.push_back(kOwned);
                return values_.push_back(self);
            }
            default: break;
        }
        const StackEffect effect = stack_effect(insn);
        pop(static_cast<size_t>(effect.pops));
        values_.insert(values_.end(), static_cast<size_t>(effect.pushes), kOwned);
    }
    void pop(size_t n) {
        need(n);
        values_.resize(values_.size() - n);
    }
    const std::vector<int>& values() const { return values_; }

  private:
    // Values that were there when the block began have references of their own.
    void need(size_t n) {
        if (values_.size() < n) values_.insert(values_.begin(), n - values_.size(), kOwned);
    }
    int from_top(size_t n) {
        need(n);
        return values_[values_.size() - n];
    }
    std::vector<int> values_;
};

}  // namespace

void CodeInfo::compute_blocks() const {
    begins_block_.assign(insns.size() + 1, 0);
    begins_block_[0] = 1;
    for (size_t i = 0; i < insns.size(); ++i) {
        if (insns[i].target >= 0) begins_block_[static_cast<size_t>(insns[i].target)] = 1;
        if (ends_block(insns[i])) begins_block_[i + 1] = 1;
    }
    for (const Handler& h : handlers_) begins_block_[static_cast<size_t>(h.target)] = 1;
}

int CodeInfo::block_of(int insn_index) const {
    if (begins_block_.empty()) compute_blocks();
    while (!begins_block_[static_cast<size_t>(insn_index)]) --insn_index;
    return insn_index;
}

void Frame::borrow_loads(const CodeInfo& code, int pc, bool in_call) {
    if (raw::kMinor < 14 || depth() == code.nlocalsplus) return;
    BlockStack stack;
    for (int i = code.block_of(pc); i < pc; ++i) stack.execute(code.insns[static_cast<size_t>(i)]);
    int top = depth() - 1;
    if (in_call) {
        int call = pc;  // the last instruction of its unit
        while (code.insns[static_cast<size_t>(call) + 1].unit == code.insns[static_cast<size_t>(pc)].unit)
            stack.execute(code.insns[static_cast<size_t>(call++)]);
        const Insn& insn = code.insns[static_cast<size_t>(call)];
        if (insn.op != Opcode::BinaryOp) stack.pop(static_cast<size_t>(stack_effect(insn).pops));
        if (slot(top) == under_construction()) --top;
    }
    const std::vector<int>& values = stack.values();
    const int bottom = top + 1 - static_cast<int>(values.size());
    if (bottom < code.nlocalsplus) return;
    // A local that is not needed any more is empty: then the reference on the stack is its own.
    for (size_t i = 0; i < values.size(); ++i) {
        const int at = bottom + static_cast<int>(i);
        if (values[i] == kOwned || !slot_is_object(at) || !slot(at) || slot(at) != slot(values[i])) continue;
        raw::slot_t& s = raw_->localsplus[at];
        const raw::slot_t owned = s;
        s = raw::slot_borrow(raw_->localsplus[values[i]]);
        raw::slot_close(owned);
    }
}

}  // namespace stator::frontend
