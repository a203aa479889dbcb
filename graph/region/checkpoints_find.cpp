// What a loop stores to and does besides: whether it can be done once more, and which of its statements may
// store directly (region/checkpoints.cpp).
#include <algorithm>

#include "graph/region/checkpoints.h"

namespace stator::graph {
namespace {

class CheckpointFinder {
  public:
    CheckpointFinder(const Region& r, const RegionCfg& cfg, const RegionMemory& memory,
                     const std::vector<BlockId>& block_of, int loop, CheckpointLoop& out)
        : r_(r),
          cfg_(cfg),
          memory_(memory),
          block_of_(block_of),
          loop_(loop),
          header_(r.loops[static_cast<size_t>(loop)].header),
          l_(out) {}

    bool find() {
        find_carried();
        const bool inner = r_.loops[static_cast<size_t>(loop_)].parent >= 0;
        if ((inner || !l_.carried.empty()) && !counts_iterations()) return false;
        return find_saved() && find_statements();
    }

  private:
    const Block& at(BlockId b) const { return r_.blocks[static_cast<size_t>(b)]; }
    bool inside(BlockId b) const { return encloses(r_, loop_, r_.blocks[static_cast<size_t>(b)].loop); }

    // ---- whether the loop can be redone ----

    // Positions of arrays among the header's parameters.
    void find_carried() {
        const auto& params = at(header_).params;
        for (size_t k = 0; k < params.size(); ++k)
            if (r_.types[static_cast<size_t>(params[k])].is_array()) l_.carried.push_back(k);
    }
    bool is_carried(ValueId v) const {
        const auto& params = r_.blocks[static_cast<size_t>(header_)].params;
        return std::any_of(l_.carried.begin(), l_.carried.end(), [&](size_t k) { return params[k] == v; });
    }

    // Whether the loop is left only at its header, when a parameter that goes down by one is 0 and nothing of
    // the iteration has been done, and reads no array of the iteration before.
    bool counts_iterations() {
        const Terminator& end = at(header_).end;
        const auto& first = at(header_).insts;
        if (std::any_of(first.begin(), first.end(), [](const Inst& i) { return has_effect(i); }))
            return false;
        if (end.kind != Terminator::Branch || !inside(end.then.to) || inside(end.other.to)) return false;
        const Inst& test = memory_.maker(end.cond);
        if (test.result != end.cond || test.op != RegionOp::Pointwise || test.pointwise != Op::Greater ||
            memory_.constant(test.in[1]) != 0)
            return false;
        const auto& params = at(header_).params;
        const auto left = std::find(params.begin(), params.end(), test.in[0]);
        if (left == params.end()) return false;
        l_.counter = static_cast<size_t>(left - params.begin());
        int back = 0;
        bool fits = true;
        for (const BlockId b : cfg_.order) {
            if (!inside(b)) continue;
            fits &= at(b).loop == loop_ && at(b).end.kind != Terminator::Leave;
            for_edges(at(b), [&](const Edge& e) {
                fits &= b == header_ || inside(e.to);
                if (e.to != header_) {
                    fits &=
                        std::none_of(e.args.begin(), e.args.end(), [&](ValueId v) { return is_carried(v); });
                    return;
                }
                ++back;
                // Nor hands one on: what two variables exchange depends on how many iterations there were.
                const auto& own = at(header_).params;
                for (const size_t k : l_.carried) fits &= e.args[k] == own[k] || !is_carried(e.args[k]);
                const Inst& next = memory_.maker(e.args[l_.counter]);
                fits &= next.result == e.args[l_.counter] && next.op == RegionOp::Pointwise &&
                        next.pointwise == Op::Subtract && next.in[0] == *left &&
                        memory_.constant(next.in[1]) == 1;
            });
            for (const Inst& i : at(b).insts) {
                const auto first = i.op == RegionOp::Scratch
                                       ? i.in.begin() + r_.types[static_cast<size_t>(i.result)].rank
                                       : i.in.end();
                fits &= std::none_of(i.in.begin(), first, [&](ValueId v) { return is_carried(v); });
                if (!has_body(i.op)) continue;
                for (const Inst& n : r_.nests[static_cast<size_t>(i.ints[0])].insts)
                    fits &= std::none_of(n.in.begin(), n.in.end(), [&](ValueId v) { return is_carried(v); });
            }
        }
        return fits && back == 1;
    }

    // What it stores to that was there before; false: that is open, or it does something that cannot be
    // done twice.
    bool find_saved() {
        for (const BlockId b : cfg_.order) {
            if (!inside(b)) continue;
            const Block& block = r_.blocks[static_cast<size_t>(b)];
            if (block.end.kind == Terminator::Leave) return false;  // only edges that leave are asked
            for (const Inst& i : block.insts)
                if (!can_redo(i)) return false;
        }
        return !l_.saved.empty() && l_.saved.size() <= static_cast<size_t>(kMostSaved);
    }
    bool can_redo(const Inst& i) {
        switch (i.op) {
            case RegionOp::Call: return r_.calls[static_cast<size_t>(i.ints[0])].kind == RegionCall::Scalar;
            case RegionOp::Reduce:
            case RegionOp::Library:
            case RegionOp::Made:
            case RegionOp::Save:
            case RegionOp::Restore:
            case RegionOp::Undisturbed:
            case RegionOp::Trust:
            case RegionOp::Distrust:
            case RegionOp::Watch:
            case RegionOp::Raised: return false;
            case RegionOp::Store:
            case RegionOp::NestStore:
            case RegionOp::NestScatter:
            case RegionOp::NestAppend: return save(i.in[0]);
            case RegionOp::Nest:
            case RegionOp::Pack: {
                const auto& body = r_.nests[static_cast<size_t>(i.ints[0])].insts;
                return std::all_of(body.begin(), body.end(), [&](const Inst& k) { return can_redo(k); });
            }
            default: return true;
        }
    }
    bool save(ValueId array) {
        const ValueId root = memory_.root(array);
        if (root < 0) return false;
        const Inst& made = memory_.maker(root);
        if (made.result == root) {
            if (inside(block_of_[static_cast<size_t>(root)])) return true;  // new in each iteration
        } else {
            const auto input = std::find_if(r_.inputs.begin(), r_.inputs.end(),
                                            [&](const RegionInput& in) { return in.value == root; });
            if (!input->contiguous) return false;
        }
        if (std::find(l_.saved.begin(), l_.saved.end(), root) == l_.saved.end()) l_.saved.push_back(root);
        return true;
    }

