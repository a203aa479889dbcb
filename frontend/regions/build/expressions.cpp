// Elementwise expressions of arrays: trees (Expr) that are brought to one shape and dtype, and what NumPy's
// operators make of them.

#include <algorithm>
#include <utility>

#include "frontend/cpython/operators.h"
#include "frontend/regions/build/builder.h"
#include "graph/cast.h"

namespace stator::frontend::regions {

namespace {

using graph::RegionOp;
using graph::ViewAxis;

bool is_complex(const Value& v) { return v.is_complex_number() || graph::is_complex(v.dtype); }

}  // namespace

bool Builder::lazy_of(const Value& v, ExprRef* out) {
    if (v.mask) {
        Value packed;
        return pack(v, false, &packed) && lazy_of(packed, out);
    }
    if (v.kind == Kind::Lazy) return *out = v.expr, true;
    auto e = std::make_shared<Expr>();
    e->kind = Expr::Leaf;
    e->dtype = v.dtype;
    e->id = v.id;
    e->slot = memory_of(v);
    *out = e;
    return true;
}

bool Builder::cast_expr(ExprRef* e, DType to) {
    if ((*e)->dtype == to) return true;
    if (graph::is_complex(to) || graph::is_complex((*e)->dtype)) return cast_complex(e, to);
    if (!graph::is_native(graph::Op::Cast, (*e)->dtype)) return unknown("this conversion");
    auto c = std::make_shared<Expr>();
    c->kind = Expr::Op;
    c->op = graph::Op::Cast;
    c->dtype = to;
    c->faults = (*e)->faults || graph::cast_may_fault((*e)->dtype, to);
    c->indexes = (*e)->indexes;
    c->in = {*e};
    *e = c;
    return true;
}

// Extents of the common shape, the last axes against each other. Extents that are not known to be equal or 1
// have to be equal.
bool Builder::join_extents(const std::vector<ValueId>& a, const std::vector<ValueId>& b,
                           std::vector<ValueId>* out) {
    const auto& longer = a.size() >= b.size() ? a : b;
    const auto& shorter = a.size() >= b.size() ? b : a;
    *out = longer;
    const size_t shift = longer.size() - shorter.size();
    for (size_t i = 0; i < shorter.size(); ++i) {
        const ValueId x = longer[i + shift], y = shorter[i];
        if (x == y) continue;
        const auto kx = known_int(x), ky = known_int(y);
        if (ky && *ky == 1) continue;
        if (kx && *kx == 1) {
            (*out)[i + shift] = y;
            continue;
        }
        if (!guard(pointwise(graph::Op::Equal, DType::I64, DType::Bool, {x, y}))) return false;
    }
    return true;
}

// An array as a view of the common shape.
bool Builder::align(const Value& v, const std::vector<ValueId>& extents, Value* out) {
    const std::vector<ValueId> own = extents_of(v);
    graph::Inst inst;
    inst.op = RegionOp::View;
    inst.in = {v.id};
    graph::ViewSpec spec;
    const auto operand = [&](ValueId id) {
        inst.in.push_back(id);
        return static_cast<int>(inst.in.size()) - 1;
    };
    const size_t shift = extents.size() - own.size();
    bool changes = shift > 0;
    for (size_t i = 0; i < extents.size(); ++i) {
        const auto axis = static_cast<int8_t>(i) - static_cast<int8_t>(shift);
        ViewAxis a;
        a.axis = static_cast<int8_t>(axis);
        const bool stretch = axis >= 0 && own[static_cast<size_t>(axis)] != extents[i] &&
                             known_int(own[static_cast<size_t>(axis)]) == 1;
        if (axis >= 0 && !stretch) {
            if (own[static_cast<size_t>(axis)] != extents[i] &&
                !guard(pointwise(graph::Op::Equal, DType::I64, DType::Bool,
                                 {own[static_cast<size_t>(axis)], extents[i]})))
                return false;
            spec.push_back(a);
            continue;
        }
        changes = true;
        if (stretch) spec.push_back({ViewAxis::Drop, a.axis, operand(const_int(0)), 0, 0});
        a.kind = ViewAxis::New;
        a.axis = -1;
        a.count = operand(extents[i]);
        spec.push_back(a);
    }
    *out = v;
    if (!changes) return true;
    out->whole = false;
    out->rank = static_cast<int>(extents.size());
    inst.ints = {static_cast<int64_t>(r_->views.size())};
    r_->views.push_back(std::move(spec));
    out->id = emit(std::move(inst), {v.dtype, static_cast<int8_t>(out->rank)});
    for (size_t i = 0; i < extents.size(); ++i)
        extents_.try_emplace({out->id, static_cast<int>(i)}, extents[i]);
    return true;
}

// Whether broadcasting to `extents` repeats anything.
bool Builder::spreads(const std::vector<ValueId>& own, const std::vector<ValueId>& extents) const {
    if (own.size() != extents.size()) return true;
    for (size_t i = 0; i < own.size(); ++i)
        if (own[i] != extents[i] && known_int(own[i]) == 1) return true;
    return false;
}

bool Builder::align(const ExprRef& e, const std::vector<ValueId>& own, const std::vector<ValueId>& extents,
                    ExprRef* out) {
    if (own == extents || e->kind == Expr::Number) return *out = e, true;
    // Spread over no points at all it would raise nothing, and over many the same again and again.
    if (e->checked() && e->kind != Expr::Leaf && spreads(own, extents)) {
        Value computed;
        ExprRef leaf;
        return scratch_of(e, own, &computed) && lazy_of(computed, &leaf) && align(leaf, own, extents, out);
    }
    auto copy = std::make_shared<Expr>(*e);
    if (e->kind == Expr::Leaf) {
        Value v, aligned;
        v.kind = Kind::Array;
        v.dtype = e->dtype;
        v.rank = static_cast<int>(own.size());
        v.id = e->id;
        v.slot = e->slot;
        for (size_t i = 0; i < own.size(); ++i) extents_.try_emplace({v.id, static_cast<int>(i)}, own[i]);
        if (!align(v, extents, &aligned)) return false;
        copy->id = aligned.id;
        if (e->narrow < 0 && aligned.id != v.id) copy->narrow = v.id, copy->narrow_extents = own;
        copy->whole = -1;
    } else if (e->kind == Expr::Axis) {
        const size_t shift = extents.size() - own.size();
        copy->axis += static_cast<int>(shift);
        const ValueId n = own[static_cast<size_t>(e->axis)];
        if (known_int(n) == 1 && n != extents[static_cast<size_t>(copy->axis)]) {  // one position everywhere
            copy->kind = Expr::Number;
            copy->id = const_int(0);
        }
    } else {
        for (ExprRef& x : copy->in)
            if (!align(x, own, extents, &x)) return false;
    }
    *out = copy;
    return true;
}

// Axes of extent 1 do not count.
bool Builder::lies_across(const Value& v) const {
    if (!v.permuted || v.kind == Kind::Lazy) return v.permuted;
    int long_axes = 0;
    for (int axis = 0; axis < v.rank; ++axis) {
        const auto e = extents_.find({v.id, axis});
        long_axes += e == extents_.end() || known_int(e->second) != 1;
    }
    return long_axes > 1;
}

// The operands of an elementwise operation as expressions over one shape; numbers stay nullptr.
bool Builder::operands_of(std::vector<Value> in, Operands* out) {
    if (!one_mask(in, out)) return false;
    const auto own_extents = [&](const Value& v) { return v.mask ? v.extents : extents_of(v); };
    bool first = true;
    for (const Value& v : in) {
        if (!v.is_array()) continue;
        if (v.rank == 0) return unknown("an array of no axes");
        const std::vector<ValueId> own = own_extents(v);
        if (first)
            out->extents = own;
        else if (std::vector<ValueId> joined; join_extents(out->extents, own, &joined))
            out->extents = joined;
        else
            return false;
        first = false;
    }
    for (const Value& v : in) {
        ExprRef own, x;
        if (v.is_array()) {
            if (v.mask)
                own = v.expr;
            else if (!lazy_of(v, &own))
                return false;
            if (!align(own, own_extents(v), out->extents, &x)) return false;
        }
        out->permuted |= lies_across(v);
        out->in.push_back(std::move(x));
    }
    return true;
}

Value Builder::lazy(const Operands& of, ExprRef e) {
    Value v;
    v.kind = Kind::Lazy;
    v.dtype = e->dtype;
    v.expr = std::move(e);
    v.extents = of.extents;
    v.mask = of.mask;
    v.mask_rank = of.mask_rank;
    v.permuted = of.permuted;
    v.rank = static_cast<int>(of.extents.size()) + (of.mask ? 1 - of.mask_rank : 0);
    return v;
}

ExprRef Builder::number_expr(DType t, ValueId id) {
    auto n = std::make_shared<Expr>();
    n->kind = Expr::Number;
    n->dtype = t;
    n->id = id;
    return n;
}

ExprRef Builder::op_expr(graph::Op op, DType result, std::vector<ExprRef> in) {
    auto e = std::make_shared<Expr>();
    e->kind = Expr::Op;
    e->op = op;
    e->dtype = result;
    e->faults = graph::is_float(in.back()->dtype) && graph::info(op).faults != "-";
    for (const ExprRef& x : in) {
        e->faults |= x->faults;
        e->indexes |= x->indexes;
    }
    e->in = std::move(in);
    return e;
}

bool Builder::elementwise(graph::Op op, DType operand, DType result, const std::vector<Value>& in,
                          Value* out) {
    if (graph::is_complex(operand) || operand == DType::F16)
        return unknown("arrays of " + std::string(graph::info(operand).text));
    Operands of;
    if (!operands_of(in, &of)) return false;
    for (size_t i = 0; i < in.size(); ++i) {
        ExprRef& x = of.in[i];
        if (x) {
            if (!cast_expr(&x, operand)) return false;
            continue;
        }
        ValueId id;
        if (!convert(in[i], operand, &id)) return false;
        x = number_expr(operand, id);
    }
    *out = lazy(of, op_expr(op, result, of.in));
    return true;
}

// NumPy's casting rule "same_kind", of what is known here.
bool Builder::fits_in_place(DType from, DType to) {
    return from == to || (graph::is_float(from) && graph::is_float(to)) ||
           (graph::is_complex(from) && graph::is_complex(to)) ||
           (graph::is_signed(from) && graph::is_signed(to));
}

bool Builder::binary_arrays(int nb, bool in_place, const Value& a, const Value& b, Value* out) {
    using graph::Op;
    const auto fits = [](const Value& v) { return v.is_array() || v.is_number() || v.is_complex_number(); };
    if (!fits(a) || !fits(b)) return unknown("an operator on " + describe(a) + " and " + describe(b));
    if (nb == nb::Matmul)
        return !in_place && a.is_array() && b.is_array() ? product(a, b, out) : unknown("@=");
    Value lazy;
    if (is_complex(a) || is_complex(b)) {
        if (in_place && a.is_array() && (!several(a) || (nb == nb::Power && !squares_into(a)))) return false;
        if (!binary_complex(nb, a, b, &lazy)) return false;
    } else if (!binary_real(nb, a, b, &lazy)) {
        return false;
    }
    if (!in_place || !a.is_array()) return *out = lazy, true;
    if (a.kind == Kind::Lazy) {  // a fresh array, nobody else's
        if (!fits_in_place(lazy.dtype, a.dtype) || lazy.rank != a.rank)
            return unknown("an operator in place that changes the kind");
        if (!cast_expr(&lazy.expr, a.dtype)) return false;
        lazy.dtype = a.dtype;
        return *out = lazy, true;
    }
    if (a.slot == -1 && a.holder < 0) return unknown("an operator in place on an array of several places");
    if (!fits_in_place(lazy.dtype, a.dtype) || lazy.rank != a.rank)
        return unknown("an operator in place that changes the kind");
    if (!assign(a, lazy)) return false;
    *out = a;
    return true;
}

bool Builder::binary_real(int nb, const Value& a, const Value& b, Value* out) {
    using graph::Op;
    DType t;
    if (!promote(a, b, nb == nb::TrueDivide, &t)) return false;
    Op op;
    std::vector<Value> in{a, b};
    switch (nb) {
        case nb::Add: op = Op::Add; break;
        case nb::Subtract: op = Op::Subtract; break;
        case nb::Multiply: op = Op::Multiply; break;
        case nb::TrueDivide: op = Op::Divide; break;
        case nb::And: op = Op::BitwiseAnd; break;
        case nb::Or: op = Op::BitwiseOr; break;
        case nb::Xor: op = Op::BitwiseXor; break;
        case nb::Power:
            if (b.kind != Kind::Int || known_int(b.id) != 2) return power_by_constant(t, a, b, out);
            if (a.dtype == DType::Bool) return unknown("a power of arrays");
            op = Op::Square;
            in.pop_back();
            break;
        default: return unknown("this operator on arrays");
    }
    if (!graph::is_native(op, t)) return unknown("this operator on " + describe(a));
    return elementwise(op, t, t, in, out);
}

bool Builder::compare_arrays(int py_op, const Value& a, const Value& b, Value* out) {
    using graph::Op;
    constexpr Op ops[] = {Op::Less, Op::LessEqual, Op::Equal, Op::NotEqual, Op::Greater, Op::GreaterEqual};
    if (is_complex(a) || is_complex(b)) return compare_complex(py_op, a, b, out);
    DType t;
    if (mixes_signs(a, b)) return unknown("a comparison of " + describe(a) + " with " + describe(b));
    if (!promote(a, b, false, &t)) return false;
    return elementwise(ops[py_op], t, DType::Bool, {a, b}, out);
}

}  // namespace stator::frontend::regions
