// Tier 0 on graphs given as text, with host loops written here in C++. Sizes are the symbols' hints.
#include <cfenv>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>
#include <xmmintrin.h>

#include "kernels/loop_ir.h"
#include "kernels/tier0_half.h"
#include "kernels/tier0_ops.h"

namespace stator::kernels {
namespace {

using graph::DType;

// ---- host loops, as NumPy's: contiguous or strided, and reducing when accumulator and result coincide with stride 0

struct Call {
    std::string name;
    int64_t n;
    std::vector<int64_t> strides;
};
std::vector<Call> calls;

double pairwise(const char* p, int64_t n, int64_t stride) {
    const auto at = [&](int64_t i) { return *reinterpret_cast<const double*>(p + i * stride); };
    if (n < 8) {
        double r = -0.0;
        for (int64_t i = 0; i < n; ++i) r += at(i);
        return r;
    }
    if (n <= 128) {
        double r[8];
        for (int k = 0; k < 8; ++k) r[k] = at(k);
        int64_t i = 8;
        for (; i < n - n % 8; i += 8)
            for (int k = 0; k < 8; ++k) r[k] += at(i + k);
        double sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
        for (; i < n; ++i) sum += at(i);
        return sum;
    }
    int64_t half = n / 2;
    half -= half % 8;
    return pairwise(p, half, stride) + pairwise(p + half * stride, n - half, stride);
}

template <class T, class R, class F>
void binary(char** args, const int64_t* n, const int64_t* s, F f) {
    for (int64_t i = 0; i < *n; ++i) {
        const T a = *reinterpret_cast<T*>(args[0] + i * s[0]), b = *reinterpret_cast<T*>(args[1] + i * s[1]);
        *reinterpret_cast<R*>(args[2] + i * s[2]) = f(a, b);
    }
}
template <class F>
void unary(char** args, const int64_t* n, const int64_t* s, F f) {
    for (int64_t i = 0; i < *n; ++i)
        *reinterpret_cast<double*>(args[1] + i * s[1]) = f(*reinterpret_cast<double*>(args[0] + i * s[0]));
}
void note(const char* name, const int64_t* n, const int64_t* s, int operands) {
    calls.push_back({name, *n, std::vector<int64_t>(s, s + operands)});
}

void add_f64(char** args, const int64_t* n, const int64_t* s, void*) {
    note("add", n, s, 3);
    if (args[0] == args[2] && s[0] == 0 && s[2] == 0) {
        *reinterpret_cast<double*>(args[0]) += pairwise(args[1], *n, s[1]);
        return;
    }
    binary<double, double>(args, n, s, [](double a, double b) { return a + b; });
}
int64_t floor_divide(int64_t a, int64_t b) {
    if (b == 0) return std::feraiseexcept(FE_DIVBYZERO), 0;
    if (b == -1 && a == std::numeric_limits<int64_t>::min()) return std::feraiseexcept(FE_OVERFLOW), a;
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

#define LOOP(body) [](char** args, const int64_t* n, const int64_t* s, void*) { body; }
const std::map<std::string, HostLoopFn> kLoops = {
    {"add f64", add_f64},
    {"subtract f64", LOOP((binary<double, double>(args, n, s, [](double a, double b) { return a - b; })))},
    {"multiply f64", LOOP((note("multiply", n, s, 3),
                           binary<double, double>(args, n, s, [](double a, double b) { return a * b; })))},
    {"divide f64", LOOP((binary<double, double>(args, n, s, [](double a, double b) { return a / b; })))},
    {"maximum f64", LOOP((binary<double, double>(
                        args, n, s, [](double a, double b) { return a >= b || std::isnan(a) ? a : b; })))},
    // As NumPy's: ordered comparisons raise invalid for NaN and the loop clears the flags afterwards.
    {"less f64", LOOP((binary<double, uint8_t>(args, n, s, [](double a, double b) { return a < b; }),
                       std::feclearexcept(FE_ALL_EXCEPT)))},
    {"logical_or b1", LOOP((binary<uint8_t, uint8_t>(args, n, s, [](int a, int b) { return a || b; })))},
    {"floor_divide i64", LOOP((binary<int64_t, int64_t>(args, n, s, floor_divide)))},
    {"exp f64", LOOP((note("exp", n, s, 2), unary(args, n, s, [](double x) { return std::exp(x); })))},
};
#undef LOOP

// ---- a graph, its program, and the memory it works on

struct Array {
    char* data;
    std::vector<int64_t> strides;
};

class Segment {
public:
    explicit Segment(const std::string& text) {
        graph::ParseResult parsed = graph::parse(text);
        EXPECT_EQ(parsed.error, "") << text;
        g_ = std::move(parsed.graph);
        EXPECT_EQ(graph::verify(g_), "");
        std::vector<graph::Id> wanted;
        collect(g_.end, wanted);
        program_ = schedule(g_, {0, static_cast<graph::Id>(g_.nodes.size()), {}, wanted});
        EXPECT_EQ(verify(program_, g_), "");
        for (const graph::Sym s : program_.syms) syms_.push_back(g_.syms.hint(s));
        strides_.resize(static_cast<size_t>(program_.stride_count));
        buffers_.resize(program_.buffers.size());
        storage_.resize(program_.buffers.size());
        scalars_.resize(16 * program_.scalars.size());
        scratch_.resize(static_cast<size_t>(program_.scratch_bytes) + 64);
        for (const LoopRef& l : program_.loops) {
            const auto it = kLoops.find(l.name + " " + std::string(graph::info(l.types[0]).text));
            loops_.push_back({it == kLoops.end() ? nullptr : it->second, nullptr});
        }
    }
    template <class T>
    Segment& input(int slot, std::vector<T>& values, int64_t offset = 0, std::vector<int64_t> strides = {}) {
        inputs_[slot] = {reinterpret_cast<char*>(values.data() + offset), std::move(strides)};
        return *this;
    }
    Segment& scalar(int slot, double value) {
        scalar_inputs_[slot] = value;
        return *this;
    }
    // Runs every nest; `pieces` > 1 cuts splittable ones into ranges.
    uint32_t operator()(int pieces = 1) {
        bind();
        auto* scratch = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(scratch_.data()) + 63) & ~uintptr_t{63});
        const KernelArgs args{buffers_.data(), strides_.data(), syms_.data(), scalars_.data(), loops_.data(), scratch};
        uint32_t faults = 0;
        for (size_t i = 0; i < program_.nests.size(); ++i) {
            const int64_t extent = g_.syms.hint(program_.nests[i].extent);
            const int64_t n = program_.nests[i].splittable ? pieces : 1;
            for (int64_t k = 0; k < n; ++k)
                faults |= interpret(program_, static_cast<int>(i), args, extent * k / n, extent * (k + 1) / n);
        }
        EXPECT_EQ(faults & ~program_.fault_mask, 0u);
        return faults;
    }
    template <class T>
    std::vector<T> output(int which = 0) {
        for (size_t b = 0; b < buffers_.size(); ++b) {
            if (program_.buffers[b].kind != BufferKind::Output || which-- > 0) continue;
            const auto* p = reinterpret_cast<const T*>(storage_[b].data());
            return {p, p + storage_[b].size() / sizeof(T)};
        }
        ADD_FAILURE() << "no such output";
        return {};
    }
    template <class T>
    T result(int which = 0) {
        for (size_t s = 0; s < program_.scalars.size(); ++s) {
            if (program_.scalars[s].kind != ScalarKind::Result || which-- > 0) continue;
            T value;
            std::memcpy(&value, scalars_.data() + 16 * s, sizeof value);
            return value;
        }
        ADD_FAILURE() << "no such result";
        return {};
    }
    const Program& program() const { return program_; }

private:
    void collect(int32_t r, std::vector<graph::Id>& out) {
        if (r < 0) return;
        const graph::Recipe& recipe = g_.recipes[static_cast<size_t>(r)];
        if (recipe.kind == graph::RecipeKind::Value) out.push_back(recipe.index);
        for (const int32_t item : recipe.items) collect(item, out);
    }
    void bind() {
        for (size_t b = 0; b < buffers_.size(); ++b) {
            const Buffer& buffer = program_.buffers[b];
            std::vector<int64_t> dense(buffer.shape.size());
            int64_t size = graph::info(buffer.dtype).size;
            std::vector<int> order = buffer.perm;
            if (order.empty()) order.resize(dense.size()), std::iota(order.begin(), order.end(), 0);
            for (auto d = order.rbegin(); d != order.rend(); ++d) dense[*d] = size, size *= g_.syms.hint(buffer.shape[*d]);
            if (buffer.kind == BufferKind::Input) {
                const Array& a = inputs_.at(static_cast<int>(g_.node(buffer.value).ints[0]));
                buffers_[b] = a.data;
                if (!a.strides.empty()) dense = a.strides;
            } else {
                storage_[b].assign(static_cast<size_t>(size), 0x5a);
                buffers_[b] = storage_[b].data();
            }
            for (size_t d = 0; d < dense.size(); ++d) strides_[buffer.stride_base + d] = dense[d];
        }
        for (size_t s = 0; s < program_.scalars.size(); ++s) {
            const Scalar& scalar = program_.scalars[s];
            if (scalar.kind == ScalarKind::Const) std::memcpy(scalars_.data() + 16 * s, scalar.bits, 16);
            if (scalar.kind == ScalarKind::Input)
                std::memcpy(scalars_.data() + 16 * s, &scalar_inputs_.at(static_cast<int>(g_.node(scalar.value).ints[0])), 8);
        }
    }

