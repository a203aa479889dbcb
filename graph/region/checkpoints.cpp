// run_from_checkpoints: array statements without scratch memory and without looking at flags.
//
// A statement whose arithmetic may raise a floating-point flag is two nests: one computes into memory of the
// region's own, the other copies the result to where it belongs when no flag was up (region.h: an instruction
// that cannot do what Python would has changed nothing). The second one costs as much memory traffic as the
// first, for something that hardly ever happens.
//
// So the outermost loop gets a second version, which stores directly. It begins by saving all that it is
// going to store to, runs a number of iterations, and then looks once whether a flag came up. If one did, or
// if anything wants to leave in the middle, what was saved is put back and the loop as it was runs from
// there: it leaves at the statement where Python would. The number of iterations doubles each time, so what
// is done twice is little, or no more than what had been done before, and copies are few.
//
//     entry -> choice -> save, watch -> header' -> ... -> back to header'; after k iterations: raised?
//                 |          ^                                   |no            |yes
//                 |          +------------- 2k, poll <-----------+              |
//                 +-------> header (as it was) <------------- restore <---------+   <- any exit of header'
//                 ...
//
// Variables that hold arrays which each iteration makes anew are seen by Python only where the loop is left.
// Of such a loop, when it counts its iterations, all of a round but the last one do without: these arrays are
// neither carried nor, where nothing else reads them, stored.
//
//     watch -> header' ... all but one -> one iteration with all that it makes -> raised? -> next round
//
// A loop that warns each time it is entered would do everything twice: after a fault the region is entered
// without checkpoints for a while (`trust`). Edges that leave the loop ask, too. Loops with library calls are
// left alone: those clear flags.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "graph/region/checkpoints.h"
#include "graph/region/copy.h"
#include "graph/region/passes.h"

namespace stator::graph {
namespace {

// Points stored between two looks, at most: what a fault throws away, some tens of milliseconds. A first
// round may have as many as take a fraction of one.
constexpr int64_t kMostPoints = int64_t{1} << 23, kFirstPoints = int64_t{1} << 18;
constexpr int64_t kFewestPoints = 64;  // an iteration counts as

class Checkpoints final : RegionCopy {
  public:
    Checkpoints(Region& r, int loop)
        : RegionCopy(r),
          cfg_(region_cfg(r)),
          loop_(loop),
          header_(r.loops[static_cast<size_t>(loop)].header),
          memory_(r) {
        block_of_.assign(r.types.size(), -1);
        for (const BlockId b : cfg_.order)
            for (const Inst& i : r.blocks[static_cast<size_t>(b)].insts)
                if (i.result >= 0) block_of_[static_cast<size_t>(i.result)] = b;
    }

    bool run() {
        if (!find_checkpoints(r_, cfg_, memory_, block_of_, loop_, l_)) return false;
        if (l_.carried.empty() && r_.loops[static_cast<size_t>(loop_)].parent < 0)
            split();
        else
            split_counting();
        return true;
    }

  private:
    bool inside(BlockId b) const { return encloses(r_, loop_, r_.blocks[static_cast<size_t>(b)].loop); }

    // ---- what of the region's own memory the second version needs ----

    // Reads of it besides copies that go away. Exits of instructions are none: they lead to the loop as it
    // was.
    void count_uses(const std::vector<BlockId>& blocks) {
        used_.clear();
        const auto use = [&](ValueId v) { used_.insert(v); };
        for (const BlockId b : blocks) {
            const Block& block = r_.blocks[static_cast<size_t>(b)];
            const bool in = inside(b);
            for (size_t k = 0; k < block.insts.size(); ++k) {
                const Inst& i = block.insts[k];
                if (!in && i.exit >= 0)
                    for (const ValueId v : r_.exits[static_cast<size_t>(i.exit)].values) use(v);
                // What memory has to keep clear of is not read for that.
                const size_t operands =
                    i.op == RegionOp::Scratch
                        ? static_cast<size_t>(r_.types[static_cast<size_t>(i.result)].rank)
                        : i.in.size();
                for (size_t n = 0; n < operands; ++n) use(i.in[n]);
                if (!has_body(i.op) || goes(b, k)) continue;
                for (const Inst& n : r_.nests[static_cast<size_t>(i.ints[0])].insts)
                    for (size_t o = 0; o < n.in.size(); ++o)
                        if (n.op != RegionOp::NestStore || o > 0) use(n.in[o]);
            }
            for_edges(block, [&](const Edge& e) {
                for (size_t k = 0; k < e.args.size(); ++k)
                    if (e.to != header_ || !forgets(k)) use(e.args[k]);
            });
            if (block.end.kind == Terminator::Leave)
                for (const ValueId v : r_.exits[static_cast<size_t>(block.end.exit)].values) use(v);
        }
    }
    // Whether the version at hand does without the header's parameter of that number.
    bool forgets(size_t param) const {
        return forgetful_ && std::find(l_.carried.begin(), l_.carried.end(), param) != l_.carried.end();
    }
    // Whether the instruction is the copy of a statement that stores directly.
    bool goes(BlockId b, size_t at) const {
        const auto it = at > 0 ? l_.statements.find({b, at - 1}) : l_.statements.end();
        return it != l_.statements.end() && it->second.direct;
    }
    bool is_unread(ValueId array) const {
        const Inst& made = memory_.maker(array);
        return made.result == array && made.op == RegionOp::Scratch && !used_.contains(array) &&
               inside(block_of_[static_cast<size_t>(array)]);
    }

