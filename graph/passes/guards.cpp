// guards: drops guards that cannot fail.
//
// A relation between symbolic integers is kept as an interval of the difference, without its constant: guards
// that passed narrow it, bounds start it. A value guard repeats an earlier one, or checks a constant. Guards
// at entry come first: they may serve later ones, but are only removed for what bounds and other entry guards
// say, since everything relies on them.
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "graph/int_math.h"
#include "graph/passes/rewrite.h"

namespace stator::graph {

namespace {

enum Relation : int64_t { kEq, kNe, kGe, kLt };

struct Range {
    int64_t lo = std::numeric_limits<int64_t>::min(), hi = std::numeric_limits<int64_t>::max();
    std::set<int64_t> excluded;
};

class Facts {
  public:
    explicit Facts(const SymTable& syms) : syms_(syms) {}

    // Whether `a R b` holds already; if not, it does from here on.
    bool implied(int64_t relation, Sym a, Sym b) {
        Sym d = syms_.sub(a, b);
        if (auto c = syms_.as_const(d)) return holds(relation, *c);
        const SymExpr& e = syms_.expr(d);
        int64_t shift = e.kind == SymKind::Linear ? e.value : 0;
        Sym form = syms_.sub(d, syms_.constant(shift));
        // form and -form share one entry: x >= y + 1 also answers y < x.
        Sym negated = syms_.neg(form);
        bool flip = syms_.compare(negated, form) < 0;
        if (magnitude(shift) > uint64_t{1} << 62) return false;
        auto [it, fresh] = known_.try_emplace((flip ? negated : form).id);
        if (fresh) {
            SymTable::Bounds b0 = syms_.bounds(flip ? negated : form);
            it->second = {b0.lo, b0.hi, {}};
        }
        return learn(it->second, relation, flip ? shift : -shift, flip);
    }

  private:
    static bool holds(int64_t relation, int64_t d) {
        return relation == kEq ? d == 0 : relation == kNe ? d != 0 : relation == kGe ? d >= 0 : d < 0;
    }

    // r is of x, where x R limit; flipped, of x with the inequalities turned round.
    static bool learn(Range& r, int64_t relation, int64_t limit, bool flipped) {
        switch (relation) {
            case kEq:
                if (r.lo == limit && r.hi == limit) return true;
                r.lo = r.hi = limit;
                return false;
            case kNe:
                if (limit < r.lo || limit > r.hi || r.excluded.contains(limit)) return true;
                r.excluded.insert(limit);
                return false;
            case kGe: return flipped ? at_most(r, limit) : at_least(r, limit);
            default: return flipped ? at_least(r, limit + 1) : at_most(r, limit - 1);
        }
    }
    static bool at_least(Range& r, int64_t limit) {
        if (r.lo >= limit) return true;
        r.lo = limit;
        return false;
    }
    static bool at_most(Range& r, int64_t limit) {
        if (r.hi <= limit) return true;
        r.hi = limit;
        return false;
    }

    SymTable syms_;  // a copy: the differences are nobody else's business
    std::map<int32_t, Range> known_;
};

}  // namespace

bool drop_redundant_guards(Graph& g) {
    Facts facts(g.syms);
    std::set<std::pair<Id, int64_t>> passed;
    std::vector<bool> dead(g.nodes.size(), false);
    for (bool at_entry : {true, false})
        for (size_t i = 0; i < g.nodes.size(); ++i) {
            const Node& n = g.nodes[i];
            if (n.op == Op::SymGuard && (n.ints[1] < 0) == at_entry)
                dead[i] = facts.implied(n.ints[0], n.syms[0], n.syms[1]);
        }
    for (size_t i = 0; i < g.nodes.size(); ++i) {
        const Node& n = g.nodes[i];
        if (n.op != Op::Guard) continue;
        const Node& x = g.node(n.in[0]);
        bool constant = x.op == Op::Const && ((x.ints[0] & 0xff) != 0) == (n.ints[0] != 0);
        dead[i] = constant || !passed.emplace(n.in[0], n.ints[0]).second;
    }
    bool changed = std::find(dead.begin(), dead.end(), true) != dead.end();
    if (changed) remove_nodes(g, dead);
    return changed;
}

}  // namespace stator::graph
