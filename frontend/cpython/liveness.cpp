// Which locals can still be read after an instruction: backward dataflow over the decoded instructions.
//
// An instruction's live set is what it reads, plus what its successors need less what it overwrites. The
// handler of a protected instruction is a successor too, and the instruction may raise before it has written:
// so what the handler needs is never killed by the instruction itself. Cells and free variables can be read
// by any function that shares them and are always live; so are those that some instruction deletes, because
// the slot of a dead local may be left empty, and what is empty must not have been deleted. The result is an
// over-approximation, so "dead" can be relied on.
#include "frontend/cpython/raw/raw.h"

#include <algorithm>
// raw.h must come first.
#include "frontend/cpython/code.h"

namespace stator::frontend {

namespace {

bool reads_slot(Opcode op) {
    return op == Opcode::LoadFast || op == Opcode::LoadFastCheck || op == Opcode::LoadFastAndClear ||
           op == Opcode::DeleteFast || op == Opcode::MakeCell;
}

bool writes_slot(Opcode op) {
    return op == Opcode::StoreFast || op == Opcode::DeleteFast || op == Opcode::LoadFastAndClear;
}

using Row = uint64_t*;

bool merge(Row into, const uint64_t* from, int words) {
    bool changed = false;
    for (int w = 0; w < words; w++) {
        uint64_t v = into[w] | from[w];
        changed |= v != into[w];
        into[w] = v;
    }
    return changed;
}

}  // namespace

void CodeInfo::compute_liveness() const {
    const int words = (nlocalsplus + 63) / 64;
    const int n = static_cast<int>(insns.size());
    live_.assign(static_cast<size_t>(n) * words + 1, 0);
    std::vector<uint64_t> always(words, 0), in(words);
    for (int s = 0; s < nlocalsplus; s++) {
        auto kind = PyBytes_AS_STRING(code->co_localspluskinds)[s];
        if (kind & (CO_FAST_CELL | CO_FAST_FREE)) always[s / 64] |= uint64_t{1} << (s % 64);
    }
    for (const Insn& insn : insns)
        if (insn.op == Opcode::DeleteFast) always[insn.arg / 64] |= uint64_t{1} << (insn.arg % 64);
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = n - 1; i >= 0; i--) {
            const Insn& insn = insns[i];
            std::fill(in.begin(), in.end(), 0);
            if (i + 1 < n && falls_through(insn.op)) merge(in.data(), &live_[size_t(i + 1) * words], words);
            if (insn.target >= 0) merge(in.data(), &live_[size_t(insn.target) * words], words);
            const uint64_t bit = uint64_t{1} << (insn.arg % 64);
            if (writes_slot(insn.op)) in[insn.arg / 64] &= ~bit;
            if (reads_slot(insn.op)) in[insn.arg / 64] |= bit;
            Handler h;
            if (find_handler(i, &h)) merge(in.data(), &live_[size_t(h.target) * words], words);
            merge(in.data(), always.data(), words);
            changed |= merge(&live_[size_t(i) * words], in.data(), words);
        }
    }
}

bool CodeInfo::live(int insn_index, int slot) const {
    if (live_.empty()) compute_liveness();
    const size_t words = (nlocalsplus + 63) / 64;
    return live_[insn_index * words + slot / 64] >> (slot % 64) & 1;
}

}  // namespace stator::frontend
