// Dots, matrix products (`@`, np.matmul) and how library routines are written down. See library.h.

#include <algorithm>

#include "frontend/regions/build/builder.h"
#include "frontend/regions/routines/dot_order.h"

namespace stator::frontend::regions {

namespace {

bool has_product(DType t) {
    return t == DType::F64 || t == DType::F32 || t == DType::C128 || t == DType::C64 || graph::is_integer(t);
}

}  // namespace

int Builder::routine_index(const std::string& name, DType t, LibraryRoutine routine) {
    const auto index = static_cast<int>(r_->calls.size());
    r_->calls.push_back({graph::RegionCall::Library, name, {t}});
    out_->routines[index] = std::move(routine);
    return index;
}

// Runs a routine that writes all of `dest`.
bool Builder::library(const std::string& name, LibraryRoutine routine, const Value& dest,
                      const std::vector<ValueId>& operands, const std::vector<int>& axes) {
    graph::Inst inst;
    inst.op = graph::RegionOp::Library;
    inst.exit = exit_here();
    if (inst.exit < 0) return false;
    inst.ints = {routine_index(name, dest.dtype, std::move(routine)), kFlags};
    inst.ints.insert(inst.ints.end(), axes.begin(), axes.end());
    inst.in = {dest.id};
    inst.in.insert(inst.in.end(), operands.begin(), operands.end());
    emit_effect(std::move(inst));
    out_->raises = true;
    return true;
}

// a @ b: stacks of matrices, one of which may be a vector. The result is memory in the order of C.
bool Builder::product(const Value& a, const Value& b, Value* out) {
    const bool vectors = a.rank == 1 && b.rank == 1;
    const bool types = a.dtype == b.dtype && has_product(a.dtype);
    if (vectors && types && graph::is_float(a.dtype)) return dot(a, b, true, out);
    // Stacks that lie across each other would make a result that does.
    const bool across = (a.rank > 3 && a.permuted) || (b.rank > 3 && b.permuted);
    if (!types || a.rank < 1 || b.rank < 1 || across || (vectors && graph::is_complex(a.dtype)))
        return unknown("a product of " + describe(a) + " and " + describe(b));
    // How an operand lies in memory decides which routine of BLAS gets it.
    for (const Value* v : {&a, &b})
        if (v->kind == Kind::Lazy && v->permuted)
            return unknown("a product of an expression of transposed arrays");
    Value x, y;
    if (!as_array(a, &x) || !as_array(b, &y)) return false;
    const std::vector<ValueId> xs = extents_of(x), ys = extents_of(y);
    const ValueId k = xs.back(), l = b.rank == 1 ? ys[0] : ys[ys.size() - 2];
    if (k != l && !guard(pointwise(graph::Op::Equal, DType::I64, DType::Bool, {k, l}))) return false;
    const auto batch = [](const std::vector<ValueId>& e) {
        return std::vector<ValueId>(e.begin(), e.end() - std::min<ptrdiff_t>(2, std::ssize(e)));
    };
    std::vector<ValueId> extents;
    if (!join_extents(batch(xs), batch(ys), &extents)) return false;
    if (a.rank > 1) extents.push_back(xs[xs.size() - 2]);
    if (b.rank > 1) extents.push_back(ys.back());
    Value made;
    LibraryRoutine routine = matmul_routine(a.dtype, a.rank, b.rank);
    if (!routine.fn || !memory(a.dtype, extents, !extents.empty(), &made) ||
        !library("matmul", std::move(routine), made, {x.id, y.id}))
        return unknown("a product of " + describe(a) + " and " + describe(b));
    if (!vectors) return *out = std::move(made), true;
    graph::Inst load;
    load.op = graph::RegionOp::Load;
    load.in = {made.id};
    *out = scalar_value(a.dtype, emit(std::move(load), {a.dtype, -1}));
    return true;
}

// Whether np.dot gives it the bits of `@`: of floats, where a matrix is. Both end in the same routines of
// BLAS, but results that are one row or one column take another way from operands with gaps.
bool Builder::is_matrix_product(const Value& a, const Value& b) {
    const auto fits = [](const Value& v) { return v.is_array() && (v.rank == 1 || v.rank == 2); };
    if (!fits(a) || !fits(b) || (a.rank == 1 && b.rank == 1)) return false;
    if (a.dtype != b.dtype || (a.dtype != DType::F64 && a.dtype != DType::F32)) return false;
    const bool several = a.rank == 2 && b.rank == 2 && plural_.count(extents_of(a).front()) &&
                         plural_.count(extents_of(b).back());
    return several || (is_dense(a) && is_dense(b));
}

bool Builder::dot(const Value& a, const Value& b, bool operator_, Value* out) {
    if (!a.is_array() || !b.is_array() || a.rank != 1 || b.rank != 1 || a.dtype != b.dtype ||
        (a.dtype != DType::F64 && a.dtype != DType::F32))
        return unknown("a product of " + describe(a) + " and " + describe(b));
    Value x, y;
    // np.dot copies what lies backwards; the operator's loop takes it as it is.
    const auto operand = [&](const Value& v, Value* to) {
        if (v.kind == Kind::Lazy) return as_array(v, to);
        if (!v.backward || operator_) return *to = v, true;
        ExprRef e;
        return lazy_of(v, &e) && scratch_of(e, extents_of(v), to);
    };
    if (!operand(a, &x) || !operand(b, &y)) return false;
    const ValueId n = extents_of(x)[0], m = extents_of(y)[0];
    if (n != m && !guard(pointwise(graph::Op::Equal, DType::I64, DType::Bool, {n, m}))) return false;
    graph::Inst inst;
    inst.op = graph::RegionOp::Dot;
    inst.operand = a.dtype;
    inst.ints = {call_index({graph::RegionCall::Dot, operator_ ? "dot" : "np.dot", {a.dtype}})};
    if (const graph::DotOrder order = strided_dot_order(a.dtype); order.block > 0)
        inst.ints.push_back(order.encode());
    inst.in = {x.id, y.id};
    *out = scalar_value(a.dtype, emit(std::move(inst), {a.dtype, -1}));
    return finite(out->id, a.dtype);
}

}  // namespace stator::frontend::regions