    graph::Graph g_;
    Program program_;
    std::vector<int64_t> syms_, strides_;
    std::vector<char*> buffers_;
    std::vector<std::vector<char>> storage_;
    std::vector<char> scalars_, scratch_;
    std::vector<HostLoop> loops_;
    std::map<int, Array> inputs_;
    std::map<int, double> scalar_inputs_;
};

std::vector<double> numbers(size_t n, unsigned seed) {
    std::vector<double> v(n);
    for (double& x : v) {
        seed = seed * 1664525 + 1013904223;
        x = static_cast<double>(seed >> 8) / (1 << 20) - 8 + 1e-3;
    }
    return v;
}
std::string sized(std::string text, int64_t s0, int64_t s1 = 0) {
    for (const auto& [name, value] : {std::pair{"@0", s0}, {"@1", s1}})
        for (size_t at; (at = text.find(name)) != std::string::npos;) text.replace(at, 2, std::to_string(value));
    return text;
}
template <class T>
void expect_same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    ASSERT_EQ(a.size(), b.size());
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(T)), 0);
}

constexpr char kFive[] = R"(trace five sym(s0=@0 in [0, max]) {
  %0 = input L['x'] {slot=0} : f64[s0]
  %1 = input L['y'] {slot=1} : f64[s0]
  %2 = input L['z'] {slot=2} : f64[s0]
  %3 = multiply %0, %1 : f64[s0]
  %4 = const 2.0 : f64
  %5 = multiply %2, %4 : f64[s0]
  %6 = add %3, %5 : f64[s0]
  %7 = divide %0, %1 : f64[s0]
  %8 = subtract %6, %7 : f64[s0]
  return %8
}
)";

