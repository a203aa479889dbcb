// Functions that put arrays together out of pieces, or one out of its own pieces: concatenate, stack and
// their like, roll, triu and tril.
#include <algorithm>

#include "frontend/hosts/numpy/functions/table.h"
#include "graph/dtype.h"

namespace stator::frontend::numpy {

namespace {

using Ref = Steps::Ref;
using Refs = Steps::Refs;
using Part = Steps::Axis;
using graph::DType;
using guards::Relation;

struct Pieces {
    std::vector<Ref> arrays;
    int rank = 0;  // the largest
    DType dtype = DType::F64;
};

// Whether casting="same_kind" allows the conversion; else NumPy raises.
bool same_kind(DType from, DType to) {
    if (from == to || from == DType::Bool || graph::is_complex(to)) return true;
    if (graph::is_float(to)) return !graph::is_complex(from);
    if (graph::is_complex(from) || graph::is_float(from) || to == DType::Bool) return false;
    return graph::is_unsigned(from) || !graph::is_unsigned(to);
}

bool read_pieces(Steps& s, Ref sequence, Ref dtype, Pieces* out) {
    if (!s.items(sequence, &out->arrays) || out->arrays.empty())
        return s.decline("what is no tuple or list of arrays"), false;
    for (const Ref r : out->arrays) {
        if (!s.is_array(r) || !s.is_straight(r)) return s.decline("putting such arrays together"), false;
        out->rank = std::max(out->rank, s.rank(r));
    }
    if (!dtype) return s.result_dtype(out->arrays, &out->dtype);
    if (!s.fixed_dtype(dtype, &out->dtype)) return false;
    for (const Ref r : out->arrays)
        if (!same_kind(s.dtype(r), out->dtype)) return s.decline("a conversion to another kind"), false;
    return true;
}

bool same_ranks(Steps& s, const Pieces& p) {
    const bool same =
        std::all_of(p.arrays.begin(), p.arrays.end(), [&](Ref r) { return s.rank(r) == p.rank; });
    return same || (s.decline("putting together arrays of several ranks"), false);
}

// One after another along `axis` of a result of `rank` axes. What has an axis less has extent 1 there.
Ref joined(Steps& s, const Pieces& p, int axis, int rank) {
    std::vector<Ref> extents;
    Ref total = s.integer(0);
    const auto along = [&](Ref v) { return s.rank(v) < rank ? s.integer(1) : s.extent(v, axis); };
    for (const Ref v : p.arrays) {
        std::vector<Ref> own;
        if (s.rank(v) == 0 || s.rank(v) < rank - 1)
            return s.decline("putting together arrays of several ranks");
        for (int d = 0; d < s.rank(v); ++d) own.push_back(s.extent(v, d));
        if (s.rank(v) < rank) own.insert(own.begin() + axis, s.integer(1));
        if (extents.empty()) extents = own;
        for (int d = 0; d < rank; ++d)
            if (d != axis &&
                !s.require(Relation::Eq, own[static_cast<size_t>(d)], extents[static_cast<size_t>(d)]))
                return s.decline("putting together arrays of other extents");
        total = s.sum(total, along(v));
    }
    extents[static_cast<size_t>(axis)] = total;
    const Ref made = s.fresh(p.dtype, extents);
    Ref at = s.integer(0);
    for (const Ref v : p.arrays) {
        if (!made) return {};
        std::vector<Part> place = s.whole(made);
        Part& piece = place[static_cast<size_t>(axis)];
        if (s.rank(v) < rank)
            piece = {Part::Drop, axis, at, {}};
        else
            piece = {Part::Part, axis, at, along(v)};
        if (!s.store(made, place, v)) return {};
        at = s.sum(at, along(v));
    }
    return made;
}

// arrays, axis, out, dtype, casting.
Ref concatenate(Steps& s, Refs p) {
    Pieces pieces;
    int axis = 0;
    if (p[2] || p[4]) return s.decline("concatenate with out or casting");
    if (!read_pieces(s, p[0], p[3], &pieces) || !same_ranks(s, pieces)) return {};
    if (p[1] && !s.axis(p[1], pieces.rank, &axis)) return {};
    return joined(s, pieces, axis, pieces.rank);
}

Ref stack(Steps& s, Refs p) {
    Pieces pieces;
    int axis = 0;
    if (p[2] || p[4]) return s.decline("stack with out or casting");
    if (!read_pieces(s, p[0], p[3], &pieces) || !same_ranks(s, pieces)) return {};
    if (p[1] && !s.axis(p[1], pieces.rank + 1, &axis)) return {};
    return joined(s, pieces, axis, pieces.rank + 1);
}

// tup, dtype, casting. Vectors are rows.
Ref vstack(Steps& s, Refs p) {
    Pieces pieces;
    if (p[2]) return s.decline("vstack with casting");
    if (!read_pieces(s, p[0], p[1], &pieces)) return {};
    if (pieces.rank > 2 && !same_ranks(s, pieces)) return {};
    return joined(s, pieces, 0, std::max(pieces.rank, 2));
}

Ref hstack(Steps& s, Refs p) {
    Pieces pieces;
    if (p[2]) return s.decline("hstack with casting");
    if (!read_pieces(s, p[0], p[1], &pieces) || !same_ranks(s, pieces)) return {};
    return joined(s, pieces, pieces.rank == 1 ? 0 : 1, pieces.rank);
}

// Vectors are columns.
Ref column_stack(Steps& s, Refs p) {
    Pieces pieces;
    if (!read_pieces(s, p[0], {}, &pieces)) return {};
    if (pieces.rank > 2 && !same_ranks(s, pieces)) return {};
    return joined(s, pieces, 1, std::max(pieces.rank, 2));
}

// --- roll ---

struct Piece {
    Ref from, to, count;
};

// What lies at i along an axis of n elements comes to lie at (i + shift) mod n.
std::vector<Piece> rolled_pieces(Steps& s, Ref shift, Ref n) {
    const Ref none = s.integer(0), first = s.modulo(shift, n);
    if (!first) return {};
    if (s.is_so(Relation::Eq, first, none)) return {{none, none, n}};
    const Ref rest = s.difference(n, first);
    return {{none, first, rest}, {rest, none, first}};
}

// `by`: the shift along each axis, or none.
Ref rolled(Steps& s, Ref array, const std::vector<Ref>& by) {
    std::vector<std::vector<Piece>> pieces(by.size());
    std::vector<Ref> extents;
    size_t total = 1;
    for (int d = 0; d < s.rank(array); ++d) {
        extents.push_back(s.extent(array, d));
        const Ref shift = by[static_cast<size_t>(d)], none = s.integer(0);
        std::vector<Piece>& of = pieces[static_cast<size_t>(d)];
        of = shift ? rolled_pieces(s, shift, extents.back())
                   : std::vector<Piece>{{none, none, extents.back()}};
        total *= of.size();
    }
    const Ref from = s.computed_once(array);
    const Ref made = from && total > 0 ? s.fresh(s.dtype(array), extents) : Ref{};
    for (size_t k = 0; made && k < total; ++k) {
        std::vector<Part> read = s.whole(from), place = read;
        size_t rest = k;
        for (size_t d = 0; d < by.size(); ++d) {
            const Piece& piece = pieces[d][rest % pieces[d].size()];
            rest /= pieces[d].size();
            if (!by[d]) continue;
            read[d] = {Part::Part, static_cast<int>(d), piece.from, piece.count};
            place[d] = {Part::Part, static_cast<int>(d), piece.to, piece.count};
        }
        const Ref part = s.view(from, read);
        if (!part || !s.store(made, place, part)) return {};
    }
    return made;
}

std::vector<Ref> each(Steps& s, Ref v) {
    std::vector<Ref> out;
    return s.items(v, &out) ? out : std::vector<Ref>{v};
}

// a, shift, axis. Without an axis all elements are rolled as one vector, of which NumPy gives a view.
Ref roll(Steps& s, Refs p) {
    if (!s.is_array(p[0]) || !p[1]) return s.decline("a roll of what is no array");
    const int rank = s.rank(p[0]);
    if (rank == 0 || !s.is_straight(p[0]) || !s.knows_unit_axes(p[0]))
        return s.decline("a roll of this layout");
    for (int d = 0; d < rank; ++d)
        if (s.is_so(Relation::Eq, s.extent(p[0], d), s.integer(0))) return s.decline("a roll of nothing");
    std::vector<Ref> shifts = each(s, p[1]), axes;
    if (p[2]) axes = each(s, p[2]);
    const bool flat = !p[2];
    if (flat) {
        if (shifts.size() != 1 || !s.is_int(shifts[0])) return s.decline("a roll by what is no int");
        const Ref vector = s.flattened(p[0]);
        const Ref made = vector ? rolled(s, vector, {shifts[0]}) : vector;
        return made ? s.shaped_like(made, p[0]) : made;
    }
    if (shifts.size() == 1) shifts.resize(axes.size(), shifts[0]);
    if (axes.size() == 1) axes.resize(shifts.size(), axes[0]);
    if (shifts.empty() || axes.size() != shifts.size()) return s.decline("such a roll");
    std::vector<Ref> by(static_cast<size_t>(rank));
    for (size_t k = 0; k < shifts.size(); ++k) {
        int d = 0;
        if (!s.is_int(shifts[k])) return s.decline("a roll by what is no int");
        if (!s.axis(axes[k], rank, &d)) return {};
        Ref& sum = by[static_cast<size_t>(d)];
        sum = sum ? s.sum(sum, shifts[k]) : shifts[k];
    }
    return rolled(s, p[0], by);
}

// --- triangles ---

// np.where of a triangle, m and 0.
template <bool Upper>
Ref triangle(Steps& s, Refs p) {
    constexpr int64_t kFarOff = int64_t{1} << 40;  // so that sums of it and an index stay in 64 bits
    if (!s.is_array(p[0]) || s.rank(p[0]) < 2) return s.decline("a triangle of what is no matrix");
    const DType t = s.dtype(p[0]);
    if (graph::is_complex(t) || t == DType::F16 || !s.is_straight(p[0]) || !s.knows_unit_axes(p[0]))
        return s.decline("a triangle of this dtype or layout");
    const int rank = s.rank(p[0]);
    const Ref k = p[1] ? p[1] : s.integer(0);
    if (!s.is_int(k) || !s.require(Relation::Lt, k, s.integer(kFarOff)) ||
        !s.require(Relation::Ge, k, s.integer(-kFarOff)))
        return s.decline("a triangle from such a diagonal");
    const Ref row = s.positions(p[0], rank - 2), column = row ? s.positions(p[0], rank - 1) : row;
    const Ref diagonal = column ? s.ufunc("add", {row, s.number(k, DType::I64)}) : column;
    const Ref kept =
        diagonal ? s.ufunc(Upper ? "greater_equal" : "less_equal", {column, diagonal}) : diagonal;
    return kept ? s.select(kept, p[0], s.number(s.integer(0), t)) : kept;
}

constexpr const char* kStacked = "tup * dtype= casting";

constexpr Function kAssembly[] = {
    {"concatenate", "arrays / axis out= * dtype= casting", concatenate},
    {"concat", "arrays / axis out= * dtype= casting", concatenate},
    {"stack", "arrays axis out= * dtype= casting", stack},
    {"vstack", kStacked, vstack},
    {"hstack", kStacked, hstack},
    {"column_stack", "tup", column_stack},
    {"roll", "a shift axis=", roll},
    {"triu", "m k", triangle<true>},
    {"tril", "m k", triangle<false>},
};

}  // namespace

std::span<const Function> assembly() { return kAssembly; }

}  // namespace stator::frontend::numpy
