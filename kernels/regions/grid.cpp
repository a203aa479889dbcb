#include "kernels/regions/grid.h"

#include <algorithm>

#include "graph/region/liveness.h"

namespace stator::kernels {

using graph::BlockId;
using graph::Inst;
using graph::Op;
using graph::Region;
using graph::RegionOp;
using graph::ValueId;

namespace {

template <class List>
auto& at(List& list, int i) {
    return list[static_cast<size_t>(i)];
}

// counter of a level (-1: none) + constant + values that do not change
struct Place {
    int level = -1;
    int64_t constant = 0;
    std::map<ValueId, int64_t> terms;
    friend bool operator==(const Place&, const Place&) = default;
};
struct Element {
    ValueId array = -1;
    std::vector<Place> axes;
    friend bool operator==(const Element&, const Element&) = default;
};

class Finder {
  public:
    Finder(const Region& r, const graph::RegionCfg& cfg, const std::vector<std::set<int>>& roots,
           const std::vector<uint32_t>& standing)
        : r_(r), cfg_(cfg), live_(r, cfg), roots_(roots), standing_(standing), made_(r.types.size()) {
        for (const BlockId b : cfg.order)
            for (size_t k = 0; k < at(r.blocks, b).insts.size(); ++k)
                if (const ValueId v = at(r.blocks, b).insts[k].result; v >= 0) at(made_, v) = InstAt{b, k};
    }

    std::optional<GridLoop> find(int loop) {
        g_ = {};
        g_.loop = loop;
        inside_.assign(r_.types.size(), 0);
        insts_.clear(), headers_.clear(), begins_.clear(), latch_.clear();
        if (!level(loop) || !classify() || !accesses() || !finals()) return std::nullopt;
        return g_;
    }

  private:
    const Inst& inst(InstAt i) const { return at(r_.blocks, i.first).insts[i.second]; }
    const Inst* maker(ValueId v) const { return at(made_, v) ? &inst(*at(made_, v)) : nullptr; }
    bool is_const(ValueId v, int64_t n) const {
        const Inst* i = maker(v);
        return i && i->op == RegionOp::Const && i->ints[0] == n;
    }
    bool is_i64(const Inst* i, Op op) const {
        return i && i->op == RegionOp::Pointwise && i->pointwise == op && i->operand == graph::DType::I64;
    }

    // ---- shape ----

    // Blocks from `b` on that follow each other; gives the edge to a header of a loop.
    const graph::Edge* chain(BlockId b, std::vector<BlockId>* blocks) const {
        for (;;) {
            const graph::Block& block = at(r_.blocks, b);
            if (!block.params.empty() || at(cfg_.preds, b).size() != 1 ||
                block.end.kind != graph::Terminator::Jump)
                return nullptr;
            blocks->push_back(b);
            const BlockId to = block.end.then.to;
            const int loop = at(r_.blocks, to).loop;
            if (loop >= 0 && at(r_.loops, loop).header == to) return &block.end.then;
            b = to;
        }
    }

    // The loop and those inside of it, or false.
    bool level(int loop) {
        const BlockId header = at(r_.loops, loop).header;
        const graph::Block& block = at(r_.blocks, header);
        if (block.end.kind != graph::Terminator::Branch || at(cfg_.preds, header).size() != 2) return false;
        if (!graph::encloses(r_, loop, at(r_.blocks, block.end.then.to).loop) ||
            graph::encloses(r_, loop, at(r_.blocks, block.end.other.to).loop))
            return false;
        if (!g_.exit) g_.exit = &block.end.other;
        const int own = static_cast<int>(g_.levels.size());
        g_.levels.push_back({loop});
        headers_.resize(static_cast<size_t>(own) + 1);
        headers_[static_cast<size_t>(own)] = header;
        for (const ValueId p : block.params) at(inside_, p) = 1;
        add(header, /*body=*/false);
        std::vector<BlockId> blocks;
        const graph::Edge* next = chain(block.end.then.to, &blocks);
        if (!next) return false;
        const bool innermost = next->to == header;
        for (const BlockId b : blocks) add(b, innermost);
        if (!innermost) {
            const int inner = at(r_.blocks, next->to).loop;
            if (at(r_.loops, inner).parent != loop || own >= 7) return false;
            begins_.resize(static_cast<size_t>(own) + 2);
            begins_[static_cast<size_t>(own) + 1] = next;
            if (!level(inner)) return false;
            std::vector<BlockId> behind;
            next = chain(at(r_.blocks, at(r_.loops, inner).header).end.other.to, &behind);
            if (!next || next->to != header) return false;
            for (const BlockId b : behind) {
                for (const Inst& i : at(r_.blocks, b).insts)
                    if (i.op != RegionOp::Const && i.op != RegionOp::Poll) return false;
                add(b, false);
            }
        }
        latch_[own] = next;
        return counts(own, header);
    }

