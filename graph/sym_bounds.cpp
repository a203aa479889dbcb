// Bounds of symbolic integers and what they prove.
//
// Plain interval arithmetic forgets that s0 and min(s0, k) are related, which is exactly what slices produce.
// So the lower bound of a sum may also replace an atom by something that is certainly not larger in the sum's
// sense: one operand of a minimum or maximum, or x//k by (x - k + 1)/k or x/k. Invariant: `lower` never
// returns more than the true minimum over all symbol values within bounds; INT64_MIN as lo and INT64_MAX as
// hi mean "unbounded in Z".
#include <algorithm>
#include <limits>

#include "graph/int_math.h"
#include "graph/sym.h"

namespace stator::graph {

namespace {

using Wide = __int128;
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// A bound that may be infinite.
struct Ext {
    int inf = 0;  // -1, 0, 1
    Wide v = 0;
};

Ext low(SymTable::Bounds b) { return b.lo == kMin ? Ext{-1, 0} : Ext{0, b.lo}; }
Ext high(SymTable::Bounds b) { return b.hi == kMax ? Ext{1, 0} : Ext{0, b.hi}; }
int sign(Ext a) { return a.inf ? a.inf : a.v < 0 ? -1 : a.v > 0; }
bool less(Ext a, Ext b) { return a.inf != b.inf ? a.inf < b.inf : a.inf == 0 && a.v < b.v; }

Ext multiply(Ext a, Ext b) {
    if (sign(a) == 0 || sign(b) == 0) return {};
    if (a.inf || b.inf) return {sign(a) * sign(b), 0};
    return {0, a.v * b.v};
}

Ext floor_divide(Ext a, Ext b) {
    if (b.inf)
        return a.inf ? Ext{}
                     : Ext{0, sign(a) * sign(b) < 0 ? -1 : 0};  // inf/inf: the other corners enclose it
    if (a.inf) return {a.inf * sign(b), 0};
    Wide q = a.v / b.v;
    if (a.v % b.v != 0 && (a.v < 0) != (b.v < 0)) --q;
    return {0, q};
}

SymTable::Bounds clamp(Ext lo, Ext hi) {
    int64_t l = lo.inf < 0 || lo.v < kMin   ? kMin
                : lo.inf > 0 || lo.v > kMax ? kMax
                                            : static_cast<int64_t>(lo.v);
    int64_t h = hi.inf > 0 || hi.v > kMax   ? kMax
                : hi.inf < 0 || hi.v < kMin ? kMin
                                            : static_cast<int64_t>(hi.v);
    return {l, h};
}

template <class F>
SymTable::Bounds corners(SymTable::Bounds a, SymTable::Bounds b, F f) {
    Ext c[4] = {f(low(a), low(b)), f(low(a), high(b)), f(high(a), low(b)), f(high(a), high(b))};
    Ext lo = c[0], hi = c[0];
    for (Ext e : c) {
        if (less(e, lo)) lo = e;
        if (less(hi, e)) hi = e;
    }
    return clamp(lo, hi);
}

SymTable::Bounds hull(SymTable::Bounds a, SymTable::Bounds b) {
    return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

SymTable::Bounds floordiv_bounds(SymTable::Bounds a, SymTable::Bounds b) {
    std::optional<SymTable::Bounds> r;
    if (b.lo < 0) r = corners(a, {b.lo, std::min<int64_t>(b.hi, -1)}, floor_divide);
    if (b.hi > 0) {
        auto p = corners(a, {std::max<int64_t>(b.lo, 1), b.hi}, floor_divide);
        r = r ? hull(*r, p) : p;
    }
    return r.value_or(SymTable::Bounds{kMin, kMax});
}

SymTable::Bounds mod_bounds(SymTable::Bounds a, SymTable::Bounds b) {
    SymTable::Bounds r = {0, 0};
    if (b.hi > 0) r.hi = b.hi == kMax ? kMax : b.hi - 1;
    if (b.lo < 0) r.lo = b.lo == kMin ? kMin : b.lo + 1;
    if (b.lo > 0 && a.lo >= 0) r.hi = std::min(r.hi, a.hi);
    return r;
}

// Of a base that is not negative; exponents are not.
SymTable::Bounds pow_bounds(SymTable::Bounds a, SymTable::Bounds b) {
    if (a.lo < 0) return {kMin, kMax};
    auto power = [](int64_t base, int64_t exponent) {
        int64_t v;
        return int_power(base, exponent, &v) ? v : kMax;
    };
    b.lo = std::max<int64_t>(b.lo, 0);
    // 0**0 is 1, and 0**n less than that.
    const int64_t lo = a.lo == 0 ? (b.hi > 0 ? 0 : 1) : power(a.lo, b.lo);
    return {lo, std::max(power(a.hi, std::max(b.lo, b.hi)), int64_t{1})};
}

}  // namespace

// Lower bounds of sums; nullopt is minus infinity.
struct SymTable::Lower {
    const SymTable& table;
    int budget = 64;

