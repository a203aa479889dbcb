// What a loop of array statements reads and stores, by rows: which of its statements have to stay how far
// behind which others (region/wavefront.cpp).
#include <algorithm>
#include <optional>

#include "graph/region/wavefront.h"

namespace stator::graph {
namespace {

class WavefrontRows {
  public:
    WavefrontRows(const Region& r, const RegionCfg& cfg, const RegionMemory& memory, int loop,
                  WavefrontLoop& out)
        : r_(r),
          cfg_(cfg),
          memory_(memory),
          loop_(loop),
          header_(r.loops[static_cast<size_t>(loop)].header),
          l_(out) {
        block_of_.assign(r.types.size(), -1);
        for (const BlockId b : cfg_.order) {
            if (encloses(r_, loop_, at(b).loop)) l_.blocks.push_back(b);
            for (const ValueId p : at(b).params) block_of_[static_cast<size_t>(p)] = b;
            for (const Inst& i : at(b).insts)
                if (i.result >= 0) block_of_[static_cast<size_t>(i.result)] = b;
        }
    }

    bool find() { return is_leaf() && can_run_again() && find_stages() && find_lags(); }

  private:
    const Block& at(BlockId b) const { return r_.blocks[static_cast<size_t>(b)]; }
    RegionType type(ValueId v) const { return r_.types[static_cast<size_t>(v)]; }
    const std::vector<Inst>& body(const Inst& i) const {
        return r_.nests[static_cast<size_t>(i.ints[0])].insts;
    }

    // ---- whether the loop's iterations can run in another order, and again for each window ----

    bool is_leaf() const {
        return std::none_of(r_.loops.begin(), r_.loops.end(),
                            [&](const LoopInfo& l) { return l.parent == loop_; });
    }

    bool can_run_again() {
        const auto& params = at(header_).params;
        if (std::any_of(params.begin(), params.end(), [&](ValueId p) { return type(p).is_array(); }))
            return false;
        std::vector<ValueId> read;
        for (const BlockId b : l_.blocks) {
            if (at(b).end.kind == Terminator::Leave) return false;
            for (const Inst& i : at(b).insts) {
                if (i.exit >= 0 && r_.exits[static_cast<size_t>(i.exit)].to < 0) return false;
                switch (i.op) {
                    case RegionOp::Nest:
                        if (i.exit >= 0 || i.in.empty() || !look_into(i, read)) return false;
                        break;
                    case RegionOp::Load: read.push_back(i.in[0]); break;
                    case RegionOp::Scratch:
                        if (!std::all_of(i.in.begin(), i.in.end(), [&](ValueId v) { return is_known(v); }))
                            return false;
                        break;
                    case RegionOp::View:
                    case RegionOp::Undisturbed:
                    case RegionOp::Poll:
                    case RegionOp::Guard:
                    case RegionOp::Finite: break;
                    default:
                        if (type_of_result(i) != RegionOpInfo::scalar || has_body(i.op) ||
                            !is_arithmetic(i.op))
                            return false;
                }
            }
        }
        return !l_.written.empty() && std::all_of(read.begin(), read.end(), [&](ValueId a) {
            const ValueId root = memory_.root(a);
            return root >= 0 && !l_.written.contains(root);
        });
    }
    static RegionOpInfo::Result type_of_result(const Inst& i) { return info(i.op).result; }
    static bool is_arithmetic(RegionOp op) {
        switch (op) {
            case RegionOp::Const:
            case RegionOp::Pointwise:
            case RegionOp::Call:
            case RegionOp::CheckedAdd:
            case RegionOp::CheckedSub:
            case RegionOp::CheckedMul:
            case RegionOp::FloorDiv:
            case RegionOp::FloorMod:
            case RegionOp::Fma:
            case RegionOp::Index:
            case RegionOp::Extent: return true;
            default: return false;
        }
    }
    // A nest: what it stores to, and what it reads from anywhere.
    bool look_into(const Inst& nest, std::vector<ValueId>& read) {
        for (const Inst& i : body(nest)) {
            switch (i.op) {
                case RegionOp::NestStore: {
                    const ValueId root = memory_.root(i.in[0]);
                    if (root < 0) return false;
                    l_.written.insert(root);
                    break;
                }
                case RegionOp::NestTake: read.push_back(i.in[0]); break;
                case RegionOp::NestScatter:
                case RegionOp::NestNext:  // which element it is depends on all points before
                case RegionOp::NestAppend: return false;
                case RegionOp::NestWithin: return false;  // reports an index through an exit
                default: break;
            }
        }
        return true;
    }

    // ---- rows ----

    bool find_stages() {
        for (const BlockId b : l_.blocks)
            for (size_t k = 0; k < at(b).insts.size(); ++k) {
                const Inst& i = at(b).insts[k];
                if (i.op != RegionOp::Nest) continue;
                WavefrontStage s{b, k, false, {}, {}};
                if (!look_at_rows(i, s)) return false;
                l_.stages.push_back(std::move(s));
            }
        return !l_.stages.empty();
    }

    bool look_at_rows(const Inst& nest, WavefrontStage& s) {
        std::vector<const Inst*> uses;
        for (const Inst& i : body(nest))
            if (i.op == RegionOp::NestStore) uses.push_back(&i);
        if (uses.empty()) return false;
        for (const Inst& i : body(nest))
            if (i.op == RegionOp::NestLoad) uses.push_back(&i);
        for (const Inst* i : uses) {
            const ValueId root = memory_.root(i->in[0]);
            if (!l_.written.contains(root)) {
                if (root < 0) return false;  // may be any memory
                continue;
            }
            bool moves = false;
            const auto row = row_of(i->in[0], root, moves);
            if (!row) return false;
            if (s.accesses.empty()) {
                s.anchor = *row;
                s.moves = moves;
            }
            if (moves != s.moves || row->bases != s.anchor.bases) return false;
            s.accesses.push_back(
                {i->in[0], root, i->op == RegionOp::NestStore, row->offset - s.anchor.offset});
        }
        return true;
    }

