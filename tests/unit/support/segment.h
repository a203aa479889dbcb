// A segment of a graph given as text, scheduled and run by tier 0 or by compiled code, with host loops
// written here in C++. Sizes are the symbols' hints.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "kernels/loops/loop_ir.h"

namespace stator::kernels {

using graph::DType;

// ---- host loops, as NumPy's: contiguous or strided, and reducing when accumulator and result coincide with
// stride 0

struct Call {
    std::string name;
    int64_t n;
    std::vector<int64_t> strides;
};
inline std::vector<Call> calls;

inline double pairwise(const char* p, int64_t n, int64_t stride) {
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
inline void note(const char* name, const int64_t* n, const int64_t* s, int operands) {
    calls.push_back({name, *n, std::vector<int64_t>(s, s + operands)});
}

inline void add_f64(char** args, const int64_t* n, const int64_t* s, void*) {
    note("add", n, s, 3);
    if (args[0] == args[2] && s[0] == 0 && s[2] == 0) {
        *reinterpret_cast<double*>(args[0]) += pairwise(args[1], *n, s[1]);
        return;
    }
    binary<double, double>(args, n, s, [](double a, double b) { return a + b; });
}
inline int64_t floor_divide(int64_t a, int64_t b) {
    if (b == 0) return std::feraiseexcept(FE_DIVBYZERO), 0;
    if (b == -1 && a == std::numeric_limits<int64_t>::min()) return std::feraiseexcept(FE_OVERFLOW), a;
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

#define STATOR_TEST_LOOP(body) [](char** args, const int64_t* n, const int64_t* s, void*) { body; }
inline const std::map<std::string, HostLoopFn> kLoops = {
    {"add f64", add_f64},
    {"subtract f64",
     STATOR_TEST_LOOP((binary<double, double>(args, n, s, [](double a, double b) { return a - b; })))},
    {"multiply f64",
     STATOR_TEST_LOOP((note("multiply", n, s, 3),
                       binary<double, double>(args, n, s, [](double a, double b) { return a * b; })))},
    {"divide f64",
     STATOR_TEST_LOOP((binary<double, double>(args, n, s, [](double a, double b) { return a / b; })))},
    {"maximum f64", STATOR_TEST_LOOP((binary<double, double>(
                        args, n, s, [](double a, double b) { return a >= b || std::isnan(a) ? a : b; })))},
    // As NumPy's: ordered comparisons raise invalid for NaN and the loop clears the flags afterwards.
    {"less f64",
     STATOR_TEST_LOOP((binary<double, uint8_t>(args, n, s, [](double a, double b) { return a < b; }),
                       std::feclearexcept(FE_ALL_EXCEPT)))},
    {"logical_or b1",
     STATOR_TEST_LOOP((binary<uint8_t, uint8_t>(args, n, s, [](int a, int b) { return a || b; })))},
    {"floor_divide i64", STATOR_TEST_LOOP((binary<int64_t, int64_t>(args, n, s, floor_divide)))},
    {"exp f64",
     STATOR_TEST_LOOP((note("exp", n, s, 2), unary(args, n, s, [](double x) { return std::exp(x); })))},
};
#undef STATOR_TEST_LOOP

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
    // Runs every nest, by tier 0 unless compiled code is given; `pieces` > 1 cuts splittable ones into
    // ranges.
    uint32_t operator()(int pieces = 1, const std::vector<NestFn>* code = nullptr) {
        bind();
        auto* scratch =
            reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(scratch_.data()) + 63) & ~uintptr_t{63});
        const KernelArgs args{buffers_.data(), strides_.data(), syms_.data(),
                              scalars_.data(), loops_.data(),   scratch};
        uint32_t faults = 0;
        for (size_t i = 0; i < program_.nests.size(); ++i) {
            const int64_t extent = g_.syms.hint(program_.nests[i].extent);
            const int64_t n = program_.nests[i].splittable ? pieces : 1;
            for (int64_t k = 0; k < n; ++k)
                faults |= code ? (*code)[i](&args, extent * k / n, extent * (k + 1) / n)
                               : interpret(program_, static_cast<int>(i), args, extent * k / n,
                                           extent * (k + 1) / n);
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
    Program& program() { return program_; }
    const graph::Graph& graph() const { return g_; }

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
            for (auto d = order.rbegin(); d != order.rend(); ++d)
                dense[*d] = size, size *= g_.syms.hint(buffer.shape[*d]);
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
                std::memcpy(scalars_.data() + 16 * s,
                            &scalar_inputs_.at(static_cast<int>(g_.node(scalar.value).ints[0])), 8);
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

inline std::vector<double> numbers(size_t n, unsigned seed) {
    std::vector<double> v(n);
    for (double& x : v) {
        seed = seed * 1664525 + 1013904223;
        x = static_cast<double>(seed >> 8) / (1 << 20) - 8 + 1e-3;
    }
    return v;
}
inline std::string sized(std::string text, int64_t s0, int64_t s1 = 0) {
    for (const auto& [name, value] : {std::pair{"@0", s0}, {"@1", s1}})
        for (size_t at; (at = text.find(name)) != std::string::npos;)
            text.replace(at, 2, std::to_string(value));
    return text;
}
template <class T>
void expect_same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    ASSERT_EQ(a.size(), b.size());
    if (!a.empty()) {
        EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(T)), 0);
    }
}

inline constexpr char kFive[] = R"(trace five sym(s0=@0 in [0, max]) {
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

}  // namespace stator::kernels