    void add(BlockId b, bool body) {
        for (size_t k = 0; k < at(r_.blocks, b).insts.size(); ++k) {
            const Inst& i = at(r_.blocks, b).insts[k];
            if (i.result >= 0) at(inside_, i.result) = 1;
            insts_.push_back({{b, k}, body});
        }
    }

    // The header's counters: left > 0, left - 1, counter + step.
    bool counts(int own, BlockId header) {
        GridLoop::Level& l = at(g_.levels, own);
        const graph::Block& block = at(r_.blocks, header);
        const Inst* test = maker(block.end.cond);
        if (!is_i64(test, Op::Greater) || !is_const(test->in[1], 0)) return false;
        for (size_t k = 0; k < block.params.size(); ++k) {
            const ValueId p = block.params[k], a = at(latch_, own)->args[k];
            const Inst* i = maker(a);
            const ValueId first = own > 0 ? at(begins_, own)->args[k] : p;
            if (p == test->in[0] && is_i64(i, Op::Subtract) && i->in[0] == p && is_const(i->in[1], 1))
                l.left = p, l.fewer = a, l.count = first;
            else if (is_i64(i, Op::Add) && i->in[0] == p && l.counter < 0)
                l.counter = p, l.next = a, l.step = i->in[1], l.start = first;
        }
        return l.left >= 0 && l.counter >= 0;
    }

    // ---- what is done once ----

    bool classify() {
        std::vector<char> varies(r_.types.size(), 0), unknown(r_.types.size(), 0);
        for (const BlockId h : headers_)
            for (const ValueId p : at(r_.blocks, h).params) at(unknown, p) = 1;
        for (const GridLoop::Level& l : g_.levels) {
            at(unknown, l.counter) = 0, at(varies, l.counter) = 1;
            at(unknown, l.fewer) = 1;
        }
        for (const auto& [where, body] : insts_) {
            const Inst& i = inst(where);
            if (!is_scalar_work(i.op)) return false;
            if (i.op == RegionOp::Poll) continue;
            const auto any = [&](const std::vector<char>& of) {
                return std::any_of(i.in.begin(), i.in.end(), [&](ValueId v) { return at(of, v) != 0; });
            };
            if (any(unknown)) {
                // Whether a loop goes on, and how long: the count says it.
                if (i.result < 0 || i.exit >= 0) return false;
                at(unknown, i.result) = 1;
                continue;
            }
            const bool moves = body || any(varies) || i.op == RegionOp::Store;
            if (moves && i.result >= 0) at(varies, i.result) = 1;
            (moves ? g_.point : g_.uniform).push_back(where);
        }
        for (const GridLoop::Level& l : g_.levels) {
            if (&l != &g_.levels[0] &&
                (at(varies, l.start) || at(varies, l.count) || at(unknown, l.start) || at(unknown, l.count)))
                return false;
            if (at(varies, l.step) || at(unknown, l.step)) return false;
        }
        varies_ = std::move(varies), unknown_ = std::move(unknown);
        return true;
    }

