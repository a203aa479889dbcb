// Functions that are a few elementwise operations on parts of their arguments.
#include <cstdlib>

#include "frontend/hosts/numpy/functions/table.h"
#include "graph/graph.h"
#include "guards/check/numpy_api.h"

namespace stator::frontend::numpy {

namespace {

using Ref = Steps::Ref;
using Refs = Steps::Refs;
using graph::DType;

// From NumPy 2.1 on the bounds may be named min and max, and both may be missing.
bool bounds_have_names() {
    constexpr unsigned kFeatures_2_1 = 0x13;
    return PyArray_GetNDArrayCFeatureVersion() >= kFeatures_2_1;
}

// numpy._core._methods._clip picks a ufunc by which bounds there are.
Ref clipped(Steps& s, Ref array, Ref low, Ref high, Ref out) {
    if (!s.is_array(array)) return s.decline("a clip of what is no array");
    if (!low && !high && !bounds_have_names()) return s.decline("a clip without bounds");
    std::vector<Ref> in{array};
    if (low) in.push_back(low);
    if (high) in.push_back(high);
    const char* name = low && high ? "clip" : low ? "maximum" : high ? "minimum" : "positive";
    return s.whole_ufunc(name, in, out);
}

Ref clip_method(Steps& s, Refs p) { return clipped(s, p[0], p[1], p[2], p[3]); }

// numpy.clip: a_min and a_max, one of which may be None, or else min and max.
Ref clip(Steps& s, Refs p) {
    const bool old = p[1] && p[2];
    if (!old && !bounds_have_names()) return s.decline("clip with these arguments");
    if (old ? p[4] || p[5] : p[1] || p[2]) return s.decline("clip with these arguments");
    const auto bound = [&](Ref r) { return r && !s.is_none(r) ? r : Ref{}; };
    return clipped(s, p[0], bound(p[old ? 1 : 4]), bound(p[old ? 2 : 5]), p[3]);
}

// Differences of neighbours, several times over.
Ref diff(Steps& s, Refs p) {
    constexpr int64_t kMost = 8;
    if (!s.is_array(p[0]) || p[3] || p[4]) return s.decline("such differences");
    const int rank = s.rank(p[0]);
    int64_t times = 1;
    int axis = rank - 1;
    if (p[1] && !s.fixed_int(p[1], &times)) return s.decline("a number of differences that is no int");
    if (rank == 0 || times < 1 || times > kMost) return s.decline("so many differences");
    if (p[2] && !s.axis(p[2], rank, &axis)) return {};
    const char* name = s.dtype(p[0]) == DType::Bool ? "not_equal" : "subtract";
    Ref v = p[0];
    for (int64_t k = 0; k < times; ++k) {
        if (!(v = s.computed_once(v))) return {};
        if (!s.has_at_least(v, axis, 1)) return s.decline("differences of nothing");
        const Ref rest = s.difference(s.extent(v, axis), s.integer(1));
        std::vector<Steps::Axis> upper = s.whole(v), lower = upper;
        upper[static_cast<size_t>(axis)] = {Steps::Axis::Part, axis, s.integer(1), rest};
        lower[static_cast<size_t>(axis)] = {Steps::Axis::Part, axis, s.integer(0), rest};
        const Ref a = s.view(v, upper), b = a ? s.view(v, lower) : a;
        if (!b || !(v = s.ufunc(name, {a, b}))) return {};
    }
    return v;
}

// Of vectors of three components along the last axes: three stores of two products' difference. NumPy gives a
// view of what it stores to, by moveaxis.
Ref cross(Steps& s, Refs p) {
    if (!s.is_array(p[0]) || !s.is_array(p[1])) return s.decline("a cross product of what is no array");
    const DType t = s.dtype(p[0]);
    if ((t != DType::F64 && t != DType::F32) || s.dtype(p[1]) != t)
        return s.decline("a cross product of this dtype");
    const auto component = [&](Ref v, int k) {
        std::vector<Steps::Axis> parts = s.whole(v);
        parts.back().kind = Steps::Axis::Drop;
        parts.back().start = s.integer(k);
        return parts;
    };
    Ref parts[2][3];
    for (size_t i = 0; i < 2; ++i) {
        const int rank = s.rank(p[i]);
        if (rank == 0 || !s.require(guards::Relation::Eq, s.extent(p[i], rank - 1), s.integer(3)))
            return s.decline("a cross product of vectors of another length");
        const Ref v = s.computed_once(p[i]);
        for (int k = 0; k < 3; ++k)
            if (!v || !(parts[i][k] = s.view(v, component(v, k)))) return {};
    }
    const auto& [a, b] = parts;
    std::vector<Ref> extents;
    const Ref both[] = {a[0], b[0]};
    if (!s.broadcast(both, &extents)) return {};
    extents.push_back(s.integer(3));
    const Ref made = s.fresh(t, extents);
    for (int k = 0; made && k < 3; ++k) {
        const int next = (k + 1) % 3, other = (k + 2) % 3;
        const Ref plus = s.ufunc("multiply", {a[next], b[other]});
        const Ref minus = plus ? s.ufunc("multiply", {a[other], b[next]}) : plus;
        const Ref v = minus ? s.ufunc("subtract", {plus, minus}) : minus;
        if (!v || !s.store(made, component(made, k), v)) return {};
    }
    return made ? s.view(made, s.whole(made)) : made;
}

// Of vectors: a column times a row.
Ref outer(Steps& s, Refs p) {
    if (p[2] || !s.is_array(p[0]) || !s.is_array(p[1]) || s.rank(p[0]) != 1 || s.rank(p[1]) != 1)
        return s.decline("an outer product of such arguments");
    // How operands lie may show in products of complex numbers.
    for (const Ref r : {p[0], p[1]})
        if (graph::is_complex(s.dtype(r))) return s.decline("an outer product of complex numbers");
    const Ref column = s.view(p[0], {{.of = 0}, {.kind = Steps::Axis::New}});
    const Ref row = column ? s.view(p[1], {{.kind = Steps::Axis::New}, {.of = 0}}) : column;
    return row ? s.ufunc("multiply", {column, row}) : row;
}

// PyArray_Round: of floats with decimals the product with a power of ten is rounded, and divided by it.
Ref round(Steps& s, Refs p) {
    constexpr int64_t kMost = 8;  // further powers NumPy computes otherwise
    int64_t decimals = 0;
    if (p[2] || !s.is_array(p[0])) return s.decline("rounding with out, or of what is no array");
    const DType t = s.dtype(p[0]);
    if (t != DType::F64 && t != DType::F32) return s.decline("rounding of this dtype");
    if (p[1] && !s.fixed_int(p[1], &decimals)) return s.decline("rounding to what is no int");
    if (s.rank(p[0]) == 0) return s.decline("rounding of an array of one element");
    if (decimals == 0) return s.ufunc("rint", {p[0]});
    // What it makes lies in the order of C, or of Fortran where the operand does.
    if (!s.in_order_of_c(p[0])) return s.decline("rounding of this layout");
    if (decimals < -kMost || decimals > kMost) return s.decline("rounding to so many decimals");
    int64_t power = 1;
    for (int64_t k = 0; k < std::abs(decimals); ++k) power *= 10;
    const char* const there = decimals > 0 ? "multiply" : "divide";
    const char* const back = decimals > 0 ? "divide" : "multiply";
    const Ref by = s.number(s.integer(power), t);
    const Ref scaled = by ? s.ufunc(there, {p[0], by}) : by;
    const Ref rounded = scaled ? s.ufunc("rint", {scaled}) : scaled;
    return rounded ? s.ufunc(back, {rounded, by}) : rounded;
}

Ref where(Steps& s, Refs p) {
    if (!p[1] || !p[2]) return s.decline("where of one argument");
    return s.select(p[0], p[1], p[2]);
}

constexpr Function kElementwise[] = {
    {"round", "a decimals out=", round, Gives::Rounded},
    {"around", "a decimals out=", round, Gives::Rounded},
    {".round", "self / decimals out=", round, Gives::Rounded},
    {"where", "condition x y /", where, Gives::Where},
    {"clip", "a a_min a_max out= * min max", clip},
    {".clip", "self / min= max= out=", clip_method},
    {"diff", "a n axis prepend append", diff},
    {"cross", "a b", cross},
    {"outer", "a b out=", outer},
};

}  // namespace

std::span<const Function> elementwise() { return kElementwise; }

}  // namespace stator::frontend::numpy
