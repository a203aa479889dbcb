// Generated code on graphs given as text: values, floating-point flags, ranges of the outermost loop, and
// what it must not touch. Sizes are the symbols' hints; expectations are computed here.
#include <gtest/gtest.h>
#include <xmmintrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <random>

#include "jit/load.h"
#include "jit/machine.h"
#include "jit/orc/orc.h"
#include "kernels/loops/loop_ir.h"

namespace stator::jit {
namespace {

using kernels::BufferKind;
using kernels::ScalarKind;

double tenth(double x) { return x / 10; }
uint32_t raise_in_loop = 0;

// The only host loop here: x / 10, raising flags on demand, on contiguous or strided operands.
void host_tenth(char** args, const int64_t* n, const int64_t* strides, void*) {
    for (int64_t i = 0; i < *n; ++i) {
        double x;
        std::memcpy(&x, args[0] + i * strides[0], 8);
        x = tenth(x);
        std::memcpy(args[1] + i * strides[1], &x, 8);
    }
    _mm_setcsr((_mm_getcsr() & ~0x3fu) | raise_in_loop);  // host loops may clear what is pending
}

class Compiled {
  public:
    explicit Compiled(const std::string& text) {
        graph::ParseResult parsed = graph::parse(text);
        EXPECT_EQ(parsed.error, "") << text;
        g_ = std::move(parsed.graph);
        EXPECT_EQ(graph::verify(g_), "");
        std::vector<graph::Id> wanted;
        collect(g_.end, wanted);
        p_ = kernels::schedule(g_, {0, static_cast<graph::Id>(g_.nodes.size()), {}, wanted});
        EXPECT_EQ(kernels::verify(p_, g_), "");
        Object object = emit_object(p_, emit_options("t", false));
        EXPECT_EQ(object.error, "");
        code_ = load_object(object.bytes, "t", static_cast<int>(p_.nests.size()), "t");
        EXPECT_EQ(code_.error, "");
        scalars_.resize(16 * p_.scalars.size() + 16);
        memory_.resize(p_.buffers.size());
    }
    template <class T>
    Compiled& input(int slot, std::vector<T>& v, int64_t offset = 0, std::vector<int64_t> strides = {}) {
        inputs_[slot] = {reinterpret_cast<char*>(v.data() + offset), std::move(strides)};
        return *this;
    }
    Compiled& scalar(int slot, double v) {
        scalar_inputs_[slot] = v;
        return *this;
    }
    uint32_t run(int pieces = 1) {
        std::vector<char*> buffers(p_.buffers.size());
        std::vector<int64_t> strides(static_cast<size_t>(p_.stride_count) + 1), syms;
        for (graph::Sym s : p_.syms) syms.push_back(g_.syms.hint(s));
        for (size_t b = 0; b < buffers.size(); ++b) buffers[b] = place(b, strides);
        for (size_t s = 0; s < p_.scalars.size(); ++s) {
            const kernels::Scalar& scalar = p_.scalars[s];
            if (scalar.kind == ScalarKind::Const) std::memcpy(&scalars_[16 * s], scalar.bits, 16);
            if (scalar.kind == ScalarKind::Input)
                std::memcpy(&scalars_[16 * s],
                            &scalar_inputs_.at(static_cast<int>(g_.node(scalar.value).ints[0])), 8);
        }
        std::vector<kernels::HostLoop> loops(p_.loops.size(), {host_tenth, nullptr});
        std::vector<char> scratch(static_cast<size_t>(p_.scratch_bytes) + 64);
        auto aligned =
            reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) & ~uintptr_t{63});
        kernels::KernelArgs args{buffers.data(),  strides.data(), syms.data(),
                                 scalars_.data(), loops.data(),   aligned};
        uint32_t faults = 0;
        for (size_t i = 0; i < p_.nests.size(); ++i) {
            int64_t extent = g_.syms.hint(p_.nests[i].extent), n = p_.nests[i].splittable ? pieces : 1;
            for (int64_t k = 0; k < n; ++k)
                faults |= code_.entries[i](&args, extent * k / n, extent * (k + 1) / n);
        }
        for (auto& m : memory_) {
            if (m.empty()) continue;
            for (size_t k = 0; k < kMargin; ++k)
                EXPECT_TRUE(m[k] == kFill && m[m.size() - 1 - k] == kFill) << "written outside the buffer";
        }
        return faults;
    }
    template <class T>
    std::vector<T> output(int which = 0) {
        for (size_t b = 0; b < memory_.size(); ++b) {
            if (p_.buffers[b].kind != BufferKind::Output || which-- > 0) continue;
            std::vector<T> v((memory_[b].size() - 2 * kMargin) / sizeof(T));
            if (!v.empty()) std::memcpy(v.data(), memory_[b].data() + kMargin, v.size() * sizeof(T));
            return v;
        }
        ADD_FAILURE() << "no such output";
        return {};
    }
    template <class T>
    T result(int which = 0) {
        T value{};
        for (size_t s = 0; s < p_.scalars.size(); ++s)
            if (p_.scalars[s].kind == ScalarKind::Result && which-- == 0)
                std::memcpy(&value, &scalars_[16 * s], sizeof(T));
        return value;
    }
    const kernels::Program& program() const { return p_; }

