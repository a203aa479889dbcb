// Random loop nests with random subscripts, compiled and interpreted: the same exit with the same values and
// the same memory, whether the checks inside were hoisted or not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "region_interpreter.h"
#include "region_runner.h"

namespace stator::jit {
namespace {

class Generator {
  public:
    explicit Generator(unsigned seed) : random_(seed) {}

    // Inputs: a, an i64[2]; b, an i64[1]; n and m.
    std::string run() {
        text_ = R"(region "random" {
  input %0 : i64[2] contiguous written "a"
  input %1 : i64[1] contiguous written "b"
  input %2 : i64 "n"
  input %3 : i64 "m"
b0:
  %4 = extent{0} %0 : i64
  %5 = extent{1} %0 : i64
  %6 = extent{0} %1 : i64
)";
        next_ = 7;
        scope_ = {2, 3};
        zero_ = constant(0);
        one_ = constant(1);
        const int depth = pick(1, 3);
        loop(depth);
        text_ += fmt::format("  leave x{}\n", exit());
        return text_ + exits_ + "}\n";
    }

  private:
    int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
    template <class... Args>
    int value(fmt::format_string<Args...> format, Args&&... args) {
        text_ +=
            fmt::format("  %{} = ", next_) + fmt::format(format, std::forward<Args>(args)...) + " : i64\n";
        return next_++;
    }
    int constant(int64_t v) { return value("const {}", v); }
    int known() { return scope_[static_cast<size_t>(pick(0, static_cast<int>(scope_.size()) - 1))]; }
    int exit() {
        std::string list;
        for (const int v : scope_) list += (list.empty() ? "%" : ", %") + std::to_string(v);
        exits_ += fmt::format("exit x{} [{}]\n", exit_, list);
        return exit_++;
    }
    // A sum or difference of what is known.
    int expression() {
        switch (pick(0, 6)) {
            case 0: return constant(pick(-3, 3));
            case 1: return value("add! %{}, %{} else x{}", known(), constant(pick(-2, 2)), exit());
            case 2: return value("sub! %{}, %{} else x{}", known(), known(), exit());
            case 3: return value("mul! %{}, %{} else x{}", known(), constant(pick(-1, 2)), exit());
            case 4: return value("floormod! %{}, %{} else x{}", known(), constant(pick(1, 6)), exit());
            case 5: return value("minimum.i64 %{}, %{}", known(), known());
            default: return known();
        }
    }
    void statement() {
        std::string place;
        if (pick(0, 1)) {
            const int i = value("index! %{}, %{} else x{}", expression(), 4, exit());
            place =
                fmt::format("%0[%{}, %{}]", i, value("index! %{}, %{} else x{}", expression(), 5, exit()));
        } else {
            place = fmt::format("%1[%{}]", value("index! %{}, %{} else x{}", expression(), 6, exit()));
        }
        const int old = value("load {}", place);
        const int more = value("add.i64 %{}, %{}", old, known());
        text_ += fmt::format("  store {} = %{}\n", place, pick(0, 1) ? more : known());
        if (pick(0, 2) == 0) scope_.push_back(more);
    }
    void block(int b, const std::string& params = "") { text_ += fmt::format("b{}{}:\n", b, params); }

