// Passes on random graphs: after each one the graph verifies, round-trips and does what it did before, judged
// by the reference interpreter on several inputs: values, visible stores, exits, floating-point flags, object
// identity.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "graph/graph.h"
#include "graph/scalar.h"
#include "tests/unit/graph/reference.h"

namespace stator::graph {
namespace {

class Generator {
  public:
    explicit Generator(uint64_t seed) : random_(seed) {}

    int64_t pick(int64_t lo, int64_t hi) { return std::uniform_int_distribution<int64_t>(lo, hi)(random_); }
    bool chance(int percent) { return pick(1, 100) <= percent; }

    Graph graph() {
        g_ = {};
        g_.name = "random";
        s0_ = g_.syms.symbol(5, 3, 9);
        s1_ = g_.syms.symbol(2, 0, 4);
        input(InputKind::Array, DType::F64, {s0_}, true);
        input(InputKind::Array, DType::F64, {s0_}, false);
        input(InputKind::Array, DType::I64, {s0_}, true);
        input(InputKind::Array, DType::F64, {s1_, s0_}, false);
        input(InputKind::PyBool, DType::Bool, {}, false);
        input(InputKind::PyFloat, DType::F64, {}, false);
        int count = static_cast<int>(pick(5, 30));
        for (int i = 0; i < count; ++i) node();
        g_.end = values(static_cast<int>(pick(1, 4)), RecipeKind::Tuple);
        return std::move(g_);
    }

    test::World world(const Graph& g) {
        test::World w;
        for (int i = 0; i < g.syms.symbol_count(); ++i)
            w.symbols.push_back(pick(g.syms.symbol_info(i).lo, g.syms.symbol_info(i).hi));
        for (const Input& in : g.inputs) {
            test::Value v;
            int64_t n = 1;
            for (Sym s : in.shape) {
                v.shape.push_back(w.symbols[static_cast<size_t>(g.syms.expr(s).value)]);
                n *= v.shape.back();
            }
            for (int64_t k = 0; k < n; ++k) v.data.push_back(bits(in.dtype));
            w.inputs.push_back(std::move(v));
        }
        return w;
    }

  private:
    uint64_t bits(DType t) {
        if (t == DType::Bool) return static_cast<uint64_t>(pick(0, 1));
        if (t == DType::I64) return static_cast<uint64_t>(pick(-3, 3));
        static constexpr double kSpecial[] = {0.0,
                                              -0.0,
                                              1.0,
                                              -1.5,
                                              1e300,
                                              1e-300,
                                              std::numeric_limits<double>::infinity(),
                                              std::numeric_limits<double>::quiet_NaN(),
                                              2.0,
                                              3.0};
        return std::bit_cast<uint64_t>(kSpecial[pick(0, chance(30) ? 9 : 3)]);
    }

    Box scalar_box() { return chance(70) ? Box::NpScalar : Box::Array; }

    void input(InputKind kind, DType dtype, std::vector<Sym> shape, bool written) {
        Input in{};
        in.kind = kind;
        in.dtype = dtype;
        in.shape = shape;
        in.source = "L['i" + std::to_string(g_.inputs.size()) + "']";
        in.written = written;
        Node n{};
        n.op = Op::Input;
        n.dtype = dtype;
        n.shape = std::move(shape);
        n.ints = {static_cast<int64_t>(g_.inputs.size())};
        n.box = kind == InputKind::Array    ? Box::Array
                : kind == InputKind::PyBool ? Box::PyBool
                                            : Box::PyFloat;
        g_.inputs.push_back(std::move(in));
        g_.append(std::move(n));
    }

    bool has_value(Id v) const { return info(g_.node(v).op).cls != OpClass::Guard; }

    Id any() {
        Id v;
        do v = static_cast<Id>(pick(0, static_cast<int64_t>(g_.nodes.size()) - 1));
        while (!has_value(v));
        return v;
    }

