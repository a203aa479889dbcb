// hoist_checks: one test in front of the outermost loop instead of many inside.
//
// A check can go when region/bounds.h derives from values known in front of the loop that it never fails.
// What it takes for that becomes a fact about linear forms. The facts of all checks are
// tested together, once; if they hold the loop runs as a copy without those checks, else as it is. So an
// index that is out of range, or negative, is found at the very iteration that Python would find it in.
#include <algorithm>
#include <map>

#include "graph/region/bounds.h"
#include "graph/region/copy.h"
#include "graph/region/passes.h"

namespace stator::graph {
namespace {

constexpr size_t kMaxFacts = 32;
constexpr RegionType kI64{DType::I64, -1};

// Forms of which at least one must not be negative: bounds of one number from several sides.
using Fact = std::vector<LinearForm>;

// What becomes of an instruction in the copy.
enum class Change : uint8_t { None, Drop, IsOperand, Plain, FromEnd };

class CheckHoister final : RegionCopy {
  public:
    CheckHoister(Region& r, BlockId header, std::vector<RegionBounds::Range> ranges)
        : RegionCopy(r), cfg_(region_cfg(r)), header_(header), bounds_(r, cfg_, header, std::move(ranges)) {}

    void run() {
        for (const BlockId b : cfg_.order)
            if (cfg_.dominates(header_, b)) inside_.push_back(b);
        // A copy pays where a loop does nothing but scalar work; in others the checks are not what costs.
        bool worth = false;
        for (const BlockId b : inside_) {
            const int loop = r_.blocks[static_cast<size_t>(b)].loop;
            auto& changes = changes_[b];
            for (const Inst& i : r_.blocks[static_cast<size_t>(b)].insts) {
                changes.push_back(decide(i, b));
                worth |= changes.back() != Change::None && loop >= 0 && innermost(loop);
            }
        }
        if (worth) split();
    }

  private:
    // ---- which checks go ----

    // A fact under which f >= 0 in the block; false: none known.
    bool assume(const LinearForm& f, BlockId at, std::vector<Fact>& facts) {
        return assume_any(bounds_.lower(f, at), facts);
    }
    static bool assume_any(const std::vector<LinearForm>& bounds, std::vector<Fact>& facts) {
        Fact fact;
        for (const LinearForm& g : bounds) {
            if (g.is_constant() && g.constant >= 0) return true;
            if (!g.is_constant()) fact.push_back(g);
        }
        if (fact.empty()) return false;
        facts.push_back(std::move(fact));
        return true;
    }

    bool accept(const std::vector<Fact>& facts) {
        std::vector<Fact> all = facts_;
        for (const Fact& f : facts)
            if (std::find(all.begin(), all.end(), f) == all.end()) all.push_back(f);
        if (all.size() > kMaxFacts) return false;
        facts_ = std::move(all);
        return true;
    }

    bool in_range(const LinearForm& f, BlockId at) {
        const MaybeForm negative = add_scaled({}, f, -1);
        return negative && !bounds_.lower(f, at).empty() && !bounds_.lower(*negative, at).empty();
    }

    Change decide(const Inst& i, BlockId at) {
        switch (i.op) {
            case RegionOp::Index: return index(i, at);
            case RegionOp::CheckedAdd:
            case RegionOp::CheckedSub:
            case RegionOp::CheckedMul: {
                if (r_.types[static_cast<size_t>(i.result)] != kI64) return Change::None;
                const LinearForm f = bounds_.form(i.result);
                const bool opaque = f.terms.size() == 1 && f.terms[0].first == i.result;
                return !opaque && in_range(bounds_.form(i.in[0]), at) &&
                               in_range(bounds_.form(i.in[1]), at) && in_range(f, at)
                           ? Change::Plain
                           : Change::None;
            }
            case RegionOp::Poll: return poll(at);
            default: return Change::None;
        }
    }

    Change index(const Inst& i, BlockId at) {
        const LinearForm f = bounds_.form(i.in[0]), n = bounds_.form(i.in[1]);
        const MaybeForm room = add_scaled(n, f, -1);  // n - i
        const MaybeForm below = room ? add_scaled(*room, {1, {}}, -1) : std::nullopt;
        std::vector<Fact> facts;
        if (below && assume(f, at, facts) && assume(*below, at, facts) && accept(facts))
            return Change::IsOperand;
        facts.clear();
        const MaybeForm negative = add_scaled({-1, {}}, f, -1), from_end = add_scaled(n, f, 1);
        if (negative && from_end && assume(*negative, at, facts) && facts.empty() &&
            assume(*from_end, at, facts) && accept(facts))
            return Change::FromEnd;
        return Change::None;
    }

