// Symbolic integers: interning, canonical arithmetic and evaluation. Bounds and proofs are in sym_bounds.cpp,
// text in sym_text.cpp.
//
// Invariant: every rewrite here is exact in Z for all values within the symbols' bounds. A division is only
// cancelled when bounds exclude zero for the divisor, because an expression that eval would refuse must stay
// refusable.
#include "graph/sym.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "graph/int_math.h"

namespace stator::graph {

namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

uint64_t mix(uint64_t h, uint64_t v) {
    h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
    return h * 0xff51afd7ed558ccdull;
}

uint64_t hash(const SymExpr& e) {
    uint64_t h = mix(static_cast<uint64_t>(e.kind), static_cast<uint64_t>(e.value));
    h = mix(mix(h, static_cast<uint64_t>(e.a.id)), static_cast<uint64_t>(e.b.id));
    for (const SymTerm& t : e.terms)
        h = mix(mix(h, static_cast<uint64_t>(t.coef)), static_cast<uint64_t>(t.atom.id));
    return h;
}

template <class T>
int order(T a, T b) {
    return a < b ? -1 : a > b ? 1 : 0;
}

}  // namespace

SymTable::SymTable() {
    constant(0);
    constant(1);
}

Sym SymTable::intern(SymExpr e) {
    uint64_t h = hash(e);
    auto [first, last] = index_.equal_range(h);
    for (auto it = first; it != last; ++it)
        if (exprs_[it->second] == e) return Sym{it->second};
    Sym s{static_cast<int32_t>(exprs_.size())};
    Step step{e.kind, e.a.id, e.b.id, e.value};
    if (e.kind == SymKind::Linear) {
        step.a = static_cast<int32_t>(step_terms_.size());
        step.b = static_cast<int32_t>(e.terms.size());
        step_terms_.insert(step_terms_.end(), e.terms.begin(), e.terms.end());
    }
    steps_.push_back(step);
    exprs_.push_back(std::move(e));
    index_.emplace(h, s.id);
    return s;
}

Sym SymTable::constant(int64_t v) {
    return intern({.kind = SymKind::Const, .value = v, .terms = {}, .a = {}, .b = {}});
}

Sym SymTable::symbol(int64_t hint, int64_t lo, int64_t hi, std::string name) {
    int index = symbol_count();
    if (name.empty()) name = "s" + std::to_string(index);
    symbols_.push_back({std::move(name), lo, hi, hint});
    Sym s = intern({.kind = SymKind::Symbol, .value = index, .terms = {}, .a = {}, .b = {}});
    symbol_ids_.push_back(s);
    return s;
}

std::optional<int64_t> SymTable::as_const(Sym s) const {
    const SymExpr& e = expr(s);
    if (e.kind == SymKind::Const) return e.value;
    return std::nullopt;
}

int SymTable::compare(Sym a, Sym b) const {
    if (a.id == b.id) return 0;
    const SymExpr& x = expr(a);
    const SymExpr& y = expr(b);
    if (int c = order(x.kind, y.kind)) return c;
    switch (x.kind) {
        case SymKind::Const:
        case SymKind::Symbol: return order(x.value, y.value);
        case SymKind::Linear:
            for (size_t i = 0; i < std::min(x.terms.size(), y.terms.size()); ++i) {
                if (int c = compare(x.terms[i].atom, y.terms[i].atom)) return c;
                if (int c = order(x.terms[i].coef, y.terms[i].coef)) return c;
            }
            if (int c = order(x.terms.size(), y.terms.size())) return c;
            return order(x.value, y.value);
        default:
            if (int c = compare(x.a, y.a)) return c;
            return compare(x.b, y.b);
    }
}

// ---- sums ----

SymTable::Form SymTable::form(Sym s) const {
    const SymExpr& e = expr(s);
    if (e.kind == SymKind::Const) return {e.value, {}};
    if (e.kind == SymKind::Linear) return {e.value, e.terms};
    return {0, {{1, s}}};
}

Sym SymTable::intern_form(Form f) {
    if (f.terms.empty()) return constant(f.constant);
    if (f.terms.size() == 1 && f.constant == 0 && f.terms[0].coef == 1) return f.terms[0].atom;
    return intern(
        {.kind = SymKind::Linear, .value = f.constant, .terms = std::move(f.terms), .a = {}, .b = {}});
}