    // ---- the second version ----

    bool edit(Inst& i, BlockId from, size_t at) override {
        if (!inside(from)) {
            if (i.exit >= 0) i.exit = copied_exit(i.exit);
            return true;
        }
        if (goes(from, at)) return false;
        const Inst& original = r_.blocks[static_cast<size_t>(from)].insts[at];
        if (i.op == RegionOp::Scratch) {
            if (is_unread(original.result)) return false;
            const auto rank = static_cast<size_t>(r_.types[static_cast<size_t>(original.result)].rank);
            for (size_t k = original.in.size(); k-- > rank;)
                if (is_unread(original.in[k])) i.in.erase(i.in.begin() + static_cast<ptrdiff_t>(k));
        }
        if (i.op == RegionOp::Poll) polls_[copied(from)] = i.exit;
        if (has_body(i.op)) {
            auto& body = r_.nests[static_cast<size_t>(i.ints[0])].insts;
            if (const auto it = l_.statements.find({from, at}); it != l_.statements.end()) {
                if (it->second.direct) store_directly(body, it->second);
                i.exit = -1;
            }
            drop_unread(body, original);
        }
        if (i.exit >= 0) i.exit = again_;
        return true;
    }

    void store_directly(std::vector<Inst>& body, const CheckpointStatement& s) {
        for (const CheckpointCommit& c : s.commits) {
            if (is_unread(c.to)) continue;
            const ValueId from = mapped(c.from);
            const auto put = std::find_if(body.rbegin(), body.rend(), [&](const Inst& k) {
                return k.op == RegionOp::NestStore && k.in[0] == from;
            });
            Inst direct = *put;
            direct.in[0] = mapped(c.to);
            body.push_back(std::move(direct));
        }
    }
    void drop_unread(std::vector<Inst>& body, const Inst& original) {
        const auto& insts = r_.nests[static_cast<size_t>(original.ints[0])].insts;
        std::set<ValueId> unread;
        for (const Inst& k : insts)
            if (k.op == RegionOp::NestStore && is_unread(k.in[0])) unread.insert(mapped(k.in[0]));
        std::erase_if(body,
                      [&](const Inst& k) { return k.op == RegionOp::NestStore && unread.contains(k.in[0]); });
    }

    Inst effect(RegionOp op, std::vector<ValueId> in = {}, std::vector<int64_t> ints = {}) const {
        Inst i;
        i.op = op;
        i.in = std::move(in);
        i.ints = std::move(ints);
        return i;
    }
    Inst test(RegionOp op, std::vector<ValueId> in, std::vector<int64_t> ints) {
        Inst i = effect(op, std::move(in), std::move(ints));
        i.result = r_.add({DType::Bool, -1});
        return i;
    }
    static Terminator jump(BlockId to, std::vector<ValueId> args = {}) {
        Terminator t;
        t.kind = Terminator::Jump;
        t.then = {to, std::move(args)};
        return t;
    }
    static Terminator branch(ValueId cond, Edge then, Edge other) {
        return {Terminator::Branch, cond, std::move(then), std::move(other)};
    }
    BlockId add(Block b) {
        r_.blocks.push_back(std::move(b));
        return static_cast<BlockId>(r_.blocks.size()) - 1;
    }
    Block& at(BlockId b) { return r_.blocks[static_cast<size_t>(b)]; }
    ValueId number() { return r_.add({DType::I64, -1}); }