TEST(Tier0, PointwiseAtAllLengthsAndInPieces) {
    for (const int64_t n : {0, 1, 3, 1000, 1024, 1025, 5000}) {
        auto x = numbers(n, 1), y = numbers(n, 2), z = numbers(n, 3);
        std::vector<double> want;
        for (int64_t i = 0; i < n; ++i) want.push_back((x[i] * y[i] + z[i] * 2) - x[i] / y[i]);
        for (const int pieces : {1, 2, 5}) {
            Segment run(sized(kFive, n));
            EXPECT_EQ(run.input(0, x).input(1, y).input(2, z)(pieces), 0u);
            expect_same_bits(run.output<double>(), want);
        }
    }
}

TEST(Tier0, HostLoopsSeeContiguousChunks) {
    auto x = numbers(2500, 1), y = numbers(2500, 2), z = numbers(2500, 3);
    Segment run(sized(kFive, 2500));
    calls.clear();
    run.input(0, x).input(1, y).input(2, z)();
    int64_t total = 0;
    for (const Call& c : calls) {
        if (c.name != "add") continue;
        EXPECT_LE(c.n, 1024);
        EXPECT_EQ(c.strides, (std::vector<int64_t>{8, 8, 8}));
        total += c.n;
    }
    EXPECT_EQ(total, 2500);
    const auto times_two = [](const Call& c) { return c.name == "multiply" && c.strides[1] == 0; };
    EXPECT_EQ(std::count_if(calls.begin(), calls.end(), times_two), 3) << "a scalar has stride 0";
}

