// Functions that NumPy makes of reductions and elementwise steps: mean, var, std, ptp, norm.
//
// NumPy keeps what it reduces (squares, say) in memory whose axes lie as the operand's do: where the operand
// reduces in order, so do the squares.
#include <algorithm>

#include "frontend/hosts/numpy/functions/table.h"

namespace stator::frontend::numpy {

namespace {

using Ref = Steps::Ref;
using Refs = Steps::Refs;
using graph::DType;
using guards::Relation;

bool is_real_float(DType t) { return t == DType::F64 || t == DType::F32; }

struct Request {
    Ref array;
    Steps::Axes axes;
    bool keepdims = false;
};

bool read_request(Steps& s, Ref array, Ref axis, Ref keepdims, Request* out) {
    if (!s.is_array(array)) return s.decline("a reduction of what is no array"), false;
    out->array = array;
    return s.axes(axis, s.rank(array), &out->axes) && s.flag(keepdims, &out->keepdims);
}

bool any_given(std::initializer_list<Ref> arguments) {
    return std::any_of(arguments.begin(), arguments.end(), [](Ref r) { return static_cast<bool>(r); });
}

Ref finished(Steps& s, const Request& r, Ref v) { return v && r.keepdims ? s.keep_axes(v, r.axes) : v; }

// NumPy divides by the count as np.intp, in float64, and converts back.
Ref divided(Steps& s, Ref sum, Ref count, DType t) {
    const Ref n = sum ? s.number(count, DType::I64) : sum;
    const Ref quotient = n ? s.ufunc("divide", {sum, n}) : n;
    return quotient ? s.cast(quotient, t) : quotient;
}

// numpy._core._methods._mean: add.reduce, then true_divide by the count.
Ref mean(Steps& s, Refs p) {
    Request r;
    if (any_given({p[2], p[3], p[5]})) return s.decline("a mean with dtype, out or where");
    if (!read_request(s, p[0], p[1], p[4], &r)) return {};
    const DType t = s.dtype(r.array);
    if (!is_real_float(t)) return s.decline("a mean of this dtype");
    const Ref count = s.count(r.array, r.axes);
    if (!s.require(Relation::Lt, s.integer(0), count)) return s.decline("a mean of nothing");
    return finished(s, r, divided(s, s.reduce("add", r.array, r.axes, r.array), count, t));
}

// Without weights it is the mean, of floats.
Ref average(Steps& s, Refs p) {
    bool returned = false;
    if (p[2] || !s.flag(p[3], &returned) || returned) return s.decline("an average with weights or returned");
    Steps::Axes all;
    if (!s.is_array(p[0]) || !s.axes({}, s.rank(p[0]), &all))
        return s.decline("an average of what is no array");
    // It divides the size by that of the result, too.
    if (!s.require(Relation::Lt, s.integer(0), s.count(p[0], all))) return s.decline("an average of nothing");
    const Ref as_mean[] = {p[0], p[1], {}, {}, p[4], {}};
    return mean(s, as_mean);
}

// numpy._core._methods._var: the mean, then the sum of the squared deviations from it, divided by the count
// less ddof. _std takes the root.
template <bool Root>
Ref variance(Steps& s, Refs p) {
    Request r;
    // ddof and correction together are an error, but for a ddof of 0.
    const bool correction = p.size() > 8 && p[8];  // the methods have none
    if (any_given({p[2], p[3], p[6], p[7]}) || (correction && p[4]))
        return s.decline("a variance with dtype, out, where or mean");
    const Ref less = correction ? p[8] : p[4];
    int64_t ddof = 0;
    if (less && !s.fixed_int(less, &ddof)) return s.decline("a ddof that is no int");
    if (!read_request(s, p[0], p[1], p[5], &r)) return {};
    const DType t = s.dtype(r.array);
    if (!is_real_float(t)) return s.decline("a variance of this dtype");
    if (!(r.array = s.computed_once(r.array))) return {};
    const Ref count = s.count(r.array, r.axes);
    // NumPy warns of fewer.
    if (!s.require(Relation::Lt, s.integer(ddof), count)) return s.decline("a variance of so few elements");
    Ref mean = divided(s, s.reduce("add", r.array, r.axes, r.array), count, t);
    if (mean && r.axes.size() < static_cast<size_t>(s.rank(r.array))) mean = s.keep_axes(mean, r.axes);
    const Ref deviation = mean ? s.ufunc("subtract", {r.array, mean}) : mean;
    const Ref square = deviation ? s.ufunc("square", {deviation}) : deviation;
    const Ref sum = square ? s.reduce("add", square, r.axes, r.array) : square;
    Ref v = divided(s, sum, s.difference(count, s.integer(ddof)), t);
    if (Root && v) v = s.ufunc("sqrt", {v});
    return finished(s, r, v);
}

// numpy.linalg.norm of order 2: of a vector the root of x.dot(x), along an axis that of the sum of x * x.
Ref norm(Steps& s, Refs p) {
    constexpr int64_t kEuclidean = 2;
    int64_t order = kEuclidean;
    if (p[1] && (!s.fixed_int(p[1], &order) || order != kEuclidean)) return s.decline("a norm of this order");
    Request r;
    if (!read_request(s, p[0], p[2], p[3], &r)) return {};
    if (!is_real_float(s.dtype(r.array))) return s.decline("a norm of this dtype");
    if (!p[2]) {
        if (s.rank(r.array) != 1 || r.keepdims) return s.decline("a norm of more than a vector");
        const Ref square = s.dot(r.array, r.array);
        return square ? s.ufunc("sqrt", {square}) : square;
    }
    if (r.axes.size() != 1) return s.decline("a norm along several axes");
    if (!(r.array = s.computed_once(r.array))) return {};
    const Ref square = s.ufunc("multiply", {r.array, r.array});
    const Ref sum = square ? s.reduce("add", square, r.axes, r.array) : square;
    return finished(s, r, sum ? s.ufunc("sqrt", {sum}) : sum);
}

// The greatest less the least.
Ref ptp(Steps& s, Refs p) {
    Request r;
    if (p[2]) return s.decline("ptp with out");
    if (!read_request(s, p[0], p[1], p[3], &r)) return {};
    if (s.dtype(r.array) == DType::Bool) return s.decline("ptp of bools");
    if (!(r.array = s.computed_once(r.array))) return {};
    const Ref greatest = s.reduce("maximum", r.array, r.axes, r.array);
    const Ref least = greatest ? s.reduce("minimum", r.array, r.axes, r.array) : greatest;
    return finished(s, r, least ? s.ufunc("subtract", {greatest, least}) : least);
}

constexpr const char* kVariance = "a axis= dtype= out= ddof keepdims * where mean correction";
constexpr const char* kVarianceMethod = "self / axis= dtype= out= ddof keepdims * where mean";

constexpr Function kReductions[] = {
    {"mean", "a axis= dtype= out= keepdims * where", mean},
    {".mean", "self / axis= dtype= out= keepdims * where", mean},
    {"average", "a axis= weights= returned * keepdims", average},
    {"var", kVariance, variance<false>},
    {".var", kVarianceMethod, variance<false>},
    {"std", kVariance, variance<true>},
    {".std", kVarianceMethod, variance<true>},
    {"ptp", "a axis= out= keepdims", ptp},
    {"linalg.norm", "x ord= axis= keepdims", norm},
};

}  // namespace

std::span<const Function> reductions() { return kReductions; }

}  // namespace stator::frontend::numpy