    static bool is_scalar_work(RegionOp op) {
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
            case RegionOp::Finite:
            case RegionOp::Guard:
            case RegionOp::Index:
            case RegionOp::Poll:
            case RegionOp::Extent:
            case RegionOp::Load:
            case RegionOp::Store: return true;
            default: return false;
        }
    }

    // ---- memory ----

    std::optional<Place> place(ValueId v) const {
        for (size_t k = 0; k < g_.levels.size(); ++k)
            if (g_.levels[k].counter == v) return Place{static_cast<int>(k), 0, {}};
        const Inst* i = maker(v);
        if (i && i->op == RegionOp::Const) return Place{-1, i->ints[0], {}};
        if (!at(varies_, v) && !at(unknown_, v)) return Place{-1, 0, {{v, 1}}};
        const bool minus = i && (i->op == RegionOp::CheckedSub || is_i64(i, Op::Subtract));
        if (!minus && !(i && (i->op == RegionOp::CheckedAdd || is_i64(i, Op::Add)))) return std::nullopt;
        auto a = place(i->in[0]), b = place(i->in[1]);
        if (!a || !b || (b->level >= 0 && (minus || a->level >= 0))) return std::nullopt;
        if (b->level >= 0) a->level = b->level;
        const int64_t sign = minus ? -1 : 1;
        if (__builtin_add_overflow(a->constant, sign * (b->constant % (int64_t{1} << 40)), &a->constant) ||
            b->constant != b->constant % (int64_t{1} << 40))
            return std::nullopt;
        for (const auto& [value, factor] : b->terms)
            if ((a->terms[value] += sign * factor) == 0) a->terms.erase(value);
        return a;
    }

    std::optional<Element> element(const Inst& access, size_t indices) {
        Element e{access.in[0], {}};
        for (size_t d = 0; d < indices; ++d) {
            ValueId v = access.in[d + 1];
            if (const Inst* i = maker(v); i && i->op == RegionOp::Index && at(inside_, v)) {
                g_.not_from_end.insert(*at(made_, v));
                v = i->in[0];
            }
            const auto p = place(v);
            if (!p) return std::nullopt;
            e.axes.push_back(*p);
        }
        return e;
    }

    bool accesses() {
        std::vector<Element> elements;
        std::vector<uint32_t> counters;
        std::set<int> stored;
        for (const InstAt& where : g_.point) {
            const Inst& i = inst(where);
            if (i.op != RegionOp::Store) continue;
            const auto e = element(i, i.in.size() - 2);
            if (!e || at(standing_, i.in[0])) return false;
            const auto known = std::find(elements.begin(), elements.end(), *e);
            g_.access[where] = static_cast<int>(known - elements.begin());
            if (known != elements.end()) continue;
            for (const int root : at(roots_, e->array))
                if (!stored.insert(root).second) return false;  // two places in one array
            uint32_t mask = 0;
            for (const Place& p : e->axes) {
                if (p.level < 0) continue;
                if (mask >> p.level & 1) return false;  // a diagonal
                mask |= 1u << p.level;
            }
            elements.push_back(*e);
            counters.push_back(mask);
        }
        const uint32_t all = (1u << g_.levels.size()) - 1;
        for (const uint32_t c : counters) g_.serial |= all & ~c;
        // A long loop around independent ones is to look for signals: it stays, and they are shared.
        if (elements.empty() || (g_.serial & 1)) return false;
        for (size_t k = 0; k < elements.size(); ++k) {
            if (counters[k] != all && (all & ~counters[k]) != g_.serial) return false;
            g_.privates.push_back({elements[k].array, counters[k] != all});
        }
        for (const auto* list : {&g_.uniform, &g_.point})
            for (const InstAt& where : *list) {
                const Inst& i = inst(where);
                if (i.op != RegionOp::Load) continue;
                const auto& own = at(roots_, i.in[0]);
                if (std::none_of(own.begin(), own.end(), [&](int root) { return stored.contains(root); }))
                    continue;
                const auto e = element(i, i.in.size() - 1);
                const auto known = e ? std::find(elements.begin(), elements.end(), *e) : elements.end();
                if (list == &g_.uniform || known == elements.end()) return false;
                g_.access[where] = static_cast<int>(known - elements.begin());
            }
        return true;
    }

