// Reductions, and functions that NumPy makes of them and elementwise steps: mean, var, std, ptp, norm.
//
// NumPy keeps what it reduces (squares, say) in memory whose axes lie as the operand's do: where the operand
// reduces in order, so do the squares.
#include <algorithm>

#include "frontend/hosts/numpy/functions/table.h"
#include "graph/dtype.h"

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
    if (!s.axes(axis, s.rank(array), &out->axes) || !s.flag(keepdims, &out->keepdims)) return false;
    s.note_reduction(array, out->axes, out->keepdims);
    return true;
}

bool any_given(std::initializer_list<Ref> arguments) {
    return std::any_of(arguments.begin(), arguments.end(), [](Ref r) { return static_cast<bool>(r); });
}

Ref finished(Steps& s, const Request& r, Ref v) { return v && r.keepdims ? s.keep_axes(v, r.axes) : v; }

// --- one reduction ---

// The dtype in which add and multiply run over elements of `t`.
DType summed_as(DType t) {
    if (graph::is_unsigned(t) && t != DType::Bool) return DType::U64;
    return graph::is_integer(t) || t == DType::Bool ? DType::I64 : t;
}

constexpr const char *kAdd = "add", *kMultiply = "multiply", *kMaximum = "maximum", *kMinimum = "minimum",
                     *kAnd = "logical_and", *kOr = "logical_or";

// Sums of complex numbers as real ones warn.
bool warns(DType from, DType to) {
    return graph::is_complex(from) && !graph::is_complex(to) && to != DType::Bool;
}

// Of a NumPy number: its value, but that a sum begins with 0.
Ref of_number(Steps& s, Ref number, const char* ufunc) {
    const DType t = s.dtype(number);
    if (ufunc != kAdd) return s.cast(number, t);
    const Ref zero = s.number(s.integer(0), t);
    return zero ? s.ufunc("add", {zero, number}) : zero;
}

// sum and prod: a, axis, dtype, out, keepdims, initial, where.
template <const char* const& Ufunc>
Ref sum(Steps& s, Refs p) {
    if (!any_given({p[1], p[2], p[3], p[4], p[5], p[6]}) && s.is_numpy_float(p[0]))
        return of_number(s, p[0], Ufunc);
    Request r;
    if (any_given({p[3], p[5], p[6]})) return s.decline("a reduction with out, initial or where");
    if (!read_request(s, p[0], p[1], p[4], &r)) return {};
    DType t = summed_as(s.dtype(r.array));
    if (p[2] && !s.fixed_dtype(p[2], &t)) return {};
    if (warns(s.dtype(r.array), t)) return s.decline("a sum of complex numbers as real ones");
    return finished(s, r, s.reduce(Ufunc, r.array, r.axes, r.array, t));
}

// max and min: a, axis, out, keepdims, initial, where.
template <const char* const& Ufunc>
Ref extremum(Steps& s, Refs p) {
    if (!any_given({p[1], p[2], p[3], p[4], p[5]}) && s.is_numpy_float(p[0]))
        return of_number(s, p[0], Ufunc);
    Request r;
    if (any_given({p[2], p[4], p[5]})) return s.decline("an extremum with out, initial or where");
    if (!read_request(s, p[0], p[1], p[3], &r)) return {};
    return finished(s, r, s.reduce(Ufunc, r.array, r.axes, r.array, s.dtype(r.array)));
}

// any and all: a, axis, out, keepdims, where.
template <const char* const& Ufunc>
Ref truth(Steps& s, Refs p) {
    Request r;
    if (any_given({p[2], p[4]})) return s.decline("a reduction with out or where");
    if (!read_request(s, p[0], p[1], p[3], &r)) return {};
    return finished(s, r, s.reduce(Ufunc, r.array, r.axes, r.array, DType::Bool));
}

// ufunc.reduce: the ufunc, array, axis, dtype, out, keepdims, initial, where.
Ref ufunc_reduce(Steps& s, Refs p) {
    if (any_given({p[4], p[6], p[7]})) return s.decline("a reduction with out, initial or where");
    const std::string_view ufunc = s.name_of_ufunc(p[0]);
    const bool sums = ufunc == kAdd || ufunc == kMultiply, truth = ufunc == kAnd || ufunc == kOr;
    if (!sums && !truth && ufunc != kMaximum && ufunc != kMinimum)
        return s.decline("a reduction by this ufunc");
    Request r;
    if (!p[1] || !s.is_array(p[1])) return s.decline("a reduction of what is no array");
    r.array = p[1];
    const int rank = s.rank(r.array);
    if (p[2]) {
        if (!s.axes(s.is_none(p[2]) ? Ref{} : p[2], rank, &r.axes)) return {};
    } else if (rank > 0) {
        r.axes = {0};
    }
    if (!s.flag(p[5], &r.keepdims)) return {};
    DType t = truth ? DType::Bool : sums ? summed_as(s.dtype(r.array)) : s.dtype(r.array);
    if (p[3] && !s.fixed_dtype(p[3], &t)) return {};
    if (warns(s.dtype(r.array), t)) return s.decline("a sum of complex numbers as real ones");
    return finished(s, r, s.reduce(ufunc, r.array, r.axes, r.array, t));
}