TEST(Tier0, StridedBroadcastAndScalarOperands) {
    const std::string text = R"(trace bcast sym(s0=@0 in [2, max], s1=@1 in [2, max]) {
  %0 = input L['x'] {slot=0, layout=strided} : f64[s0, s1]
  %1 = input L['r'] {slot=1} : f64[s1]
  %2 = input L['k'] {slot=2, kind=float} : f64
  %3 = view %1 [j1] : f64[s0, s1] strided
  %4 = add %0, %3 : f64[s0, s1]
  %5 = multiply %4, %2 : f64[s0, s1]
  return %5
}
)";
    const int64_t rows = 5, columns = 1300;
    auto x = numbers(rows * columns * 2, 1), r = numbers(columns, 2);
    // Every second element, rows and columns backwards.
    const int64_t last = 2 * rows * columns - 2;
    std::vector<double> want;
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) want.push_back((x[last - 2 * (i * columns + j)] + r[j]) * 1.5);
    for (const int pieces : {1, 3}) {
        Segment run(sized(text, rows, columns));
        run.input(0, x, last, {-16 * columns, -16}).input(1, r).scalar(2, 1.5)(pieces);
        expect_same_bits(run.output<double>(), want);
    }
}

TEST(Tier0, KeepsANegativeStrideWhereEagerWould) {
    Segment run(sized(R"(trace back sym(s0=@0 in [2, max]) {
  %0 = input L['x'] {slot=0, layout=strided} : f64[s0]
  %1 = loop exp %0 : f64[s0]
  return %1
}
)", 100));
    auto x = numbers(100, 1);
    calls.clear();
    run.input(0, x, 99, {-8})();
    ASSERT_EQ(calls.size(), 1u);
    EXPECT_EQ(calls[0].strides, (std::vector<int64_t>{-8, 8}));
    EXPECT_EQ(run.output<double>()[0], std::exp(x[99]));
}

constexpr char kDot[] = R"(trace dot sym(s0=@0 in [2, max]) {
  %0 = input L['x'] {slot=0} : f64[s0]
  %1 = input L['y'] {slot=1} : f64[s0]
  %2 = multiply %0, %1 : f64[s0]
  %3 = reduce add %2 {axes=(0), order=c} : f64 as npscalar
  return %3
}
)";

