// Symbolic integers as text and back: `s0 - 2`, `2*(s0//3) + min(s1, 5)`.
//
// Invariant: parsing what `str` printed, into a table with the same symbols, gives an expression that prints
// the same. Precedence and associativity are Python's.
#include <cctype>
#include <charconv>
#include <limits>

#include "graph/sym.h"

namespace stator::graph {

namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

struct Printer {
    const SymTable& t;

    // An operand of *, // or %.
    std::string operand(Sym s) const {
        const SymExpr& e = t.expr(s);
        bool bare = e.kind == SymKind::Symbol || e.kind == SymKind::Min || e.kind == SymKind::Max ||
                    e.kind == SymKind::Pow || (e.kind == SymKind::Const && e.value >= 0);
        return bare ? print(s) : "(" + print(s) + ")";
    }

    std::string factors(Sym s) const {
        const SymExpr& e = t.expr(s);
        if (e.kind != SymKind::Mul) return operand(s);
        return factors(e.a) + "*" + operand(e.b);
    }

    // `coef*atom` without the sign of coef, which is given as a magnitude's text.
    std::string scaled(const std::string& coef, Sym atom, bool leading_minus) const {
        SymKind kind = t.expr(atom).kind;
        if (coef != "1") return coef + "*" + factors(atom);
        bool division = kind == SymKind::FloorDiv || kind == SymKind::Mod;
        if (kind == SymKind::Linear || kind == SymKind::Const || (division && leading_minus))
            return operand(atom);
        return print(atom);
    }

    std::string linear(const SymExpr& e) const {
        std::string out;
        for (const SymTerm& term : e.terms) {
            bool negative = term.coef < 0 && term.coef != kMin;
            std::string coef = std::to_string(negative ? -term.coef : term.coef);
            if (out.empty())
                out = (negative ? "-" : "") + scaled(coef, term.atom, negative);
            else
                out += (negative ? " - " : " + ") + scaled(coef, term.atom, false);
        }
        if (e.value == 0) return out;
        bool negative = e.value < 0 && e.value != kMin;
        return out + (negative ? " - " : " + ") + std::to_string(negative ? -e.value : e.value);
    }

    // A constant reads better last, as in max(s0 - 1, 0).
    std::string pair(const SymExpr& e) const {
        bool swap = t.expr(e.a).kind == SymKind::Const && e.kind != SymKind::Pow;
        return "(" + print(swap ? e.b : e.a) + ", " + print(swap ? e.a : e.b) + ")";
    }

    std::string print(Sym s) const {
        const SymExpr& e = t.expr(s);
        switch (e.kind) {
            case SymKind::Const: return std::to_string(e.value);
            case SymKind::Symbol: return t.symbol_info(static_cast<int>(e.value)).name;
            case SymKind::Linear: return linear(e);
            case SymKind::Mul: return factors(s);
            case SymKind::FloorDiv: return operand(e.a) + "//" + operand(e.b);
            case SymKind::Mod: return operand(e.a) + "%" + operand(e.b);
            case SymKind::Min: return "min" + pair(e);
            case SymKind::Max: return "max" + pair(e);
            case SymKind::Pow: return "pow" + pair(e);
        }
        return {};
    }
};

struct Parser {
    SymTable& t;
    std::string_view text;
    bool ok = true;

    void space() {
        while (!text.empty() && text[0] == ' ') text.remove_prefix(1);
    }
    bool take(std::string_view token) {
        space();
        if (!text.starts_with(token)) return false;
        text.remove_prefix(token.size());
        return true;
    }
    Sym fail() {
        ok = false;
        return t.constant(0);
    }

    Sym number(bool negative) {
        std::string digits = negative ? "-" : "";
        while (!text.empty() && std::isdigit(static_cast<unsigned char>(text[0]))) {
            digits += text[0];
            text.remove_prefix(1);
        }
        int64_t v = 0;
        auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), v);
        return error == std::errc() ? t.constant(v) : fail();
    }

    Sym name() {
        size_t n = 0;
        while (n < text.size() && (std::isalnum(static_cast<unsigned char>(text[n])) || text[n] == '_')) ++n;
        std::string_view id = text.substr(0, n);
        text.remove_prefix(n);
        if ((id == "min" || id == "max" || id == "pow") && take("(")) {
            Sym a = sum();
            if (!take(",")) return fail();
            Sym b = sum();
            if (!take(")")) return fail();
            return id == "min" ? t.min(a, b) : id == "max" ? t.max(a, b) : t.pow(a, b);
        }
        for (int i = 0; i < t.symbol_count(); ++i)
            if (t.symbol_info(i).name == id) return t.symbol_at(i);
        return fail();
    }

    Sym unary() {
        space();
        if (take("(")) {
            Sym s = sum();
            return take(")") ? s : fail();
        }
        if (take("-")) {
            space();
            if (!text.empty() && std::isdigit(static_cast<unsigned char>(text[0]))) return number(true);
            return ok ? t.neg(unary()) : fail();
        }
        if (text.empty()) return fail();
        return std::isdigit(static_cast<unsigned char>(text[0])) ? number(false) : name();
    }

    Sym term() {
        Sym a = unary();
        while (ok) {
            if (take("//"))
                a = t.floordiv(a, unary());
            else if (take("%"))
                a = t.mod(a, unary());
            else if (take("*"))
                a = t.mul(a, unary());
            else
                break;
        }
        return a;
    }

    Sym sum() {
        Sym a = term();
        while (ok) {
            if (take("+"))
                a = t.add(a, term());
            else if (take("-"))
                a = t.sub(a, term());
            else
                break;
        }
        return a;
    }
};

}  // namespace

std::string SymTable::str(Sym s) const { return s ? Printer{*this}.print(s) : "?"; }

std::optional<Sym> SymTable::parse(std::string_view text) {
    Parser p{*this, text};
    Sym s = p.sum();
    p.space();
    if (!p.ok || !p.text.empty()) return std::nullopt;
    return s;
}

}  // namespace stator::graph