    // Only where another loop around it is asked, and nothing inside takes long.
    Change poll(BlockId at) {
        const int loop = r_.blocks[static_cast<size_t>(at)].loop;
        if (loop < 0 || r_.loops[static_cast<size_t>(loop)].parent < 0 || !innermost(loop))
            return Change::None;
        std::vector<Fact> facts;
        if (assume_any(bounds_.trip_count_limits(loop), facts) && accept(facts)) return Change::Drop;
        return Change::None;
    }

    bool innermost(int loop) const {
        for (const LoopInfo& l : r_.loops)
            if (l.parent == loop) return false;
        for (const Block& b : r_.blocks)
            for (const Inst& i : b.insts)
                if (b.loop == loop &&
                    (has_body(i.op) || i.op == RegionOp::Dot || i.op == RegionOp::Reduce ||
                     i.op == RegionOp::Call || i.op == RegionOp::Library || i.op == RegionOp::Made))
                    return false;
        return true;
    }

    // ---- the copy ----

    void split() {
        const BlockId choice = add_entry(cfg_, header_);
        std::vector<Inst> test;
        const ValueId holds = emit_test(test);
        copy(inside_);
        Block& b = r_.blocks[static_cast<size_t>(choice)];
        b.insts = std::move(test);
        b.end.kind = Terminator::Branch;
        b.end.cond = holds;
        b.end.other = b.end.then;
        b.end.then.to = copied(header_);
    }

    // All facts and, for every value they rest on, that it is small.
    ValueId emit_test(std::vector<Inst>& out) {
        RegionWriter w(r_, out);
        ValueId all = -1;
        const auto also = [&](ValueId v) { all = all < 0 ? v : w.op(Op::LogicalAnd, {all, v}, DType::Bool); };
        const ValueId low = w.constant(-RegionBounds::kSmall), high = w.constant(RegionBounds::kSmall),
                      zero = w.constant(0);
        for (const ValueId v : bounds_.atoms()) {
            also(w.op(Op::GreaterEqual, {v, low}, DType::Bool));
            also(w.op(Op::LessEqual, {v, high}, DType::Bool));
        }
        for (const LinearForm& f : bounds_.needs()) facts_.push_back({f});
        for (const Fact& fact : facts_) {
            ValueId any = -1;
            for (const LinearForm& f : fact) {
                const ValueId holds = w.op(Op::GreaterEqual, {emit_form(w, f), zero}, DType::Bool);
                any = any < 0 ? holds : w.op(Op::LogicalOr, {any, holds}, DType::Bool);
            }
            also(any);
        }
        return all < 0 ? w.constant(1, DType::Bool) : all;
    }

    static ValueId emit_form(RegionWriter& w, const LinearForm& f) {
        ValueId sum = w.constant(f.constant);
        for (const auto& [v, k] : f.terms) {
            const ValueId term = k == 1 ? v : w.op(Op::Multiply, {v, w.constant(k)});
            sum = w.op(Op::Add, {sum, term});
        }
        return sum;
    }

    ValueId stands_for(const Inst& i, BlockId from, size_t at) override {
        return changes_.at(from)[at] == Change::IsOperand ? i.in[0] : -1;
    }
    bool edit(Inst& i, BlockId from, size_t at) override {
        const Change change = changes_.at(from)[at];
        if (change == Change::Drop) return false;
        if (change == Change::None) {
            if (i.exit >= 0) i.exit = copied_exit(i.exit);
            return true;
        }
        i.pointwise = i.op == RegionOp::CheckedSub   ? Op::Subtract
                      : i.op == RegionOp::CheckedMul ? Op::Multiply
                                                     : Op::Add;
        i.op = RegionOp::Pointwise;
        i.operand = DType::I64;
        i.exit = -1;
        return true;
    }

    const RegionCfg cfg_;
    const BlockId header_;
    RegionBounds bounds_;
    std::vector<BlockId> inside_;  // blocks that the header dominates, in order
    std::map<BlockId, std::vector<Change>> changes_;
    std::vector<Fact> facts_;
};

// Loops that are entered in the middle count by a step which only the iterator knows. Where such a loop
// starts and ends is computed in front of it.
class RunTimeSteps {
  public:
    RunTimeSteps(Region& r, BlockId header)
        : r_(r),
          cfg_(region_cfg(r)),
          header_(header),
          inst_(r.types.size(), nullptr),
          block_(r.types.size(), -1) {
        for (size_t b = 0; b < r.blocks.size(); ++b) {
            for (const ValueId p : r.blocks[b].params)
                block_[static_cast<size_t>(p)] = static_cast<BlockId>(b);
            for (const Inst& i : r.blocks[b].insts) {
                if (i.result < 0) continue;
                inst_[static_cast<size_t>(i.result)] = &i;
                block_[static_cast<size_t>(i.result)] = static_cast<BlockId>(b);
            }
        }
    }