  private:
    static constexpr size_t kMargin = 128;
    static constexpr char kFill = 0x5a;

    void collect(int32_t r, std::vector<graph::Id>& out) {
        if (r < 0) return;
        const graph::Recipe& recipe = g_.recipes[static_cast<size_t>(r)];
        if (recipe.kind == graph::RecipeKind::Value) out.push_back(recipe.index);
        for (int32_t item : recipe.items) collect(item, out);
    }
    char* place(size_t b, std::vector<int64_t>& strides) {
        const kernels::Buffer& buffer = p_.buffers[b];
        size_t rank = buffer.shape.size();
        std::vector<int> order = buffer.perm;
        if (order.empty()) order.resize(rank), std::iota(order.begin(), order.end(), 0);
        std::vector<int64_t> dense(rank);
        int64_t size = graph::info(buffer.dtype).size;
        for (size_t k = rank; k-- > 0;) {
            dense[static_cast<size_t>(order[k])] = size;
            size *= g_.syms.hint(buffer.shape[static_cast<size_t>(order[k])]);
        }
        char* data;
        if (buffer.kind == BufferKind::Input) {
            auto& in = inputs_.at(static_cast<int>(g_.node(buffer.value).ints[0]));
            data = in.first;
            if (!in.second.empty()) dense = in.second;
        } else {
            memory_[b].assign(static_cast<size_t>(size) + 2 * kMargin, kFill);
            data = memory_[b].data() + kMargin;
        }
        for (size_t d = 0; d < rank; ++d) strides[static_cast<size_t>(buffer.stride_base) + d] = dense[d];
        return data;
    }

    graph::Graph g_;
    kernels::Program p_;
    Loaded code_;
    std::vector<char> scalars_;
    std::vector<std::vector<char>> memory_;
    std::map<int, std::pair<char*, std::vector<int64_t>>> inputs_;
    std::map<int, double> scalar_inputs_;
};

std::vector<double> numbers(int64_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<double> v(static_cast<size_t>(n));
    for (double& x : v) x = std::uniform_real_distribution<double>(-10, 10)(random);
    return v;
}
std::string sized(std::string text, int64_t s0, int64_t s1 = 2) {
    for (const auto& [name, value] : {std::pair{"@0", s0}, {"@1", s1}})
        for (size_t at; (at = text.find(name)) != std::string::npos;)
            text.replace(at, 2, std::to_string(value));
    return text;
}
template <class T>
void same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    ASSERT_EQ(a.size(), b.size());
    EXPECT_TRUE(a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

constexpr uint32_t kInvalid = kernels::kFaultInvalid, kDivide = kernels::kFaultDivide;

constexpr char kTwo[] = R"(trace two sym(s0=@0 in [0, max]) {
  %0 = input L['x'] {slot=0} : f64[s0]
  %1 = input L['y'] {slot=1} : f64[s0]
  %2 = $ : $t[s0]
  return %2
}
)";
std::string binary(int64_t n, const std::string& expression, const std::string& type = "f64") {
    std::string text = sized(kTwo, n);
    text.replace(text.find("$t"), 2, type);
    text.replace(text.find("$ "), 1, expression);
    return text;
}