TEST(Tier0, ASumIsOneCallOverTheWholeRun) {
    for (const int64_t n : {2, 7, 8, 129, 1024, 1025, 100'003}) {
        auto x = numbers(n, 1), y = numbers(n, 2);
        std::vector<double> product(n);
        for (int64_t i = 0; i < n; ++i) product[i] = x[i] * y[i];
        Segment run(sized(kDot, n));
        run.input(0, x).input(1, y)();
        const double want = 0.0 + pairwise(reinterpret_cast<char*>(product.data()), n, 8);
        EXPECT_EQ(run.result<double>(), want) << n;
    }
}

TEST(Tier0, SumsOverRowsColumnsAndBoth) {
    const int64_t rows = 40, columns = 1500;
    auto x = numbers(rows * columns, 1);
    Segment run(sized(R"(trace axes sym(s0=@0 in [2, max], s1=@1 in [2, max]) {
  %0 = input L['x'] {slot=0} : f64[s0, s1]
  %1 = reduce add %0 {axes=(1), order=c} : f64[s0]
  %2 = reduce add %0 {axes=(0), order=c} : f64[s1]
  %3 = reduce maximum %0 {axes=(1), order=c} : f64[s0]
  return (%1, %2, %3)
}
)", rows, columns));
    run.input(0, x)(3);
    std::vector<double> by_row(rows), by_column(columns, 0.0), greatest(rows);
    for (int64_t i = 0; i < rows; ++i) {
        by_row[i] = 0.0 + pairwise(reinterpret_cast<char*>(&x[i * columns]), columns, 8);
        greatest[i] = *std::max_element(x.begin() + i * columns, x.begin() + (i + 1) * columns);
        for (int64_t j = 0; j < columns; ++j) by_column[j] += x[i * columns + j];
    }
    expect_same_bits(run.output<double>(0), by_row);
    expect_same_bits(run.output<double>(1), by_column);
    expect_same_bits(run.output<double>(2), greatest);
}

TEST(Tier0, FirstExtremumAndFirstNan) {
    const std::string text = R"(trace arg sym(s0=@0 in [2, max]) {
  %0 = input L['x'] {slot=0} : f64[s0]
  %1 = argreduce argmax %0 {axis=all} : i64 as npscalar
  %2 = argreduce argmin %0 {axis=all} : i64 as npscalar
  return (%1, %2)
}
)";
    auto x = numbers(3000, 1);
    x[1700] = x[2800] = 1e9;
    x[50] = x[1200] = -1e9;
    Segment run(sized(text, 3000));
    run.input(0, x)();
    EXPECT_EQ(run.result<int64_t>(0), 1700);
    EXPECT_EQ(run.result<int64_t>(1), 50);
    x[2000] = x[2500] = std::nan("");
    Segment again(sized(text, 3000));
    EXPECT_EQ(again.input(0, x)(), 0u);
    EXPECT_EQ(again.result<int64_t>(0), 2000);
    EXPECT_EQ(again.result<int64_t>(1), 2000);
}

TEST(Tier0, LogicalReductionTestsNumbers) {
    Segment run(sized(R"(trace any sym(s0=@0 in [2, max]) {
  %0 = input L['x'] {slot=0} : f64[s0]
  %1 = reduce logical_or %0 {axes=(0), order=c} : b1 as npscalar
  return %1
}
)", 2000));
    std::vector<double> x(2000, 0.0);
    run.input(0, x)();
    EXPECT_EQ(run.result<uint8_t>(), 0);
    x[1999] = std::nan("");
    run();
    EXPECT_EQ(run.result<uint8_t>(), 1);
}

TEST(Tier0, ReportsFlagsPerStatement) {
    auto x = numbers(2000, 1), y = numbers(2000, 2), z = numbers(2000, 3);
    y[1500] = 0;
    Segment run(sized(kFive, 2000));
    EXPECT_EQ(run.input(0, x).input(1, y).input(2, z)(), kFaultDivide);
    x[3] = std::numeric_limits<double>::infinity();
    y[3] = 0;
    EXPECT_EQ(run(), kFaultDivide | kFaultInvalid);

    // A comparison raises nothing, and what its loop does to the flags hides nobody else's.
    Segment quiet(sized(R"(trace quiet sym(s0=@0 in [2, max]) {
  %0 = input L['x'] {slot=0} : f64[s0]
  %1 = const 1e308 : f64
  %2 = multiply %0, %1 : f64[s0]
  %3 = less %0, %2 : b1[s0]
  return %3
}
)", 4));
    std::vector<double> w = {1, std::nan(""), 3, 4};
    EXPECT_EQ(quiet.input(0, w)(), kFaultOverflow);
    w = {1, std::nan(""), 0.5, 0.25};
    EXPECT_EQ(quiet(), 0u);
}

