// Routines for whole vectors: argmax and argmin, cumsum, searchsorted and interp of one number.
#include "frontend/regions/build/builder.h"

namespace stator::frontend::regions {

// Its elements next to each other, in memory.
bool Builder::contiguous_vector(const Value& a, Value* out) {
    if (a.kind == Kind::Lazy) return as_array(a, out);
    if (is_dense(a) && !a.backward) return *out = a, true;
    ExprRef e;
    return lazy_of(a, &e) && scratch_of(e, extents_of(a), out);
}

bool Builder::position(bool greatest, const Value& a, Value* out) {
    Value x, cell;
    const bool plain = a.rank == 1 && !graph::is_complex(a.dtype) && a.dtype != DType::F16;
    LibraryRoutine routine = plain ? position_routine(greatest, a.dtype) : LibraryRoutine{};
    if (!routine.fn) return unknown("the position of an extremum of " + describe(a));
    return contiguous_vector(a, &x) && memory(DType::I64, {}, false, &cell) &&
           library(greatest ? "argmax" : "argmin", std::move(routine), cell, {x.id}) &&
           load_element(cell, {}, out);
}

bool Builder::place(const Value& sorted, const Value& key, bool after, Value* out) {
    Value x, cell;
    LibraryRoutine routine = search_routine(sorted.dtype, after);
    if (!routine.fn || key.dtype != sorted.dtype) return unknown("a search in " + describe(sorted));
    return contiguous_vector(sorted, &x) && memory(DType::I64, {}, false, &cell) &&
           library(after ? "searchsorted.right" : "searchsorted", std::move(routine), cell, {x.id, key.id}) &&
           load_element(cell, {}, out);
}

bool Builder::interpolated(const Value& x, const Value& xp, const Value& fp, Value* out) {
    Value points, values, cell;
    LibraryRoutine routine = interpolation_routine();
    if (!routine.fn) return unknown("np.interp as this NumPy rounds it");
    return contiguous_vector(xp, &points) && contiguous_vector(fp, &values) &&
           memory(DType::F64, {}, false, &cell) &&
           library("interp", std::move(routine), cell, {x.id, points.id, values.id}) &&
           load_element(cell, {}, out);
}

bool Builder::running_sum(const Value& a, Value* out) {
    Value x;
    const bool plain = a.rank == 1 && (a.dtype == DType::F64 || a.dtype == DType::F32);
    LibraryRoutine routine = plain ? running_sum_routine(a.dtype) : LibraryRoutine{};
    if (!routine.fn) return unknown("running sums of " + describe(a));
    return as_array(a, &x) && memory(a.dtype, extents_of(x), true, out) &&
           library("cumsum", std::move(routine), *out, {x.id});
}

}  // namespace stator::frontend::regions