TEST(Emit, EveryLengthAndRange) {
    for (int64_t n : {0, 1, 2, 7, 8, 9, 15, 16, 31, 32, 33, 63, 64, 65, 100, 127, 129, 1000, 1024, 1025})
        for (int pieces : {1, 2, 5}) {
            auto x = numbers(n, 1), y = numbers(n, 2);
            std::vector<double> want;
            for (int64_t i = 0; i < n; ++i)
                want.push_back(x[static_cast<size_t>(i)] / y[static_cast<size_t>(i)]);
            Compiled c(binary(n, "divide %0, %1"));
            EXPECT_EQ(c.input(0, x).input(1, y).run(pieces), 0u);
            same_bits(c.output<double>(), want);
        }
}

TEST(Emit, OnlyElementsThatExistRaiseFlags) {
    for (int64_t n : {3, 8, 37}) {
        std::vector<double> x(static_cast<size_t>(n), 1.0), y(static_cast<size_t>(n), 2.0);
        EXPECT_EQ(Compiled(binary(n, "divide %0, %1")).input(0, x).input(1, y).run(), 0u);
        y.back() = 0;
        EXPECT_EQ(Compiled(binary(n, "divide %0, %1")).input(0, x).input(1, y).run(), kDivide);
        x.back() = 0;
        EXPECT_EQ(Compiled(binary(n, "divide %0, %1")).input(0, x).input(1, y).run(), kInvalid);
    }
}

TEST(Emit, ComparisonsAndExtremaAreQuiet) {
    std::vector<double> x{1, NAN, -0.0, 0.0, NAN, 2, 1, 3, 4}, y{NAN, 1, 0.0, -0.0, NAN, 1, 2, 3, 5};
    Compiled less(binary(9, "less %0, %1", "b1"));
    EXPECT_EQ(less.input(0, x).input(1, y).run(), 0u);
    same_bits(less.output<uint8_t>(), {0, 0, 0, 0, 0, 0, 1, 0, 1});
    Compiled most(binary(9, "maximum %0, %1"));
    EXPECT_EQ(most.input(0, x).input(1, y).run(), 0u);
    auto got = most.output<double>();
    EXPECT_TRUE(std::isnan(got[0]) && std::isnan(got[1]) && std::isnan(got[4]));
    EXPECT_FALSE(std::signbit(got[2]));  // the second operand wins between zeros
    EXPECT_TRUE(std::signbit(got[3]));
    EXPECT_EQ(got[8], 5);
}

TEST(Emit, WhereDoesNotHideFlagsAndNothingIsDead) {
    std::vector<double> x{1, 0, 1, 1, 1, 1, 1, 1, 1, 1}, y = x;
    Compiled masked(sized(R"(trace masked sym(s0=@0 in [2, max]) {
  %0 = input L['x'] {slot=0} : f64[s0]
  %1 = const 0.0 : f64
  %2 = not_equal %0, %1 : b1[s0]
  %3 = const 1.0 : f64
  %4 = divide %3, %0 : f64[s0]
  %5 = where %2, %4, %1 : f64[s0]
  return %5
}
)",
                          10));
    EXPECT_EQ(masked.input(0, x).run(), kDivide);
    Compiled dead(sized(R"(trace dead sym(s0=@0 in [2, max]) {
  %0 = input L['x'] {slot=0} : f64[s0]
  %1 = divide %0, %0 : f64[s0]
  return %0
}
)",
                        10));
    EXPECT_EQ(dead.input(0, x).run(), kInvalid);
}

TEST(Emit, TheCallersStatusComesBack) {
    std::vector<double> x{1, 1}, y{0, 1};
    Compiled c(binary(2, "divide %0, %1"));
    unsigned saved = _mm_getcsr();
    _mm_setcsr((saved & ~0x3fu) | 0x08);  // overflow is pending
    EXPECT_EQ(c.input(0, x).input(1, y).run(), kDivide);
    EXPECT_EQ(_mm_getcsr() & 0x1d, 0x08u);
    _mm_setcsr(saved);
}