TEST(Tier0, IntegerFaultsRaisedThroughTheCLibrary) {
    Segment run(sized(R"(trace ints sym(s0=@0 in [2, max]) {
  %0 = input L['x'] {slot=0} : i64[s0]
  %1 = input L['y'] {slot=1} : i64[s0]
  %2 = floor_divide %0, %1 : i64[s0]
  return %2
}
)", 3));
    std::vector<int64_t> x = {7, -7, 5}, y = {2, 2, -5};
    EXPECT_EQ(run.input(0, x).input(1, y)(), 0u);
    EXPECT_EQ(run.output<int64_t>(), (std::vector<int64_t>{3, -4, -1}));
    y[1] = 0;
    EXPECT_EQ(run(), kFaultDivide);
    EXPECT_EQ(run.output<int64_t>()[1], 0);
    x[2] = std::numeric_limits<int64_t>::min();
    y = {1, 1, -1};
    EXPECT_EQ(run(), kFaultOverflow);
}

TEST(Tier0, CallersStatusRegisterComesBack) {
    auto x = numbers(100, 1), y = numbers(100, 2), z = numbers(100, 3);
    y[5] = 0;
    Segment run(sized(kFive, 100));
    run.input(0, x).input(1, y).input(2, z);
    const unsigned old = _mm_getcsr();
    for (const unsigned flags : {0u, 0x20u, 0x09u}) {
        _mm_setcsr((old & ~0x3fu) | flags);
        const uint32_t faults = run();
        const unsigned after = _mm_getcsr();
        _mm_setcsr(old);
        EXPECT_EQ(faults, kFaultDivide);
        EXPECT_EQ(after & 0x3f, flags);
    }
}

TEST(Tier0, StoresInPlace) {
    Segment run(sized(R"(trace inplace sym(s0=@0 in [2, max]) {
  %0 = input L['a'] {slot=0, written} : f64[s0]
  %1 = input L['b'] {slot=1} : f64[s0]
  %2 = add %0, %1 : f64[s0]
  %3 = store %0, %2 [j0] : f64[s0]
  %4 = multiply %3, %1 : f64[s0]
  return %4
}
)", 2500));
    auto a = numbers(2500, 1), b = numbers(2500, 2);
    const auto before = a;
    run.input(0, a).input(1, b)(2);
    for (size_t i = 0; i < a.size(); ++i) {
        ASSERT_EQ(a[i], before[i] + b[i]);
        ASSERT_EQ(run.output<double>()[i], a[i] * b[i]);
    }
}

TEST(Tier0, AMissingHostLoopIsAFaultAndNotACrash) {
    Segment run(sized(R"(trace missing sym(s0=@0 in [2, max]) {
  %0 = input L['x'] {slot=0} : f64[s0]
  %1 = loop no_such_loop %0 : f64[s0]
  return %1
}
)", 10));
    auto x = numbers(10, 1);
    EXPECT_EQ(run.input(0, x)() & kFaultHost, kFaultHost);
}

// ---- what tier 0 computes itself

template <class S, class D>
std::pair<D, uint32_t> cast_one(DType from, DType to, S value) {
    D out{};
    _mm_setcsr(_mm_getcsr() & ~0x3fu);
    uint32_t faults =
        tier0::cast(from, to, {reinterpret_cast<char*>(&value), 0}, {reinterpret_cast<char*>(&out), 0}, 1);
    const unsigned csr = _mm_getcsr();
    if (csr & 1) faults |= kFaultInvalid;
    if (csr & 8) faults |= kFaultOverflow;
    return {out, faults};
}

