// See dot_order.h. Which order it is follows from the library, the processor's type, and whether the compiler
// that built the library contracted products and sums; so it is looked at and not looked up.
//
// STATOR_TEST_DOT_ORDER=0 makes every order unknown.
#include "frontend/regions/routines/dot_order.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "frontend/hosts/numpy/lower.h"
#include "frontend/once.h"

namespace stator::frontend::regions {

namespace {

using graph::DotOrder;
using graph::DType;

template <class T, class Sum>
T dot_in(const DotOrder& order, const T* x, int64_t dx, const T* y, int64_t dy, int64_t n) {
    Sum sums[2] = {0, 0};
    int64_t i = 0;
    for (; i < n - n % order.block; i += order.block)
        for (int s = 0; s < order.sums; ++s) {
            const T a = x[(i + s) * dx], b = y[(i + s) * dy];
            if (order.terms() == 1) {
                if constexpr (std::is_same_v<T, Sum>)
                    sums[s] = order.fused == DotOrder::First ? std::fma(a, b, sums[s]) : sums[s] + a * b;
                else
                    sums[s] += a * b;
                continue;
            }
            const T c = x[(i + s + order.sums) * dx], d = y[(i + s + order.sums) * dy];
            T both;
            switch (order.fused) {
                case DotOrder::First: both = std::fma(a, b, c * d); break;
                case DotOrder::Second: both = std::fma(c, d, a * b); break;
                default: both = a * b + c * d; break;
            }
            sums[s] += both;
        }
    for (; i < n; ++i) {
        const T a = x[i * dx], b = y[i * dy];
        if constexpr (std::is_same_v<T, Sum>)
            sums[0] = order.fused_rest ? std::fma(a, b, sums[0]) : sums[0] + a * b;
        else
            sums[0] += a * b;
    }
    return static_cast<T>(order.sums == 2 ? sums[0] + sums[1] : sums[0]);
}

template <class T>
T dot_in(const DotOrder& order, const T* x, int64_t dx, const T* y, int64_t dy, int64_t n) {
    return order.wide ? dot_in<T, double>(order, x, dx, y, dy, n) : dot_in<T, T>(order, x, dx, y, dy, n);
}

template <class T>
std::vector<DotOrder> candidates() {
    std::vector<DotOrder> all;
    for (const int sums : {1, 2})
        for (const int terms : {1, 2})
            for (const auto fused : {DotOrder::None, DotOrder::First, DotOrder::Second})
                for (const bool rest : {false, true})
                    for (const bool wide : {false, true}) {
                        const DotOrder o{sums * terms, sums, fused, rest, wide};
                        // Steps of one product are the rest.
                        const bool twice = o.block == 1 && (fused == DotOrder::First) != rest;
                        const bool rounded = wide && (rest || (terms == 1 && fused != DotOrder::None));
                        if (!o.valid() || twice || rounded || (wide && sizeof(T) == sizeof(double))) continue;
                        all.push_back(o);
                    }
    return all;
}

template <class T>
class DotProber {
  public:
    explicit DotProber(PyArray_DotFunc* dot) : dot_(dot), left_(candidates<T>()) {
        uint64_t state = 1;
        const auto next = [&] {
            state = state * 6364136223846793005u + 1442695040888963407u;
            return static_cast<T>(static_cast<double>(static_cast<int64_t>(state) >> 11) * 0x1p-52);
        };
        x_.resize(3 * DotOrder::kLongest + 8);
        y_.resize(3 * DotOrder::kLongest + 8);
        for (T& v : x_) v = next();
        for (T& v : y_) v = next();
    }

    DotOrder order() {
        for (int64_t n = 1; n <= 70; ++n) {
            try_one(n, 2, 3, n % 4);
            try_one(n, 1, 5, n % 3);
            try_one(n, 7, 1, n % 8);
            if (left_.empty()) return {};
        }
        for (const int64_t n :
             {int64_t{127}, int64_t{256}, int64_t{1001}, DotOrder::kLongest - 1, DotOrder::kLongest}) {
            try_one(n, 3, 2, 1);
            try_one(n, 1, 3, 2);
            try_one(n, 2, 1, 0);
        }
        return left_.size() == 1 ? left_[0] : DotOrder{};
    }

  private:
    void try_one(int64_t n, int64_t dx, int64_t dy, int64_t from) {
        T *x = x_.data() + from, *y = y_.data() + from / 2, found = 0;
        dot_(x, dx * static_cast<int64_t>(sizeof(T)), y, dy * static_cast<int64_t>(sizeof(T)), &found, n,
             nullptr);
        std::erase_if(left_, [&](const DotOrder& o) {
            const T mine = dot_in(o, x, dx, y, dy, n);
            return std::memcmp(&mine, &found, sizeof(T)) != 0;
        });
    }

    PyArray_DotFunc* dot_;
    std::vector<DotOrder> left_;
    std::vector<T> x_, y_;
};

template <class T>
DotOrder probe(DType t) {
    if (const char* text = std::getenv("STATOR_TEST_DOT_ORDER"); text && std::string_view(text) == "0")
        return {};
    PyArray_DotFunc* dot = PyDataType_GetArrFuncs(numpy::descr_of(t))->dotfunc;
    return dot ? DotProber<T>(dot).order() : DotOrder{};
}

}  // namespace

DotOrder strided_dot_order(DType t) {
    if (t == DType::F64) return once([] { return probe<double>(DType::F64); });
    if (t == DType::F32) return once([] { return probe<float>(DType::F32); });
    return {};
}

}  // namespace stator::frontend::regions
