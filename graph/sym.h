// Symbolic integers: array extents, Python ints, and what is computed from them.
//
// A Sym names an interned expression of a SymTable. Expressions are kept in one canonical form so that equal
// expressions that differ by linear rearrangement have equal ids: sums are `c0 + c1*a1 + ... + cn*an` with
// the atoms ai in structural order (`compare`; ids would make printed text depend on history). An atom is a
// symbol or a product, floor division, modulus, minimum, maximum or power that could not be simplified.
// Arithmetic is exact in Z; `eval` reports an overflow of 64 bits instead of wrapping, and the caller treats
// it as a failed guard. A sum or product whose own constants overflow stays unfolded, so that `eval` is what
// reports it.
//
// Every symbol has bounds [lo, hi] that its guard establishes, and a hint: the value seen while recording.
// Decisions are taken on hints; whatever was decided must be proven by bounds or written down as a guard (see
// graph.h).
//
// A table belongs to one thread at a time (`bounds` and `hint` fill caches); `eval_all` and `eval` may run in
// parallel.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace stator::graph {

struct Sym {
    int32_t id = -1;
    bool operator==(const Sym&) const = default;
    explicit operator bool() const { return id >= 0; }
};

enum class SymKind : uint8_t { Const, Symbol, Linear, Mul, FloorDiv, Mod, Min, Max, Pow };

struct SymTerm {
    int64_t coef;
    Sym atom;
    bool operator==(const SymTerm&) const = default;
};

struct SymExpr {
    SymKind kind;
    int64_t value = 0;           // Const: the value; Linear: the constant term; Symbol: its index
    std::vector<SymTerm> terms;  // Linear
    Sym a, b;                    // Mul, FloorDiv, Mod, Min, Max, Pow
    bool operator==(const SymExpr&) const = default;
};

struct SymbolInfo {
    std::string name;  // "s0"; printed
    int64_t lo, hi;    // inclusive bounds that an entry guard (or the producing node) establishes
    int64_t hint;      // value seen while recording
};

class SymTable {
  public:
    SymTable();
    Sym constant(int64_t v);
    Sym symbol(int64_t hint, int64_t lo, int64_t hi, std::string name = {});
    Sym add(Sym a, Sym b);
    Sym sub(Sym a, Sym b);
    Sym neg(Sym a);
    Sym mul(Sym a, Sym b);
    Sym floordiv(Sym a, Sym b);  // Python's //; the divisor is nonzero by a guard
    Sym mod(Sym a, Sym b);       // Python's %
    Sym min(Sym a, Sym b);
    Sym max(Sym a, Sym b);
    Sym pow(Sym a, Sym b);  // Python's **; the exponent is not negative by a guard
    Sym product(std::span<const Sym> factors);

    const SymExpr& expr(Sym s) const { return exprs_[s.id]; }
    std::optional<int64_t> as_const(Sym s) const;
    int64_t hint(Sym s) const;  // value under every symbol's hint
    struct Bounds {             // saturated: lo == INT64_MIN and hi == INT64_MAX mean unbounded
        int64_t lo, hi;
        bool operator==(const Bounds&) const = default;
    };
    Bounds bounds(Sym s) const;
    // Tri-state comparison from bounds of a-b: true/false when proven, nullopt otherwise.
    std::optional<bool> prove_ge(Sym a, Sym b) const;
    std::optional<bool> prove_eq(Sym a, Sym b) const;

    // Rebuilds an expression, so that bounds learned since it was made take effect.
    Sym simplify(Sym s);
    // `s` with symbol number `index` replaced by `value`.
    Sym substitute(Sym s, int index, Sym value);
    // Three-way structural order: the same for tables in which the same symbols were made in the same order.
    int compare(Sym a, Sym b) const;

    int symbol_count() const { return static_cast<int>(symbols_.size()); }
    const SymbolInfo& symbol_info(int index) const { return symbols_[index]; }
    SymbolInfo& symbol_info(int index) { return symbols_[index]; }
    Sym symbol_at(int index) const { return symbol_ids_[index]; }

    // Evaluates every expression up to size() in id order given the symbols' values; out[i] is expression i.
    // An expression is created after its operands, so one forward sweep suffices. False on 64-bit overflow or
    // a zero divisor or a negative exponent.
    bool eval_all(std::span<const int64_t> symbol_values, std::span<int64_t> out) const;
    int size() const { return static_cast<int>(exprs_.size()); }
    // The same for chosen expressions: `closure` lists the ids that `wanted` depend on, in order, once;
    // `eval` then computes only those (others may not be defined yet, or divide by zero on a path not taken).
    std::vector<int32_t> closure(std::span<const Sym> wanted) const;
    bool eval(std::span<const int32_t> ids, std::span<const int64_t> symbol_values,
              std::span<int64_t> out) const;

    std::string str(Sym s) const;                     // "s0 - 2", "min(s0, s1)"
    std::optional<Sym> parse(std::string_view text);  // inverse of str; symbols must exist

    // A sum before it is interned.
    struct Form {
        int64_t constant = 0;
        std::vector<SymTerm> terms;  // in structural order, no zero coefficients
    };

  private:
    struct Step {  // an expression, laid out for eval
        SymKind kind;
        int32_t a, b;  // operand ids; Linear: first term and number of terms in step_terms_
        int64_t value;
    };
    struct Factors {
        int64_t content = 1;
        std::vector<Sym> list;
    };

    Sym intern(SymExpr e);
    Sym intern_form(Form f);
    Form form(Sym s) const;
    bool add_scaled(const Form& a, const Form& b, int64_t k, Form& out) const;  // a + k*b; false on overflow
    bool factor(Sym s, Factors& out);
    Sym multiply_factors(Factors f);
    Sym raw(SymKind kind, Sym a, Sym b);
    Sym divide_by_const(Sym a, int64_t c);
    Sym modulo_const(Sym a, int64_t c);
    bool split_divisible(Sym a, Sym b, Form& quotient, Form& rest);
    Sym extremum(SymKind kind, Sym a, Sym b);
    Sym rebuild(Sym s, std::unordered_map<int32_t, Sym>& done);
    bool run_step(const Step& step, std::span<const int64_t> symbol_values, int64_t* out,
                  int64_t& result) const;

    struct Lower;  // sym_bounds.cpp
    Bounds compute_bounds(Sym s) const;
    Bounds form_bounds(const Form& f) const;
    void refresh_caches() const;

    std::vector<SymExpr> exprs_;
    std::vector<SymbolInfo> symbols_;
    std::vector<Sym> symbol_ids_;
    std::unordered_multimap<uint64_t, int32_t> index_;
    std::vector<Step> steps_;
    std::vector<SymTerm> step_terms_;

    // Valid while symbols_ says what cache_key_ says; bounds and hints may be edited through symbol_info().
    struct CacheKey {
        int64_t lo, hi, hint;
        bool operator==(const CacheKey&) const = default;
    };
    mutable std::vector<CacheKey> cache_key_;
    mutable std::vector<std::optional<Bounds>> bounds_cache_;
    mutable std::vector<std::optional<int64_t>> hint_cache_;
};

}  // namespace stator::graph
