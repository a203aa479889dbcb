// Functions that make arrays out of shapes, numbers and other arrays: zeros, full, arange, copy, astype and
// their like.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "frontend/hosts/numpy/functions/table.h"
#include "graph/dtype.h"

namespace stator::frontend::numpy {

namespace {

using Ref = Steps::Ref;
using Refs = Steps::Refs;
using graph::DType;

enum class Fill : uint8_t { Zeros, Ones, Nothing };

Ref value_of(Steps& s, Fill fill) {
    return fill == Fill::Nothing ? Ref{} : s.integer(fill == Fill::Ones ? 1 : 0);
}

Ref made(Steps& s, Ref shape, Ref dtype, Ref order, DType standard, Ref value) {
    std::vector<Ref> extents;
    DType t = standard;
    if ((dtype && !s.fixed_dtype(dtype, &t)) || !s.takes_order(order) || !s.shape_of(shape, &extents))
        return {};
    return s.filled(t, extents, value);
}

// shape, dtype, order, device, like.
template <Fill F>
Ref make(Steps& s, Refs p) {
    if (p[3] || p[4]) return s.decline("an array with device or like");
    return made(s, p[0], p[1], p[2], DType::F64, value_of(s, F));
}

// shape, dtype, buffer, offset, strides, order: np.empty.
Ref ndarray(Steps& s, Refs p) {
    if (p[2] || p[3] || p[4]) return s.decline("ndarray() of a buffer or with strides");
    return made(s, p[0], p[1], p[5], DType::F64, {});
}

// Whether assignment converts a number without a warning, or losing a part of it.
bool keeps_kind(DType from, DType to) {
    const bool inexact = graph::is_float(to) || graph::is_complex(to);
    if (graph::is_complex(from) && !graph::is_complex(to)) return false;
    if (graph::is_float(from) && !inexact) return false;
    return to != DType::Bool || from == DType::Bool;
}

// shape, fill_value, dtype, order, device, like.
Ref full(Steps& s, Refs p) {
    if (p[4] || p[5] || !p[1] || !s.is_number(p[1])) return s.decline("an array full of this");
    DType t = s.dtype(p[1]);
    if (p[2] && !s.fixed_dtype(p[2], &t)) return {};
    if (!keeps_kind(s.dtype(p[1]), t)) return s.decline("a fill value of another kind");
    return made(s, p[0], {}, p[3], t, p[1]);
}

// The prototype, dtype, order, subok, shape, device.
Ref made_like(Steps& s, Ref prototype, Refs rest, Ref value) {
    if (!s.is_array(prototype) || rest[2] || rest[4])
        return s.decline("an array like another with subok or device");
    DType t = s.dtype(prototype);
    if ((rest[0] && !s.fixed_dtype(rest[0], &t)) || !s.takes_order(rest[1])) return {};
    if (!s.like_is_known(prototype)) return s.decline("an array like one of this layout");
    std::vector<Ref> extents;
    if (rest[3] && !s.shape_of(rest[3], &extents)) return {};
    for (int d = 0; !rest[3] && d < s.rank(prototype); ++d) extents.push_back(s.extent(prototype, d));
    return s.only_extents_of(prototype) ? s.filled(t, extents, value) : Ref{};
}

template <Fill F>
Ref make_like(Steps& s, Refs p) {
    return made_like(s, p[0], p.subspan(1), value_of(s, F));
}

// a, fill_value, dtype, order, subok, shape, device.
Ref full_like(Steps& s, Refs p) {
    if (!p[1] || !s.is_number(p[1]) || !s.is_array(p[0])) return s.decline("an array full of this");
    DType t = s.dtype(p[0]);
    if (p[2] && !s.fixed_dtype(p[2], &t)) return {};
    if (!keeps_kind(s.dtype(p[1]), t)) return s.decline("a fill value of another kind");
    return made_like(s, p[0], p.subspan(2), p[1]);
}

// a, order, subok: in the order of the operand.
Ref copy(Steps& s, Refs p) {
    if (!s.is_array(p[0]) || p[2] || !s.takes_order(p[1])) return s.decline("such a copy");
    return s.like_is_known(p[0]) ? s.copied(p[0], s.dtype(p[0])) : s.decline("a copy of this layout");
}

// The method's is in the order of C.
Ref copy_method(Steps& s, Refs p) {
    if (!s.is_array(p[0]) || !s.takes_order(p[1])) return s.decline("such a copy");
    return s.copied(p[0], s.dtype(p[0]));
}

// self, dtype, order, casting, subok, copy.
Ref astype(Steps& s, Refs p) {
    if (!s.is_array(p[0]) || !p[1]) return s.decline("a conversion of what is no array");
    bool copies = true;
    if (p[3] || p[4] || !s.takes_order(p[2])) return s.decline("a conversion with casting or subok");
    DType t;
    if (!s.flag(p[5], &copies) || !s.fixed_dtype(p[1], &t)) return {};
    if (!copies && t == s.dtype(p[0])) return p[2] ? s.decline("a conversion to another order") : p[0];
    if (graph::is_complex(s.dtype(p[0])) && !graph::is_complex(t))
        return s.decline("a conversion from complex, which warns");
    return s.like_is_known(p[0]) ? s.copied(p[0], t) : s.decline("a conversion of this layout");
}

// Whether -limit <= v < limit, which is asked where it is not known.
bool within(Steps& s, Ref v, int64_t least, int64_t end) {
    return v && s.require(guards::Relation::Ge, v, s.integer(least)) &&
           s.require(guards::Relation::Lt, v, s.integer(end));
}

// Whether NumPy converts these ints to `t` as they are: it does so with the first two elements, and goes on
// by their difference.
bool converts(Steps& s, Ref start, Ref second, DType t) {
    constexpr int64_t kExact = int64_t{1} << 23;  // in a float of 32 bits
    if (t == DType::I64) return true;
    if (t == DType::F32 || t == DType::F64)
        return within(s, start, -kExact, kExact) && within(s, second, -kExact, kExact);
    if (!graph::is_integer(t)) return false;
    if (t == DType::U64)
        return s.require(guards::Relation::Ge, start, s.integer(0)) &&
               s.require(guards::Relation::Ge, second, s.integer(0));
    const int bits = 8 * graph::info(t).size - (graph::is_signed(t) ? 1 : 0);
    const int64_t end = int64_t{1} << bits, least = graph::is_signed(t) ? -end : 0;
    return within(s, start, least, end) && within(s, second, least, end);
}

// Ints with a step that is the same in every run.
Ref arange_of_ints(Steps& s, Ref start, Ref stop, int64_t step, DType t) {
    const Ref span = step > 0 ? s.difference(stop, start) : s.difference(start, stop);
    const Ref one = s.integer(1);
    Ref count = s.integer(0);
    if (!s.is_so(guards::Relation::Lt, span, one)) {
        if (!s.require(guards::Relation::Ge, span, one)) return s.decline("arange of nothing");
        const int64_t by = step > 0 ? step : -step;
        count = by == 1 ? span : s.quotient(s.sum(span, s.integer(by - 1)), by);
    }
    if (!count) return {};
    if (!converts(s, start, s.sum(start, s.integer(step)), t))
        return s.decline("arange of ints as this dtype");
    return s.progression(t, s.number(start, t), s.number(s.integer(step), t), count);
}

// Floats: the number of elements follows from the values, so they are the same in every run.
Ref arange_of_floats(Steps& s, Ref start, Ref stop, Ref step) {
    double first = 0, end, by = 1;
    if ((start && !s.fixed_float(start, &first)) || !s.fixed_float(stop, &end) ||
        (step && !s.fixed_float(step, &by)))
        return s.decline("arange of floats that are not fixed");
    const double count = std::ceil((end - first) / by), second = first + by, delta = second - first;
    constexpr double kMost = 1LL << 40;
    const bool negative_zero = first == 0 && std::signbit(first);  // the first element, and no sum
    if (negative_zero || first + delta != second || !std::isfinite(second) || !(count >= 0) || count > kMost)
        return s.decline("arange of these values");
    return s.progression(DType::F64, s.real(first), s.real(delta), s.integer(static_cast<int64_t>(count)));
}

// start, stop, step, dtype, device, like. One argument is the stop.
Ref arange(Steps& s, Refs p) {
    if ((!p[0] && !p[1]) || p[4] || p[5]) return s.decline("arange with device or like");
    const Ref stop = p[1] ? p[1] : p[0], start = p[1] ? p[0] : Ref{}, step = p[2];
    const bool ints = s.is_int(stop) && (!start || s.is_int(start)) && (!step || s.is_int(step));
    DType t = ints ? DType::I64 : DType::F64;
    if (p[3] && !s.fixed_dtype(p[3], &t)) return {};
    if (!ints) {
        if (t != DType::F64) return s.decline("arange of floats as this dtype");
        return arange_of_floats(s, start, stop, step);
    }
    int64_t by = 1;
    if (step && (!s.fixed_int(step, &by) || by == 0 || by == INT64_MIN))
        return s.decline("arange with such a step");
    return arange_of_ints(s, start ? start : s.integer(0), stop, by, t);
}

constexpr const char* kMake = "shape dtype= order= * device= like=";
constexpr const char* kLike = "a dtype= order= subok shape= * device=";

constexpr Function kCreation[] = {
    {"arange", "start= stop= step= dtype= * device= like=", arange},
    {"zeros", kMake, make<Fill::Zeros>},
    {"ones", kMake, make<Fill::Ones>},
    {"empty", kMake, make<Fill::Nothing>, Gives::Anything},
    {"ndarray", "shape dtype= buffer= offset= strides= order=", ndarray, Gives::Anything},
    {"full", "shape fill_value dtype= order= * device= like=", full},
    {"zeros_like", kLike, make_like<Fill::Zeros>},
    {"ones_like", kLike, make_like<Fill::Ones>},
    {"empty_like", "prototype dtype= order= subok shape= * device=", make_like<Fill::Nothing>,
     Gives::Anything},
    {"full_like", "a fill_value dtype= order= subok shape= * device=", full_like},
    {"copy", "a order= subok", copy},
    {".copy", "self / order=", copy_method},
    {".astype", "self / dtype order casting subok copy", astype},
};

}  // namespace

std::span<const Function> creation() { return kCreation; }

}  // namespace stator::frontend::numpy
