// run_in_wavefronts: loops of array statements, some rows of all of them at a time.
//
//     for t in range(T):
//         B[1:-1] = f(A[:-2], A[1:-1], A[2:])
//         A[1:-1] = f(B[:-2], B[1:-1], B[2:])
//
// As written, each statement reads and writes whole arrays before the next one does; what does not fit into a
// near cache is fetched again each time. But rows of a statement need only few rows of those before it. So a
// window moves over the rows, and all statements of many iterations run on what it shows them, each `lag`
// rows behind, so that what they read is there and what they overwrite has been read:
//
//     for window: for t: for each statement: the rows r of it with   window <= r + lag + t * step < window +
//     width
//
// Only the order among elements changes, never what any of them is computed from. The lags follow from the
// distances between the rows that the statements read and store (loop skewing: M. Wolfe, "Loop skewing: the
// wavefront method revisited", 1986); with distances of zero this is the interchange of the loop with the
// rows of its statements. Windows are values at run time: where all arrays are small, one shows everything.
//
// Between two statements nobody may look at memory, so this is for loops in which whatever leaves does so to
// a checkpoint (region/checkpoints.cpp). Each window runs the iterations anew, with all their scalars, which
// therefore may not depend on what is stored.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "graph/region/copy.h"
#include "graph/region/passes.h"
#include "graph/region/wavefront.h"

namespace stator::graph {
namespace {

// Bytes of the arrays of a loop: with fewer than `small` there is nothing to gain; `window` are shown at
// once, which has to fit into the first cache; `block` is what the windows of a block of iterations pass
// over, which has to stay in the second one. Half of the smallest caches that are common, because other
// things are in them, too; measured with stencils on 350 by 350 elements and more, where twice as much makes
// no difference.
struct Sizes {
    int64_t small = 24 * 1024, window = 24 * 1024, block = 256 * 1024;
};
// STATOR_TEST_WINDOW=small,window,block: tests with small arrays.
const Sizes& sizes() {
    static const Sizes wanted = [] {
        Sizes s;
        const char* text = std::getenv("STATOR_TEST_WINDOW");
        if (text && std::sscanf(text, "%" SCNd64 ",%" SCNd64 ",%" SCNd64, &s.small, &s.window, &s.block) != 3)
            s = {};
        return s;
    }();
    return wanted;
}
// What the iterations of a block may move together: some milliseconds, in which nobody is answered.
constexpr int64_t kMostBytes = int64_t{1} << 26;
constexpr int64_t kAll = int64_t{1} << 40;  // rows; iterations

class Wavefront {
  public:
    Wavefront(Region& r, int loop)
        : r_(r),
          cfg_(region_cfg(r)),
          loop_(loop),
          header_(r.loops[static_cast<size_t>(loop)].header),
          memory_(r) {}

    bool run() {
        if (!find_wavefront(r_, cfg_, memory_, loop_, l_)) return false;
        rewrite();
        return true;
    }

  private:
    Block& at(BlockId b) { return r_.blocks[static_cast<size_t>(b)]; }
    RegionType type(ValueId v) const { return r_.types[static_cast<size_t>(v)]; }
    std::vector<Inst>& body(const Inst& i) { return r_.nests[static_cast<size_t>(i.ints[0])].insts; }

    static Terminator jump(BlockId to, std::vector<ValueId> args = {}) {
        Terminator t;
        t.kind = Terminator::Jump;
        t.then = {to, std::move(args)};
        return t;
    }
    static Terminator branch(ValueId cond, Edge then, Edge other) {
        return {Terminator::Branch, cond, std::move(then), std::move(other)};
    }
    BlockId add_block(int loop) {
        Block b;
        b.loop = loop;
        r_.blocks.push_back(std::move(b));
        return static_cast<BlockId>(r_.blocks.size()) - 1;
    }
    ValueId number() { return r_.add({DType::I64, -1}); }
    std::vector<ValueId> like(const std::vector<ValueId>& params) {
        std::vector<ValueId> out;
        for (const ValueId p : params) out.push_back(r_.add(type(p)));
        return out;
    }