    std::optional<Wide> interval(const Form& f) {
        Wide sum = f.constant;
        for (const SymTerm& t : f.terms) {
            Bounds b = table.bounds(t.atom);
            Ext e = multiply({0, t.coef}, t.coef > 0 ? low(b) : high(b));
            if (e.inf || __builtin_add_overflow(sum, e.v, &sum)) return std::nullopt;
        }
        return sum;
    }

    // f with term i's atom replaced by `by`, coefficients times factor/divisor (which divides exactly).
    std::optional<Wide> replaced(const Form& f, size_t i, const Form& by, int64_t coef, int depth) {
        Form without = f, sum;
        without.terms.erase(without.terms.begin() + static_cast<ptrdiff_t>(i));
        if (!table.add_scaled(without, by, coef, sum)) return std::nullopt;
        return run(sum, depth - 1);
    }

    std::optional<Wide> improve(const Form& f, size_t i, int depth) {
        auto [coef, atom] = f.terms[i];
        const SymExpr& e = table.expr(atom);
        if (e.kind == SymKind::Min || e.kind == SymKind::Max) {
            auto a = replaced(f, i, table.form(e.a), coef, depth),
                 b = replaced(f, i, table.form(e.b), coef, depth);
            bool either = (e.kind == SymKind::Max) == (coef > 0);  // else both must hold
            if (!a || !b) return either ? (a ? a : b) : std::nullopt;
            return either ? std::max(*a, *b) : std::min(*a, *b);
        }
        if (e.kind == SymKind::FloorDiv) {
            int64_t k = table.as_const(e.b).value_or(0);
            if (k <= 0 || coef % k != 0) return std::nullopt;
            Form x = table.form(e.a), shifted;
            if (coef < 0) return replaced(f, i, x, coef / k, depth);
            if (!table.add_scaled(x, {1, {}}, 1 - k, shifted)) return std::nullopt;
            return replaced(f, i, shifted, coef / k, depth);
        }
        return std::nullopt;
    }