    void split() {
        std::vector<BlockId> blocks;
        for (const BlockId b : cfg_.order)
            if (cfg_.dominates(header_, b)) blocks.push_back(b);
        const auto cell = static_cast<int64_t>(scratch_cells(r_));
        const int parent = r_.loops[static_cast<size_t>(loop_)].parent;

        const BlockId choice = add_entry(cfg_, header_);
        // Rounds: from one checkpoint to the next.
        const auto rounds = static_cast<int>(r_.loops.size());
        round_ = add({});
        r_.loops.push_back({round_, parent, r_.loops[static_cast<size_t>(loop_)].line});
        const BlockId watch = add({});
        restore_ = add({});
        again_ = static_cast<int>(r_.exits.size());
        r_.exits.push_back({{}, "again", r_.loops[static_cast<size_t>(loop_)].line, -1, restore_});

        count_uses(blocks);
        copy(blocks);
        const int fast = copied_loop(loop_);
        r_.loops[static_cast<size_t>(fast)].parent = rounds;

        choose(choice);
        const std::vector<ValueId> state = begin_round(choice, rounds, cell);
        at(round_).end = branch(at(round_).insts.back().result, {watch, {}}, {header_, state});
        Block w2;
        w2.loop = rounds;
        w2.insts.push_back(effect(RegionOp::Watch));
        std::vector<ValueId> first = state;
        first.push_back(iterations_);
        w2.end = jump(copied(header_), first);
        at(watch) = std::move(w2);
        give_up(parent, cell, state);

        // Edges of the copy: back to its header, and out of the loop.
        left_ = number();
        at(copied(header_)).params.push_back(left_);
        for (const BlockId b : blocks)
            if (inside(b)) edges(copied(b), fast, rounds);
    }

    void choose(BlockId choice) {
        Block& c = at(choice);
        RegionWriter w(r_, c.insts);
        const ValueId worth = is_worth(w);
        std::vector<ValueId> start = c.params;
        start.push_back(w.op(Op::Maximum, {w.quotient(w.constant(kFirstPoints), work_), w.constant(1)}));
        c.insts.push_back(test(RegionOp::Trust, {}, {}));
        const ValueId both = w.op(Op::LogicalAnd, {worth, c.insts.back().result}, DType::Bool);
        c.end = branch(both, {round_, start}, c.end.then);
    }
    // Saves; gives the header's parameters as they are then.
    std::vector<ValueId> begin_round(BlockId choice, int rounds, int64_t cell) {
        Block save;
        save.loop = rounds;
        save.params = at(choice).params;
        for (ValueId& p : save.params) p = r_.add(r_.types[static_cast<size_t>(p)]);
        const std::vector<ValueId> state = save.params;
        iterations_ = number();
        save.params.push_back(iterations_);
        save.insts.push_back(test(RegionOp::Save, l_.saved, {cell}));
        at(round_) = std::move(save);
        return state;
    }
    void give_up(int loop, int64_t cell, const std::vector<ValueId>& state) {
        Block back;
        back.loop = loop;
        back.insts.push_back(test(RegionOp::Raised, {}, {l_.flags}));
        back.insts.push_back(effect(RegionOp::Restore, l_.saved, {cell}));
        back.insts.push_back(effect(RegionOp::Distrust));
        back.end = jump(header_, state);
        at(restore_) = std::move(back);
    }

