// One number looked up in a sorted vector: np.searchsorted, np.interp. Of arrays of numbers both are calls.
#include "frontend/hosts/numpy/functions/table.h"

namespace stator::frontend::numpy {

namespace {

using graph::DType;
using Ref = Steps::Ref;
using Refs = Steps::Refs;

bool is_vector(Steps& s, Ref v) { return v && s.is_array(v) && s.rank(v) == 1; }

// NumPy looks in the dtype that both promote to, which has to be the vector's: else it converts the vector.
// An int beside floats is converted as any int64 is.
Ref key_of(Steps& s, Ref key, DType t) {
    if (!s.is_number(key)) return s.decline("a search for what is no number");
    const DType is = s.dtype(key);
    if (is == t) return key;
    if (t == DType::F64 && (graph::is_integer(is) || is == DType::F32)) return s.cast(key, t);
    return s.decline("a search for a number of another dtype");
}

// a, v, side, sorter.
Ref searchsorted(Steps& s, Refs p) {
    if (p[3]) return s.decline("a search by another order");
    bool after = false;
    if (p[2]) {
        after = s.is_text(p[2], "right");
        if (!after && !s.is_text(p[2], "left")) return s.decline("a search on such a side");
    }
    if (!is_vector(s, p[0])) return s.decline("a search in what is no vector");
    const Ref key = key_of(s, p[1], s.dtype(p[0]));
    return key ? s.place(p[0], key, after) : key;
}

// x, xp, fp, left, right, period.
Ref interp(Steps& s, Refs p) {
    if (p[3] || p[4] || p[5]) return s.decline("an interpolation with left, right or period");
    for (const Ref v : {p[1], p[2]})
        if (!is_vector(s, v) || s.dtype(v) != DType::F64)
            return s.decline("an interpolation of what is no vector of float64");
    const Ref x = key_of(s, p[0], DType::F64);
    return x ? s.interpolated(x, p[1], p[2]) : x;
}

const Function kLookup[] = {
    {"searchsorted", "a v side sorter=", searchsorted},
    {".searchsorted", "self v side sorter=", searchsorted},
    {"interp", "x xp fp left= right= period=", interp},
};

}  // namespace

std::span<const Function> lookup() { return kLookup; }

}  // namespace stator::frontend::numpy