    // ---- which statements gain ----

    static bool looks(const Inst& i) {
        return i.op == RegionOp::Nest && i.exit >= 0 && i.ints[1] && !(i.ints[1] & kIndexFault);
    }

    bool find_statements() {
        bool any = false;
        for (const BlockId b : cfg_.order) {
            if (!inside(b)) continue;
            const auto& insts = r_.blocks[static_cast<size_t>(b)].insts;
            for (size_t k = 0; k < insts.size(); ++k) {
                if (!looks(insts[k])) continue;
                l_.flags |= insts[k].ints[1];
                CheckpointStatement s;
                if (k + 1 < insts.size()) s = statement({b, k}, insts[k], insts[k + 1]);
                if (s.direct && known_before(insts[k].in)) {
                    any = true;
                    l_.points.push_back({insts[k].in, static_cast<int>(s.commits.size())});
                }
                l_.statements[{b, k}] = std::move(s);
            }
        }
        return any;
    }

    bool known_before(const std::vector<ValueId>& extents) const {
        return std::all_of(extents.begin(), extents.end(), [&](ValueId v) {
            const BlockId b = block_of_[static_cast<size_t>(v)];
            return memory_.maker(v).result != v
                       ? std::any_of(r_.inputs.begin(), r_.inputs.end(),
                                     [&](const RegionInput& in) { return in.value == v; })
                       : b != header_ && cfg_.dominates(b, header_);
        });
    }

    using Place = std::pair<BlockId, size_t>;
    CheckpointStatement statement(Place place, const Inst& compute, const Inst& copies) const {
        CheckpointStatement s;
        if (copies.op != RegionOp::Nest || copies.exit >= 0 || copies.in != compute.in) return s;
        const auto& body = r_.nests[static_cast<size_t>(copies.ints[0])].insts;
        for (size_t k = 0; k < body.size(); k += 2) {
            if (k + 1 == body.size() || body[k].op != RegionOp::NestLoad ||
                body[k + 1].op != RegionOp::NestStore || body[k + 1].in[1] != body[k].result)
                return {};
            s.commits.push_back({body[k].in[0], body[k + 1].in[0]});
        }
        s.direct = std::all_of(s.commits.begin(), s.commits.end(),
                               [&](const CheckpointCommit& c) { return may_store(place, compute, c); });
        return s;
    }

    bool may_store(Place place, const Inst& compute, const CheckpointCommit& c) const {
        bool computed = false;
        for (const Inst& k : r_.nests[static_cast<size_t>(compute.ints[0])].insts) {
            switch (k.op) {
                case RegionOp::NestStore: computed |= k.in[0] == c.from; break;
                case RegionOp::NestScatter:
                case RegionOp::NestNext:
                case RegionOp::NestWhen: return false;
                case RegionOp::NestLoad:
                    if (k.in[0] == c.to) break;  // the same element
                    [[fallthrough]];
                case RegionOp::NestTake:
                    // Where that takes an axis that is long enough and may not be, the copy stays.
                    if (const auto apart = memory_.apart(k.in[0], c.to);
                        !apart.yes ||
                        (apart.extent >= 0 && !is_longer(place, apart.extent, apart.longer_than)))
                        return false;
                    break;
                default: break;
            }
        }
        return computed;
    }

    // Whether a guard in front of `place` tells that an extent is larger than that.
    bool is_longer(Place place, ValueId extent, int64_t than) const {
        for (const BlockId b : cfg_.order) {
            if (!cfg_.dominates(b, place.first)) continue;
            const auto& insts = r_.blocks[static_cast<size_t>(b)].insts;
            for (size_t k = 0; k < (b == place.first ? place.second : insts.size()); ++k) {
                if (insts[k].op != RegionOp::Guard || insts[k].ints[0] != 1) continue;
                const Inst& test = memory_.maker(insts[k].in[0]);
                if (test.result != insts[k].in[0] || test.op != RegionOp::Pointwise ||
                    test.pointwise != Op::Greater || test.in[0] != extent)
                    continue;
                if (const auto c = memory_.constant(test.in[1]); c && *c >= than) return true;
            }
        }
        return false;
    }

    const Region& r_;
    const RegionCfg& cfg_;
    const RegionMemory& memory_;
    const std::vector<BlockId>& block_of_;  // by value: where it is made
    const int loop_;
    const BlockId header_;
    CheckpointLoop& l_;
};

}  // namespace

bool find_checkpoints(const Region& r, const RegionCfg& cfg, const RegionMemory& memory,
                      const std::vector<BlockId>& block_of, int loop, CheckpointLoop& out) {
    return CheckpointFinder(r, cfg, memory, block_of, loop, out).find();
}

}  // namespace stator::graph