    //     before -> block -> window -> header ... -> step: iterations left? header
    //                 ^         ^                      |
    //                 |         +------- next window --+
    //                 +--------- next iterations ------+     and where the loop is left, after the last
    //                 window
    void rewrite() {
        const LoopInfo was = r_.loops[static_cast<size_t>(loop_)];
        r_.loops.push_back({-1, loop_, was.line});
        windows_ = static_cast<int>(r_.loops.size()) - 1;
        r_.loops.push_back({header_, windows_, was.line});
        const int inner = windows_ + 1;
        for (const BlockId b : l_.blocks) at(b).loop = inner;

        const BlockId before = add_block(was.parent), block = add_block(loop_);
        window_block_ = add_block(windows_);
        r_.loops[static_cast<size_t>(loop_)].header = block;
        r_.loops[static_cast<size_t>(windows_)].header = window_block_;
        for (const BlockId b : cfg_.order)
            if (std::find(l_.blocks.begin(), l_.blocks.end(), b) == l_.blocks.end())
                for_edges(at(b), [&](Edge& e) {
                    if (e.to == header_) e.to = before;
                });

        at(before).params = like(at(header_).params);
        plan(before);
        at(before).end = jump(block, at(before).params);

        at(block).params = like(at(header_).params);
        hoist_to(block);
        {
            RegionWriter w(r_, at(block).insts);
            const ValueId start = w.constant(0);
            at(block).end = jump(window_block_, {start});
        }
        window_ = number();
        at(window_block_).params = {window_};
        std::vector<ValueId> first = at(block).params;
        first.push_back(iterations_);
        at(window_block_).end = jump(header_, first);

        const ValueId left = number();
        at(header_).params.push_back(left);
        std::vector<Inst> begin;
        RegionWriter w(r_, begin);
        // What a stage's row has to have added so that it is a place of the window.
        behind_ = w.op(Op::Multiply, {w.op(Op::Subtract, {iterations_, left}), w.constant(l_.step)});
        auto& insts = at(header_).insts;
        insts.insert(insts.begin(), begin.begin(), begin.end());
        for (WavefrontStage& s : l_.stages)
            if (s.block == header_) s.inst += begin.size();
        for (auto s = l_.stages.rbegin(); s != l_.stages.rend(); ++s) show(*s);
        for (const BlockId b : l_.blocks) {
            redirect(b, left, block, &Terminator::then);
            if (at(b).end.kind == Terminator::Branch) redirect(b, left, block, &Terminator::other);
        }
    }

    // Polls would make iterations different in each window: they are asked once for a block of iterations.
    // Memory of the region's own is asked for once, too: it keeps what one window leaves for the next.
    void hoist_to(BlockId block) {
        for (const BlockId b : l_.blocks) {
            auto& insts = at(b).insts;
            for (size_t k = 0; k < insts.size();) {
                const RegionOp op = insts[k].op;
                if (op != RegionOp::Poll && op != RegionOp::Undisturbed && op != RegionOp::Scratch) {
                    ++k;
                    continue;
                }
                at(block).insts.push_back(insts[k]);
                insts.erase(insts.begin() + static_cast<ptrdiff_t>(k));
                for (WavefrontStage& s : l_.stages)
                    if (s.block == b && s.inst > k) --s.inst;
            }
        }
    }

    void redirect(BlockId b, ValueId left, BlockId block, Edge Terminator::* side) {
        const Edge e = at(b).end.*side;
        const bool back = e.to == header_;
        if (!back && encloses(r_, windows_ + 1, at(e.to).loop)) return;
        const BlockId over = add_block(windows_);
        {
            RegionWriter w(r_, at(over).insts);
            const ValueId next = w.op(Op::Add, {window_, width_});
            const ValueId more = w.op(Op::Less, {next, end_}, DType::Bool);
            at(over).end = branch(more, {window_block_, {next}}, back ? Edge{block, e.args} : e);
        }
        if (!back) {
            at(b).end.*side = {over, {}};
            return;
        }
        const BlockId step = add_block(windows_ + 1);
        RegionWriter w(r_, at(step).insts);
        const ValueId fewer = w.op(Op::Subtract, {left, w.constant(1)});
        const ValueId more = w.op(Op::Greater, {fewer, w.constant(0)}, DType::Bool);
        std::vector<ValueId> args = e.args;
        args.push_back(fewer);
        at(step).end = branch(more, {header_, args}, {over, {}});
        at(b).end.*side = {step, {}};
    }

    // Memory that the loop asks for is not there yet.
    ValueId extent(RegionWriter& w, ValueId root, int axis) const {
        const Inst& made = memory_.maker(root);
        const bool own = made.result == root && made.op == RegionOp::Scratch;
        return own ? made.in[static_cast<size_t>(axis)] : w.extent(root, axis);
    }