    // Rounds of a loop that counts its iterations: all but one without the arrays that it carries, then one
    // with them. Nothing behind the loop is copied.
    void split_counting() {
        std::vector<BlockId> blocks;
        for (const BlockId b : cfg_.order)
            if (inside(b)) blocks.push_back(b);
        const auto cell = static_cast<int64_t>(scratch_cells(r_));
        const LoopInfo was = r_.loops[static_cast<size_t>(loop_)];
        counting_ = true;

        const BlockId choice = add_entry(cfg_, header_);
        const auto rounds = static_cast<int>(r_.loops.size());
        round_ = add({});
        r_.loops.push_back({round_, was.parent, was.line});
        const BlockId watch = add({});
        restore_ = add({});
        again_ = static_cast<int>(r_.exits.size());
        r_.exits.push_back({{}, "again", was.line, -1, restore_});
        choose(choice);
        const std::vector<ValueId> state = begin_round(choice, rounds, cell);
        at(round_).end = branch(at(round_).insts.back().result, {watch, {}}, {header_, state});
        give_up(was.parent, cell, state);

        const auto some = [&](std::vector<ValueId> all) {
            for (auto k = l_.carried.rbegin(); k != l_.carried.rend(); ++k)
                all.erase(all.begin() + static_cast<ptrdiff_t>(*k));
            return all;
        };
        // All but one.
        forgetful_ = true;
        count_uses(blocks);
        copy(blocks);
        const int fast = copied_loop(loop_);
        r_.loops[static_cast<size_t>(fast)].parent = rounds;
        const BlockId header = copied(header_);
        for (const BlockId b : blocks)
            for (Inst& i : at(copied(b)).insts)
                for (ValueId& v : i.in)
                    for (const size_t k : l_.carried)
                        if (v == at(header).params[k]) v = state[k];  // to keep clear of
        at(header).params = some(at(header).params);
        left_ = number();
        at(header).params.push_back(left_);
        at(header).end.other = {restore_, {}};
        std::vector<BlockId> copies;
        for (const BlockId b : blocks) copies.push_back(copied(b));

        // The last one.
        forgetful_ = false;
        forget();
        count_uses(blocks);
        const size_t loops = r_.loops.size();
        copy(blocks);
        r_.loops.resize(loops);
        for (const BlockId b : blocks) at(copied(b)).loop = rounds;
        const BlockId last = copied(header_);
        at(last).end.other = {look({header_, at(last).params}, was.parent), {}};
        for (const BlockId b : blocks)
            edges_to(copied(b), last, [&](const Edge& e) { return end_round(copied(b), e, rounds); });
        for (const BlockId b : copies)
            edges_to(b, header, [&](const Edge& e) {
                take_poll(b);
                // The last one reads none of the arrays either, but keeps clear of those it began with.
                std::vector<ValueId> args = e.args;
                for (const size_t k : l_.carried) args[k] = state[k];
                return step(fast, some(e.args), header, {last, std::move(args)});
            });

        Block begin;
        begin.loop = rounds;
        begin.insts.push_back(effect(RegionOp::Watch));
        RegionWriter w(r_, begin.insts);
        const ValueId few =
            w.op(Op::Subtract, {w.op(Op::Minimum, {iterations_, state[l_.counter]}), w.constant(1)});
        std::vector<ValueId> first = some(state);
        first.push_back(few);
        const ValueId any = w.op(Op::Greater, {few, w.constant(0)}, DType::Bool);
        begin.end = branch(any, {header, first}, {last, state});
        at(watch) = std::move(begin);
    }

    // Edges of `b` that lead to `to` lead to what f gives for them.
    template <class F>
    void edges_to(BlockId b, BlockId to, F f) {
        for (Edge Terminator::* side : {&Terminator::then, &Terminator::other}) {
            if (side == &Terminator::other && at(b).end.kind != Terminator::Branch) continue;
            const Edge e = at(b).end.*side;
            if (e.to != to) continue;
            const BlockId by = f(e);
            at(b).end.*side = {by, {}};
        }
    }

    void edges(BlockId b, int fast, int rounds) {
        const auto redirect = [&](Edge Terminator::* side) {
            const Edge e = at(b).end.*side;
            if (e.to == copied(header_))
                at(b).end.*side = {next_iteration(b, e, fast, rounds), {}};
            else if (!encloses(r_, fast, at(e.to).loop))
                at(b).end.*side = {look(e, r_.loops[static_cast<size_t>(rounds)].parent), {}};
        };
        redirect(&Terminator::then);
        if (at(b).end.kind == Terminator::Branch) redirect(&Terminator::other);
    }

    // raised? restore : go on
    BlockId look(Edge e, int loop) {
        Block b;
        b.loop = loop;
        b.insts.push_back(test(RegionOp::Raised, {}, {l_.flags}));
        b.end = branch(b.insts.back().result, {restore_, {}}, std::move(e));
        return add(std::move(b));
    }

    // The poll at a block's end.
    std::optional<Inst> take_poll(BlockId from) {
        auto& insts = r_.blocks[static_cast<size_t>(from)].insts;
        for (size_t k = insts.size(); k-- > 0;) {
            if (insts[k].op == RegionOp::Poll) {
                const Inst poll = insts[k];
                insts.erase(insts.begin() + static_cast<ptrdiff_t>(k));
                return poll;
            }
            if (has_effect(insts[k])) break;
        }
        return std::nullopt;
    }