    // A value of this dtype that fits a pointwise node of this shape; a constant if there is none.
    Id operand(DType t, const std::vector<Sym>& shape) {
        std::vector<Id> fits;
        for (Id v = 0; v < static_cast<Id>(g_.nodes.size()); ++v)
            if (has_value(v) && g_.node(v).dtype == t &&
                (g_.node(v).shape.empty() || g_.node(v).shape == shape))
                fits.push_back(v);
        if (!fits.empty() && chance(80))
            return fits[static_cast<size_t>(pick(0, static_cast<int64_t>(fits.size()) - 1))];
        Node c = t == DType::F64 ? make_const(t, std::bit_cast<double>(bits(t)))
                                 : make_const_int(t, static_cast<int64_t>(bits(t)));
        return g_.append(std::move(c));
    }

    void pointwise() {
        static constexpr Op kFloat[] = {Op::Add,  Op::Subtract, Op::Multiply, Op::Divide, Op::Negative,
                                        Op::Sqrt, Op::Less,     Op::Equal,    Op::Copy,   Op::Absolute};
        static constexpr Op kInt[] = {Op::Add,       Op::Subtract,   Op::Multiply,  Op::BitwiseAnd,
                                      Op::BitwiseOr, Op::BitwiseXor, Op::Remainder, Op::Maximum,
                                      Op::Less,      Op::Copy};
        static constexpr Op kBool[] = {Op::LogicalAnd, Op::LogicalOr, Op::LogicalNot, Op::Equal, Op::Copy};
        Id first = any();
        Node n{};
        DType t = g_.node(first).dtype;
        n.shape = g_.node(first).shape;
        n.op = t == DType::F64 ? kFloat[pick(0, 9)] : t == DType::I64 ? kInt[pick(0, 9)] : kBool[pick(0, 4)];
        if (chance(12)) n.op = Op::Cast;
        if (chance(8)) n.op = Op::Where;
        n.dtype = info(n.op).dtype == DTypeRule::bool_ ? DType::Bool : t;
        n.in = {first};
        if (n.op == Op::Cast)
            n.dtype = std::array{DType::Bool, DType::I64, DType::F64}[static_cast<size_t>(pick(0, 2))];
        if (n.op == Op::Where) n.in = {operand(DType::Bool, n.shape), first, operand(t, n.shape)};
        if (info(n.op).arity == 2) n.in.push_back(operand(t, n.shape));
        if (info(n.op).arity == 2 && chance(50)) std::swap(n.in[0], n.in[1]);
        if (n.shape.empty()) n.box = scalar_box();
        g_.append(std::move(n));
    }

    // Axes of a random view of `shape`; `out` is the shape it has.
    std::vector<AxisMap> random_axes(const std::vector<Sym>& shape, std::vector<Sym>& out, bool injective) {
        SymTable& t = g_.syms;
        std::vector<AxisMap> axes;
        for (Sym extent : shape) {
            AxisMap a{t.constant(0), 1, static_cast<int>(out.size())};
            bool nonempty = t.bounds(extent).lo >= 1;
            switch (pick(0, 5)) {
                case 0:
                    if (nonempty) {
                        a = {chance(50) ? t.constant(0) : t.sub(extent, t.constant(1)), 0, -1};
                        axes.push_back(a);
                        continue;
                    }
                    [[fallthrough]];
                case 1: out.push_back(extent); break;
                case 2:
                    a.start = t.constant(1);
                    out.push_back(t.max(t.sub(extent, t.constant(1)), t.constant(0)));
                    break;
                case 3:
                    a.step = 2;
                    out.push_back(t.floordiv(t.add(extent, t.constant(1)), t.constant(2)));
                    break;
                default: a = {t.sub(extent, t.constant(1)), -1, a.axis}; out.push_back(extent);
            }
            axes.push_back(a);
        }
        if (out.size() == 2 && chance(40)) {
            std::swap(out[0], out[1]);
            for (AxisMap& a : axes)
                if (a.axis >= 0) a.axis = 1 - a.axis;
        }
        if (!injective && chance(20) && out.size() < 3) out.push_back(chance(50) ? s0_ : t.constant(1));
        return axes;
    }