TEST(Emit, StridesBroadcastsAndScalars) {
    const std::string text = R"(trace bcast sym(s0=@0 in [2, max], s1=@1 in [2, max]) {
  %0 = input L['x'] {slot=0, layout=strided} : f64[s0, s1]
  %1 = input L['r'] {slot=1} : f64[s1]
  %2 = input L['c'] {slot=2} : f64[s0]
  %3 = input L['k'] {slot=3, kind=float} : f64
  %4 = view %1 [j1*-1 from s1 - 1] : f64[s0, s1]
  %5 = view %2 [j0] : f64[s0, s1]
  %6 = add %0, %4 : f64[s0, s1]
  %7 = multiply %6, %3 : f64[s0, s1]
  %8 = add %7, %5 : f64[s0, s1]
  return %8
}
)";
    for (int64_t columns : {3, 8, 50, 131}) {
        const int64_t rows = 5, last = 2 * rows * columns - 2;
        auto x = numbers(2 * rows * columns, 1), r = numbers(columns, 2), c = numbers(rows, 3);
        std::vector<double> want;
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < columns; ++j)
                want.push_back((x[static_cast<size_t>(last - 2 * (i * columns + j))] +
                                r[static_cast<size_t>(columns - 1 - j)]) *
                                   1.5 +
                               c[static_cast<size_t>(i)]);
        for (int pieces : {1, 3}) {
            Compiled k(sized(text, rows, columns));
            k.input(0, x, last, {-16 * columns, -16}).input(1, r).input(2, c).scalar(3, 1.5).run(pieces);
            same_bits(k.output<double>(), want);
        }
    }
}

TEST(Emit, HostLoopsRunOnChunksAndReportTheirFlags) {
    const std::string text = R"(trace host sym(s0=@0 in [2, max]) {
  %0 = input L['x'] {slot=0} : f64[s0]
  %1 = divide %0, %0 : f64[s0]
  %2 = add %1, %0 : f64[s0]
  %3 = loop tenth %2 : f64[s0]
  %4 = multiply %3, %0 : f64[s0]
  %5 = loop tenth %4 : f64[s0]
  return (%5, %3)
}
)";
    for (int64_t n : {2, 40, 1024, 3000}) {
        auto x = numbers(n, 4);
        std::vector<double> three, five;
        for (double v : x) three.push_back(tenth(v / v + v)), five.push_back(tenth(three.back() * v));
        Compiled c(sized(text, n));
        EXPECT_EQ(c.input(0, x).run(2), 0u);
        same_bits(c.output<double>(0), three);
        same_bits(c.output<double>(1), five);
        x[static_cast<size_t>(n) - 1] = 0;  // 0/0 before a loop that clears the flags
        EXPECT_EQ(c.run(), kInvalid);
        raise_in_loop = 0x04;
        EXPECT_EQ(c.run(), kInvalid | kDivide);
        raise_in_loop = 0;
    }
}

double pairwise(const double* p, int64_t n) {
    if (n < 8) return std::accumulate(p, p + n, -0.0);
    if (n <= 128) {
        double r[8];
        std::copy(p, p + 8, r);
        int64_t i = 8;
        for (; i < n - n % 8; i += 8)
            for (int k = 0; k < 8; ++k) r[k] += p[i + k];
        return std::accumulate(p + i, p + n,
                               ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7])));
    }
    int64_t half = n / 2 - n / 2 % 8;
    return pairwise(p, half) + pairwise(p + half, n - half);
}

TEST(Emit, SumsArePairwise) {
    for (int64_t n : {1, 2, 7, 8, 9, 17, 127, 128, 129, 136, 255, 256, 257, 1000, 8192, 100003}) {
        auto x = numbers(n, 5), y = numbers(n, 6);
        std::vector<double> products;
        for (size_t i = 0; i < x.size(); ++i) products.push_back(x[i] * y[i]);
        Compiled c(sized(R"(trace dot sym(s0=@0 in [1, max]) {
  %0 = input L['x'] {slot=0} : f64[s0]
  %1 = input L['y'] {slot=1} : f64[s0]
  %2 = multiply %0, %1 : f64[s0]
  %3 = reduce add %2 {axes=(0), order=c} : f64 as npscalar
  %4 = reduce add %0 {axes=(0), order=c} : f64 as npscalar
  %5 = sqrt %4 : f64 as npscalar
  return (%3, %4)
}
)",
                         n));
        ASSERT_EQ(c.program().nests.size(), 1u);
        c.input(0, x).input(1, y).run();
        EXPECT_EQ(c.result<double>(0), 0.0 + pairwise(products.data(), n)) << n;
        EXPECT_EQ(c.result<double>(1), 0.0 + pairwise(x.data(), n)) << n;
    }
}