    std::vector<RegionBounds::Range> run() {
        std::vector<RegionBounds::Range> out;
        const Block& header = r_.blocks[static_cast<size_t>(header_)];
        if (!single_entry() || header.end.kind != Terminator::Branch) return out;
        const Inst* test = inst_[static_cast<size_t>(header.end.cond)];
        if (!test || test->op != RegionOp::Pointwise || test->pointwise != Op::Greater) return out;
        const auto counter = std::find(header.params.begin(), header.params.end(), test->in[0]);
        if (counter == header.params.end()) return out;
        const ValueId count = start_of(static_cast<size_t>(counter - header.params.begin()));
        std::vector<std::pair<size_t, ValueId>> found;
        for (size_t k = 0; k < header.params.size(); ++k)
            if (const ValueId step = step_of(k); step >= 0) found.emplace_back(k, step);
        std::vector<Inst> code;
        for (const auto& [k, step] : found)
            out.push_back(range(header.params[k], start_of(k), step, count, code));
        auto& insts = r_.blocks[static_cast<size_t>(entry_)].insts;
        insts.insert(insts.end(), code.begin(), code.end());
        return out;
    }

  private:
    bool single_entry() {
        for (const BlockId from : cfg_.preds[static_cast<size_t>(header_)]) {
            if (cfg_.dominates(header_, from)) continue;
            if (entry_ >= 0) return false;
            entry_ = from;
        }
        return entry_ >= 0;
    }
    ValueId start_of(size_t k) const {
        ValueId v = -1;
        for_edges(r_.blocks[static_cast<size_t>(entry_)], [&](const Edge& e) {
            if (e.to == header_) v = e.args[k];
        });
        return v;
    }
    // What every way back adds to the parameter; -1: no value known in front of the loop.
    ValueId step_of(size_t k) const {
        const ValueId param = r_.blocks[static_cast<size_t>(header_)].params[k];
        if (r_.types[static_cast<size_t>(param)] != kI64) return -1;
        ValueId step = -1;
        bool ok = true;
        for (const BlockId from : cfg_.preds[static_cast<size_t>(header_)])
            for_edges(r_.blocks[static_cast<size_t>(from)], [&](const Edge& e) {
                if (e.to != header_ || from == entry_) return;
                const Inst* sum = inst_[static_cast<size_t>(e.args[k])];
                const bool adds = sum && sum->op == RegionOp::Pointwise && sum->pointwise == Op::Add;
                const ValueId by = !adds                 ? -1
                                   : sum->in[0] == param ? sum->in[1]
                                   : sum->in[1] == param ? sum->in[0]
                                                         : -1;
                ok &= by >= 0 && (step < 0 || step == by);
                step = by;
            });
        if (!ok || step < 0) return -1;
        const Inst* made = inst_[static_cast<size_t>(step)];
        const BlockId at = block_[static_cast<size_t>(step)];
        const bool constant = made && made->op == RegionOp::Const;
        return constant || (at >= 0 && cfg_.dominates(header_, at)) ? -1 : step;
    }

    // Between start and start + step * (count - 1).
    RegionBounds::Range range(ValueId value, ValueId start, ValueId step, ValueId count,
                              std::vector<Inst>& code) {
        RegionWriter w(r_, code);
        const ValueId one = w.constant(1);
        const ValueId times = w.op(Op::Subtract, {w.op(Op::Maximum, {count, one}), one});
        const ValueId last = w.op(Op::Add, {start, w.op(Op::Multiply, {step, times})});
        return {value, w.op(Op::Minimum, {start, last}), w.op(Op::Maximum, {start, last}), step, count};
    }

    Region& r_;
    const RegionCfg cfg_;
    const BlockId header_;
    BlockId entry_ = -1;
    std::vector<const Inst*> inst_;
    std::vector<BlockId> block_;
};

}  // namespace

void hoist_checks(Region& r) {
    // Loops of the text come in order; the first of the outermost ones dominates what there is to gain.
    for (const LoopInfo& l : r.loops)
        if (l.parent < 0) return CheckHoister(r, l.header, RunTimeSteps(r, l.header).run()).run();
}

}  // namespace stator::graph