    void view() {
        Node n{};
        n.in = {any()};
        n.op = Op::View;
        n.dtype = g_.node(n.in[0]).dtype;
        auto axes = random_axes(g_.node(n.in[0]).shape, n.shape, false);
        set_view_axes(n, axes);
        n.layout = n.shape.empty() ? Layout::Contiguous : Layout::Strided;
        if (n.shape.empty()) n.box = scalar_box();
        g_.append(std::move(n));
    }

    // Stores go to whole buffers: the newest version of an array input, a fresh result or a filled array.
    void store() {
        Id base = any();
        Id root = buffer_root(g_, base);
        for (Id v = base; v < static_cast<Id>(g_.nodes.size()); ++v)
            if (g_.node(v).op == Op::Store && buffer_root(g_, v) == root) base = v;
        const Node& r = g_.node(root);
        if (info(g_.node(base).op).cls == OpClass::View) base = root;
        if (r.shape.empty() || r.op == Op::Const ||
            (r.op == Op::Input && !g_.inputs[static_cast<size_t>(r.ints[0])].written))
            return;
        Node n{};
        n.op = Op::Store;
        n.dtype = g_.node(base).dtype;
        n.shape = g_.node(base).shape;
        std::vector<Sym> region;
        auto axes = random_axes(n.shape, region, true);
        Id value = operand(n.dtype, region);
        n.in = {base, value};
        set_view_axes(n, axes);
        if (g_.node(value).shape.empty()) n.syms.insert(n.syms.end(), region.begin(), region.end());
        g_.append(std::move(n));
    }

    // A number of its own, as what decides is.
    Id number(Id v) {
        if (g_.node(v).box != Box::Array) return v;
        Node n{};
        n.op = Op::Copy;
        n.dtype = g_.node(v).dtype;
        n.box = Box::PyBool;
        n.in = {v};
        return g_.append(std::move(n));
    }

    void guard() {
        Node n{};
        if (chance(40)) {
            n.op = Op::SymGuard;
            n.syms = {chance(50) ? s0_ : s1_, chance(50) ? s1_ : g_.syms.constant(pick(0, 6))};
            n.ints = {pick(0, 3), 0};
        } else {
            n.op = Op::Guard;
            n.in = {number(operand(DType::Bool, {}))};
            n.ints = {pick(0, 1), 0};
        }
        n.ints[1] = static_cast<int64_t>(g_.snapshots.size());
        Snapshot s;
        s.frames.push_back({0,
                            -1,
                            static_cast<int32_t>(pick(0, 99)),
                            {values(static_cast<int>(pick(0, 2)), RecipeKind::List)}});
        if (chance(20)) {
            int32_t cell = g_.add_recipe({RecipeKind::Cell, 0, {}, {}});
            s.cells.push_back({cell, values(1, RecipeKind::Tuple)});
        }
        g_.snapshots.push_back(std::move(s));
        g_.append(std::move(n));
    }

    void node() {
        int64_t what = pick(0, 99);
        if (what < 50) return pointwise();
        if (what < 70) return view();
        if (what < 80) return store();
        if (what < 88) return guard();
        Node n{};
        if (what < 94) {
            n.op = Op::Full;
            n.in = {operand(chance(50) ? DType::F64 : DType::I64, {})};
            n.dtype = g_.node(n.in[0]).dtype;
            n.shape = {s0_};
        } else {
            Id x = any();
            const Node& operand = g_.node(x);
            if (operand.layout != Layout::Contiguous || operand.shape.empty()) return;
            n.op = operand.dtype == DType::I64 && chance(50) ? Op::Reduce : Op::Reshape;
            n.in = {x};
            n.dtype = operand.dtype;
            if (n.op == Op::Reduce) {
                n.name = "add";
                n.ints = {0};
                for (size_t d = 0; d < operand.shape.size(); ++d) n.ints.push_back(static_cast<int64_t>(d));
                n.box = Box::NpScalar;
            } else {
                n.shape = {g_.syms.product(operand.shape)};
                if (chance(30)) n.shape.push_back(g_.syms.constant(1));
            }
        }
        g_.append(std::move(n));
    }

