// hoist_checks: one test in front of the outermost loop instead of many inside.
//
// A check can go when region_bounds.h derives from values known in front of the loop that it never fails.
// What it takes for that becomes a fact about linear forms. The facts of all checks are
// tested together, once; if they hold the loop runs as a copy without those checks, else as it is. So an
// index that is out of range, or negative, is found at the very iteration that Python would find it in.
#include <algorithm>
#include <map>

#include "graph/region_bounds.h"
#include "graph/region_passes.h"

namespace stator::graph {
namespace {

constexpr size_t kMaxFacts = 32;
constexpr RegionType kI64{DType::I64, -1};
constexpr RegionType kBool{DType::Bool, -1};

// Forms of which at least one must not be negative: bounds of one number from several sides.
using Fact = std::vector<LinearForm>;

// What becomes of an instruction in the copy.
enum class Change : uint8_t { None, Drop, IsOperand, Plain, FromEnd };

class CheckHoister {
  public:
    CheckHoister(Region& r, BlockId header, std::vector<RegionBounds::Range> ranges)
        : r_(r), cfg_(region_cfg(r)), header_(header), bounds_(r, cfg_, header, std::move(ranges)) {}

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
                if (b.loop == loop && (has_body(i.op) || i.op == RegionOp::Dot || i.op == RegionOp::Reduce ||
                                       i.op == RegionOp::Call))
                    return false;
        return true;
    }

    // ---- the copy ----

    void split() {
        const BlockId choice = add_choice();
        for (const BlockId b : inside_) {
            block_[b] = static_cast<BlockId>(r_.blocks.size());
            r_.blocks.emplace_back();
        }
        copy_loops();
        for (const BlockId b : inside_) copy_definitions(b);
        for (const BlockId b : inside_) copy_block(b);
        Terminator& end = r_.blocks[static_cast<size_t>(choice)].end;
        end.then = {block_.at(header_), end.other.args};
    }

    // The block where all ways into the loop meet, with the test.
    BlockId add_choice() {
        const auto id = static_cast<BlockId>(r_.blocks.size());
        Block b;
        b.loop = r_.loops[static_cast<size_t>(r_.blocks[static_cast<size_t>(header_)].loop)].parent;
        b.end.kind = Terminator::Branch;
        for (const ValueId p : r_.blocks[static_cast<size_t>(header_)].params) {
            b.params.push_back(r_.add(r_.types[static_cast<size_t>(p)]));
            b.end.other.args.push_back(b.params.back());
        }
        b.end.other.to = header_;
        for (const BlockId from : cfg_.order)
            if (!cfg_.dominates(header_, from))
                for_edges(r_.blocks[static_cast<size_t>(from)], [&](Edge& e) {
                    if (e.to == header_) e.to = id;
                });
        b.end.cond = emit_test(b.insts);
        r_.blocks.push_back(std::move(b));
        return id;
    }

    ValueId emit(std::vector<Inst>& out, Op op, RegionType t, std::vector<ValueId> in) {
        Inst i;
        i.op = RegionOp::Pointwise;
        i.pointwise = op;
        i.operand = r_.types[static_cast<size_t>(in[0])].dtype;
        i.in = std::move(in);
        i.result = r_.add(t);
        out.push_back(std::move(i));
        return out.back().result;
    }
    ValueId emit_constant(std::vector<Inst>& out, RegionType t, int64_t v) {
        Inst i;
        i.ints = {v};
        i.result = r_.add(t);
        out.push_back(std::move(i));
        return out.back().result;
    }

    ValueId emit_form(std::vector<Inst>& out, const LinearForm& f) {
        ValueId sum = emit_constant(out, kI64, f.constant);
        for (const auto& [v, k] : f.terms) {
            const ValueId term = k == 1 ? v : emit(out, Op::Multiply, kI64, {v, emit_constant(out, kI64, k)});
            sum = emit(out, Op::Add, kI64, {sum, term});
        }
        return sum;
    }

    // All facts and, for every value they rest on, that it is small.
    ValueId emit_test(std::vector<Inst>& out) {
        ValueId all = -1;
        const auto also = [&](ValueId v) { all = all < 0 ? v : emit(out, Op::LogicalAnd, kBool, {all, v}); };
        const ValueId low = emit_constant(out, kI64, -RegionBounds::kSmall),
                      high = emit_constant(out, kI64, RegionBounds::kSmall),
                      zero = emit_constant(out, kI64, 0);
        for (const ValueId v : bounds_.atoms()) {
            also(emit(out, Op::GreaterEqual, kBool, {v, low}));
            also(emit(out, Op::LessEqual, kBool, {v, high}));
        }
        for (const LinearForm& f : bounds_.needs()) facts_.push_back({f});
        for (const Fact& fact : facts_) {
            ValueId any = -1;
            for (const LinearForm& f : fact) {
                const ValueId holds = emit(out, Op::GreaterEqual, kBool, {emit_form(out, f), zero});
                any = any < 0 ? holds : emit(out, Op::LogicalOr, kBool, {any, holds});
            }
            also(any);
        }
        return all < 0 ? emit_constant(out, kBool, 1) : all;
    }

