#include "frontend/hosts/numpy/functions/steps.h"

#include <algorithm>

namespace stator::frontend::numpy {

bool Steps::axis(Ref v, int rank, int* out) {
    int64_t k;
    if (!fixed_int(v, &k)) return decline("an axis that is no int"), false;
    if (k < -rank || k >= rank) return decline("an axis that the array does not have"), false;
    *out = static_cast<int>(k < 0 ? k + rank : k);
    return true;
}

bool Steps::axes(Ref v, int rank, Axes* out, bool lists) {
    out->clear();
    if (!v) {
        for (int k = 0; k < rank; ++k) out->push_back(k);
        return true;
    }
    std::vector<Ref> several;
    if (is_list(v) && !lists) return decline("axes in a list"), false;
    if (!items(v, &several)) several = {v};
    for (const Ref item : several) {
        int k;
        if (!axis(item, rank, &k)) return false;
        out->push_back(k);
    }
    std::sort(out->begin(), out->end());
    const bool twice = std::adjacent_find(out->begin(), out->end()) != out->end();
    return !twice || (decline("an axis that is named twice"), false);
}

bool Steps::flag(Ref v, bool* out) {
    return !v || fixed_bool(v, out) || (decline("a flag that is no bool"), false);
}

std::vector<Steps::Ref> Steps::listed(Ref rest) {
    std::vector<Ref> all, only;
    if (rest && !items(rest, &all)) all = {rest};
    return all.size() == 1 && items(all[0], &only) ? only : all;
}

bool Steps::default_order(Ref order) {
    return !order || is_text(order, "C") || (decline("another order than C's"), false);
}

Steps::Ref Steps::permuted(Ref array, const Axes& order) {
    std::vector<Axis> axes;
    for (const int k : order) axes.push_back({.of = k});
    return view(array, axes);
}

Steps::Ref Steps::count(Ref array, const Axes& axes) {
    Ref n = integer(1);
    for (const int k : axes) n = product(n, extent(array, k));
    return n;
}

std::vector<Steps::Axis> Steps::whole(Ref array) {
    std::vector<Axis> axes;
    for (int k = 0; k < rank(array); ++k) axes.push_back({.of = k});
    return axes;
}

}  // namespace stator::frontend::numpy
