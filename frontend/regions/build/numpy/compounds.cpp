// Functions of NumPy's that are another of its functions, or one routine of the dtype's: round, argmax and
// argmin, cumsum.
#include "frontend/hosts/numpy/names.h"
#include "frontend/regions/build/builder.h"

namespace stator::frontend::regions {

namespace {

bool is_real_float(DType t) { return t == DType::F64 || t == DType::F32; }

}  // namespace

// Declined: the call is another part's business.
Did Builder::call_compound(PyObject* callable, const std::vector<Value>& args, Value* out) {
    if (args.empty() || !args[0].is_array()) return Did::Declined;
    const auto is = [&](const char* name) { return numpy::is_function_or_method(callable, name); };
    const Value& a = args[0];
    const bool one = args.size() == 1;
    if (one && a.rank == 1 && (is("argmax") || is("argmin"))) return position(is("argmax"), a, out);
    if (one && a.rank == 1 && is_real_float(a.dtype) && is("cumsum")) return running_sum(a, out);
    if (one && is_real_float(a.dtype) && (is("round") || is("around"))) return unary_ufunc("rint", a, out);
    return Did::Declined;
}

// Its elements next to each other, in memory.
bool Builder::contiguous_vector(const Value& a, Value* out) {
    if (a.kind == Kind::Lazy) return as_array(a, out);
    if (is_dense(a) && !a.backward) return *out = a, true;
    ExprRef e;
    return lazy_of(a, &e) && scratch_of(e, extents_of(a), out);
}

Did Builder::position(bool greatest, const Value& a, Value* out) {
    if (graph::is_complex(a.dtype) || a.dtype == DType::F16) return Did::Declined;
    Value x, cell;
    LibraryRoutine routine = position_routine(greatest, a.dtype);
    if (!routine.fn) return Did::Declined;
    return contiguous_vector(a, &x) && memory(DType::I64, {}, false, &cell) &&
           library(greatest ? "argmax" : "argmin", std::move(routine), cell, {x.id}) &&
           load_element(cell, {}, out);
}

Did Builder::running_sum(const Value& a, Value* out) {
    Value x;
    LibraryRoutine routine = running_sum_routine(a.dtype);
    if (!routine.fn) return Did::Declined;
    return as_array(a, &x) && memory(a.dtype, extents_of(x), true, out) &&
           library("cumsum", std::move(routine), *out, {x.id});
}

}  // namespace stator::frontend::regions