    // The width of a window, the iterations of a block, and where windows end.
    void plan(BlockId before) {
        RegionWriter w(r_, at(before).insts);
        const ValueId zero = w.constant(0), one = w.constant(1);
        std::set<ValueId> roots;
        for (const WavefrontStage& s : l_.stages)
            for (const Inst& i : body(at(s.block).insts[s.inst]))
                if (i.op == RegionOp::NestLoad || i.op == RegionOp::NestStore)
                    roots.insert(memory_.root(i.in[0]));
        ValueId rows = one, row_bytes = one, bytes = zero;
        for (const ValueId root : roots) {
            ValueId n = w.constant(info(type(root).dtype).size);
            for (int d = 1; d < type(root).rank; ++d) n = w.op(Op::Multiply, {n, extent(w, root, d)});
            if (type(root).rank == 0) continue;
            const ValueId first = extent(w, root, 0);
            bytes = w.op(Op::Add, {bytes, w.op(Op::Multiply, {n, first})});
            if (!l_.written.contains(root)) continue;
            row_bytes = w.op(Op::Add, {row_bytes, n});
            rows = w.op(Op::Maximum, {rows, first});
        }
        ValueId worth = w.op(Op::Greater, {bytes, w.constant(sizes().small)}, DType::Bool);
        for (const auto& [value, least] : l_.assumed)
            worth =
                w.op(Op::LogicalAnd, {worth, w.op(Op::GreaterEqual, {value, w.constant(least)}, DType::Bool)},
                     DType::Bool);
        const ValueId all = w.constant(kAll);
        width_ = w.op(Op::Maximum, {w.quotient(w.constant(sizes().window), row_bytes), one});
        width_ = w.where(worth, width_, all);
        iterations_ = w.quotient(w.constant(kMostBytes), w.op(Op::Maximum, {bytes, one}));
        if (l_.step > 0) {
            ValueId passed = w.op(Op::Minimum, {w.quotient(w.constant(sizes().block), row_bytes), rows});
            passed = w.op(Op::Subtract, {passed, width_});
            const ValueId some = w.quotient(passed, w.constant(l_.step));
            iterations_ = w.where(worth, w.op(Op::Minimum, {iterations_, some}), iterations_);
        }
        iterations_ = w.op(Op::Maximum, {iterations_, one});
        const ValueId behind =
            w.op(Op::Multiply, {w.op(Op::Subtract, {iterations_, one}), w.constant(l_.step)});
        end_ = w.op(Op::Add, {rows, w.op(Op::Add, {behind, w.constant(l_.most)})});
    }

    // The stage does what the window shows of it.
    void show(const WavefrontStage& s) {
        std::vector<Inst> before;
        RegionWriter w(r_, before);
        Inst nest = at(s.block).insts[s.inst];
        ValueId anchor = w.constant(s.lag);
        for (const ValueId v : s.anchor.starts) anchor = w.op(Op::Add, {anchor, v});
        anchor = w.op(Op::Add, {anchor, behind_});
        const ValueId from = w.op(Op::Subtract, {window_, anchor}), to = w.op(Op::Add, {from, width_});
        const ValueId zero = w.constant(0);
        if (!s.moves) {
            const ValueId shown = w.op(
                Op::LogicalAnd,
                {w.op(Op::LessEqual, {from, zero}, DType::Bool), w.op(Op::Greater, {to, zero}, DType::Bool)},
                DType::Bool);
            nest.in[0] = w.where(shown, nest.in[0], zero);
        } else {
            const ValueId n = nest.in[0];
            const auto clipped = [&](ValueId v) {
                return w.op(Op::Maximum, {w.op(Op::Minimum, {v, n}), zero});
            };
            const ValueId low = clipped(from), count = w.op(Op::Subtract, {clipped(to), low});
            nest.in[0] = count;
            cut(nest, low, count, before);
        }
        auto& insts = at(s.block).insts;
        insts[s.inst] = nest;
        insts.insert(insts.begin() + static_cast<ptrdiff_t>(s.inst), before.begin(), before.end());
    }

    // Rows `low` to `low + count` of all that the nest reads and stores.
    void cut(const Inst& nest, ValueId low, ValueId count, std::vector<Inst>& before) {
        std::map<ValueId, ValueId> shown;
        std::vector<Inst> changed;
        for (Inst i : body(nest)) {
            if (i.op == RegionOp::NestLoad || i.op == RegionOp::NestStore) {
                const auto [it, is_new] = shown.try_emplace(i.in[0], -1);
                if (is_new) it->second = rows(i.in[0], low, count, before);
                i.in[0] = it->second;
            }
            changed.push_back(i);
            if (i.op == RegionOp::NestIndex && i.ints[0] == 0) {
                // The position in the whole: what uses it gets the sum.
                changed.back().result = number();
                RegionWriter w(r_, changed);
                const ValueId moved = w.op(Op::Add, {changed.back().result, low});
                r_.types[static_cast<size_t>(i.result)] = type(moved);
                changed.back().result = i.result;
            }
        }
        body(nest) = std::move(changed);
    }
    ValueId rows(ValueId array, ValueId low, ValueId count, std::vector<Inst>& before) {
        ViewSpec spec{{ViewAxis::Slice, 0, 1, 2, 0}};
        for (int8_t d = 1; d < type(array).rank; ++d) spec.push_back({ViewAxis::Slice, d, 0, 0, 0});
        auto it = std::find(r_.views.begin(), r_.views.end(), spec);
        if (it == r_.views.end()) it = r_.views.insert(it, spec);
        Inst i;
        i.op = RegionOp::View;
        i.in = {array, low, count};
        i.ints = {it - r_.views.begin()};
        i.result = r_.add(type(array));
        before.push_back(i);
        return i.result;
    }

    Region& r_;
    const RegionCfg cfg_;
    const int loop_;
    const BlockId header_;
    const RegionMemory memory_;
    WavefrontLoop l_;
    int windows_ = -1;
    BlockId window_block_ = -1;
    ValueId window_ = -1, width_ = -1, iterations_ = -1, end_ = -1, behind_ = -1;
};

}  // namespace

void run_in_wavefronts(Region& r) {
    for (size_t l = r.loops.size(); l-- > 0;) Wavefront(r, static_cast<int>(l)).run();
}

}  // namespace stator::graph
