#include "kernels/regions/dots.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "graph/region/memory.h"

namespace stator::kernels {

using graph::BlockId;
using graph::DType;
using graph::Inst;
using graph::Op;
using graph::Region;
using graph::RegionOp;
using graph::ValueId;

namespace {

using InstAt = std::pair<BlockId, size_t>;

template <class List>
auto& at(List& list, int i) {
    return list[static_cast<size_t>(i)];
}

class Finder {
  public:
    Finder(const Region& r, const graph::RegionCfg& cfg)
        : r_(r), cfg_(cfg), memory_(r), place_(r.types.size(), {-1, 0}) {
        for (const BlockId b : cfg.order) {
            for (const ValueId p : at(r.blocks, b).params) at(place_, p) = {b, 0};
            for (size_t k = 0; k < at(r.blocks, b).insts.size(); ++k)
                if (const ValueId v = at(r.blocks, b).insts[k].result; v >= 0) at(place_, v) = {b, k + 1};
        }
    }

    std::optional<DotAhead> find(InstAt where) {
        where_ = where;
        const Inst& dot = at(r_.blocks, where.first).insts[where.second];
        if (dot.ints.size() < 2) return std::nullopt;  // no known order
        d_ = {};
        d_.loop = at(r_.blocks, where.first).loop;
        if (d_.loop < 0 || !back_edge()) return std::nullopt;
        still_.assign(r_.types.size(), -1);
        for (const int moving : {1, 0}) {
            d_.moving = moving;
            const ValueId stays = dot.in[static_cast<size_t>(1 - moving)];
            if (!still(stays) || !moves(dot.in[static_cast<size_t>(moving)])) continue;
            d_.from_moving.clear(), d_.from_staying.clear();
            if (stores(dot.in[static_cast<size_t>(moving)], stays)) return d_;
        }
        return std::nullopt;
    }

  private:
    bool inside(ValueId v) const {
        const BlockId b = at(place_, v).first;
        return b >= 0 && graph::encloses(r_, d_.loop, at(r_.blocks, b).loop);
    }
    const Inst* maker(ValueId v) const {
        const Inst& i = memory_.maker(v);
        return i.result == v ? &i : nullptr;
    }

    // ---- the loop ----

    bool back_edge() {
        header_ = at(r_.loops, d_.loop).header;
        back_.clear();
        for (const BlockId b : cfg_.order) {
            if (!graph::encloses(r_, d_.loop, at(r_.blocks, b).loop)) continue;
            bool fits = true;
            graph::for_edges(at(r_.blocks, b), [&](const graph::Edge& e) {
                if (e.to == header_) back_.push_back(&e);
            });
            // What leaves to somewhere in the region may do so around the header.
            for (const Inst& i : at(r_.blocks, b).insts)
                if (i.exit >= 0)
                    if (const BlockId to = at(r_.exits, i.exit).to; to >= 0)
                        fits &= !graph::encloses(r_, d_.loop, at(r_.blocks, to).loop);
            if (!fits) return false;
        }
        for (const graph::RegionExit& x : r_.exits)
            if (x.to == header_) return false;
        return !back_.empty();
    }

    bool is_sum(const Inst& i, Op op) const {
        return i.op == RegionOp::Pointwise && i.pointwise == op && i.operand == DType::I64;
    }

    // Whether parameter k of the header is fits(value) for what each way back gives it.
    template <class F>
    bool goes_on(size_t k, F fits) const {
        return std::all_of(back_.begin(), back_.end(),
                           [&](const graph::Edge* e) { return fits(e->args[k]); });
    }
    // Its number; -1: it is none.
    ptrdiff_t parameter(ValueId v) const {
        const auto& params = at(r_.blocks, header_).params;
        const auto p = std::find(params.begin(), params.end(), v);
        return p == params.end() ? -1 : p - params.begin();
    }

    // A parameter of the header that goes on by a step that does not change.
    bool counts(ValueId v) {
        const ptrdiff_t p = parameter(v);
        if (p < 0 || (d_.counter >= 0 && d_.counter != v)) return false;
        ValueId step = -1;
        const auto same = [&](ValueId s) {
            if (step < 0) step = s;
            const auto one = memory_.constant(step), other = memory_.constant(s);
            return s == step || (one && other && *one == *other);
        };
        const bool all = goes_on(static_cast<size_t>(p), [&](ValueId n) {
            const Inst* next = maker(n);
            return next && (next->op == RegionOp::CheckedAdd || is_sum(*next, Op::Add)) && next->in[0] == v &&
                   same(next->in[1]);
        });
        if (!all || !here(step)) return false;
        d_.counter = v;
        d_.step = step;
        return true;
    }