    void copy_loops() {
        const size_t n = r_.loops.size();
        for (size_t l = 0; l < n; ++l) {
            const LoopInfo loop = r_.loops[l];
            if (!block_.contains(loop.header)) continue;
            loop_[static_cast<int>(l)] = static_cast<int>(r_.loops.size());
            r_.loops.push_back({block_.at(loop.header), copied_loop(loop.parent), loop.line});
        }
    }
    int copied_loop(int l) const {
        const auto it = loop_.find(l);
        return it == loop_.end() ? l : it->second;
    }

    ValueId mapped(ValueId v) const {
        const auto it = value_.find(v);
        return it == value_.end() ? v : it->second;
    }
    void mapped(std::vector<ValueId>& list) const {
        for (ValueId& v : list) v = mapped(v);
    }

    // Blocks come in an order in which definitions precede uses, parameters aside.
    void copy_definitions(BlockId b) {
        const Block& from = r_.blocks[static_cast<size_t>(b)];
        const auto fresh = [&](ValueId v) { value_[v] = r_.add(r_.types[static_cast<size_t>(v)]); };
        for (const ValueId p : from.params) fresh(p);
        for (size_t k = 0; k < from.insts.size(); ++k) {
            const Inst& i = from.insts[k];
            if (changes_.at(b)[k] == Change::IsOperand)
                value_[i.result] = mapped(i.in[0]);
            else if (i.result >= 0)
                fresh(i.result);
            if (has_body(i.op))
                for (const Inst& n : r_.nests[static_cast<size_t>(i.ints[0])].insts)
                    if (n.result >= 0) fresh(n.result);
        }
    }

    void copy_block(BlockId b) {
        Block to;
        const Block from = r_.blocks[static_cast<size_t>(b)];
        to.loop = copied_loop(from.loop);
        to.params = from.params;
        mapped(to.params);
        for (size_t k = 0; k < from.insts.size(); ++k) {
            const Change change = changes_.at(b)[k];
            if (change == Change::Drop || change == Change::IsOperand) continue;
            to.insts.push_back(copy_inst(from.insts[k], change));
        }
        to.end = from.end;
        if (to.end.kind == Terminator::Branch) to.end.cond = mapped(to.end.cond);
        if (to.end.kind == Terminator::Leave) to.end.exit = copy_exit(to.end.exit);
        for_edges(to, [&](Edge& e) {
            if (const auto it = block_.find(e.to); it != block_.end()) e.to = it->second;
            mapped(e.args);
        });
        r_.blocks[static_cast<size_t>(block_.at(b))] = std::move(to);
    }

    Inst copy_inst(const Inst& from, Change change) {
        Inst i = from;
        mapped(i.in);
        if (i.result >= 0) i.result = mapped(i.result);
        if (has_body(i.op)) {
            NestBody body = r_.nests[static_cast<size_t>(i.ints[0])];
            for (Inst& n : body.insts) {
                mapped(n.in);
                if (n.result >= 0) n.result = mapped(n.result);
            }
            i.ints[0] = static_cast<int64_t>(r_.nests.size());
            r_.nests.push_back(std::move(body));
        }
        if (change == Change::None) {
            if (i.exit >= 0) i.exit = copy_exit(i.exit);
            return i;
        }
        i.pointwise = i.op == RegionOp::CheckedSub   ? Op::Subtract
                      : i.op == RegionOp::CheckedMul ? Op::Multiply
                                                     : Op::Add;
        i.op = RegionOp::Pointwise;
        i.operand = DType::I64;
        i.exit = -1;
        return i;
    }

    int copy_exit(int exit) {
        const auto [it, is_new] = exit_.try_emplace(exit, static_cast<int>(r_.exits.size()));
        if (is_new) {
            RegionExit x = r_.exits[static_cast<size_t>(exit)];
            mapped(x.values);
            if (x.returns < 0) x.returns = exit;
            r_.exits.push_back(std::move(x));
        }
        return it->second;
    }

    Region& r_;
    const RegionCfg cfg_;
    const BlockId header_;
    RegionBounds bounds_;
    std::vector<BlockId> inside_;  // blocks that the header dominates, in order
    std::map<BlockId, std::vector<Change>> changes_;
    std::vector<Fact> facts_;
    std::map<BlockId, BlockId> block_;
    std::map<ValueId, ValueId> value_;
    std::map<int, int> loop_, exit_;
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

    ValueId emit(std::vector<Inst>& code, Op op, ValueId a, ValueId b) {
        Inst i;
        i.op = RegionOp::Pointwise;
        i.pointwise = op;
        i.operand = DType::I64;
        i.in = {a, b};
        i.result = r_.add(kI64);
        code.push_back(i);
        return i.result;
    }
    // Between start and start + step * (count - 1).
    RegionBounds::Range range(ValueId value, ValueId start, ValueId step, ValueId count,
                              std::vector<Inst>& code) {
        Inst one;
        one.ints = {1};
        one.result = r_.add(kI64);
        code.push_back(one);
        const ValueId times =
            emit(code, Op::Subtract, emit(code, Op::Maximum, count, one.result), one.result);
        const ValueId last = emit(code, Op::Add, start, emit(code, Op::Multiply, step, times));
        return {value, emit(code, Op::Minimum, start, last), emit(code, Op::Maximum, start, last), step,
                count};
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
