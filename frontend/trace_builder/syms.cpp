// TraceBuilder: symbolic integers. What the hints show is either proven or becomes a guard; a required
// equality also makes one canonical name for both sides, so that shapes that were equal once compare equal
// from then on.

#include "frontend/trace_builder/trace_builder.h"

#include <algorithm>
#include <limits>

namespace stator::frontend {

using graph::DType;
using graph::Id;
using graph::Node;
using graph::Op;
using graph::Sym;
using graph::SymKind;
using guards::Relation;

static bool mentions(const graph::SymTable& t, Sym e, Sym symbol) {
    if (e == symbol) return true;
    const auto& x = t.expr(e);
    switch (x.kind) {
        case SymKind::Const:
        case SymKind::Symbol: return false;
        case SymKind::Linear:
            for (const auto& term : x.terms)
                if (mentions(t, term.atom, symbol)) return true;
            return false;
        default: return mentions(t, x.a, symbol) || mentions(t, x.b, symbol);
    }
}

static Sym rewrite(graph::SymTable& t, Sym e, Sym symbol, Sym by) {
    if (e == symbol) return by;
    if (!mentions(t, e, symbol)) return e;
    graph::SymExpr x = t.expr(e);  // a copy: interning may move the table
    switch (x.kind) {
        case SymKind::Linear: {
            Sym sum = t.constant(x.value);
            for (const auto& term : x.terms)
                sum = t.add(sum, t.mul(t.constant(term.coef), rewrite(t, term.atom, symbol, by)));
            return sum;
        }
        case SymKind::Mul: return t.mul(rewrite(t, x.a, symbol, by), rewrite(t, x.b, symbol, by));
        case SymKind::FloorDiv: return t.floordiv(rewrite(t, x.a, symbol, by), rewrite(t, x.b, symbol, by));
        case SymKind::Mod: return t.mod(rewrite(t, x.a, symbol, by), rewrite(t, x.b, symbol, by));
        case SymKind::Min: return t.min(rewrite(t, x.a, symbol, by), rewrite(t, x.b, symbol, by));
        case SymKind::Max: return t.max(rewrite(t, x.a, symbol, by), rewrite(t, x.b, symbol, by));
        case SymKind::Pow: return t.pow(rewrite(t, x.a, symbol, by), rewrite(t, x.b, symbol, by));
        default: return e;
    }
}

Sym TraceBuilder::canon(Sym s) {
    if (substitutions_.empty()) return s;
    if (auto it = canon_memo_.find(s.id); it != canon_memo_.end()) return Sym{it->second};
    Sym r = s;
    for (const Substitution& x : substitutions_) r = rewrite(graph.syms, r, x.symbol, x.by);
    canon_memo_[s.id] = r.id;
    return r;
}

// What the entry guards check holds for the whole trace. What is checked in the middle of it holds from there
// on: nodes made before keep the old name, because they run before the check (restated() gives them the new
// one for later users).
void TraceBuilder::substitute(Sym symbol, Sym by, bool from_entry) {
    substitutions_.push_back({symbol, by, from_entry});  // applied in this order, so that chains resolve
    canon_memo_.clear();
    if (!from_entry) return;
    for (Node& n : graph.nodes) {
        for (Sym& s : n.shape) s = rewrite(graph.syms, s, symbol, by);
        if (n.op == Op::SymGuard || n.op == Op::Library)
            continue;  // they state the equality, and bind the symbol
        for (Sym& s : n.syms) s = rewrite(graph.syms, s, symbol, by);
    }
}

bool TraceBuilder::known_at_entry(Sym s) const {
    const auto& t = graph.syms;
    for (int i = 0; i < t.symbol_count(); ++i)
        if (!entry_symbol_[i] && mentions(t, s, t.symbol_at(i))) return false;
    return true;
}

static bool holds(Relation r, int64_t a, int64_t b) {
    switch (r) {
        case Relation::Eq: return a == b;
        case Relation::Ne: return a != b;
        case Relation::Ge: return a >= b;
        case Relation::Lt: return a < b;
    }
    return false;
}

bool TraceBuilder::require(Relation r, Sym a, Sym b) {
    a = canon(a);
    b = canon(b);
    auto& t = graph.syms;
    if (!holds(r, t.hint(a), t.hint(b))) return false;
    if (a == b) return true;
    if (r == Relation::Eq) {
        // s0 - 2 == s1 - 2 says that the symbols are equal: one of them can go.
        const auto& e = t.expr(t.sub(a, b));
        auto is_symbol = [&](int i) { return t.expr(e.terms[i].atom).kind == SymKind::Symbol; };
        if (e.kind == SymKind::Linear && e.value == 0 && e.terms.size() == 2 && is_symbol(0) &&
            is_symbol(1) && e.terms[0].coef + e.terms[1].coef == 0 && std::abs(e.terms[0].coef) == 1) {
            a = e.terms[0].atom;
            b = e.terms[1].atom;
        }
    }
    switch (r) {
        case Relation::Eq:
        case Relation::Ne: {
            auto proven = t.prove_eq(a, b);
            if (proven && *proven == (r == Relation::Eq)) return true;
            break;
        }
        case Relation::Ge:
        case Relation::Lt: {
            auto proven = t.prove_ge(a, b);
            if (proven && *proven == (r == Relation::Ge)) return true;
            break;
        }
    }
    // A bound of a single entry symbol is checked by the guard that reads it.
    auto tighten = [&](Sym s, Sym limit, bool lower) {
        auto c = t.as_const(limit);
        if (!c || t.expr(s).kind != SymKind::Symbol) return false;
        int index = static_cast<int>(t.expr(s).value);
        if (!entry_symbol_[index]) return false;
        auto& info = t.symbol_info(index);
        if (lower)
            info.lo = std::max(info.lo, *c);
        else
            info.hi = std::min(info.hi, *c - 1);
        return true;
    };
    if (r == Relation::Ge && tighten(a, b, true)) return true;
    if (r == Relation::Lt && tighten(a, b, false)) return true;

    Node g;
    g.op = Op::SymGuard;
    g.syms = {a, b};
    g.ints = {static_cast<int64_t>(r), -1};
    g.dtype = DType::I64;
    g.loc = location_;
    bool at_entry = known_at_entry(a) && known_at_entry(b);
    if (!at_entry) {
        if (!snapshot_hook) return false;
        g.ints[1] = (*snapshot_hook)();
        if (g.ints[1] < 0) return false;
    }
    graph.append(std::move(g));
    if (r == Relation::Eq) {
        bool sa = t.expr(a).kind == SymKind::Symbol, sb = t.expr(b).kind == SymKind::Symbol;
        // Inputs keep names that are known at entry.
        if (!at_entry) sa &= !known_at_entry(a), sb &= !known_at_entry(b);
        if (sb && !mentions(t, a, b) && (!sa || b.id > a.id))
            substitute(b, a, at_entry);
        else if (sa && !mentions(t, b, a))
            substitute(a, b, at_entry);
    }
    return true;
}

bool TraceBuilder::decide(Relation r, Sym a, Sym b) {
    if (require(r, a, b)) return true;
    constexpr Relation kOpposite[] = {Relation::Ne, Relation::Eq, Relation::Lt, Relation::Ge};
    require(kOpposite[static_cast<int>(r)], a, b);
    return false;
}

bool TraceBuilder::broadcast_shape(std::span<const Id> in, Shape* out) {
    out->clear();
    for (Id v : in) {
        const Shape shape = graph.node(v).shape;
        if (shape.size() > out->size()) out->insert(out->begin(), shape.size() - out->size(), int_const(1));
        size_t shift = out->size() - shape.size();
        for (size_t d = 0; d < shape.size(); ++d) {
            Sym a = canon((*out)[d + shift]), b = canon(shape[d]);
            int64_t ha = hint(a), hb = hint(b);
            Sym one = int_const(1);
            if (ha == hb) {
                if (!require(Relation::Eq, a, b)) return false;
                (*out)[d + shift] = canon(graph.syms.as_const(b) ? b : a);
            } else if (ha == 1) {
                if (!require(Relation::Eq, a, one)) return false;
                (*out)[d + shift] = b;
            } else if (hb == 1) {
                if (!require(Relation::Eq, b, one)) return false;
                (*out)[d + shift] = a;
            } else {
                fail(Reason::UnknownOp, "shapes that do not broadcast");
                return false;
            }
        }
    }
    for (Sym& s : *out) s = canon(s);
    return true;
}

Id TraceBuilder::sym_scalar(Sym s, DType dtype) {
    s = canon(s);
    struct Range {
        DType t;
        int64_t lo, hi;
    };
    static constexpr Range kRanges[] = {
        {DType::I8, -128, 127},
        {DType::U8, 0, 255},
        {DType::I16, -32768, 32767},
        {DType::U16, 0, 65535},
        {DType::I32, INT32_MIN, INT32_MAX},
        {DType::U32, 0, UINT32_MAX},
        {DType::U64, 0, INT64_MAX},
        {DType::Bool, 0, 1},
    };
    for (const Range& r : kRanges) {
        if (r.t != dtype) continue;
        bool ok = require(Relation::Ge, s, int_const(r.lo));
        if (ok && r.hi != INT64_MAX) ok = require(Relation::Lt, s, int_const(r.hi + 1));
        if (!ok) {
            fail(Reason::UnknownOp, "a Python int out of the dtype's range");
            return graph::kNone;
        }
    }
    Node n;
    n.op = Op::SymScalar;
    n.dtype = dtype;
    n.box = graph::Box::NpScalar;
    n.syms = {s};
    n.loc = location_;
    return graph.append(std::move(n));
}

void TraceBuilder::finish() {
    keep_dicts_apart();
    for (const Node& n : graph.nodes)
        if (n.op == Op::SymGuard && n.ints[1] < 0)
            guards.expect_relation(static_cast<Relation>(n.ints[0]), n.syms[0], n.syms[1]);
    for (graph::Input& in : graph.inputs)
        if (in.written) guards.require_writeable(static_cast<int>(&in - graph.inputs.data()));
}

}  // namespace stator::frontend