    // The parameter that counts down while it is greater than 0.
    void find_left() {
        const graph::Block& header = at(r_.blocks, header_);
        const Inst* test = header.end.kind == graph::Terminator::Branch ? maker(header.end.cond) : nullptr;
        if (!test || !is_sum(*test, Op::Greater) || memory_.constant(test->in[1]) != 0 ||
            !graph::encloses(r_, d_.loop, at(r_.blocks, header.end.then.to).loop))
            return;
        const ValueId left = test->in[0];
        const ptrdiff_t p = parameter(left);
        if (p >= 0 && goes_on(static_cast<size_t>(p), [&](ValueId n) {
                const Inst* next = maker(n);
                return next && is_sum(*next, Op::Subtract) && next->in[0] == left &&
                       memory_.constant(next->in[1]) == 1;
            }))
            d_.left = left;
    }

    // Whether the value is the same in all iterations.
    bool still(ValueId v) {
        if (!inside(v)) return true;
        signed char& known = at(still_, v);
        if (known >= 0) return known != 0;
        known = 0;
        const Inst* i = maker(v);
        if (!i) {
            const ptrdiff_t p = parameter(v);
            known = p >= 0 && goes_on(static_cast<size_t>(p), [&](ValueId n) { return n == v; });
            return known != 0;
        }
        switch (i->op) {
            case RegionOp::Const:
            case RegionOp::Pointwise:
            case RegionOp::CheckedAdd:
            case RegionOp::CheckedSub:
            case RegionOp::CheckedMul:
            case RegionOp::FloorDiv:
            case RegionOp::FloorMod:
            case RegionOp::Index:
            case RegionOp::Extent:
            case RegionOp::View:
            case RegionOp::Part:
            case RegionOp::Flatten:
            case RegionOp::Reshape: break;
            default: return false;
        }
        for (const ValueId o : i->in)
            if (!still(o)) return false;
        at(still_, v) = 1;
        return true;
    }

    // Whether it does not change and is known where the dot stands.
    bool here(ValueId v) {
        if (!still(v)) return false;
        const auto [block, position] = at(place_, v);
        if (block < 0) return true;  // an input
        return block == where_.first ? position <= where_.second : cfg_.dominates(block, where_.first);
    }

    std::optional<LoopIndex> index(ValueId v) {
        if (const auto c = memory_.constant(v))
            return std::abs(*c) < kFar ? std::optional(LoopIndex{0, *c, {}, -1}) : std::nullopt;
        if (counts(v)) return LoopIndex{1, 0, {}, -1};
        const Inst* i = maker(v);
        if (i && i->op == RegionOp::Index) {
            auto x = index(i->in[0]);
            if (!x || x->wraps >= 0 || !here(i->in[1])) return std::nullopt;
            x->wraps = i->in[1];
            return x;
        }
        const bool plus = i && (i->op == RegionOp::CheckedAdd || is_sum(*i, Op::Add)),
                   minus = i && (i->op == RegionOp::CheckedSub || is_sum(*i, Op::Subtract));
        if (plus || minus)
            if (auto x = index(i->in[0]), y = index(i->in[1]); x && y && add(*x, *y, minus ? -1 : 1))
                return x;
        return here(v) ? std::optional(LoopIndex{0, 0, {{v, 1}}, -1}) : std::nullopt;
    }

    static bool add(LoopIndex& x, const LoopIndex& y, int sign) {
        if (x.wraps >= 0 || y.wraps >= 0) return false;
        x.sign += sign * y.sign;
        x.constant += sign * y.constant;
        for (const auto& [v, factor] : y.terms)
            if ((x.terms[v] += sign * factor) == 0) x.terms.erase(v);
        return std::abs(x.sign) <= 1 && std::abs(x.constant) < kFar;
    }

    // ---- what moves ----

    // A vector of an array that stays, at a place of one axis that moves with the counter.
    bool moves(ValueId v) {
        const Inst* i = maker(v);
        if (!i || i->op != RegionOp::View || !inside(v) || !still(i->in[0])) return false;
        d_.whole = i->in[0];
        d_.at = d_.counter = d_.step = d_.left = -1;
        for (const graph::ViewAxis& x : at(r_.views, static_cast<int>(i->ints[0]))) {
            for (const int operand : {x.count, x.step})
                if (operand && !still(i->in[static_cast<size_t>(operand)])) return false;
            if (!x.start) continue;
            const ValueId start = i->in[static_cast<size_t>(x.start)];
            if (still(start)) continue;
            if (x.kind != graph::ViewAxis::Drop || d_.at >= 0) return false;
            const auto place = index(start);
            if (!place || place->sign == 0) return false;
            d_.at = start;
            d_.axis = x.axis;
            d_.index = *place;
        }
        if (d_.at < 0) return false;
        find_left();
        return true;
    }

    // ---- what is stored ----