    std::optional<Wide> run(const Form& f, int depth = 4) {
        std::optional<Wide> best = interval(f);
        if (depth == 0 || f.terms.size() < 2) return best;  // a lone atom's own bounds are all there is
        for (size_t i = 0; i < f.terms.size() && budget > 0; ++i) {
            SymKind kind = table.expr(f.terms[i].atom).kind;
            if (kind != SymKind::Min && kind != SymKind::Max && kind != SymKind::FloorDiv) continue;
            --budget;
            auto better = improve(f, i, depth);
            if (better && (!best || *better > *best)) best = better;
        }
        return best;
    }
};

SymTable::Bounds SymTable::form_bounds(const Form& f) const {
    auto lo = Lower{*this}.run(f);
    Form negated;
    std::optional<Wide> hi;
    if (add_scaled({}, f, -1, negated)) hi = Lower{*this}.run(negated);
    return clamp(lo ? Ext{0, *lo} : Ext{-1, 0}, hi ? Ext{0, -*hi} : Ext{1, 0});
}

SymTable::Bounds SymTable::compute_bounds(Sym s) const {
    SymExpr e = expr(s);
    switch (e.kind) {
        case SymKind::Const: return {e.value, e.value};
        case SymKind::Symbol: {
            const SymbolInfo& i = symbols_[static_cast<size_t>(e.value)];
            return {i.lo, i.hi};
        }
        case SymKind::Linear: return form_bounds({e.value, e.terms});
        default: break;
    }
    Bounds a = bounds(e.a), b = bounds(e.b);
    switch (e.kind) {
        case SymKind::Mul: {
            Bounds r = corners(a, b, multiply);
            if (e.a == e.b) r.lo = std::max<int64_t>(r.lo, 0);
            return r;
        }
        case SymKind::FloorDiv: return floordiv_bounds(a, b);
        case SymKind::Mod: return mod_bounds(a, b);
        case SymKind::Min: return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
        case SymKind::Pow: return pow_bounds(a, b);
        default: return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    }
}

void SymTable::refresh_caches() const {
    bool same = cache_key_.size() == symbols_.size();
    for (size_t i = 0; same && i < symbols_.size(); ++i)
        same = cache_key_[i] == CacheKey{symbols_[i].lo, symbols_[i].hi, symbols_[i].hint};
    if (!same) {
        // A new symbol leaves what is known about older expressions valid; an edited one does not.
        bool grown = cache_key_.size() < symbols_.size();
        for (size_t i = 0; grown && i < cache_key_.size(); ++i)
            grown = cache_key_[i] == CacheKey{symbols_[i].lo, symbols_[i].hi, symbols_[i].hint};
        if (!grown) {
            bounds_cache_.clear();
            hint_cache_.clear();
        }
        cache_key_.clear();
        for (const SymbolInfo& i : symbols_) cache_key_.push_back({i.lo, i.hi, i.hint});
    }
    if (bounds_cache_.size() < exprs_.size()) bounds_cache_.resize(exprs_.size());
    if (hint_cache_.size() < exprs_.size()) hint_cache_.resize(exprs_.size());
}

SymTable::Bounds SymTable::bounds(Sym s) const {
    refresh_caches();
    auto i = static_cast<size_t>(s.id);
    if (bounds_cache_[i]) return *bounds_cache_[i];
    Bounds b = compute_bounds(s);
    bounds_cache_[i] = b;
    return b;
}

int64_t SymTable::hint(Sym s) const {
    refresh_caches();
    auto index = static_cast<size_t>(s.id);
    if (hint_cache_[index]) return *hint_cache_[index];
    SymExpr e = expr(s);
    // Hints only guide decisions, so an overflow, a zero divisor or a negative exponent just saturates.
    auto saturate = [](Wide v) {
        return static_cast<int64_t>(v < kMin ? Wide{kMin} : v > kMax ? Wide{kMax} : v);
    };
    Wide v = e.value;
    if (e.kind == SymKind::Symbol) {
        v = symbols_[static_cast<size_t>(e.value)].hint;
    } else if (e.kind == SymKind::Linear) {
        for (const SymTerm& t : e.terms) v = saturate(v + saturate(Wide{t.coef} * hint(t.atom)));
    } else if (e.kind > SymKind::Linear) {
        int64_t a = hint(e.a), b = hint(e.b);
        switch (e.kind) {
            case SymKind::Mul: v = Wide{a} * b; break;
            case SymKind::FloorDiv: v = b == 0 ? 0 : b == -1 ? -Wide{a} : Wide{floor_div(a, b)}; break;
            case SymKind::Mod: v = b == 0 || b == -1 ? 0 : floor_mod(a, b); break;
            case SymKind::Min: v = std::min(a, b); break;
            case SymKind::Max: v = std::max(a, b); break;
            default: {
                int64_t power;
                v = int_power(a, b, &power) ? power : b < 0 ? 0 : kMax;
            }
        }
    }
    int64_t r = saturate(v);
    hint_cache_[index] = r;
    return r;
}

std::optional<bool> SymTable::prove_ge(Sym a, Sym b) const {
    if (a == b) return true;
    Form d, e;
    if (!add_scaled(form(a), form(b), -1, d) || !add_scaled(form(b), form(a), -1, e)) return std::nullopt;
    // A difference of one atom can still be decided by looking inside it: x - min(x, y).
    if (auto lo = Lower{*this}.run(d); lo && *lo >= 0) return true;
    if (auto lo = Lower{*this}.run(e); lo && *lo >= 1) return false;
    return std::nullopt;
}

std::optional<bool> SymTable::prove_eq(Sym a, Sym b) const {
    if (a == b) return true;
    if (prove_ge(a, b) == false || prove_ge(b, a) == false) return false;
    if (prove_ge(a, b) == true && prove_ge(b, a) == true) return true;
    return std::nullopt;
}

}  // namespace stator::graph
