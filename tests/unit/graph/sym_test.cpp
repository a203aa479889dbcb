// Symbolic integers: canonical forms, bounds, proofs, text, and agreement with plain integer arithmetic on
// random expressions.
#include "graph/sym.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <random>

#include "graph/int_math.h"

namespace stator::graph {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

struct SymTest : testing::Test {
    SymTable t;
    Sym s0 = t.symbol(1000, 2, kMax), s1 = t.symbol(7, 1, 100), s2 = t.symbol(-3, kMin, kMax);
    Sym c(int64_t v) { return t.constant(v); }
    std::string str(Sym s) { return t.str(s); }
    Sym p(std::string_view text) {
        auto s = t.parse(text);
        EXPECT_TRUE(s) << text;
        return s.value_or(Sym{0});
    }
};

TEST_F(SymTest, SumsThatDifferByRearrangementAreOne) {
    EXPECT_EQ(t.add(t.sub(s0, c(2)), s1), t.sub(t.add(s1, s0), c(2)));
    EXPECT_EQ(t.sub(t.add(s0, s1), s1), s0);
    EXPECT_EQ(t.mul(c(3), t.add(s0, c(1))), t.add(t.mul(s0, c(3)), c(3)));
    EXPECT_EQ(t.as_const(t.sub(s0, s0)), 0);
    EXPECT_EQ(str(t.add(t.neg(s0), c(5))), "-s0 + 5");
    EXPECT_EQ(str(t.sub(t.mul(s0, c(2)), t.add(s1, c(3)))), "2*s0 - s1 - 3");
}

TEST_F(SymTest, ProductsAreCommutativeAndKeepNoContent) {
    EXPECT_EQ(t.mul(t.mul(s0, s1), s2), t.mul(s2, t.mul(s1, s0)));
    EXPECT_EQ(t.mul(t.mul(s0, c(2)), s1), t.mul(c(2), t.mul(s0, s1)));
    EXPECT_EQ(str(t.mul(p("2*s0 + 4"), s1)), "2*s1*(s0 + 2)");
    EXPECT_EQ(t.mul(t.sub(c(1), s0), s1), t.neg(t.mul(t.sub(s0, c(1)), s1)));
    Sym factors[] = {s1, c(2), s0};
    EXPECT_EQ(str(t.product(factors)), "2*s0*s1");
    EXPECT_EQ(t.as_const(t.product({})), 1);
}

TEST_F(SymTest, DivisionCancelsOnlyWhatIsProvablyNonzero) {
    EXPECT_EQ(t.floordiv(t.mul(s0, s1), s1), s0);
    EXPECT_EQ(t.as_const(t.floordiv(s0, s0)), 1);
    EXPECT_EQ(str(t.floordiv(t.mul(s0, s2), s2)), "(s0*s2)//s2");  // s2 may be zero
    EXPECT_EQ(str(p("(4*s0 + 7)//2")), "2*s0 + 3");
    EXPECT_EQ(str(p("(s0 - 1)//2 + 1")), "(s0 + 1)//2");
    EXPECT_EQ(str(p("(6*s0 + 3)//9")), "(2*s0 + 1)//3");
    EXPECT_EQ(str(p("(s0//2 + 1)//3")), "(s0 + 2)//6");
    EXPECT_EQ(str(p("s0//(-2)")), "(-s0)//2");
    EXPECT_EQ(t.as_const(p("(s1 - 1)//100")), 0);
    EXPECT_EQ(str(p("(s0*s1 + s2)//s1")), "s0 + s2//s1");
    EXPECT_EQ(str(p("s0//0")), "s0//0");
    EXPECT_EQ(t.floordiv(p("s1*(s0 - 1)*3"), p("s0 - 1")), p("3*s1"));
}

TEST_F(SymTest, Modulus) {
    EXPECT_EQ(t.as_const(p("(4*s0 + 7)%2")), 1);
    EXPECT_EQ(t.as_const(p("(s0*s1)%s1")), 0);
    EXPECT_EQ(p("s1%101"), s1);
    EXPECT_EQ(p("s1%100 - s1%100"), c(0));
    EXPECT_EQ(str(p("(2*s0 + 4)%6")), "2*((s0 + 2)%3)");
    EXPECT_EQ(str(p("s0%(-3)")), "-((-s0)%3)");
    EXPECT_EQ(t.as_const(p("(-7)%2")), 1);
    EXPECT_EQ(t.as_const(p("7%(-2)")), -1);
}

TEST_F(SymTest, ExtremaFollowBounds) {
    EXPECT_EQ(p("max(s0 - 1, 0)"), p("s0 - 1"));
    EXPECT_EQ(p("min(s1, 100)"), s1);
    EXPECT_EQ(p("max(s0, s0 + 1)"), p("s0 + 1"));
    EXPECT_EQ(p("min(s0, min(s1, s2))"), p("min(min(s2, s1), s0)"));
    EXPECT_EQ(p("max(min(s0, s1), 1)"), p("min(s0, s1)"));
    EXPECT_EQ(str(p("max(s2, 0)")), "max(s2, 0)");
}

TEST_F(SymTest, Powers) {
    EXPECT_EQ(t.as_const(p("pow(3, 4)")), 81);
    EXPECT_EQ(t.as_const(p("pow(0, 0)")), 1);
    EXPECT_EQ(t.as_const(p("pow(s2, 0)")), 1);
    EXPECT_EQ(p("pow(s0, 1)"), s0);
    EXPECT_EQ(str(p("3*pow(2, s1)*s0")), "3*s0*pow(2, s1)");
    EXPECT_EQ(t.bounds(p("pow(2, s1 - 1)")), (SymTable::Bounds{1, kMax}));
    EXPECT_EQ(t.bounds(p("pow(s1, 2)")), (SymTable::Bounds{1, 10000}));
    EXPECT_EQ(t.bounds(p("pow(s1 - 1, s1)")), (SymTable::Bounds{0, kMax}));
    EXPECT_EQ(t.bounds(p("pow(s2, s1)")), (SymTable::Bounds{kMin, kMax}));
    EXPECT_EQ(t.hint(p("pow(s2, s1)")), -2187);
    EXPECT_EQ(str(t.substitute(p("pow(s2, s1) + s0"), 1, c(2))), "s0 + pow(s2, 2)");
    std::vector<int64_t> values = {2, 62, 2}, out(static_cast<size_t>(t.size()));
    const Sym power = p("pow(s2, s1)");
    out.resize(static_cast<size_t>(t.size()));
    Sym wanted[] = {power};
    ASSERT_TRUE(t.eval(t.closure(wanted), values, out));
    EXPECT_EQ(out[static_cast<size_t>(power.id)], int64_t{1} << 62);
    values[1] = 63;  // beyond 64 bits
    EXPECT_FALSE(t.eval(t.closure(wanted), values, out));
    values[2] = -2;
    ASSERT_TRUE(t.eval(t.closure(wanted), values, out));
    EXPECT_EQ(out[static_cast<size_t>(power.id)], kMin);
    values[1] = -1;  // a float in Python
    EXPECT_FALSE(t.eval(t.closure(wanted), values, out));
}

TEST_F(SymTest, ProofsLookInsideExtremaAndDivisions) {
    EXPECT_EQ(t.prove_ge(s0, p("min(s0, s2)")), true);
    EXPECT_EQ(t.prove_ge(p("max(s0, s2)"), s2), true);
    EXPECT_EQ(t.prove_ge(p("s0 - min(s0, s2)"), c(0)), true);
    EXPECT_EQ(t.prove_ge(p("s0 - 1"), p("2*((s0 + 1)//2 - 1)")), true);  // x[::2] stays inside x
    EXPECT_EQ(t.prove_ge(p("2*((s0 + 1)//2)"), s0), true);
    EXPECT_EQ(t.prove_ge(c(0), s0), false);
    EXPECT_EQ(t.prove_ge(s0, s1), std::nullopt);
    EXPECT_EQ(t.prove_eq(s0, p("s0 + 1")), false);
    EXPECT_EQ(t.prove_eq(s0, c(1)), false);
    EXPECT_EQ(t.prove_eq(s0, s1), std::nullopt);
}

TEST_F(SymTest, BoundsSaturate) {
    EXPECT_EQ(t.bounds(p("s0 - 5")), (SymTable::Bounds{-3, kMax}));
    EXPECT_EQ(t.bounds(p("s1*s1")), (SymTable::Bounds{1, 10000}));
    EXPECT_EQ(t.bounds(p("s2*s2")), (SymTable::Bounds{0, kMax}));
    EXPECT_EQ(t.bounds(p("s0*s1")), (SymTable::Bounds{2, kMax}));
    EXPECT_EQ(t.bounds(p("-s0")), (SymTable::Bounds{kMin, -2}));
    EXPECT_EQ(t.bounds(p("s2%8")), (SymTable::Bounds{0, 7}));
    EXPECT_EQ(t.bounds(p("s1//s0")), (SymTable::Bounds{0, 50}));
    EXPECT_EQ(t.bounds(p("9223372036854775807*s1")), (SymTable::Bounds{kMax, kMax}));
}

TEST_F(SymTest, EditedBoundsAreSeenAndSimplifyUsesThem) {
    Sym e = p("max(s2 - 1, 0)");
    EXPECT_EQ(str(t.simplify(e)), "max(s2 - 1, 0)");
    t.symbol_info(2).lo = 1;
    EXPECT_EQ(t.bounds(p("s2 + 1")).lo, 2);
    EXPECT_EQ(str(t.simplify(e)), "s2 - 1");
    EXPECT_EQ(str(t.substitute(e, 2, s1)), "s1 - 1");
}

TEST_F(SymTest, HintsFollowSymbols) {
    EXPECT_EQ(t.hint(p("s0//3 + s1*s2")), 1000 / 3 - 21);
    t.symbol_info(1).hint = 1;
    EXPECT_EQ(t.hint(p("s0//3 + s1*s2")), 1000 / 3 - 3);
    EXPECT_EQ(t.hint(p("s2//(s1 - s1)")), 0);
}

TEST_F(SymTest, OverflowIsReportedNotWrapped) {
    Sym big = t.add(t.add(s0, c(kMax)), c(kMax));
    std::vector<int64_t> values = {-kMax, 1, 1}, out(static_cast<size_t>(t.size()));
    EXPECT_EQ(str(big), "9223372036854775807 + (s0 + 9223372036854775807)");
    EXPECT_TRUE(t.eval_all(values, out));
    EXPECT_EQ(out[static_cast<size_t>(big.id)], kMax);
    values[0] = 5;
    EXPECT_FALSE(t.eval_all(values, out));
    EXPECT_EQ(t.as_const(t.neg(c(kMin))), std::nullopt);
    EXPECT_EQ(str(t.neg(c(kMin))), "-(-9223372036854775808)");
    EXPECT_EQ(str(t.mul(c(kMax), c(2))), "2*9223372036854775807");
}

TEST_F(SymTest, EvalOfAClosureLeavesTheRestAlone) {
    Sym bad = t.floordiv(s0, t.sub(s1, s2)), good = p("s0 - 2");
    std::vector<int64_t> values = {10, 3, 3}, out(static_cast<size_t>(t.size()));
    EXPECT_FALSE(t.eval_all(values, out));
    Sym wanted[] = {good};
    std::vector<int32_t> ids = t.closure(wanted);
    EXPECT_TRUE(t.eval(ids, values, out));
    EXPECT_EQ(out[static_cast<size_t>(good.id)], 8);
    Sym both[] = {bad, good};
    EXPECT_FALSE(t.eval(t.closure(both), values, out));
}

TEST_F(SymTest, TextThatIsNotAnExpression) {
    for (const char* text :
         {"", "s9", "s0 +", "(s0", "min(s0)", "s0 s1", "1 2", "99999999999999999999", "s0 /2"})
        EXPECT_EQ(t.parse(text), std::nullopt) << text;
}

// Random expressions, built together with a plain evaluator over Z. Where that meets a zero divisor anywhere,
// nothing is claimed: simplification may have removed it.
TEST(SymProperty, AgreesWithIntegerArithmetic) {
    std::mt19937_64 random(12345);
    auto pick = [&](int64_t lo, int64_t hi) {
        return std::uniform_int_distribution<int64_t>(lo, hi)(random);
    };
    struct Term {
        Sym sym;
        std::function<std::optional<int64_t>(const std::vector<int64_t>&)> value;
    };
    for (int round = 0; round < 200; ++round) {
        SymTable t;
        std::vector<SymTable::Bounds> bounds;
        std::vector<Term> terms;
        for (int i = 0; i < 3; ++i) {
            int64_t lo = pick(-6, 6), hi = lo + pick(0, 12);
            bounds.push_back({lo, hi});
            auto index = static_cast<size_t>(i);
            terms.push_back({t.symbol(lo, lo, hi),
                             [index](const std::vector<int64_t>& v) { return std::optional(v[index]); }});
        }
        for (int i = 0; i < 14; ++i) {
            if (pick(0, 4) == 0) {
                int64_t c = pick(-7, 7);
                terms.push_back(
                    {t.constant(c), [c](const std::vector<int64_t>&) { return std::optional(c); }});
                continue;
            }
            Term a = terms[static_cast<size_t>(pick(0, static_cast<int64_t>(terms.size()) - 1))];
            Term b = terms[static_cast<size_t>(pick(0, static_cast<int64_t>(terms.size()) - 1))];
            int64_t op = pick(0, 7);
            Sym s = op == 0   ? t.add(a.sym, b.sym)
                    : op == 1 ? t.sub(a.sym, b.sym)
                    : op == 2 ? t.mul(a.sym, b.sym)
                    : op == 3 ? t.floordiv(a.sym, b.sym)
                    : op == 4 ? t.mod(a.sym, b.sym)
                    : op == 5 ? t.min(a.sym, b.sym)
                    : op == 6 ? t.max(a.sym, b.sym)
                              : t.pow(a.sym, b.sym);
            terms.push_back({s, [a, b, op](const std::vector<int64_t>& v) -> std::optional<int64_t> {
                                 auto x = a.value(v), y = b.value(v);
                                 if (!x || !y || std::abs(*x) > 1'000'000 || std::abs(*y) > 1'000'000)
                                     return {};
                                 if (op >= 3 && op <= 4 && *y == 0) return {};
                                 if (op == 7 && (*y < 0 || *y > 9 || std::abs(*x) > 40)) return {};
                                 switch (op) {
                                     case 0: return *x + *y;
                                     case 1: return *x - *y;
                                     case 2: return *x * *y;
                                     case 3: return floor_div(*x, *y);
                                     case 4: return floor_mod(*x, *y);
                                     case 5: return std::min(*x, *y);
                                     case 6: return std::max(*x, *y);
                                     default: {
                                         int64_t power = 0;
                                         EXPECT_TRUE(int_power(*x, *y, &power));
                                         return power;
                                     }
                                 }
                             }});
        }
        // The same text in a table without bounds prints the same.
        SymTable unbounded;
        for (int i = 0; i < 3; ++i) unbounded.symbol(0, kMin, kMax);
        for (const Term& term : terms) {
            auto again = unbounded.parse(t.str(term.sym));
            ASSERT_TRUE(again) << t.str(term.sym);
            ASSERT_EQ(unbounded.str(*again), t.str(term.sym));
            ASSERT_EQ(t.parse(t.str(term.sym)).has_value(), true);
        }
        for (int sample = 0; sample < 20; ++sample) {
            std::vector<int64_t> values;
            for (auto b : bounds) values.push_back(pick(b.lo, b.hi));
            std::vector<int64_t> out(static_cast<size_t>(t.size()));
            for (const Term& term : terms) {
                auto want = term.value(values);
                if (!want) continue;
                Sym wanted[] = {term.sym};
                ASSERT_TRUE(t.eval(t.closure(wanted), values, out)) << t.str(term.sym);
                ASSERT_EQ(out[static_cast<size_t>(term.sym.id)], *want) << t.str(term.sym);
                auto b = t.bounds(term.sym);
                ASSERT_TRUE(b.lo <= *want && *want <= b.hi)
                    << t.str(term.sym) << " bounds " << b.lo << " " << b.hi;
            }
            for (size_t i = 0; i + 1 < terms.size(); ++i) {
                auto x = terms[i].value(values), y = terms[i + 1].value(values);
                if (!x || !y) continue;
                auto ge = t.prove_ge(terms[i].sym, terms[i + 1].sym),
                     eq = t.prove_eq(terms[i].sym, terms[i + 1].sym);
                ASSERT_EQ(ge.value_or(*x >= *y), *x >= *y);
                ASSERT_EQ(eq.value_or(*x == *y), *x == *y);
            }
        }
    }
}

}  // namespace
}  // namespace stator::graph
