// Functions that give views of their first argument with its axes in another order or direction, with more or
// fewer of them, or its elements with other extents; and those that may give it back as it is.
#include <algorithm>
#include <numeric>

#include "frontend/hosts/numpy/functions/table.h"

namespace stator::frontend::numpy {

namespace {

using Ref = Steps::Ref;
using Refs = Steps::Refs;
using Axes = Steps::Axes;

Ref no_array(Steps& s) { return s.decline("a view of what is no array"); }

Ref reversed_along(Steps& s, Ref array, const Axes& axes) {
    std::vector<Steps::Axis> parts = s.whole(array);
    for (const int k : axes) parts[static_cast<size_t>(k)].kind = Steps::Axis::Reversed;
    return s.view(array, parts);
}

Ref flip(Steps& s, Refs p) {
    Axes axes;
    if (!s.is_array(p[0])) return no_array(s);
    return s.axes(p[1], s.rank(p[0]), &axes, true) ? reversed_along(s, p[0], axes) : Ref{};
}

template <int Axis>
Ref flip_axis(Steps& s, Refs p) {
    if (!s.is_array(p[0])) return no_array(s);
    return Axis < s.rank(p[0]) ? reversed_along(s, p[0], {Axis}) : s.decline("a flip along no axis");
}

// Axes change places, and one or both are read backwards.
Ref rot90(Steps& s, Refs p) {
    if (!s.is_array(p[0])) return no_array(s);
    const int rank = s.rank(p[0]);
    int64_t turns = 1;
    int plane[2] = {0, 1};
    if (p[1] && !s.fixed_int(p[1], &turns)) return s.decline("rot90 by what is no int");
    if (p[2]) {
        std::vector<Ref> named;
        if (!s.items(p[2], &named) || named.size() != 2) return s.decline("rot90 in this plane");
        for (int k = 0; k < 2; ++k)
            if (!s.axis(named[static_cast<size_t>(k)], rank, &plane[k])) return {};
    }
    if (rank < 2 || plane[0] == plane[1]) return s.decline("rot90 in this plane");
    turns = (turns % 4 + 4) % 4;
    std::vector<Steps::Axis> parts = s.whole(p[0]);
    Steps::Axis &a = parts[static_cast<size_t>(plane[0])], &b = parts[static_cast<size_t>(plane[1])];
    if (turns >= 2) a.kind = Steps::Axis::Reversed;
    if (turns == 1 || turns == 2) b.kind = Steps::Axis::Reversed;
    if (turns % 2 == 1) std::swap(a, b);
    return s.view(p[0], parts);
}

Axes in_order(int rank) {
    Axes order(static_cast<size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
    return order;
}

Ref swapaxes(Steps& s, Refs p) {
    if (!s.is_array(p[0])) return no_array(s);
    int a, b;
    Axes order = in_order(s.rank(p[0]));
    if (!s.axis(p[1], s.rank(p[0]), &a) || !s.axis(p[2], s.rank(p[0]), &b)) return {};
    std::swap(order[static_cast<size_t>(a)], order[static_cast<size_t>(b)]);
    return s.permuted(p[0], order);
}

// numpy.moveaxis: the axes that stay, with the others put where they are to be, from the first place on.
Ref moveaxis(Steps& s, Refs p) {
    if (!s.is_array(p[0])) return no_array(s);
    const int rank = s.rank(p[0]);
    Axes moved[2];
    for (size_t k = 0; k < 2; ++k) {
        std::vector<Ref> several;
        if (!s.items(p[k + 1], &several)) several = {p[k + 1]};
        for (const Ref item : several) {
            moved[k].push_back(0);
            if (!s.axis(item, rank, &moved[k].back())) return {};
        }
    }
    if (moved[0].size() != moved[1].size()) return s.decline("as many axes as places");
    for (Axes named : moved) {
        std::sort(named.begin(), named.end());
        if (std::adjacent_find(named.begin(), named.end()) != named.end())
            return s.decline("an axis that is named twice");
    }
    Axes order = in_order(rank);
    std::erase_if(order,
                  [&](int k) { return std::find(moved[0].begin(), moved[0].end(), k) != moved[0].end(); });
    std::vector<std::pair<int, int>> places;
    for (size_t k = 0; k < moved[0].size(); ++k) places.emplace_back(moved[1][k], moved[0][k]);
    std::sort(places.begin(), places.end());
    for (const auto& [to, from] : places) order.insert(order.begin() + to, from);
    return s.permuted(p[0], order);
}

Ref rollaxis(Steps& s, Refs p) {
    if (!s.is_array(p[0])) return no_array(s);
    const int rank = s.rank(p[0]);
    int from;
    int64_t start = 0;
    if (!s.axis(p[1], rank, &from)) return {};
    if (p[2] && !s.fixed_int(p[2], &start)) return s.decline("an axis that is no int");
    if (start < 0) start += rank;
    if (start < 0 || start > rank) return s.decline("an axis that the array does not have");
    Axes order = in_order(rank);
    order.erase(order.begin() + from);
    order.insert(order.begin() + start - (from < start), from);
    return s.permuted(p[0], order);
}

// All axes, in another order; without one, from the last to the first.
Ref transpose(Steps& s, Refs p) {
    if (!s.is_array(p[0])) return no_array(s);
    const int rank = s.rank(p[0]);
    const std::vector<Ref> given = s.listed(p[1]);
    Axes order;
    if (!p[1] || (given.size() == 1 && s.is_none(given[0]))) {
        order = in_order(rank);
        std::reverse(order.begin(), order.end());
        return s.permuted(p[0], order);
    }
    for (const Ref r : given)
        if (!s.axis(r, rank, &order.emplace_back())) return {};
    Axes sorted = order;
    std::sort(sorted.begin(), sorted.end());
    if (sorted != in_order(rank)) return s.decline("a transposition along such axes");
    return s.permuted(p[0], order);
}

Ref reshape(Steps& s, Refs p) {
    if (!s.is_array(p[0])) return no_array(s);
    if (p[3] || !s.default_order(p[2])) return s.decline("a reshape with copy or in another order");
    const std::vector<Ref> extents = s.listed(p[1]);
    return extents.empty() ? s.decline("a reshape to no axes") : s.reshape(p[0], extents);
}

Ref ravel(Steps& s, Refs p) {
    if (!s.is_array(p[0])) return no_array(s);
    return s.default_order(p[1]) ? s.ravel(p[0]) : Ref{};
}

Ref flatten(Steps& s, Refs p) {
    if (!s.is_array(p[0])) return no_array(s);
    return s.default_order(p[1]) ? s.flat_copy(p[0]) : Ref{};
}

// a, axis: without axes of extent 1. The array itself where it has none.
Ref squeeze(Steps& s, Refs p) {
    if (!s.is_array(p[0])) return no_array(s);
    const int rank = s.rank(p[0]);
    const Ref one = s.integer(1);
    Axes dropped;
    if (p[1] && (!s.axes(p[1], rank, &dropped) || dropped.empty())) return s.decline("squeeze along no axis");
    for (int k = 0; k < rank; ++k) {
        const bool named = std::find(dropped.begin(), dropped.end(), k) != dropped.end();
        const Ref n = s.extent(p[0], k);
        if (named && !s.require(guards::Relation::Eq, n, one)) return s.decline("squeeze of a longer axis");
        if (p[1]) continue;
        if (s.is_so(guards::Relation::Eq, n, one))
            dropped.push_back(k);
        else if (!s.require(guards::Relation::Ne, n, one))
            return s.decline("squeeze of axes that may be gone");
    }
    if (dropped.empty()) return p[0];
    if (static_cast<int>(dropped.size()) == rank) return s.reshape(p[0], {});
    std::vector<Steps::Axis> parts = s.whole(p[0]);
    for (const int k : dropped)
        parts[static_cast<size_t>(k)] = {.kind = Steps::Axis::Drop, .of = k, .start = s.integer(0)};
    return s.view(p[0], parts);
}

// a, axis: with new axes of extent 1 at these places of the result. NumPy reshapes, which shows in the
// strides.
Ref expand_dims(Steps& s, Refs p) {
    if (!s.is_array(p[0])) return no_array(s);
    if (!s.in_order_of_c(p[0])) return s.decline("expand_dims of this layout");
    std::vector<Ref> named;
    const int count = s.items(p[1], &named) ? static_cast<int>(named.size()) : 1;
    const int rank = s.rank(p[0]) + count;
    Axes fresh;
    if (!p[1] || !s.axes(p[1], rank, &fresh)) return s.decline("expand_dims along such axes");
    std::vector<Ref> extents;
    for (int k = 0, old = 0; k < rank; ++k)
        extents.push_back(std::find(fresh.begin(), fresh.end(), k) != fresh.end() ? s.integer(1)
                                                                                  : s.extent(p[0], old++));
    return s.reshape(p[0], extents);
}

// One array: itself, or with new axes in front of the others (two), or on both sides (three).
template <int Rank>
Ref at_least(Steps& s, Refs p) {
    std::vector<Ref> arrays;
    if (!p[0] || !s.items(p[0], &arrays) || arrays.size() != 1 || !s.is_array(arrays[0])) return no_array(s);
    const int rank = s.rank(arrays[0]);
    if (rank >= Rank) return arrays[0];
    if (rank == 0) return s.decline("an array of no axes");
    const Steps::Axis fresh{.kind = Steps::Axis::New};
    std::vector<Steps::Axis> parts = s.whole(arrays[0]);
    if (rank == 1) parts.insert(parts.begin(), fresh);
    if (Rank == 3) parts.push_back(fresh);
    return s.view(arrays[0], parts);
}

// The real parts: of real numbers, the array itself.
Ref real(Steps& s, Refs p) {
    if (!s.is_array(p[0])) return no_array(s);
    return graph::is_complex(s.dtype(p[0])) ? s.decline("the real part of complex numbers") : p[0];
}

Ref conjugate(Steps& s, Refs p) {
    if (!s.is_array(p[0])) return no_array(s);
    return graph::is_complex(s.dtype(p[0])) ? s.ufunc("conjugate", {p[0]}) : p[0];
}

Ref view(Steps& s, Refs p) {
    if (!s.is_array(p[0]) || p[1] || p[2]) return s.decline("a view as another type");
    return s.view(p[0], s.whole(p[0]));
}

constexpr Function kViews[] = {
    {"squeeze", "a axis=", squeeze, Gives::Shares},
    {".squeeze", "self axis=", squeeze, Gives::Shares},
    {"expand_dims", "a axis", expand_dims, Gives::Shares},
    {"atleast_1d", "*arys", at_least<1>, Gives::Shares},
    {"atleast_2d", "*arys", at_least<2>, Gives::Shares},
    {"atleast_3d", "*arys", at_least<3>, Gives::Shares},
    {"real", "val", real, Gives::Shares},
    {".conj", "self /", conjugate, Gives::Shares},
    {".conjugate", "self /", conjugate, Gives::Shares},
    {".view", "self dtype type", view, Gives::Shares},
    {"transpose", "a axes=", transpose, Gives::Shares},
    {"permute_dims", "a axes=", transpose, Gives::Shares},
    {".transpose", "self *axes", transpose, Gives::Shares},
    {"reshape", "a / shape order= * copy=", reshape, Gives::Shares},
    {".reshape", "self *shape order= copy=", reshape, Gives::Shares},
    {"ravel", "a order=", ravel, Gives::Shares},
    {".ravel", "self / order=", ravel, Gives::Shares},
    {".flatten", "self / order=", flatten},
    {"flip", "m axis=", flip, Gives::Shares},
    {"flipud", "m", flip_axis<0>, Gives::Shares},
    {"fliplr", "m", flip_axis<1>, Gives::Shares},
    {"rot90", "m k axes", rot90, Gives::Shares},
    {"swapaxes", "a axis1 axis2", swapaxes, Gives::Shares},
    {".swapaxes", "self axis1 axis2 /", swapaxes, Gives::Shares},
    {"moveaxis", "a source destination", moveaxis, Gives::Shares},
    {"rollaxis", "a axis start", rollaxis, Gives::Shares},
};

}  // namespace

std::span<const Function> views() { return kViews; }

}  // namespace stator::frontend::numpy
