// Calls of NumPy's pure functions that have no code of their own here: library routines that call the
// function through Python (host_call.cpp). Which functions are pure is NumPy's host to say.

#include <algorithm>

#include "frontend/cpython/functions.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/names.h"
#include "frontend/policy.h"
#include "frontend/regions/build/builder.h"
#include "guards/check/names.h"

namespace stator::frontend::regions {

namespace {

constexpr int64_t kProbeExtent = 2, kProbeNumber = 1, kLargestProbe = 8;
constexpr int64_t kLargestNumber =
    32;  // which may be an extent: of what kind the result is, it does not matter

// Values that the words of a call hold, in the order in which host_call.cpp reads them.
void words_of(const Value& v, std::vector<ValueId>* out) {
    if (v.is_number() || v.kind == Kind::Array) out->push_back(v.id);
    for (const Value& item : v.items) words_of(item, out);
}

bool has_complex(const Value& v) {
    return v.is_complex_number() || (v.is_array() && graph::is_complex(v.dtype)) ||
           std::any_of(v.items.begin(), v.items.end(), has_complex);
}

bool chooses_dtype(const Value& v) {
    return v.kind == Kind::Known &&
           (PyType_Check(v.obj) || PyUnicode_Check(v.obj) || PyArray_DescrCheck(v.obj));
}

// Whether it gives complex numbers where any operand has some, so that none is converted to a real one.
bool mixes(PyObject* callable) {
    if (PyObject_TypeCheck(callable, &PyUFunc_Type) || numpy::is_function(callable, "where")) return true;
    constexpr int kBinaryOperators = 13;  // NB_ADD to NB_XOR
    for (int nb = 0; nb < kBinaryOperators; ++nb)
        if (callable == numpy::operator_function(nb)) return true;
    return numpy::is_function_or_method(callable, "dot") || numpy::is_function(callable, "outer");
}

bool names(PyObject* keywords, const char* name) {
    for (Py_ssize_t i = 0; keywords && i < PyTuple_GET_SIZE(keywords); ++i)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, i), name) == 0) return true;
    return false;
}

// Whether a call may store into one of its arguments.
bool writes_argument(PyObject* callable, size_t args, PyObject* keywords) {
    const numpy::InPlaceFlag* flag = numpy::in_place_flag(callable);
    return names(keywords, "out") || (flag && (args > flag->position || names(keywords, flag->keyword)));
}

}  // namespace

// An argument as it is given to Python: arrays that are still expressions are computed.
bool Builder::operand_for_host(Value* v) {
    v->whole = false;
    switch (v->kind) {
        case Kind::Known:
        case Kind::Int:
        case Kind::Float:
        case Kind::Bool:
        case Kind::Scalar:
        case Kind::Complex:
        case Kind::ComplexScalar: return true;
        case Kind::Lazy: {
            if (v->permuted) return unknown("an expression of transposed arrays");
            const Value lazy = *v;
            return as_array(lazy, v);
        }
        case Kind::Array:
            v->held = false;  // whose it is does not matter to a reader
            v->items.clear();
            return true;
        case Kind::Tuple:
            return std::all_of(v->items.begin(), v->items.end(),
                               [&](Value& item) { return operand_for_host(&item); });
        default: return unknown("an argument that is " + describe(*v));
    }
}

// a OP b where there is no code for it: Python's own operator, with its shortcuts for some exponents. In
// place, for arrays in which the loop would run along memory as it does in a fresh one.
bool Builder::operator_by_host(int nb, bool in_place, const Value& a, const Value& b, Value* out) {
    PyObject* function = numpy::operator_function(nb);
    constexpr int kPower = 8;  // NB_POWER; bool exponents warn in some versions
    if (!function || (nb == kPower && b.dtype == DType::Bool))
        return unknown("this operator on " + describe(a));
    if (!in_place || !a.is_array()) return call_host(function, {a, b}, nullptr, out);
    if (a.kind != Kind::Array || a.held || a.slot < 0 || !is_dense(a))
        return unknown("an operator in place on " + describe(a));
    Value made;
    if (!call_host(function, {a, b}, nullptr, &made)) return false;
    if (made.kind != Kind::Array || made.dtype != a.dtype || made.rank != a.rank)
        return unknown("an operator in place that changes the kind");
    if (!assign(a, made)) return false;
    *out = a;
    return true;
}

namespace {

// What the answer to a probe depends on.
std::string probe_key(const HostFunction& f, const std::vector<std::vector<int64_t>>& extents,
                      const std::vector<int64_t>& ints) {
    std::string key;
    const auto pointer = [&](const void* p) { append(&(key += ' '), reinterpret_cast<intptr_t>(p)); };
    const auto value = [&](const auto& self, const Value& v) -> void {
        append(&(key += ';'), static_cast<int>(v.kind));
        append(&(key += ':'), static_cast<int>(v.dtype));
        pointer(v.kind == Kind::Known ? v.obj : nullptr);
        for (const Value& item : v.items) self(self, item);
        if (!v.items.empty()) key += ')';
    };
    pointer(f.callable.get());
    for (Py_ssize_t i = 0; f.names && i < PyTuple_GET_SIZE(f.names.get()); ++i)
        key += guards::utf8(PyTuple_GET_ITEM(f.names.get(), i)), key += ',';
    for (const Value& v : f.args) value(value, v);
    for (const auto& shape : extents) {
        key += '[';
        for (const int64_t e : shape) append(&(key += ' '), e);
    }
    for (const int64_t i : ints) append(&(key += '#'), i);
    return key;
}

}  // namespace