// argmax and argmin: a, axis, out, keepdims.
template <bool Greatest>
Ref position(Steps& s, Refs p) {
    Request r;
    if (p[2]) return s.decline("a position with out");
    if (!read_request(s, p[0], p[1], p[3], &r)) return {};
    if (p[1] && r.axes.size() != 1) return s.decline("a position along several axes");
    const bool flat = !p[1] || s.rank(r.array) == 1;
    return finished(s, r, s.position(Greatest, r.array, flat ? std::optional<int>() : r.axes[0]));
}

Ref count_nonzero(Steps& s, Refs p) {
    if (p[1] || p[2] || !s.is_array(p[0]) || s.dtype(p[0]) != DType::Bool)
        return s.decline("a count of such elements");
    return s.count_true(p[0]);
}

Ref cumsum(Steps& s, Refs p) {
    if (any_given({p[1], p[2], p[3]}) || !s.is_array(p[0]) || s.rank(p[0]) != 1)
        return s.decline("such running sums");
    return s.accumulate("add", p[0]);
}

// --- several steps ---

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
    return finished(s, r, divided(s, s.reduce("add", r.array, r.axes, r.array, t), count, t));
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
    if (!s.require(Relation::Lt, s.integer(std::max<int64_t>(ddof, 0)), count))
        return s.decline("a variance of so few elements");
    Ref mean = divided(s, s.reduce("add", r.array, r.axes, r.array, t), count, t);
    if (mean && r.axes.size() < static_cast<size_t>(s.rank(r.array))) mean = s.keep_axes(mean, r.axes);
    const Ref deviation = mean ? s.ufunc("subtract", {r.array, mean}) : mean;
    const Ref square = deviation ? s.ufunc("square", {deviation}) : deviation;
    const Ref sum = square ? s.reduce("add", square, r.axes, r.array, s.dtype(r.array)) : square;
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
    const Ref sum = square ? s.reduce("add", square, r.axes, r.array, s.dtype(r.array)) : square;
    return finished(s, r, sum ? s.ufunc("sqrt", {sum}) : sum);
}

// The greatest less the least.
Ref ptp(Steps& s, Refs p) {
    Request r;
    if (p[2]) return s.decline("ptp with out");
    if (!read_request(s, p[0], p[1], p[3], &r)) return {};
    if (s.dtype(r.array) == DType::Bool) return s.decline("ptp of bools");
    if (!(r.array = s.computed_once(r.array))) return {};
    const DType t = s.dtype(r.array);
    const Ref greatest = s.reduce("maximum", r.array, r.axes, r.array, t);
    const Ref least = greatest ? s.reduce("minimum", r.array, r.axes, r.array, t) : greatest;
    return finished(s, r, least ? s.ufunc("subtract", {greatest, least}) : least);
}

constexpr const char* kVariance = "a axis= dtype= out= ddof keepdims * where mean correction";
constexpr const char* kVarianceMethod = "self / axis= dtype= out= ddof keepdims * where mean";

constexpr const char* kSum = "a axis= dtype= out= keepdims initial where";
constexpr const char* kSumMethod = "self / axis= dtype= out= keepdims initial where";
constexpr const char* kExtremum = "a axis= out= keepdims initial where";
constexpr const char* kExtremumMethod = "self / axis= out= keepdims initial where";
constexpr const char* kTruth = "a axis= out= keepdims * where";
constexpr const char* kTruthMethod = "self / axis= out= keepdims * where";
constexpr const char* kPosition = "a axis= out= * keepdims";
constexpr const char* kPositionMethod = "self / axis= out= * keepdims";

constexpr Function kReductions[] = {
    {"sum", kSum, sum<kAdd>},
    {".sum", kSumMethod, sum<kAdd>},
    {"prod", kSum, sum<kMultiply>},
    {".prod", kSumMethod, sum<kMultiply>},
    {"max", kExtremum, extremum<kMaximum>},
    {"amax", kExtremum, extremum<kMaximum>},
    {".max", kExtremumMethod, extremum<kMaximum>},
    {"min", kExtremum, extremum<kMinimum>},
    {"amin", kExtremum, extremum<kMinimum>},
    {".min", kExtremumMethod, extremum<kMinimum>},
    {"any", kTruth, truth<kOr>},
    {".any", kTruthMethod, truth<kOr>},
    {"all", kTruth, truth<kAnd>},
    {".all", kTruthMethod, truth<kAnd>},
    {"ufunc.reduce", "self array axis dtype= out= keepdims initial where", ufunc_reduce},
    {"argmax", kPosition, position<true>},
    {".argmax", kPositionMethod, position<true>},
    {"argmin", kPosition, position<false>},
    {".argmin", kPositionMethod, position<false>},
    {"count_nonzero", "a axis= * keepdims", count_nonzero},
    {"cumsum", "a axis= dtype= out=", cumsum},
    {".cumsum", "self / axis= dtype= out=", cumsum},
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
