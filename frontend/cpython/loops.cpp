// See CodeLoops: the height of the stack is followed along the control flow from the beginning; a loop is
// what reaches its jump back without passing through its header.
#include "frontend/cpython/raw/raw.h"

#include <algorithm>
#include <utility>
#include <vector>
// raw.h must come first.
#include "frontend/cpython/code.h"

namespace stator::frontend {

namespace {

// Values on the stack where the instruction jumps to, when there are `depth` before it.
int depth_at_target(const Insn& insn, int depth) {
    switch (insn.op) {
        case Opcode::ForIter: return raw::kMinor < 14 ? depth - 1 : depth;  // from 3.14 on, POP_ITER is there
        case Opcode::JumpIfTrueOrPop:
        case Opcode::JumpIfFalseOrPop: return depth;
        default: {
            const StackEffect effect = stack_effect(insn);
            return depth - effect.pops + effect.pushes;
        }
    }
}

std::vector<int> depths(const CodeInfo& code) {
    std::vector<int> depth(code.insns.size(), -1), open;
    const auto reach = [&](int at, int d) {
        if (at >= static_cast<int>(depth.size()) || depth[static_cast<size_t>(at)] >= 0 || d < 0) return;
        depth[static_cast<size_t>(at)] = d;
        open.push_back(at);
    };
    reach(0, 0);
    while (!open.empty()) {
        const int at = open.back();
        open.pop_back();
        const Insn& insn = code.insns[static_cast<size_t>(at)];
        const int before = depth[static_cast<size_t>(at)];
        const StackEffect effect = stack_effect(insn);
        if (falls_through(insn.op)) reach(at + 1, before - effect.pops + effect.pushes);
        if (insn.target >= 0) reach(insn.target, depth_at_target(insn, before));
    }
    return depth;
}

}  // namespace

void CodeInfo::compute_loops() const {
    loops_ = std::make_unique<CodeLoops>();
    loops_->depth = depths(*this);
    std::vector<std::vector<int>> before(insns.size());  // instructions that lead to each
    for (size_t k = 0; k < insns.size(); ++k) {
        if (falls_through(insns[k].op) && k + 1 < insns.size()) before[k + 1].push_back(static_cast<int>(k));
        if (insns[k].target >= 0) before[static_cast<size_t>(insns[k].target)].push_back(static_cast<int>(k));
    }
    struct Body {
        int header;
        std::vector<int> members;
    };
    std::vector<Body> bodies;
    std::vector<int> seen(insns.size(), -1);  // the header in whose loop an instruction was seen last
    for (int header = 0; header < static_cast<int>(insns.size()); ++header) {
        if (!is_header[static_cast<size_t>(header)]) continue;
        Body body{header, {header}};
        seen[static_cast<size_t>(header)] = header;
        const auto reach = [&](int at) {
            if (std::exchange(seen[static_cast<size_t>(at)], header) != header) body.members.push_back(at);
        };
        for (const int jump : before[static_cast<size_t>(header)])
            if (insns[static_cast<size_t>(jump)].flags & Insn::kBackward) reach(jump);
        for (size_t k = 1; k < body.members.size(); ++k)
            for (const int at : before[static_cast<size_t>(body.members[k])]) reach(at);
        bodies.push_back(std::move(body));
    }
    // Loops are inside of each other or apart: the larger ones first, so that the innermost one is the last.
    std::ranges::stable_sort(
        bodies, [](const Body& a, const Body& b) { return a.members.size() > b.members.size(); });
    loops_->innermost.assign(insns.size(), -1);
    for (const Body& body : bodies) {
        const int around = loops_->innermost[static_cast<size_t>(body.header)];
        for (const int at : body.members)
            loops_->innermost[static_cast<size_t>(at)] = static_cast<int>(loops_->loops.size());
        loops_->loops.push_back({body.header, around});
    }
}

const CodeLoops& CodeInfo::loops() const {
    if (!loops_) compute_loops();
    return *loops_;
}

}  // namespace stator::frontend