    // ---- what is left ----

    bool finals() {
        const auto& params = at(r_.blocks, headers_[0]).params;
        for (size_t k = 0; k < params.size(); ++k) {
            GridLoop::Final f;
            const ValueId next = at(latch_, 0)->args[k];
            if (next != params[k] && !final_of(next, 0, &f)) return false;
            g_.finals.push_back(f);
        }
        // Of the rest only what is done once is known behind the loop.
        const auto known = [&](ValueId v) {
            return std::find(params.begin(), params.end(), v) != params.end() || !at(inside_, v) ||
                   (!at(varies_, v) && !at(unknown_, v));
        };
        const std::vector<char>& live = live_.at_begin(g_.exit->to);
        for (size_t v = 0; v < live.size(); ++v)
            if (live[v] && !known(static_cast<ValueId>(v))) return false;
        return std::all_of(g_.exit->args.begin(), g_.exit->args.end(), known);
    }

    // Of a value that goes back to the header of a level, in the last iteration of all.
    bool final_of(ValueId v, int level, GridLoop::Final* out) const {
        using Final = GridLoop::Final;
        for (int k = 0; k < static_cast<int>(g_.levels.size()); ++k) {
            const GridLoop::Level& l = at(g_.levels, k);
            if (v == l.next) return *out = {Final::Behind, -1, k}, true;
            if (v == l.fewer) return *out = {Final::Zero}, true;
            if (v == l.counter && k <= level) return *out = {Final::Last, -1, k}, true;
            const auto& params = at(r_.blocks, at(headers_, k)).params;
            const auto own = std::find(params.begin(), params.end(), v);
            if (own == params.end()) continue;
            // Of an inner loop, behind it: what went back last.
            return k > level &&
                   final_of(latch_.at(k)->args[static_cast<size_t>(own - params.begin())], k, out);
        }
        if (at(unknown_, v)) return false;
        *out = {at(varies_, v) ? Final::Computed : Final::Value, v};
        return true;
    }

    const Region& r_;
    const graph::RegionCfg& cfg_;
    const graph::RegionLiveness live_;
    const std::vector<std::set<int>>& roots_;
    const std::vector<uint32_t>& standing_;
    std::vector<std::optional<InstAt>> made_;  // by value
    GridLoop g_;
    std::vector<char> inside_, varies_, unknown_;  // by value
    std::vector<std::pair<InstAt, bool>> insts_;   // in order; of the innermost body or not
    std::vector<BlockId> headers_;                 // by level
    std::vector<const graph::Edge*> begins_;
    std::map<int, const graph::Edge*> latch_;
};

}  // namespace

std::map<int, GridLoop> find_grid_loops(const Region& r, const graph::RegionCfg& cfg,
                                        const std::vector<std::set<int>>& roots,
                                        const std::vector<uint32_t>& standing) {
    std::map<int, GridLoop> found;
    Finder finder(r, cfg, roots, standing);
    std::vector<char> inside(r.loops.size(), 0);
    for (size_t l = 0; l < r.loops.size(); ++l) {  // outer ones first
        const int parent = r.loops[l].parent;
        if (parent >= 0 && (at(inside, parent) || found.contains(parent))) {
            inside[l] = 1;
            continue;
        }
        // Barriers cost more than few elements: deep inside other loops one counter is not worth them.
        const bool outside = parent < 0 || at(r.loops, parent).parent < 0;
        auto g = cfg.reachable(r.loops[l].header) ? finder.find(static_cast<int>(l)) : std::nullopt;
        if (!g) continue;
        const auto dealt = static_cast<int>(g->levels.size()) - __builtin_popcount(g->serial);
        if (outside || dealt > 1) found.emplace(static_cast<int>(l), std::move(*g));
    }
    return found;
}

}  // namespace stator::kernels