TEST(Emit, ReductionsOverSomeAxes) {
    for (auto [rows, columns] : {std::pair<int64_t, int64_t>{3, 5}, {40, 1500}, {200, 33}}) {
        auto x = numbers(rows * columns, 7);
        std::vector<double> by_row, by_column(static_cast<size_t>(columns), 0.0), most;
        std::vector<int64_t> where(static_cast<size_t>(rows), 0);
        for (int64_t i = 0; i < rows; ++i) {
            const double* row = &x[static_cast<size_t>(i * columns)];
            by_row.push_back((0.0 + pairwise(row, columns)) / static_cast<double>(columns));
            auto best = std::max_element(row, row + columns);
            most.push_back(*best);
            where[static_cast<size_t>(i)] = best - row;
            for (int64_t j = 0; j < columns; ++j) by_column[static_cast<size_t>(j)] += row[j];
        }
        for (int pieces : {1, 3}) {
            Compiled c(sized(R"(trace axes sym(s0=@0 in [2, max], s1=@1 in [2, max]) {
  %0 = input L['x'] {slot=0} : f64[s0, s1]
  %1 = reduce add %0 {axes=(1), order=c} : f64[s0]
  %2 = input L['n'] {slot=1, kind=float} : f64
  %3 = divide %1, %2 : f64[s0]
  %4 = reduce add %0 {axes=(0), order=c} : f64[s1]
  %5 = reduce maximum %0 {axes=(1), order=c} : f64[s0]
  %6 = argreduce argmax %0 {axis=1} : i64[s0]
  return (%3, %4, %5, %6)
}
)",
                             rows, columns));
            c.input(0, x).scalar(1, static_cast<double>(columns)).run(pieces);
            same_bits(c.output<double>(0), by_row);
            same_bits(c.output<double>(1), by_column);
            same_bits(c.output<double>(2), most);
            same_bits(c.output<int64_t>(3), where);
        }
    }
}

TEST(Emit, IntegersWrapAndShiftsAreDefined) {
    std::vector<int64_t> x{1, -1, INT64_MIN, INT64_MAX, 5, -7, 3, 2, 1}, y{63, 64, 1, 200, -1, 2, 0, 62, 65};
    const std::string text = R"(trace ints sym(s0=9 in [2, max]) {
  %0 = input L['x'] {slot=0} : i64[s0]
  %1 = input L['y'] {slot=1} : i64[s0]
  %2 = left_shift %0, %1 : i64[s0]
  %3 = right_shift %0, %1 : i64[s0]
  %4 = absolute %0 : i64[s0]
  %5 = add %0, %0 : i64[s0]
  return (%2, %3, %4, %5)
}
)";
    std::vector<int64_t> left, right, magnitude, twice;
    for (size_t i = 0; i < x.size(); ++i) {
        bool ok = y[i] >= 0 && y[i] < 64;
        left.push_back(ok ? static_cast<int64_t>(static_cast<uint64_t>(x[i]) << y[i]) : 0);
        right.push_back(ok ? x[i] >> y[i] : x[i] < 0 ? -1 : 0);
        magnitude.push_back(x[i] < 0 ? static_cast<int64_t>(0 - static_cast<uint64_t>(x[i])) : x[i]);
        twice.push_back(static_cast<int64_t>(2 * static_cast<uint64_t>(x[i])));
    }
    Compiled c(text);
    EXPECT_EQ(c.input(0, x).input(1, y).run(), 0u);
    same_bits(c.output<int64_t>(0), left);
    same_bits(c.output<int64_t>(1), right);
    same_bits(c.output<int64_t>(2), magnitude);
    same_bits(c.output<int64_t>(3), twice);
}

TEST(Emit, StoresWorkOnASnapshot) {
    for (int64_t n : {4, 33, 1000}) {
        auto a = numbers(n, 8), want = a;
        for (size_t i = 1; i < want.size(); ++i) want[i] = a[i] + a[i - 1];
        Compiled c(sized(R"(trace snap sym(s0=@0 in [4, max]) {
  %0 = input L['a'] {slot=0, written} : f64[s0]
  %1 = view %0 [j0 from 1] : f64[s0 - 1]
  %2 = view %0 [j0] : f64[s0 - 1]
  %3 = add %1, %2 : f64[s0 - 1]
  %4 = store %0, %3 [j0 from 1] : f64[s0]
  return %4
}
)",
                         n));
        c.input(0, a).run(3);
        same_bits(a, want);
    }
}

}  // namespace
}  // namespace stator::jit