TEST(Tier0Cast, OutOfRangeIsWhatX86Gives) {
    const double nan = std::nan(""), big = 1e300;
    EXPECT_EQ((cast_one<double, int32_t>(DType::F64, DType::I32, big)), std::pair(INT32_MIN, uint32_t{kFaultInvalid}));
    EXPECT_EQ((cast_one<double, int64_t>(DType::F64, DType::I64, nan)), std::pair(INT64_MIN, uint32_t{kFaultInvalid}));
    EXPECT_EQ((cast_one<double, uint8_t>(DType::F64, DType::U8, 300.0)), std::pair(uint8_t{44}, 0u));
    EXPECT_EQ((cast_one<double, int8_t>(DType::F64, DType::I8, -129.0)), std::pair(int8_t{127}, 0u));
    EXPECT_EQ((cast_one<double, uint32_t>(DType::F64, DType::U32, -1.0)), std::pair(UINT32_MAX, 0u));
    EXPECT_EQ((cast_one<double, uint64_t>(DType::F64, DType::U64, 1.8e19)).first, 18000000000000000000u);
    EXPECT_EQ((cast_one<double, float>(DType::F64, DType::F32, big)),
              std::pair(std::numeric_limits<float>::infinity(), uint32_t{kFaultOverflow}));
    EXPECT_EQ((cast_one<double, uint8_t>(DType::F64, DType::Bool, nan)), std::pair(uint8_t{1}, 0u));
    EXPECT_EQ((cast_one<uint8_t, double>(DType::Bool, DType::F64, 7)), std::pair(1.0, 0u)) << "any byte but 0 is true";
}

TEST(Tier0Cast, Half) {
    for (uint32_t h = 0; h < 0x10000; ++h) {  // every half survives
        uint32_t faults = 0;
        const float f = tier0::half_to_float(static_cast<uint16_t>(h));
        const uint16_t back = tier0::float_to_half(f, faults);
        const uint16_t back_from_double = tier0::double_to_half(f, faults);
        if ((h & 0x7fff) > 0x7c00) {
            ASSERT_GT(back & 0x7fff, 0x7c00);
            continue;
        }
        ASSERT_EQ(back, h);
        ASSERT_EQ(back_from_double, h);
        ASSERT_EQ(faults, 0u);
    }
    uint32_t faults = 0;
    EXPECT_EQ(tier0::double_to_half(2049.0, faults), 0x6800) << "ties to even";
    EXPECT_EQ(tier0::double_to_half(2051.0, faults), 0x6802);
    EXPECT_EQ(tier0::double_to_half(65519.9, faults), 0x7bff);
    EXPECT_EQ(faults, 0u);
    EXPECT_EQ(tier0::double_to_half(65520.0, faults), 0x7c00);
    EXPECT_EQ(faults, kFaultOverflow);
    faults = 0;
    EXPECT_EQ(tier0::double_to_half(std::ldexp(1.0, -25), faults), 0) << "half of the least subnormal";
    EXPECT_EQ(tier0::double_to_half(std::ldexp(1.5, -25), faults), 1);
    EXPECT_EQ(tier0::double_to_half(-1e-300, faults), 0x8000);
    EXPECT_EQ(faults, kFaultUnderflow);
    // Rounding once: the double just above a tie does not become a tie on the way.
    EXPECT_EQ(tier0::double_to_half(1.0 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40), faults), 0x3c01);
}

TEST(Tier0Ops, CopyKeepsBytesAndWhereChooses) {
    uint8_t bools[] = {0, 7, 1}, copied[3];
    tier0::copy(1, {reinterpret_cast<char*>(bools), 1}, {reinterpret_cast<char*>(copied), 1}, 3);
    EXPECT_EQ(copied[1], 7);
    double a[] = {1, 2, 3}, b = -1, out[3];
    tier0::where(8, {reinterpret_cast<char*>(bools), 1}, {reinterpret_cast<char*>(a), 8},
                 {reinterpret_cast<char*>(&b), 0}, {reinterpret_cast<char*>(out), 8}, 3);
    EXPECT_EQ(out[0], -1);
    EXPECT_EQ(out[1], 2);
    float steps[4];
    tier0::index(DType::F32, 10, -3, {reinterpret_cast<char*>(steps), 4}, 4);
    EXPECT_EQ(steps[3], 1.0f);
}

}  // namespace
}  // namespace stator::kernels