bool SymTable::add_scaled(const Form& a, const Form& b, int64_t k, Form& out) const {
    out = {};
    int64_t scaled;
    if (__builtin_mul_overflow(b.constant, k, &scaled)) return false;
    if (__builtin_add_overflow(a.constant, scaled, &out.constant)) return false;
    size_t i = 0, j = 0;
    while (i < a.terms.size() || j < b.terms.size()) {
        int side = i == a.terms.size()   ? 1
                   : j == b.terms.size() ? -1
                                         : compare(a.terms[i].atom, b.terms[j].atom);
        int64_t coef = 0;
        Sym atom = side <= 0 ? a.terms[i].atom : b.terms[j].atom;
        if (side >= 0 && __builtin_mul_overflow(b.terms[j].coef, k, &coef)) return false;
        if (side <= 0 && __builtin_add_overflow(coef, a.terms[i].coef, &coef)) return false;
        if (side <= 0) ++i;
        if (side >= 0) ++j;
        if (coef != 0) out.terms.push_back({coef, atom});
    }
    return true;
}

Sym SymTable::raw(SymKind kind, Sym a, Sym b) {
    bool commutes = kind == SymKind::Mul || kind == SymKind::Min || kind == SymKind::Max;
    if (commutes && compare(a, b) > 0) std::swap(a, b);
    return intern({.kind = kind, .value = 0, .terms = {}, .a = a, .b = b});
}

Sym SymTable::add(Sym a, Sym b) {
    Form sum;
    if (add_scaled(form(a), form(b), 1, sum)) return intern_form(std::move(sum));
    // Constants overflow: keep the two sides as opaque terms, whose sum eval will check.
    Form opaque;
    if (a == b) {
        opaque.terms = {{2, a}};
    } else {
        opaque.terms = {{1, a}, {1, b}};
        if (compare(a, b) > 0) std::swap(opaque.terms[0], opaque.terms[1]);
    }
    return intern_form(std::move(opaque));
}

Sym SymTable::neg(Sym a) {
    Form f;
    if (add_scaled({}, form(a), -1, f)) return intern_form(std::move(f));
    return intern_form({0, {{-1, a}}});
}

Sym SymTable::sub(Sym a, Sym b) {
    Form f;
    if (add_scaled(form(a), form(b), -1, f)) return intern_form(std::move(f));
    return add(a, neg(b));
}

// ---- products ----