    bool newest(Id v) const {
        Id root = buffer_root(g_, v);
        for (Id s = buffer_version(g_, v) + 1; s < static_cast<Id>(g_.nodes.size()); ++s)
            if (g_.node(s).op == Op::Store && buffer_root(g_, s) == root) return false;
        return true;
    }

    int32_t values(int count, RecipeKind kind) {
        Recipe r;
        r.kind = kind;
        for (int i = 0; i < count; ++i) {
            Id v = any();
            if (g_.node(v).box == Box::Array && !newest(v)) continue;
            Recipe leaf;
            leaf.kind = RecipeKind::Value;
            leaf.index = v;
            r.items.push_back(g_.add_recipe(std::move(leaf)));
        }
        return g_.add_recipe(std::move(r));
    }

    std::mt19937_64 random_;
    Graph g_;
    Sym s0_, s1_;
};

void expect_round_trip(const Graph& g) {
    std::string text = print(g);
    ParseResult again = parse(text);
    ASSERT_EQ(again.error, "") << text;
    ASSERT_EQ(print(again.graph), text);
}

TEST(Passes, KeepWhatRandomGraphsDo) {
    int changed = 0;
    for (uint64_t seed = 1; seed <= 1500; ++seed) {
        Generator gen(seed);
        Graph g = gen.graph();
        ASSERT_EQ(verify(g), "") << "seed " << seed << "\n" << print(g);
        expect_round_trip(g);
        std::vector<test::World> worlds;
        std::vector<test::Outcome> want;
        for (int i = 0; i < 4; ++i) {
            worlds.push_back(gen.world(g));
            want.push_back(test::interpret(g, worlds.back()));
        }
        for (int round = 0; round < 3; ++round)
            for (const Pass& pass : passes()) {
                std::string before = print(g);
                bool said = pass.run(g);
                std::string after = print(g);
                changed += said;
                ASSERT_TRUE(said || before == after)
                    << pass.name << " changed the graph and said it did not\n"
                    << after;
                ASSERT_EQ(verify(g), "") << "seed " << seed << " " << pass.name << "\n" << before << after;
                expect_round_trip(g);
                for (size_t i = 0; i < worlds.size(); ++i) {
                    test::Outcome got = test::interpret(g, worlds[i]);
                    ASSERT_EQ(got.text, want[i].text) << "seed " << seed << " " << pass.name << "\n"
                                                      << before << after;
                    ASSERT_EQ(got.flags, want[i].flags) << "seed " << seed << " " << pass.name << "\n"
                                                        << before << after;
                    ASSERT_TRUE(got.inputs == want[i].inputs) << "seed " << seed << " " << pass.name << "\n"
                                                              << before << after;
                }
            }
    }
    EXPECT_GT(changed, 1000);
}

TEST(Passes, ReachAFixpoint) {
    for (uint64_t seed = 1; seed <= 300; ++seed) {
        Graph g = Generator(seed).graph();
        run_passes(g);
        std::string text = print(g);
        for (const Pass& pass : passes()) EXPECT_FALSE(pass.run(g)) << "seed " << seed << " " << pass.name;
        EXPECT_EQ(print(g), text);
    }
}

// Whatever text is given: the parser answers, and what it accepts can be verified and printed, and, if
// it verifies, rewritten.
TEST(Parser, SurvivesDamagedText) {
    std::mt19937_64 random(5);
    auto pick = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
    int accepted = 0;
    for (uint64_t seed = 1; seed <= 150; ++seed) {
        const std::string text = print(Generator(seed).graph());
        for (int i = 0; i < 40; ++i) {
            std::string damaged = text;
            for (size_t k = pick(3) + 1; k > 0; --k) {
                size_t at = pick(damaged.size()), other = pick(damaged.size()), length = pick(6);
                switch (pick(3)) {
                    case 0: damaged[at] = damaged[other]; break;
                    case 1: damaged.erase(at, length); break;
                    default: damaged.insert(at, damaged.substr(other, length));
                }
            }
            ParseResult r = parse(damaged);
            if (!r.error.empty()) continue;
            ++accepted;
            std::string printed = print(r.graph);
            if (!verify(r.graph).empty()) continue;
            ParseResult again = parse(printed);
            ASSERT_EQ(again.error.empty() ? print(again.graph) : again.error, printed) << damaged;
            run_passes(r.graph);
            ASSERT_EQ(verify(r.graph), "") << printed << print(r.graph);
        }
    }
    EXPECT_GT(accepted, 100);
}

// Entry guards are checked first, the others in order; which one fails first must not depend on the dropped
// ones.
TEST(Passes, DropGuardsThatCannotFailFirst) {
    std::mt19937_64 random(99);
    auto pick = [&](int64_t lo, int64_t hi) {
        return std::uniform_int_distribution<int64_t>(lo, hi)(random);
    };
    auto first_failure = [](const Graph& g, std::span<const int64_t> symbols) -> int64_t {
        std::vector<int64_t> v(static_cast<size_t>(g.syms.size()));
        EXPECT_TRUE(g.syms.eval_all(symbols, v));
        for (bool at_entry : {true, false})
            for (const Node& n : g.nodes) {
                if ((n.ints[1] < 0) != at_entry) continue;
                int64_t a = v[static_cast<size_t>(n.syms[0].id)], b = v[static_cast<size_t>(n.syms[1].id)];
                bool holds = n.ints[0] == 0   ? a == b
                             : n.ints[0] == 1 ? a != b
                             : n.ints[0] == 2 ? a >= b
                                              : a < b;
                if (!holds) return n.ints[1];
            }
        return 1000;
    };
    size_t dropped = 0;
    for (int round = 0; round < 2000; ++round) {
        Graph g;
        Sym x = g.syms.symbol(2, pick(0, 2), pick(3, 6)), y = g.syms.symbol(2, pick(-2, 2), pick(3, 5));
        auto operand = [&] {
            Sym s = g.syms.constant(pick(-2, 6));
            if (pick(0, 2)) s = g.syms.add(g.syms.constant(pick(-2, 2)), pick(0, 1) ? x : y);
            return pick(0, 3) ? s : g.syms.mul(s, g.syms.constant(pick(-2, 2)));
        };
        for (int64_t i = 0; i < 8; ++i) {
            Node n{};
            n.op = Op::SymGuard;
            n.syms = {operand(), operand()};
            n.ints = {pick(0, 3), pick(0, 3) ? i : -1};
            g.append(std::move(n));
            g.snapshots.push_back({{SnapFrame{}}});
        }
        Graph after = g;
        for (const Pass& pass : passes())
            if (pass.name == "guards") pass.run(after);
        dropped += g.nodes.size() - after.nodes.size();
        for (int64_t a = g.syms.symbol_info(0).lo; a <= g.syms.symbol_info(0).hi; ++a)
            for (int64_t b = g.syms.symbol_info(1).lo; b <= g.syms.symbol_info(1).hi; ++b) {
                int64_t symbols[] = {a, b};
                ASSERT_EQ(first_failure(after, symbols), first_failure(g, symbols))
                    << print(g) << print(after);
            }
    }
    EXPECT_GT(dropped, 1000u);
}

}  // namespace
}  // namespace stator::graph