    // Where the array's first row, or its only one, is on the first axis of `root`.
    std::optional<RowPosition> row_of(ValueId array, ValueId root, bool& moves) {
        std::vector<const Inst*> views;  // from the root on
        for (ValueId v = array; v != root;) {
            const Inst& i = memory_.maker(v);
            if (i.op != RegionOp::View) return std::nullopt;
            views.push_back(&i);
            v = i.in[0];
        }
        RowPosition p;
        int axis = 0;
        moves = true;
        for (auto it = views.rbegin(); it != views.rend() && moves; ++it) {
            int to = 0;
            bool found = false;
            for (const ViewAxis& a : r_.views[static_cast<size_t>((*it)->ints[0])]) {
                if (a.kind != ViewAxis::New && a.axis == axis) {
                    if (a.step && memory_.constant((*it)->in[static_cast<size_t>(a.step)]) != 1 &&
                        a.kind == ViewAxis::Slice)
                        return std::nullopt;
                    if (a.start) add((*it)->in[static_cast<size_t>(a.start)], p);
                    moves = a.kind == ViewAxis::Slice;
                    found = true;
                    break;
                }
                to += a.kind != ViewAxis::Drop;
            }
            if (!found) return std::nullopt;
            axis = to;
        }
        if (moves && axis != 0) return std::nullopt;
        std::sort(p.bases.begin(), p.bases.end());
        return p;
    }

    void add(ValueId start, RowPosition& p) {
        p.starts.push_back(start);
        for (ValueId v = start;;) {
            if (const auto c = memory_.constant(v)) {
                p.offset += *c;
                return;
            }
            const Inst& i = memory_.maker(v);
            if (i.result != v) break;
            if (i.op == RegionOp::Index) {
                const auto c = memory_.constant(i.in[0]);
                if (!c) break;
                p.offset += *c;
                if (*c < 0) p.bases.push_back(i.in[1]);
                return;
            }
            // A slice's end is clipped: min(2, extent), max(extent - 1, 0).
            if (i.op == RegionOp::Pointwise && (i.pointwise == Op::Minimum || i.pointwise == Op::Maximum)) {
                const bool second = memory_.constant(i.in[1]).has_value();
                const ValueId limit = second ? i.in[1] : i.in[0], other = second ? i.in[0] : i.in[1];
                const auto c = memory_.constant(limit);
                if (!c) break;
                if (i.pointwise == Op::Minimum) {
                    if (!is_known(other)) break;
                    l_.assumed.push_back({other, *c});
                    v = limit;
                } else {
                    if (!is_known(other)) break;
                    l_.assumed.push_back({other, *c});
                    v = other;
                }
                continue;
            }
            if (i.op == RegionOp::Pointwise && i.pointwise == Op::Add && type(v).dtype == DType::I64) {
                const bool second = memory_.constant(i.in[1]).has_value();
                const auto c = memory_.constant(i.in[second ? 1 : 0]);
                if (!c) break;
                p.offset += *c;
                v = i.in[second ? 0 : 1];
                continue;
            }
            p.bases.push_back(v);
            return;
        }
        p.bases.push_back(start);
    }

    // Whether the value is there before the loop.
    bool is_known(ValueId v) const {
        const BlockId b = block_of_[static_cast<size_t>(v)];
        return b < 0 || (b != header_ && cfg_.dominates(b, header_));
    }

    // ---- lags ----

    // f(row of the first, row of the second) for all accesses that have to stay in order.
    template <class F>
    static void conflicts(const WavefrontStage& p, const WavefrontStage& q, F f) {
        for (const WavefrontAccess& a : p.accesses)
            for (const WavefrontAccess& b : q.accesses)
                if (a.root == b.root && (a.stored || b.stored)) f(a.row, b.row);
    }

    // An element at row x is where stage p is at row x - (its access's row): it has to be there first, or in
    // the same window, in which stages run in order.
    bool find_lags() {
        for (size_t q = 0; q < l_.stages.size(); ++q)
            for (size_t p = 0; p < q; ++p)
                conflicts(l_.stages[p], l_.stages[q], [&](int64_t before, int64_t after) {
                    l_.stages[q].lag = std::max(l_.stages[q].lag, l_.stages[p].lag + after - before);
                });
        for (const WavefrontStage& p : l_.stages)
            for (const WavefrontStage& q : l_.stages)
                conflicts(p, q, [&](int64_t before, int64_t after) {
                    l_.step = std::max(l_.step, p.lag - q.lag + after - before);
                });
        for (const WavefrontStage& s : l_.stages) l_.most = std::max(l_.most, s.lag);
        return l_.most < 64 && l_.step < 64;  // else hardly anything would be gained
    }

    const Region& r_;
    const RegionCfg& cfg_;
    const RegionMemory& memory_;
    const int loop_;
    const BlockId header_;
    std::vector<BlockId> block_of_;  // by value: where it is made; -1: an input
    WavefrontLoop& l_;
};

}  // namespace

bool find_wavefront(const Region& r, const RegionCfg& cfg, const RegionMemory& memory, int loop,
                    WavefrontLoop& out) {
    return WavefrontRows(r, cfg, memory, loop, out).find();
}

}  // namespace stator::graph