    // for i in range(start, stop, step): statements, a loop, statements. Or while i < stop.
    void loop(int depth) {
        const bool counts = pick(0, 3) != 0;
        const int step = counts && pick(0, 3) == 0 ? (pick(0, 1) ? -1 : pick(2, 3)) : 1;
        int start = expression(), stop = expression();
        if (step < 0 && pick(0, 1)) std::swap(start, stop);
        int count = -1;
        if (counts) {
            const int span = step < 0 ? value("sub! %{}, %{} else x{}", start, stop, exit())
                                      : value("sub! %{}, %{} else x{}", stop, start, exit());
            count = value("maximum.i64 %{}, %{}", span, zero_);
            if (step > 1) {
                const int more = value("add! %{}, %{} else x{}", count, constant(step - 1), exit());
                count = value("floordiv! %{}, %{} else x{}", more, constant(step), exit());
            }
        }
        const int head = blocks_++, body = blocks_++, after = blocks_++;
        const int i = next_++, left = next_++, test = next_++;
        text_ += fmt::format("  jump b{}(%{}, %{})\n", head, start, counts ? count : zero_);
        block(head, fmt::format("(%{} : i64, %{} : i64)", i, left));
        text_ += counts ? fmt::format("  %{} = greater.i64 %{}, %{} : b1\n", test, left, zero_)
                        : fmt::format("  %{} = less.i64 %{}, %{} : b1\n", test, i, stop);
        text_ += fmt::format("  branch %{} b{} else b{}\n", test, body, after);
        block(body);
        const auto outer = scope_;
        scope_.insert(scope_.end(), {i, i, left});
        // Once in a while a step that is known only when it runs.
        const int by = counts && step == 1 && pick(0, 3) == 0 ? 3 : constant(step);
        const int next =
            counts ? value("add.i64 %{}, %{}", i, by) : value("add! %{}, %{} else x{}", i, by, exit());
        const int rest = value("subtract.i64 %{}, %{}", left, one_);
        for (int k = pick(0, 2); k > 0; --k) statement();
        if (depth > 1) loop(depth - 1);
        for (int k = pick(depth > 1 ? 0 : 1, 2); k > 0; --k) statement();
        text_ += fmt::format("  poll else x{}\n  jump b{}(%{}, %{})\n", exit(), head, next, rest);
        block(after);
        scope_ = outer;
        if (pick(0, 1)) scope_.push_back(i);
    }

    std::mt19937 random_;
    std::string text_, exits_;
    std::vector<int> scope_;  // values that may be used
    int next_ = 0, exit_ = 0, blocks_ = 1, zero_ = 0, one_ = 0;
};

TEST(Region, RandomLoopsAsInterpreted) {
    int hoisted = 0, finished = 0, left_early = 0;
    const char* more = std::getenv("REGION_TEST_SEEDS");
    const unsigned seeds = more ? static_cast<unsigned>(std::atoi(more)) : 250;
    for (unsigned seed = 0; seed < seeds; ++seed) {
        const std::string text = Generator(seed).run();
        RegionRunner compiled(text);
        if (testing::Test::HasFailure()) return;
        graph::Region optimized = compiled.region();
        graph::optimize(optimized);
        ASSERT_EQ(graph::verify(optimized), "") << text << graph::print(optimized);
        hoisted += optimized.blocks.size() > compiled.region().blocks.size();
        std::mt19937 random(seed);
        const auto pick = [&](int64_t low, int64_t high) {
            return std::uniform_int_distribution<int64_t>(low, high)(random);
        };
        for (int trial = 0; trial < 12; ++trial) {
            const int64_t rows = pick(0, 9), columns = pick(1, 9), length = pick(0, 12);
            const bool fits = trial % 2;
            int64_t n = fits ? std::min(rows, columns) : pick(-3, 11), m = fits ? pick(0, 3) : pick(-3, 11);
            if (trial == 11) n = INT64_MAX - 2, m = INT64_MAX - pick(0, 5);
            std::vector<int64_t> a(static_cast<size_t>(rows * columns)), b(static_cast<size_t>(length));
            for (auto& x : a) x = pick(-100, 100);
            for (auto& x : b) x = pick(-100, 100);
            std::vector<int64_t> a2 = a, b2 = b;
            RegionInterpreter reference(compiled.region());
            const int expected = reference.run({n, m}, {{a2.data(), {rows, columns}}, {b2.data(), {length}}});
            if (expected < 0) continue;  // it would take for ever
            compiled.forget();
            compiled.array(a.data(), {rows, columns}).array(b.data(), {length}).scalar(n).scalar(m);
            const int exit = compiled.run();
            ASSERT_EQ(exit, expected) << text << "seed " << seed << " trial " << trial;
            for (size_t k = 0; k < reference.left.size(); ++k)
                ASSERT_EQ(compiled.out(k), reference.left[k]) << text << "seed " << seed << " value " << k;
            ASSERT_EQ(a, a2) << text << "seed " << seed;
            ASSERT_EQ(b, b2) << text << "seed " << seed;
            const auto last = static_cast<int>(compiled.region().exits.size()) - 1;
            (exit == last ? finished : left_early) += 1;
        }
    }
    // That the test tests something.
    EXPECT_GT(hoisted, 100);
    EXPECT_GT(finished, 300);
    EXPECT_GT(left_early, 300);
}

}  // namespace
}  // namespace stator::jit
