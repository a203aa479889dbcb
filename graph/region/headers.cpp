// Cycles with several entries get a header.
//
// Versions of a loop's header (frontend/regions/build/builder.h) that follow each other, as when two arrays
// are swapped, make a cycle of several loops' blocks, and it may be entered at each of them. Such a cycle
// gets a new block, which all entries and what leads back to them go through. Its parameters are truth values
// that say where to go on, and room for what the block there takes; what another one would take gets any
// value of its type.
//
// Dominance stays: a value that is used in the cycle and made outside of it is made before every entry, and
// one that is made in it is made behind each of them, since each can be reached from outside first.
#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "graph/region/cfg.h"
#include "graph/region/region.h"

namespace stator::graph {
namespace {

class Reducer {
  public:
    explicit Reducer(Region& r) : r_(r) {}

    bool run() {
        const RegionCfg cfg = region_cfg(r_);
        return headers_of(cfg.order);
    }

  private:
    using Blocks = std::vector<BlockId>;

    Block& block(BlockId b) { return r_.blocks[static_cast<size_t>(b)]; }

    // Strongly connected components of the blocks and the edges between them (Tarjan's algorithm).
    std::vector<Blocks> components(const Blocks& of) {
        std::vector<int> number(r_.blocks.size(), -2), low(r_.blocks.size());  // -2: not among them
        for (const BlockId b : of) number[static_cast<size_t>(b)] = -1;
        std::vector<Blocks> out;
        Blocks open;
        std::vector<char> is_open(r_.blocks.size(), 0);
        int next = 0;
        const std::function<void(BlockId)> visit = [&](BlockId b) {
            const auto i = static_cast<size_t>(b);
            number[i] = low[i] = next++;
            open.push_back(b);
            is_open[i] = 1;
            for_edges(block(b), [&](const Edge& e) {
                const auto k = static_cast<size_t>(e.to);
                if (number[k] == -1) {
                    visit(e.to);
                    low[i] = std::min(low[i], low[k]);
                } else if (is_open[k]) {
                    low[i] = std::min(low[i], number[k]);
                }
            });
            if (low[i] != number[i]) return;
            out.emplace_back();
            for (bool more = true; more;) {
                const BlockId last = open.back();
                open.pop_back();
                is_open[static_cast<size_t>(last)] = 0;
                out.back().push_back(last);
                more = last != b;
            }
        };
        for (const BlockId b : of)
            if (number[static_cast<size_t>(b)] == -1) visit(b);
        return out;
    }

    // Gives each cycle within these blocks a header, then those that are left without it.
    bool headers_of(const Blocks& blocks) {
        for (Blocks& cycle : components(blocks)) {
            if (cycle.size() < 2) continue;
            std::vector<char> inside(r_.blocks.size(), 0);
            for (const BlockId b : cycle) inside[static_cast<size_t>(b)] = 1;
            const RegionCfg cfg = region_cfg(r_);
            Blocks entries;
            for (const BlockId b : cycle)
                if (const auto& from = cfg.preds[static_cast<size_t>(b)]; std::any_of(
                        from.begin(), from.end(), [&](BlockId p) { return !inside[static_cast<size_t>(p)]; }))
                    entries.push_back(b);
            std::sort(entries.begin(), entries.end());
            if (entries.size() > 1 && !one_entry(entries, cfg)) return false;
            if (entries.size() == 1) std::erase(cycle, entries[0]);
            if (!headers_of(cycle)) return false;
        }
        return true;
    }

    // A block in front of the entries. What leads back to one of them from blocks that only it leads to stays
    // as it is: that is a loop of its own.
    bool one_entry(const Blocks& entries, const RegionCfg& cfg) {
        const auto front = static_cast<BlockId>(r_.blocks.size());
        r_.blocks.emplace_back();
        Blocks params;
        for (size_t i = 0; i + 1 < entries.size(); ++i) params.push_back(r_.add({DType::Bool, -1}));
        // The k-th value of a type that a block takes is the front's k-th of that type.
        std::vector<std::vector<size_t>> places;
        for (const BlockId e : entries) {
            std::vector<char> taken(params.size(), 0);
            std::fill_n(taken.begin(), entries.size() - 1, 1);
            places.emplace_back();
            for (const ValueId p : block(e).params) {
                const RegionType t = type(p);
                size_t k = 0;
                while (k < params.size() && (taken[k] || type(params[k]) != t)) ++k;
                if (k == params.size()) params.push_back(r_.add(t)), taken.push_back(0);
                taken[k] = 1;
                places.back().push_back(k);
            }
        }
        for (BlockId from = 0; from < front; ++from) {
            if (!cfg.reachable(from)) continue;
            bool ok = true;
            for_edges(block(from), [&](Edge& e) {
                const auto it = std::find(entries.begin(), entries.end(), e.to);
                if (it == entries.end() || cfg.dominates(e.to, from)) return;
                ok = ok && redirect(&e, front, params, static_cast<size_t>(it - entries.begin()),
                                    places[static_cast<size_t>(it - entries.begin())], entries.size() - 1);
            });
            if (!ok) return false;
        }
        const auto edge = [&](size_t i) {
            Edge e{entries[i], {}};
            for (const size_t k : places[i]) e.args.push_back(params[k]);
            return e;
        };
        block(front).params = params;
        BlockId at = front;
        for (size_t i = 0; i + 1 < entries.size(); ++i) {
            Terminator t{Terminator::Branch, params[i], edge(i), {}, -1};
            if (i + 2 == entries.size()) {
                t.other = edge(i + 1);
            } else {
                t.other.to = static_cast<BlockId>(r_.blocks.size());
                r_.blocks.emplace_back();
            }
            block(at).end = t;
            at = t.other.to;
        }
        return true;
    }

    bool redirect(Edge* e, BlockId front, const Blocks& params, size_t which,
                  const std::vector<size_t>& places, size_t choices) {
        std::vector<ValueId> args(params.size(), -1);
        for (size_t i = 0; i < choices; ++i) args[i] = constant({DType::Bool, -1}, i == which);
        for (size_t i = 0; i < places.size(); ++i) args[places[i]] = e->args[i];
        for (size_t i = 0; i < args.size(); ++i)
            if (args[i] < 0 && (args[i] = any_value(type(params[i]), e->args)) < 0) return false;
        *e = {front, std::move(args)};
        return true;
    }

    // Some value of the type that is there at the edge; -1: none is known.
    ValueId any_value(RegionType t, const std::vector<ValueId>& args) {
        if (!t.is_array()) return constant(t, 0);
        for (const ValueId v : args)
            if (type(v) == t) return v;
        for (const RegionInput& in : r_.inputs)
            if (type(in.value) == t) return in.value;
        for (const Inst& i : block(0).insts)
            if (i.result >= 0 && type(i.result) == t) return i.result;
        return -1;
    }

    ValueId constant(RegionType t, int64_t bits) {
        const auto [it, fresh] = constants_.try_emplace({t.dtype, bits}, -1);
        if (!fresh) return it->second;
        Inst i;
        i.op = RegionOp::Const;
        i.ints = {bits};
        it->second = i.result = r_.add(t);
        block(0).insts.push_back(std::move(i));
        return it->second;
    }

    RegionType type(ValueId v) const { return r_.types[static_cast<size_t>(v)]; }

    Region& r_;
    std::map<std::pair<DType, int64_t>, ValueId> constants_;  // in the entry block
};

}  // namespace

bool give_headers(Region& r) { return Reducer(r).run(); }

}  // namespace stator::graph