    BlockId next_iteration(BlockId from, const Edge& e, int fast, int rounds) {
        const BlockId ended = end_round(from, e, rounds);
        return step(fast, e.args, e.to, {ended, {}});
    }

    // Looks at the flags; the poll of the iteration that leads here moves behind that.
    BlockId end_round(BlockId from, const Edge& e, int rounds) {
        std::optional<Inst> poll = take_poll(from);
        Block end;
        end.loop = rounds;
        RegionWriter w(r_, end.insts);
        if (poll) {
            poll->exit = copied_exit(polls_.at(from));
            end.insts.push_back(*poll);
        }
        const ValueId few =
            w.op(Op::LessEqual, {w.op(Op::Multiply, {iterations_, work_}), w.constant(kMostPoints / 2)},
                 DType::Bool);
        ValueId next = w.op(Op::Add, {iterations_, iterations_});
        next = w.where(few, next, iterations_);
        std::vector<ValueId> args = e.args;
        args.push_back(next);
        if (!counting_) {
            end.end = jump(round_, args);
        } else {  // nothing is saved for no iteration
            const ValueId more = w.op(Op::Greater, {e.args[l_.counter], w.constant(0)}, DType::Bool);
            end.end = branch(more, {round_, args}, {header_, e.args});
        }
        return look({add(std::move(end)), {}}, rounds);
    }

    // Another iteration of the fast loop, which begins at `header`, or what comes then.
    BlockId step(int fast, std::vector<ValueId> args, BlockId header, Edge then) {
        Block step;
        step.loop = fast;
        RegionWriter s(r_, step.insts);
        const ValueId left = s.op(Op::Subtract, {left_, s.constant(1)});
        ValueId more = s.op(Op::Greater, {left, s.constant(0)}, DType::Bool);
        // What else an iteration does may take any time: the round ends when the interpreter wants attention.
        step.insts.push_back(test(RegionOp::Undisturbed, {}, {}));
        more = s.op(Op::LogicalAnd, {more, step.insts.back().result}, DType::Bool);
        args.push_back(left);
        step.end = branch(more, {header, std::move(args)}, std::move(then));
        return add(std::move(step));
    }

    // Whether the copies that are spared pay for checkpoints; sets work_.
    ValueId is_worth(RegionWriter& w) {
        const ValueId zero = w.constant(0), one = w.constant(1);
        const auto product = [&](const std::vector<ValueId>& extents) {
            ValueId n = one;
            for (const ValueId e : extents) n = w.op(Op::Multiply, {n, w.op(Op::Maximum, {e, zero})});
            return n;
        };
        ValueId points = zero, elements = zero;
        for (const auto& [extents, copies] : l_.points)
            points = w.op(Op::Add, {points, w.op(Op::Multiply, {product(extents), w.constant(copies)})});
        for (const ValueId a : l_.saved) {
            std::vector<ValueId> extents;
            for (int d = 0; d < r_.types[static_cast<size_t>(a)].rank; ++d) extents.push_back(w.extent(a, d));
            elements = w.op(Op::Add, {elements, product(extents)});
        }
        work_ = w.op(Op::Maximum, {points, w.constant(kFewestPoints)});
        return w.op(Op::GreaterEqual, {w.op(Op::Add, {points, points}), elements}, DType::Bool);
    }

    const RegionCfg cfg_;
    const int loop_;
    const BlockId header_;
    RegionMemory memory_;
    std::vector<BlockId> block_of_;  // by value: where it is made
    CheckpointLoop l_;
    bool counting_ = false;   // how many iterations are left is known
    bool forgetful_ = false;  // the version at hand has no carried arrays
    std::set<ValueId> used_;
    BlockId round_ = -1, restore_ = -1;
    int again_ = -1;
    std::map<BlockId, int> polls_;         // by block of the copy: the exit of its last poll
    ValueId iterations_ = -1, left_ = -1;  // of a round in all, and still to do
    ValueId work_ = -1;                    // points that an iteration stores
};

}  // namespace

void run_from_checkpoints(Region& r) {
    // The last one of the outermost: of a loop in two versions, the one without checks. Else an inner one.
    for (const bool outermost : {true, false})
        for (size_t l = r.loops.size(); l-- > 0;)
            if ((r.loops[l].parent < 0) == outermost && Checkpoints(r, static_cast<int>(l)).run()) return;
}

}  // namespace stator::graph
