// Arrays put together out of others, and triangles of them: concatenate and its like, roll, triu, tril.
//
// The pieces are computed where they are to lie, in memory of the region's own. What NumPy's result looks
// like follows from operands in the order of C alone; for others it is NumPy's call.

#include <algorithm>
#include <optional>
#include <string>

#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/names.h"
#include "frontend/regions/build/builder.h"

namespace stator::frontend::regions {

namespace {

using graph::Op;

bool left_out(const std::vector<Value>& args, size_t from) {
    return std::all_of(args.begin() + static_cast<ptrdiff_t>(std::min(from, args.size())), args.end(),
                       [](const Value& v) { return v.kind == Kind::Empty; });
}

}  // namespace

// `pieces` one after another along `axis` of a result of `rank` axes. One that has an axis less has extent 1
// there.
bool Builder::joined(const std::vector<Value>& pieces, int axis, int rank, Value* out) {
    const DType t = pieces[0].dtype;
    std::vector<ValueId> extents;
    ValueId total = const_int(0);
    const auto along = [&](const Value& v) {
        return v.rank < rank ? const_int(1) : extents_of(v)[static_cast<size_t>(axis)];
    };
    for (const Value& v : pieces) {
        if (v.dtype != t || v.permuted || v.mask || v.rank > rank || v.rank < rank - 1 || v.rank == 0)
            return unknown("putting together " + describe(v) + " and others");
        std::vector<ValueId> own = extents_of(v);
        if (v.rank < rank) own.insert(own.begin() + axis, const_int(1));
        if (extents.empty()) extents = own;
        for (size_t d = 0; d < own.size(); ++d)
            if (static_cast<int>(d) != axis && own[d] != extents[d] &&
                !guard(pointwise(Op::Equal, DType::I64, DType::Bool, {own[d], extents[d]})))
                return false;
        total = pointwise(Op::Add, DType::I64, DType::I64, {total, along(v)});
    }
    extents[static_cast<size_t>(axis)] = total;
    if (!memory(t, extents, true, out)) return false;
    ValueId at = const_int(0);
    for (const Value& v : pieces) {
        std::vector<KeyPart> parts(static_cast<size_t>(rank), KeyPart{KeyPart::All});
        KeyPart& piece = parts[static_cast<size_t>(axis)];
        if (v.rank < rank)
            piece = {KeyPart::Index, at};
        else
            piece = {KeyPart::Slice, at, along(v), const_int(1)};
        Value place;
        ExprRef e;
        if (!view(*out, parts, &place) || !lazy_of(v, &e) || !fill(place.id, extents_of(v), e, true))
            return false;
        at = pointwise(Op::Add, DType::I64, DType::I64, {at, along(v)});
    }
    return true;
}

// What lies at i along `axis` comes to lie at (i + shift) mod n, n being the axis's extent.
bool Builder::rolled(const Value& a, ValueId shift, int axis, Value* out) {
    const std::vector<ValueId> extents = extents_of(a);
    const ValueId n = extents[static_cast<size_t>(axis)], none = const_int(0), one = const_int(1);
    const auto i64 = [&](Op op, ValueId x, ValueId y) {
        return pointwise(op, DType::I64, DType::I64, {x, y});
    };
    const ValueId first = checked(graph::RegionOp::FloorMod, DType::I64, shift, i64(Op::Maximum, n, one));
    const ValueId rest = i64(Op::Subtract, n, first);
    if (!memory(a.dtype, extents, true, out)) return false;
    const struct {
        ValueId from, to, count;
    } pieces[] = {{rest, none, first}, {none, first, rest}};
    for (const auto& piece : pieces) {
        std::vector<KeyPart> parts(extents.size(), KeyPart{KeyPart::All}), places = parts;
        parts[static_cast<size_t>(axis)] = {KeyPart::Slice, piece.from, piece.count, one};
        places[static_cast<size_t>(axis)] = {KeyPart::Slice, piece.to, piece.count, one};
        Value read, place;
        ExprRef e;
        if (!view(a, parts, &read) || !view(*out, places, &place) || !lazy_of(read, &e) ||
            !fill(place.id, extents_of(read), e, true))
            return false;
    }
    return true;
}

// np.roll(a, shift, axis) by integers along axes that are known. Declined: another call of it.
Did Builder::call_roll(const std::vector<Value>& args, Value* out) {
    if (args.size() < 2 || !args[0].is_array() || args[0].permuted || args[0].mask || args[0].rank == 0)
        return Did::Declined;
    const auto each = [](const Value& v) { return v.kind == Kind::Tuple ? v.items : std::vector<Value>{v}; };
    const std::vector<Value> shifts = each(args[1]);
    std::vector<Value> axes = each(args.size() > 2 ? args[2] : Value{});
    const bool flat = left_out(args, 2) && args[0].rank == 1 && shifts.size() == 1;
    if (flat) axes = {int_value(const_int(0))};
    if (axes.size() != shifts.size() || axes.empty()) return Did::Declined;
    std::vector<int> along;
    for (size_t k = 0; k < axes.size(); ++k) {
        if (shifts[k].kind != Kind::Int || axes[k].kind != Kind::Int) return Did::Declined;
        const std::optional<int64_t> axis = known_int(axes[k].id);
        if (!axis || *axis < -args[0].rank || *axis >= args[0].rank) return Did::Declined;
        along.push_back(static_cast<int>(*axis < 0 ? *axis + args[0].rank : *axis));
    }
    Value a;
    if (!as_array(args[0], &a)) return false;
    for (size_t k = 0; k < along.size(); ++k) {
        const Value before = a;
        if (!rolled(before, shifts[k].id, along[k], &a)) return false;
    }
    if (flat) return view(a, {KeyPart{KeyPart::All}}, out);  // NumPy reshapes a vector that nobody else has
    *out = a;
    return true;
}

// Declined: it is none of these functions.
Did Builder::call_assembly(PyObject* callable, const std::vector<Value>& args, Value* out) {
    const auto is = [&](const char* name) { return numpy::is_function(callable, name); };
    if (is("triu") || is("tril")) return triangle(is("triu"), args, out);
    if (is("roll")) return call_roll(args, out);
    const bool joins = is("concatenate"), stacks = is("stack"), above = is("vstack"), beside = is("hstack"),
               columns = is("column_stack");
    if (!joins && !stacks && !above && !beside && !columns) return Did::Declined;
    if (args.empty() || (args[0].kind != Kind::Tuple && args[0].kind != Kind::List) ||
        args[0].items.empty() || !left_out(args, joins || stacks ? 2 : 1))
        return unknown("such a call of a function that puts arrays together");
    const std::vector<Value>& pieces = args[0].items;
    int rank = 0;
    for (const Value& v : pieces) {
        if (!v.is_array()) return unknown("putting together " + describe(v));
        rank = std::max(rank, v.rank);
    }
    int axis = 0;
    if (joins || stacks) {
        if (std::any_of(pieces.begin(), pieces.end(), [&](const Value& v) { return v.rank != rank; }))
            return unknown("putting together arrays of several ranks");
        rank += stacks;
        const Value given = args.size() > 1 ? args[1] : Value{};
        const auto k = given.kind == Kind::Empty ? std::optional<int64_t>(0)
                       : given.kind == Kind::Int ? known_int(given.id)
                                                 : std::nullopt;
        if (!k || *k < -rank || *k >= rank) return unknown("putting arrays together along such an axis");
        axis = static_cast<int>(*k < 0 ? *k + rank : *k);
    } else {
        // Vectors are rows of vstack and columns of column_stack.
        if (!beside) rank = std::max(rank, 2);
        if (beside &&
            std::any_of(pieces.begin(), pieces.end(), [&](const Value& v) { return v.rank != rank; }))
            return unknown("putting together arrays of several ranks");
        if (std::any_of(pieces.begin(), pieces.end(),
                        [&](const Value& v) { return v.rank < rank && rank > 2; }))
            return unknown("putting together arrays of several ranks");
        axis = above || rank == 1 ? 0 : 1;
    }
    return joined(pieces, axis, rank, out);
}

// np.triu(m, k) and tril: np.where of a triangle, m and 0.
bool Builder::triangle(bool upper, const std::vector<Value>& args, Value* out) {
    if (args.empty() || !args[0].is_array() || args[0].rank < 2 || args[0].permuted || args[0].mask ||
        !graph::is_native(Op::Where, args[0].dtype) || graph::is_complex(args[0].dtype) ||
        args[0].dtype == DType::F16)
        return unknown("a triangle of " + (args.empty() ? std::string("nothing") : describe(args[0])));
    const Value& m = args[0];
    const Value given = args.size() > 1 ? args[1] : Value{};
    if (given.kind != Kind::Empty && given.kind != Kind::Int)
        return unknown("a triangle from such a diagonal");
    const ValueId k = given.kind == Kind::Int ? given.id : const_int(0);
    constexpr int64_t kFarOff = int64_t{1} << 40;
    if (!known_int(k)) guard_range(k, -kFarOff, kFarOff);
    if (const auto known = known_int(k); known && (*known < -kFarOff || *known > kFarOff))
        return unknown("a triangle from such a diagonal");
    const std::vector<ValueId> extents = extents_of(m);
    const auto position = [&](int axis) {
        Value v;
        auto x = std::make_shared<Expr>();
        x->kind = Expr::Axis;
        x->dtype = DType::I64;
        x->axis = axis;
        v.kind = Kind::Lazy;
        v.dtype = DType::I64;
        v.rank = m.rank;
        v.extents = extents;
        v.expr = x;
        return v;
    };
    Value diagonal, kept;
    if (!elementwise(Op::Add, DType::I64, DType::I64, {position(m.rank - 2), int_value(k)}, &diagonal) ||
        !elementwise(upper ? Op::GreaterEqual : Op::LessEqual, DType::I64, DType::Bool,
                     {position(m.rank - 1), diagonal}, &kept))
        return false;
    Operands of;
    if (!operands_of({kept, m}, &of)) return false;
    const ExprRef zero = number_expr(m.dtype, cast(const_int(0), DType::I64, m.dtype));
    *out = lazy(of, op_expr(Op::Where, m.dtype, {of.in[0], of.in[1], zero}));
    return true;
}

}  // namespace stator::frontend::regions