    bool stores(ValueId moving, ValueId stays) {
        for (const BlockId b : cfg_.order) {
            if (!graph::encloses(r_, d_.loop, at(r_.blocks, b).loop)) continue;
            const auto& insts = at(r_.blocks, b).insts;
            for (size_t k = 0; k < insts.size(); ++k) {
                const Inst& i = insts[k];
                switch (i.op) {
                    case RegionOp::Store:
                        if (!store({b, k}, i, moving, stays)) return false;
                        break;
                    case RegionOp::Nest:
                    case RegionOp::Pack:
                        for (const Inst& n : at(r_.nests, static_cast<int>(i.ints[0])).insts)
                            if ((n.op == RegionOp::NestStore || n.op == RegionOp::NestScatter ||
                                 n.op == RegionOp::NestAppend) &&
                                !whole({b, k}, n.in[0], moving, stays))
                                return false;
                        break;
                    case RegionOp::Library:
                        if (!whole({b, k}, i.in[0], moving, stays)) return false;
                        break;
                    case RegionOp::Restore:
                        for (const ValueId a : i.in)
                            if (!whole({b, k}, a, moving, stays)) return false;
                        break;
                    default: break;
                }
            }
        }
        return true;
    }

    bool meet(ValueId a, ValueId b) const {
        const ValueId x = memory_.root(a), y = memory_.root(b);
        return x < 0 || y < 0 || x == y;
    }

    bool store(InstAt where, const Inst& i, ValueId moving, ValueId stays) {
        const bool hits_moving = meet(i.in[0], moving), hits_staying = meet(i.in[0], stays);
        const size_t rank = i.in.size() - 2;
        bool own = false;
        if (hits_moving && i.in[0] == d_.whole && behind(where)) {
            const auto place = index(i.in[static_cast<size_t>(d_.axis) + 1]);
            own = place && same_place(*place);
        }
        if (!hits_staying && (!hits_moving || own)) return true;
        if (!here(i.in[0])) return false;
        DotAhead::Apart apart{i.in[0], {}};
        for (size_t d = 0; d < rank; ++d) {
            auto place = index(i.in[d + 1]);
            if (!place) return false;
            apart.indices.push_back(std::move(*place));
        }
        if (hits_staying) d_.from_staying.push_back(apart);
        if (hits_moving && !own) d_.from_moving.push_back(std::move(apart));
        return d_.from_moving.size() + d_.from_staying.size() <= kMostCompared;
    }

    // Something is stored to many elements of the array.
    bool whole(InstAt where, ValueId array, ValueId moving, ValueId stays) {
        if (meet(array, stays)) return false;
        if (!meet(array, moving)) return true;
        const Inst* i = maker(array);
        if (!i || i->op != RegionOp::View || i->in[0] != d_.whole || !behind(where)) return false;
        for (const graph::ViewAxis& x : at(r_.views, static_cast<int>(i->ints[0])))
            if (x.kind == graph::ViewAxis::Drop && x.axis == d_.axis && x.start) {
                const auto place = index(i->in[static_cast<size_t>(x.start)]);
                return place && same_place(*place);
            }
        return false;
    }

    // Where an index has not been looked at, it is in range as it is.
    bool same_place(const LoopIndex& x) const { return x == d_.index; }

    // Whether the dot does not run in the same iteration after it.
    bool behind(InstAt where) const {
        if (where.first == where_.first) return where.second > where_.second;
        std::vector<char> seen(r_.blocks.size(), 0);
        std::vector<BlockId> todo{where.first};
        while (!todo.empty()) {
            const BlockId b = todo.back();
            todo.pop_back();
            if (b == where_.first) return false;
            graph::for_edges(at(r_.blocks, b), [&](const graph::Edge& e) {
                if (e.to == header_ || at(seen, e.to) ||
                    !graph::encloses(r_, d_.loop, at(r_.blocks, e.to).loop))
                    return;
                at(seen, e.to) = 1;
                todo.push_back(e.to);
            });
        }
        return true;
    }

    static constexpr int64_t kFar = int64_t{1} << 40;
    static constexpr size_t kMostCompared = 4;

    const Region& r_;
    const graph::RegionCfg& cfg_;
    const graph::RegionMemory memory_;
    std::vector<InstAt> place_;  // by value: its block, and behind how many instructions it is known
    std::vector<signed char> still_;
    DotAhead d_;
    InstAt where_;
    BlockId header_ = -1;
    std::vector<const graph::Edge*> back_;
};

}  // namespace

std::map<std::pair<BlockId, size_t>, DotAhead> find_dots_ahead(const Region& r, const graph::RegionCfg& cfg) {
    std::map<InstAt, DotAhead> found;
    std::optional<Finder> finder;
    for (const BlockId b : cfg.order)
        for (size_t k = 0; k < at(r.blocks, b).insts.size(); ++k) {
            if (at(r.blocks, b).insts[k].op != RegionOp::Dot) continue;
            if (!finder) finder.emplace(r, cfg);
            if (auto d = finder->find({b, k})) found.emplace(InstAt{b, k}, std::move(*d));
        }
    return found;
}

}  // namespace stator::kernels