// Splits `s` into an integer content and factors without content whose first coefficient is positive. False
// when a constant overflows.
bool SymTable::factor(Sym s, Factors& out) {
    SymExpr e = expr(s);
    switch (e.kind) {
        case SymKind::Const: return !__builtin_mul_overflow(out.content, e.value, &out.content);
        case SymKind::Mul: return factor(e.a, out) && factor(e.b, out);
        case SymKind::Linear: break;
        default: out.list.push_back(s); return true;
    }
    uint64_t g = magnitude(e.value);
    for (const SymTerm& t : e.terms) g = std::gcd(g, magnitude(t.coef));
    if (g > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return false;
    int64_t content = static_cast<int64_t>(g);
    if (e.terms[0].coef < 0) content = -content;
    if (content == 1) {
        out.list.push_back(s);
        return true;
    }
    if (__builtin_mul_overflow(out.content, content, &out.content)) return false;
    if (content == -1 && e.value == kMin) return false;
    Form f{e.value / content, {}};
    for (const SymTerm& t : e.terms) {
        if (content == -1 && t.coef == kMin) return false;
        f.terms.push_back({t.coef / content, t.atom});
    }
    Sym primitive = intern_form(std::move(f));
    if (expr(primitive).kind == SymKind::Linear) {
        out.list.push_back(primitive);
        return true;
    }
    return factor(primitive, out);
}

Sym SymTable::multiply_factors(Factors f) {
    if (f.content == 0) return constant(0);
    if (f.list.empty()) return constant(f.content);
    std::sort(f.list.begin(), f.list.end(), [&](Sym a, Sym b) { return compare(a, b) < 0; });
    Sym p = f.list[0];
    for (size_t i = 1; i < f.list.size(); ++i)
        p = intern({.kind = SymKind::Mul, .value = 0, .terms = {}, .a = p, .b = f.list[i]});
    Form scaled;
    if (add_scaled({}, form(p), f.content, scaled)) return intern_form(std::move(scaled));
    return raw(SymKind::Mul, constant(f.content), p);
}

Sym SymTable::mul(Sym a, Sym b) {
    auto ca = as_const(a), cb = as_const(b);
    if (ca && !cb) return mul(b, a);
    if (cb) {
        Form f;
        if (add_scaled({}, form(a), *cb, f)) return intern_form(std::move(f));
        return raw(SymKind::Mul, a, b);
    }
    Factors f;
    if (factor(a, f) && factor(b, f)) return multiply_factors(std::move(f));
    return raw(SymKind::Mul, a, b);
}

Sym SymTable::product(std::span<const Sym> factors) {
    Sym p = constant(1);
    for (Sym s : factors) p = mul(p, s);
    return p;
}

// ---- division ----

// a = q*b + r with q as large a part of a as can be read off; b's factors must be known to be nonzero.
bool SymTable::split_divisible(Sym a, Sym b, Form& quotient, Form& rest) {
    Factors divisor;
    if (!factor(b, divisor) || divisor.content == 0) return false;
    auto divide_term = [&](SymTerm t, Sym& q) {
        Factors f;
        f.content = t.coef;
        if (!factor(t.atom, f)) return false;
        if ((divisor.content == -1 && f.content == kMin) || f.content % divisor.content != 0) return false;
        for (Sym d : divisor.list) {
            auto it = std::find(f.list.begin(), f.list.end(), d);
            if (it == f.list.end()) return false;
            f.list.erase(it);
        }
        f.content /= divisor.content;
        q = multiply_factors(std::move(f));
        return true;
    };
    if (a == b) {
        quotient = {1, {}};
        rest = {};
        return true;
    }
    // A linear divisor divides a as a whole: ((s0 - 2)*s1) // (s0 - 2), or k*(s0 - 2) distributed over its
    // terms.
    if (Sym q; divide_term({1, a}, q)) {
        quotient = form(q);
        rest = {};
        return true;
    }
    Form f = form(a);
    rest.constant = f.constant;
    bool any = false;
    for (const SymTerm& t : f.terms) {
        Sym q;
        Form sum;
        if (divide_term(t, q) && add_scaled(quotient, form(q), 1, sum)) {
            quotient = std::move(sum);
            any = true;
        } else {
            rest.terms.push_back(t);
        }
    }
    return any;
}

Sym SymTable::divide_by_const(Sym a, int64_t c) {
    Form f = form(a), q, r;
    q.constant = floor_div(f.constant, c);
    r.constant = floor_mod(f.constant, c);
    uint64_t g = static_cast<uint64_t>(c);
    for (const SymTerm& t : f.terms) {
        if (t.coef % c == 0) {
            q.terms.push_back({t.coef / c, t.atom});
        } else {
            r.terms.push_back(t);
            g = std::gcd(g, magnitude(t.coef));
        }
    }
    if (r.terms.empty()) return intern_form(std::move(q));
    Bounds range = form_bounds(r);
    if (range.lo != kMin && range.hi != std::numeric_limits<int64_t>::max() &&
        floor_div(range.lo, c) == floor_div(range.hi, c))
        return add(intern_form(std::move(q)), constant(floor_div(range.lo, c)));
    int64_t common = static_cast<int64_t>(g);
    if (common > 1) {
        r.constant = floor_div(r.constant, common);
        for (SymTerm& t : r.terms) t.coef /= common;
        c /= common;
    }
    // (x//k + r0) // c == (x + r0*k) // (k*c)
    if (r.terms.size() == 1 && r.terms[0].coef == 1) {
        SymExpr inner = expr(r.terms[0].atom);
        int64_t k = inner.kind == SymKind::FloorDiv ? as_const(inner.b).value_or(0) : 0, kc, shift;
        Form x;
        if (k > 0 && !__builtin_mul_overflow(k, c, &kc) && !__builtin_mul_overflow(r.constant, k, &shift) &&
            add_scaled(form(inner.a), {shift, {}}, 1, x))
            return add(intern_form(std::move(q)), divide_by_const(intern_form(std::move(x)), kc));
    }
    return add(intern_form(std::move(q)), raw(SymKind::FloorDiv, intern_form(std::move(r)), constant(c)));
}

Sym SymTable::floordiv(Sym a, Sym b) {
    auto ca = as_const(a), cb = as_const(b);
    if (cb) {
        if (*cb == 0 || *cb == kMin) return raw(SymKind::FloorDiv, a, b);
        if (*cb == 1) return a;
        if (*cb > 0) return divide_by_const(a, *cb);
        if (ca && *ca == kMin) return raw(SymKind::FloorDiv, a, b);
        Form negated;
        if (!add_scaled({}, form(a), -1, negated)) return raw(SymKind::FloorDiv, a, b);
        return floordiv(intern_form(std::move(negated)), constant(-*cb));
    }
    Bounds d = bounds(b);
    if (d.lo <= 0 && d.hi >= 0) return raw(SymKind::FloorDiv, a, b);
    if (ca && *ca == 0) return a;
    if (d.lo > 0 && bounds(a).lo >= 0 && prove_ge(a, b) == false) return constant(0);
    Form q, r;
    if (split_divisible(a, b, q, r)) {
        Sym rest = intern_form(std::move(r)), whole = intern_form(std::move(q));
        return as_const(rest) == 0 ? whole : add(whole, floordiv(rest, b));
    }
    return raw(SymKind::FloorDiv, a, b);
}

Sym SymTable::modulo_const(Sym a, int64_t c) {
    Form f = form(a), r;
    r.constant = floor_mod(f.constant, c);
    uint64_t g = std::gcd(static_cast<uint64_t>(c), static_cast<uint64_t>(r.constant));
    for (const SymTerm& t : f.terms) {
        if (int64_t coef = t.coef % c) {
            r.terms.push_back({coef, t.atom});
            g = std::gcd(g, magnitude(coef));
        }
    }
    if (r.terms.empty()) return constant(r.constant);
    Bounds range = form_bounds(r);
    if (range.lo != kMin && range.hi != std::numeric_limits<int64_t>::max() &&
        floor_div(range.lo, c) == floor_div(range.hi, c))
        return sub(intern_form(std::move(r)), constant(floor_div(range.lo, c) * c));
    int64_t common = static_cast<int64_t>(g);
    r.constant /= common;
    for (SymTerm& t : r.terms) t.coef /= common;
    Sym m = raw(SymKind::Mod, intern_form(std::move(r)), constant(c / common));
    return mul(m, constant(common));
}

Sym SymTable::mod(Sym a, Sym b) {
    auto cb = as_const(b);
    if (cb) {
        if (*cb == 0 || *cb == kMin) return raw(SymKind::Mod, a, b);
        if (*cb > 0) return modulo_const(a, *cb);
        Form negated;
        if (!add_scaled({}, form(a), -1, negated)) return raw(SymKind::Mod, a, b);
        return neg(mod(intern_form(std::move(negated)), constant(-*cb)));
    }
    Bounds d = bounds(b);
    if (d.lo <= 0 && d.hi >= 0) return raw(SymKind::Mod, a, b);
    if (as_const(a) == 0) return a;
    if (d.lo > 0 && bounds(a).lo >= 0 && prove_ge(a, b) == false) return a;
    Form q, r;
    if (split_divisible(a, b, q, r)) return mod(intern_form(std::move(r)), b);
    return raw(SymKind::Mod, a, b);
}

// ---- minimum and maximum ----

// Flattened, without operands that another one makes irrelevant, in structural order, nested to the left.
Sym SymTable::extremum(SymKind kind, Sym a, Sym b) {
    std::vector<Sym> open = {a, b}, list;
    while (!open.empty()) {
        Sym s = open.back();
        open.pop_back();
        if (expr(s).kind == kind) {
            open.push_back(expr(s).a);
            open.push_back(expr(s).b);
        } else if (std::find(list.begin(), list.end(), s) == list.end()) {
            list.push_back(s);
        }
    }
    std::sort(list.begin(), list.end(), [&](Sym x, Sym y) { return compare(x, y) < 0; });
    auto wins = [&](Sym x, Sym y) {
        return (kind == SymKind::Max ? prove_ge(x, y) : prove_ge(y, x)) == true;
    };
    for (size_t i = 0; i < list.size();) {
        bool beaten = false;
        for (size_t j = 0; j < list.size() && !beaten; ++j) beaten = j != i && wins(list[j], list[i]);
        if (beaten)
            list.erase(list.begin() + static_cast<ptrdiff_t>(i));
        else
            ++i;
    }
    Sym s = list[0];
    for (size_t i = 1; i < list.size(); ++i)
        s = intern({.kind = kind, .value = 0, .terms = {}, .a = s, .b = list[i]});
    return s;
}

Sym SymTable::min(Sym a, Sym b) { return extremum(SymKind::Min, a, b); }
Sym SymTable::max(Sym a, Sym b) { return extremum(SymKind::Max, a, b); }

Sym SymTable::pow(Sym a, Sym b) {
    auto ca = as_const(a), cb = as_const(b);
    if (cb == 0 || ca == 1) return constant(1);  // b is not negative
    if (cb == 1) return a;
    if (int64_t v; ca && cb && int_power(*ca, *cb, &v)) return constant(v);
    return raw(SymKind::Pow, a, b);
}

// ---- rebuilding ----

Sym SymTable::rebuild(Sym s, std::unordered_map<int32_t, Sym>& done) {
    if (auto it = done.find(s.id); it != done.end()) return it->second;
    SymExpr e = expr(s);
    Sym r = s;
    if (e.kind == SymKind::Linear) {
        r = constant(e.value);
        for (const SymTerm& t : e.terms) r = add(r, mul(rebuild(t.atom, done), constant(t.coef)));
    } else if (e.kind > SymKind::Linear) {
        Sym a = rebuild(e.a, done), b = rebuild(e.b, done);
        switch (e.kind) {
            case SymKind::Mul: r = mul(a, b); break;
            case SymKind::FloorDiv: r = floordiv(a, b); break;
            case SymKind::Mod: r = mod(a, b); break;
            case SymKind::Min: r = min(a, b); break;
            case SymKind::Max: r = max(a, b); break;
            default: r = pow(a, b); break;
        }
    }
    done.emplace(s.id, r);
    return r;
}

Sym SymTable::simplify(Sym s) {
    std::unordered_map<int32_t, Sym> done;
    return rebuild(s, done);
}

Sym SymTable::substitute(Sym s, int index, Sym value) {
    std::unordered_map<int32_t, Sym> done = {{symbol_ids_[index].id, value}};
    return rebuild(s, done);
}

// ---- evaluation ----

bool SymTable::run_step(const Step& step, std::span<const int64_t> symbol_values, int64_t* out,
                        int64_t& result) const {
    switch (step.kind) {
        case SymKind::Const: result = step.value; return true;
        case SymKind::Symbol: result = symbol_values[static_cast<size_t>(step.value)]; return true;
        case SymKind::Linear: {
            int64_t sum = step.value, product;
            const SymTerm* t = &step_terms_[static_cast<size_t>(step.a)];
            for (int32_t i = 0; i < step.b; ++i) {
                if (__builtin_mul_overflow(t[i].coef, out[t[i].atom.id], &product)) return false;
                if (__builtin_add_overflow(sum, product, &sum)) return false;
            }
            result = sum;
            return true;
        }
        default: break;
    }
    int64_t x = out[step.a], y = out[step.b];
    switch (step.kind) {
        case SymKind::Mul: return !__builtin_mul_overflow(x, y, &result);
        case SymKind::FloorDiv:
            if (y == 0 || (y == -1 && x == kMin)) return false;
            result = floor_div(x, y);
            return true;
        case SymKind::Mod:
            if (y == 0) return false;
            result = y == -1 ? 0 : floor_mod(x, y);
            return true;
        case SymKind::Min: result = std::min(x, y); return true;
        case SymKind::Max: result = std::max(x, y); return true;
        default: return int_power(x, y, &result);
    }
}

bool SymTable::eval_all(std::span<const int64_t> symbol_values, std::span<int64_t> out) const {
    for (size_t i = 0; i < steps_.size(); ++i)
        if (!run_step(steps_[i], symbol_values, out.data(), out[i])) return false;
    return true;
}

std::vector<int32_t> SymTable::closure(std::span<const Sym> wanted) const {
    std::vector<bool> needed(exprs_.size(), false);
    for (Sym s : wanted) needed[static_cast<size_t>(s.id)] = true;
    // Operands have smaller ids, so one backward sweep reaches everything.
    for (size_t i = exprs_.size(); i-- > 0;) {
        if (!needed[i]) continue;
        for (const SymTerm& t : exprs_[i].terms) needed[static_cast<size_t>(t.atom.id)] = true;
        if (exprs_[i].a) needed[static_cast<size_t>(exprs_[i].a.id)] = true;
        if (exprs_[i].b) needed[static_cast<size_t>(exprs_[i].b.id)] = true;
    }
    std::vector<int32_t> ids;
    for (size_t i = 0; i < needed.size(); ++i)
        if (needed[i]) ids.push_back(static_cast<int32_t>(i));
    return ids;
}

bool SymTable::eval(std::span<const int32_t> ids, std::span<const int64_t> symbol_values,
                    std::span<int64_t> out) const {
    for (int32_t i : ids)
        if (!run_step(steps_[static_cast<size_t>(i)], symbol_values, out.data(), out[static_cast<size_t>(i)]))
            return false;
    return true;
}

}  // namespace stator::graph