// What the call gives, asked of NumPy once while the region is built, however many attempts and versions that
// takes. Not known, with a reason, also where there is no budget to ask.
bool Builder::probed(const HostFunction& f, const std::vector<std::vector<int64_t>>& extents,
                     const std::vector<int64_t>& ints, HostResult* out, std::string* why) {
    const auto [it, fresh] = found_.probed.try_emplace(probe_key(f, extents, ints));
    Probed& p = it->second;
    if (fresh) {
        p.known = probe_host(f, extents, ints, &p.gives, &p.why);
        if (!spend(policy().build_probe_work)) return false;
    }
    *out = p.gives;
    *why = p.why;
    return p.known;
}

bool Builder::call_host(PyObject* callable, std::vector<Value> args, PyObject* names, Value* out) {
    std::string text = name_for_messages(callable);
    if (text.empty()) text = "a function";
    const std::string what = "a call of " + text;
    bool quiet = false;
    if (!numpy::is_pure(callable, &quiet) || writes_argument(callable, args.size(), names))
        return unknown(what);
    const auto any = [&](auto&& f) { return std::any_of(args.begin(), args.end(), f); };
    // NumPy warns of memory that nothing fills, also when the call is tried out.
    const bool ufunc = PyObject_TypeCheck(callable, &PyUFunc_Type) != 0;
    for (Py_ssize_t k = 0; ufunc && names && k < PyTuple_GET_SIZE(names); ++k)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, k), "where") == 0)
            return unknown(what + " with where=");
    // What C code warns about nobody hears but the program: NumPy must not be asked what such a call gives.
    const bool into_real = !args.empty() && !has_complex(args[0]) && any(has_complex) && !mixes(callable);
    if (into_real || (any(has_complex) && any(chooses_dtype)))
        return unknown(what + " that converts complex numbers");
    for (Value& v : args)
        if (!operand_for_host(&v)) return false;
    std::vector<ValueId> operands;
    for (const Value& v : args) words_of(v, &operands);
    std::vector<std::vector<int64_t>> extents;
    std::vector<int64_t> ints;
    for (const ValueId id : operands) {
        const graph::RegionType t = r_->types[static_cast<size_t>(id)];
        if (!t.is_array()) {
            if (t.dtype == DType::I64)
                ints.push_back(
                    std::clamp(known_int(id).value_or(kProbeNumber), -kLargestNumber, kLargestNumber));
            continue;
        }
        extents.emplace_back();
        for (int axis = 0; axis < t.rank; ++axis) {
            const auto known = known_int(extent(id, axis));
            extents.back().push_back(known && *known <= kLargestProbe ? *known : kProbeExtent);
        }
        const bool empty = std::find(extents.back().begin(), extents.back().end(), 0) != extents.back().end();
        if (empty && !quiet) return unknown(what + " of nothing, about which it may warn");
    }
    HostFunction f{PyRef::borrow(callable), PyRef::borrow(names), args, quiet};
    HostResult gives;
    std::string why;
    if (!probed(f, extents, ints, &gives, &why))
        return reason_ == Reason::None && unknown(what + " with " + why);
    LibraryRoutine routine = host_routine(std::move(f), gives);
    if (gives.kind != Kind::Array) {
        Value cell;
        if (!memory(gives.dtype, {}, false, &cell) || !library(text, std::move(routine), cell, operands))
            return false;
        if (!load_element(cell, {}, out)) return false;
        if (gives.kind == Kind::Complex) {
            *out = composed(Kind::Complex, {float_value(out->items[0].id), float_value(out->items[1].id)});
            out->dtype = DType::C128;
        }
        if (out->is_number()) *out = number(gives.kind, gives.dtype, out->id);
        return true;
    }
    graph::Inst made;
    made.op = graph::RegionOp::Made;
    made.ints = {routine_index(text, gives.dtype, std::move(routine)), kFlags, std::ssize(operands)};
    made.in = operands;
    const int site = keep_clear(site_here(), &made);
    *out = {};
    out->kind = Kind::Array;
    out->dtype = gives.dtype;
    out->rank = gives.rank;
    out->id = emit(std::move(made), {gives.dtype, static_cast<int8_t>(gives.rank)}, true);
    out->slot = kFreshSlots + site;
    out->fresh = true;
    out->part = !gives.owns;  // a variable would hold a view
    out_->raises = true;
    if (out->id < 0 || !gives.flat) return out->id >= 0;
    // ... of a vector that only it names.
    graph::Inst flat;
    flat.op = graph::RegionOp::Reshape;
    ValueId total = const_int(1);
    for (const ValueId e : extents_of(*out))
        total = pointwise(graph::Op::Multiply, DType::I64, DType::I64, {total, e});
    flat.in = {out->id, total};
    Value vector = *out;
    vector.part = false;
    vector.rank = 1;
    vector.id = emit(std::move(flat), {out->dtype, 1});
    extents_.try_emplace({vector.id, 0}, total);
    out->items = {vector};
    return true;
}

}  // namespace stator::frontend::regions
