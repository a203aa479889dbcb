// Control flow: which instructions belong to the loop, and how blocks end. See builder.h.

#include "frontend/regions/build/builder.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "frontend/clock.h"
#include "frontend/hosts/host.h"
#include "frontend/policy.h"
#include "graph/region/cfg.h"
#include "graph/region/passes.h"

namespace stator::frontend::regions {

Builder::Builder(Frame& f, const CodeInfo& code, int header, BuildBudget budget)
    : f_(f), code_(code), header_(header), nlocals_(code.nlocalsplus), budget_(budget) {}

// False, with a reason, when that was more than there is.
bool Builder::spend(int64_t work) {
    work_ += work;
    bool late = false;
    if (work_ - looked_at_clock_ >= policy().build_clock_each) {
        looked_at_clock_ = work_;
        late = thread_ns() - begun_ > budget_.ns;
    }
    if (work_ <= budget_.work && !late) return true;
    reason_ = Reason::RegionBudget;
    detail_ = late ? fmt::format("that took more than {} ms", budget_.ns / 1'000'000)
                   : fmt::format("more than {} steps", budget_.work);
    return false;
}

// Whether what follows, passes here and the compiler on its thread, takes a bounded time.
bool Builder::is_small_enough() {
    size_t instructions = 0;
    for (const graph::Block& block : r_->blocks) instructions += block.insts.size();
    for (const graph::NestBody& nest : r_->nests) instructions += nest.insts.size();
    if (instructions <= policy().region_instructions) return true;
    reason_ = Reason::RegionBudget;
    detail_ = fmt::format("its code would have {} instructions", instructions);
    return false;
}

bool Builder::refuse(Reason reason, std::string detail) {
    if (reason_ == Reason::None) {
        reason_ = reason;
        detail_ = std::move(detail);
    }
    return false;
}

PyObject* Builder::keep(PyObject* o) {
    out_->objects.push_back(PyRef::borrow(o));
    return o;
}

// Which instructions are jumped to.
const std::vector<char>& Builder::leaders(const CodeInfo& code) {
    auto [it, fresh] = leaders_.try_emplace(&code);
    if (fresh) {
        it->second.assign(code.insns.size(), 0);
        for (const Insn& insn : code.insns)
            if (insn.target >= 0) it->second[static_cast<size_t>(insn.target)] = 1;
    }
    return it->second;
}

// The last back edge of the loop with that header.
int Builder::loop_end(const CodeInfo& code, int header) {
    auto [it, fresh] = loop_ends_.try_emplace(&code);
    if (fresh)
        for (size_t i = 0; i < code.insns.size(); ++i)
            if (code.insns[i].flags & Insn::kBackward)
                it->second[code.insns[i].target] = static_cast<int>(i);  // the last one stays
    return it->second[header];
}

// The natural loop of the header: what reaches one of its back edges without passing the header.
void Builder::find_loop() {
    const auto n = code_.insns.size();
    std::vector<std::vector<int>> before(n);
    std::vector<int> todo;
    for (size_t i = 0; i < n; ++i) {
        const Insn& insn = code_.insns[i];
        if (falls_through(insn.op) && i + 1 < n) before[i + 1].push_back(static_cast<int>(i));
        if (insn.target >= 0) {
            before[static_cast<size_t>(insn.target)].push_back(static_cast<int>(i));
            if (insn.target == header_ && (insn.flags & Insn::kBackward)) todo.push_back(static_cast<int>(i));
        }
    }
    inside_.assign(n, 0);
    inside_[static_cast<size_t>(header_)] = 1;
    while (!todo.empty()) {
        const int i = todo.back();
        todo.pop_back();
        if (inside_[static_cast<size_t>(i)]) continue;
        inside_[static_cast<size_t>(i)] = 1;
        for (int p : before[static_cast<size_t>(i)]) todo.push_back(p);
    }
    stored_.assign(static_cast<size_t>(nlocals_), 0);
    for (size_t i = 0; i < n; ++i) {
        const Opcode op = code_.insns[i].op;
        if (inside_[i] &&
            (op == Opcode::StoreFast || op == Opcode::DeleteFast || op == Opcode::LoadFastAndClear))
            stored_[static_cast<size_t>(code_.insns[i].arg)] = 1;
    }
    for (int i = 0; i < nlocals_; ++i) exposed_.push_back(find_exposed(i));
}

// Whether some way through the loop from its header reads the local before it stores to it. What is read
// behind the loop is no matter: exits know what the variable is.
bool Builder::find_exposed(int local) const {
    std::vector<char> seen(code_.insns.size(), 0);
    std::vector<int> todo{header_};
    while (!todo.empty()) {
        const int i = todo.back();
        todo.pop_back();
        if (!inside_[static_cast<size_t>(i)] || std::exchange(seen[static_cast<size_t>(i)], 1)) continue;
        const Insn& insn = code_.insns[static_cast<size_t>(i)];
        if (insn.arg == local) {
            if (insn.op == Opcode::StoreFast) continue;
            if (insn.op == Opcode::LoadFast || insn.op == Opcode::LoadFastCheck ||
                insn.op == Opcode::DeleteFast || insn.op == Opcode::LoadFastAndClear)
                return true;
        }
        if (falls_through(insn.op)) todo.push_back(i + 1);
        if (insn.target >= 0) todo.push_back(insn.target);
    }
    return false;
}

// From here on instructions go into this block. It knows none of those that another block computed: that one
// may lie on another path.
void Builder::write_to(graph::BlockId block) {
    block_ = block;
    ended_ = false;
    same_.clear();
}

void Builder::end_block(graph::Terminator t) {
    r_->blocks[static_cast<size_t>(block_)].end = std::move(t);
    ended_ = true;
}

bool Builder::jump_to(int pc) {
    graph::Terminator t;
    t.kind = graph::Terminator::Jump;
    bool ok = true;
    if (inside(pc))
        t.then = edge_to(pc, s_, &ok);
    else
        ok = leave_at(pc, s_, &t.then);
    if (!ok) return false;
    end_block(std::move(t));
    return true;
}

bool Builder::branch_to(ValueId cond, int pc_true, State on_true, int pc_false, State on_false) {
    graph::Terminator t;
    t.kind = graph::Terminator::Branch;
    t.cond = cond;
    bool ok = true;
    const auto edge = [&](int pc, State&& s, graph::Edge* e) {
        if (inside(pc))
            *e = edge_to(pc, std::move(s), &ok);
        else
            ok &= leave_at(pc, s, e);
    };
    edge(pc_true, std::move(on_true), &t.then);
    if (ok) edge(pc_false, std::move(on_false), &t.other);
    if (!ok) return false;
    end_block(std::move(t));
    return true;
}

// ---- the walk ----

bool Builder::run(Version&& v) {
    write_to(v.block);
    s_ = std::move(v.state);
    std::erase_if(extents_, [&](auto& e) { return !input_of_.count(e.first.first); });
    const int start = v.pc;
    const size_t levels = s_.levels.size();
    for (pc_ = start; !ended_;) {
        const Insn& insn = code().insns[static_cast<size_t>(pc_)];
        const bool leader = leaders(code())[static_cast<size_t>(pc_)];
        if (leader && !(pc_ == start && s_.levels.size() == levels)) {
            if (!jump_to(pc_)) return false;
            break;
        }
        if (!spend(1)) return false;
        ++r_->blocks[static_cast<size_t>(block_)].steps;
        if (wants_resume(pc_, s_, false)) {
            forget_dead(&s_, pc_);
            s_.resume = resume_at(pc_, s_);
        }
        std::vector<char>& done = found_.done[&code()];
        done.resize(code().insns.size());
        char& this_one = done[static_cast<size_t>(pc_)];
        if (!step(insn)) return false;
        this_one = 1;
        if (!ended_) {
            ++pc_;
            if (!inside(pc_) && !jump_to(pc_)) return false;
        }
    }
    return true;
}

graph::Inst Builder::poll_before(int target) const {
    graph::Inst poll;
    poll.op = graph::RegionOp::Poll;
    poll.ints = {code().insns[static_cast<size_t>(target)].op != Opcode::ForIter,
                 target == header_ && s_.levels.size() == 1};
    while (!poll.ints.empty() && poll.ints.back() == 0) poll.ints.pop_back();
    return poll;
}

bool Builder::on_branch(const Insn& insn) {
    const bool keeps = insn.op == Opcode::JumpIfTrueOrPop || insn.op == Opcode::JumpIfFalseOrPop;
    ValueId cond = -1;
    if (insn.op == Opcode::PopJumpIfNone || insn.op == Opcode::PopJumpIfNotNone) {
        const Value v = pop();
        if (v.kind == Kind::Empty || v.kind == Kind::Passed) return unknown("a test for None");
        const bool taken = v.is_none() == (insn.op == Opcode::PopJumpIfNone);
        if (taken) return jump_to(insn.target);
        return true;
    }
    if (!truth(top(), &cond)) return false;
    const bool on = insn.op == Opcode::PopJumpIfTrue || insn.op == Opcode::JumpIfTrueOrPop;
    if (!keeps) pop();
    State taken = s_, next = s_;
    if (keeps) next.slots.pop_back();
    if (insn.flags & Insn::kBackward) {
        // Asked whether or not the loop goes on: Python tests the condition once more.
        graph::Inst poll = poll_before(insn.target);
        if (!s_.resume || (poll.exit = exit_for(s_.resume, "check")) < 0)
            return unknown("a loop that cannot be interrupted");
        emit_effect(std::move(poll));
    }
    if (on) return branch_to(cond, insn.target, std::move(taken), pc_ + 1, std::move(next));
    return branch_to(cond, pc_ + 1, std::move(next), insn.target, std::move(taken));
}

// A variable may turn out to be a variant when its loop has been followed once: then all of it is built again
// with that known.
std::unique_ptr<BuiltRegion> Builder::build() {
    begun_ = thread_ns();
    pc_ = header_;
    find_loop();
    for (int i = 0; i < policy().build_rounds; ++i) {
        auto built = attempt();
        if (built || !learnt_ || reason_ == Reason::RegionBudget) return built;
    }
    refuse(Reason::RegionTypes, "the kinds of its variables change too often");
    return nullptr;
}

// Nobody asks for steps where loops are not compared with traces.
static void do_not_count(graph::Region& r) {
    for (graph::Block& b : r.blocks) {
        b.steps = 0;
        for (graph::Inst& i : b.insts)
            if (i.op == graph::RegionOp::Poll && i.ints.size() > 1)
                i.ints.resize(static_cast<size_t>(i.ints[0]));
    }
}

// Whether some version of the loop's header is reached from itself.
bool Builder::goes_round() const {
    const auto reaches_itself = [&](graph::BlockId from) {
        std::vector<char> seen(r_->blocks.size(), 0);
        std::vector<graph::BlockId> todo{from};
        while (!todo.empty()) {
            const graph::Block& b = r_->blocks[static_cast<size_t>(todo.back())];
            todo.pop_back();
            graph::for_edges(b, [&](const graph::Edge& e) {
                if (!std::exchange(seen[static_cast<size_t>(e.to)], 1)) todo.push_back(e.to);
            });
        }
        return seen[static_cast<size_t>(from)] != 0;
    };
    return std::any_of(versions_.begin(), versions_.end(), [&](const Version& v) {
        return v.pc == header_ && v.state.levels.size() == 1 && reaches_itself(v.block);
    });
}

std::unique_ptr<BuiltRegion> Builder::attempt() {
    out_ = std::make_unique<BuiltRegion>();
    out_->graph = std::make_shared<graph::Region>();
    r_ = out_->graph.get();
    pc_ = header_;
    s_ = {};
    s_.levels.push_back({&code_, nullptr});
    source_objects_.clear(), source_values_.clear(), list_values_.clear(), sequences_.clear(), rows_.clear();
    input_of_.clear(), asked_.clear(), version_index_.clear(), versions_per_pc_.clear(),
        header_versions_.clear();
    versions_.clear(), todo_.clear(), consts_.clear(), extents_.clear(), plural_.clear(), same_.clear();
    cells_ = 0;
    learnt_ = stale_ = false;
    appended_.clear(), stored_lists_.clear();
    reason_ = Reason::None;
    detail_.clear();
    aliasing_.begin_attempt();
    dense_.clear();
    sites_.clear();
    failed_code_ = &code_;
    r_->blocks.emplace_back();  // the entry
    block_ = 0;
    if (!read_entry()) return nullptr;
    for (const EntryInput& in : out_->inputs) extents_at_entry(in);
    s_.resume = resume_at(header_, s_);
    if (!jump_to(header_)) return nullptr;
    while (!todo_.empty()) {
        const int index = todo_.back();
        todo_.pop_back();
        if (!run(Version(versions_[static_cast<size_t>(index)])) && !leave_for_python()) {
            failed_code_ = &code();
            return nullptr;
        }
    }
    if (stale_ || !is_small_enough()) return nullptr;
    if (!goes_round()) {
        refuse(Reason::RegionOp,
               out_->left_out.empty() ? "it never comes round" : out_->left_out.front().detail);
        if (!out_->left_out.empty()) {
            pc_ = out_->left_out.front().pc;
            failed_code_ = out_->left_out.front().code;
        }
        return nullptr;
    }
    if (!aliasing_.held_apart()) {
        learnt_ = true;
        return nullptr;
    }
    for (auto& part : out_->left_out) {
        const auto done = found_.done.find(part.code);
        part.in_part = done != found_.done.end() && done->second[static_cast<size_t>(part.pc)];
    }
    for (const int slot : aliasing_.written_slots()) mark_written(slot);
    number_cells();
    graph::simplify(*r_);
    finish_inputs(*out_);
    if (!settle_rows()) return nullptr;
    if (!graph::give_headers(*r_)) {
        refuse(Reason::RegionTypes,
               "variables that hold arrays of several kinds lead into the middle of a loop");
        return nullptr;
    }
    graph::fuse_nests(*r_);
    graph::prune_cells(*r_);
    graph::find_loops(*r_);
    if (r_->loops.size() < 2 || !graph::works_on_arrays(*r_)) do_not_count(*r_);
    return std::move(out_);
}

}  // namespace stator::frontend::regions
