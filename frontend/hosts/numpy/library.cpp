// Calls left to NumPy on whole operands: pure functions whose results are fresh arrays or scalars.
//
// A row here promises three things: the function reads its arguments and nothing else, changes nothing, and
// its result shares no memory with them. The last is also checked on the result seen while recording.
// Functions that draw random numbers, do I/O, call user code, or warn depending on values by other means than
// floating-point flags never stand here.
#include <algorithm>
#include <iterator>

#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/own_warnings.h"
#include "frontend/record/array_meta.h"

namespace stator::frontend::numpy {

// Functions of nothing may warn in their own ways (the mean of an empty slice), with which a replay cannot
// deal. These do not.
bool quiet_about_nothing(PyObject* callable) {
    static constexpr std::string_view kQuiet[] = {
        "all",    "any",   "argmax",      "argmin",  "array",  "asanyarray", "asarray", "ascontiguousarray",
        "astype", "clip",  "concatenate", "cumprod", "cumsum", "diff",       "dot",     "getitem",
        "hstack", "max",   "min",         "outer",   "pad",    "prod",       "repeat",  "roll",
        "sort",   "stack", "sum",         "take",    "tile",   "vstack"};
    auto text = [&](const char* attribute) -> std::string {
        PyRef value = PyRef::steal(PyObject_GetAttrString(callable, attribute));
        PyErr_Clear();
        return value && PyUnicode_Check(value.get()) ? PyUnicode_AsUTF8(value.get()) : "";
    };
    if (ufunc_of(callable) || text("__module__").ends_with("operator")) return true;
    return std::ranges::find(kQuiet, text("__name__")) != std::end(kQuiet);
}

namespace {

bool overlaps(PyObject* a, PyObject* b) {
    if (!PyArray_Check(a) || !PyArray_Check(b)) return false;
    if (a == b) return true;
    auto* x = reinterpret_cast<PyArrayObject*>(a);
    for (PyObject* base = PyArray_BASE(x); base && PyArray_Check(base);
         base = PyArray_BASE(reinterpret_cast<PyArrayObject*>(base)))
        if (base == b || base == PyArray_BASE(reinterpret_cast<PyArrayObject*>(b))) return true;
    return false;
}

// Whether an argument is of a kind a later call may be given again.
bool rebuildable(TraceBuilder& tb, const Operand& o) {
    if (!o.obj) return false;
    if (PyTuple_CheckExact(o.obj) || PyList_CheckExact(o.obj)) {
        std::vector<Operand> items;
        if (!read_items(tb, o, &items)) return false;
        for (const Operand& item : items)
            if (!rebuildable(tb, item)) return false;
        return true;
    }
    if (!tb.resolve(o.shadow, o.obj)) return false;
    if (host_only(o)) return true;
    if (o.shadow->kind == ShadowKind::Made && PyIter_Check(o.obj)) return false;  // it would be used up
    return o.shadow->kind != ShadowKind::Opaque && o.shadow->kind != ShadowKind::Lazy;
}

// A complex number, or an array or a sequence of such.
bool has_complex(PyObject* o) {
    DType t;
    if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
        PyRef items = PyRef::steal(PySequence_Fast(o, ""));
        for (Py_ssize_t i = 0; items && i < PySequence_Fast_GET_SIZE(items.get()); i++)
            if (has_complex(PySequence_Fast_GET_ITEM(items.get(), i))) return true;
        return false;
    }
    return (dtype_of_object(o, &t) && graph::is_complex(t)) ||
           (is_array(o) && PyArray_ISCOMPLEX(reinterpret_cast<PyArrayObject*>(o)));
}

// An array that only NumPy reads, or one that shares memory with such an argument. NumPy runs no Python code
// for its elements.
bool host_result(const Call& call) {
    if (!is_array(call.result)) return false;
    auto* a = reinterpret_cast<PyArrayObject*>(call.result);
    if (!is_builtin_type(PyArray_TYPE(a))) return false;
    bool from_host = false, shared = false;
    for (const Operand& o : call.args) {
        if (!is_array(o.obj) || !host_only(o)) continue;
        from_host = true;
        shared |= overlaps(call.result, o.obj) || overlaps(o.obj, call.result);
    }
    DType t;
    bool readable = dtype_of_object(call.result, &t) && PyArray_ISALIGNED(a) && PyArray_NDIM(a) <= 8;
    return from_host && (shared || !readable);
}

bool plain_result(PyObject* o) {
    DType t;
    return (is_array(o) || PyArray_CheckScalar(o) || PyFloat_CheckExact(o) || PyBool_Check(o) ||
            PyComplex_CheckExact(o)) &&
           dtype_of_object(o, &t);
}

}  // namespace

ShadowRef lower_library(TraceBuilder& tb, const Call& call) {
    auto refuse = [&](const char* why) { return tb.fail(Reason::UnknownCall, why); };
    if (!call.callable) return refuse("this function");
    const bool host = host_result(call);
    if (!host && !plain_result(call.result)) return refuse("a function whose result is no plain array");
    DType result_type = DType::F64;
    dtype_of_object(call.result, &result_type);
    bool real = !graph::is_complex(result_type) && result_type != DType::Bool;
    bool complex_operand = false, chooses_dtype = false;
    bool into_real = false;  // np.pad(x, 1, constant_values=1j)
    const bool quiet = quiet_about_nothing(call.callable);
    for (const Operand& o : call.args) {
        complex_operand |= has_complex(o.obj);
        into_real |= &o != &call.args[0] && has_complex(o.obj);
        chooses_dtype |= PyType_Check(o.obj) || PyUnicode_Check(o.obj) || PyArray_DescrCheck(o.obj);
        if (is_array(o.obj) && PyArray_SIZE(reinterpret_cast<PyArrayObject*>(o.obj)) == 0 && !quiet)
            return refuse("an empty array");
        if (o.obj == call.result && PyArray_Check(o.obj))
            return refuse("a function that returns its argument");
        if (PyArray_Check(o.obj) && !(host && host_only(o)) &&
            (overlaps(call.result, o.obj) || overlaps(o.obj, call.result)))
            return refuse("a function that returns a view");
        if (!rebuildable(tb, o)) return refuse("a function with such an argument");
    }
    if (real && ((complex_operand && chooses_dtype) || into_real))
        return refuse("a conversion from complex, which warns");
    // An output argument would be a store.
    for (Py_ssize_t i = 0; call.kwnames && i < PyTuple_GET_SIZE(call.kwnames); i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(call.kwnames, i), "out") == 0)
            return refuse("out=");
    std::vector<PyObject*> argv;
    for (const Operand& o : call.args) argv.push_back(o.obj);
    const size_t named = call.kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(call.kwnames)) : 0;
    if (warns_by_itself(call.callable, argv.data(), argv.size() - named, call.kwnames))
        return refuse("a function that warns about such arguments");
    if (host) return tb.host_library(call.callable, call.args, call.kwnames, call.result);
    return tb.library(call.callable, call.args, call.kwnames, call.result);
}

ShadowRef library_of(TraceBuilder& tb, PyObject* callable, std::initializer_list<Operand> args,
                     PyObject* result) {
    std::span<const Operand> span(args.begin(), args.size());
    return lower_library(tb, {callable, span, nullptr, result});
}

namespace {

constexpr CallRow kRows[] = {
#define ROW(where) {where, lower_library},
    ROW("dot") ROW("vdot") ROW("inner") ROW("outer") ROW("tensordot") ROW("einsum") ROW("kron") ROW("cross")
        ROW("trace") ROW("convolve") ROW("correlate") ROW("interp") ROW("trapezoid") ROW("cumsum")
            ROW("cumprod") ROW("nancumsum") ROW("nancumprod") ROW("sort") ROW("argsort") ROW("lexsort") ROW(
                "partition") ROW("argpartition") ROW("searchsorted") ROW("digitize") ROW("bincount")
                ROW("histogram_bin_edges") ROW("unique") ROW("median") ROW("percentile") ROW("quantile") ROW(
                    "var") ROW("std") ROW("average") ROW("nansum") ROW("nanprod") ROW("nanargmin")
                    ROW("nanargmax") ROW("count_nonzero") ROW("flatnonzero") ROW("argwhere") ROW("ptp") ROW(
                        "linspace") ROW("logspace") ROW("geomspace") ROW("eye") ROW("identity") ROW("tri")
                        ROW("tril") ROW("triu") ROW("vander") ROW("diagflat") ROW("fft.fft") ROW("fft.ifft")
                            ROW("fft.rfft") ROW("fft.irfft") ROW("fft.fft2") ROW("fft.ifft2") ROW("fft.rfft2")
                                ROW("fft.irfft2") ROW("fft.fftn") ROW("fft.ifftn") ROW("fft.rfftn") ROW(
                                    "fft.irfftn") ROW("fft.fftfreq") ROW("fft.rfftfreq") ROW("fft.fftshift")
                                    ROW("fft.ifftshift") ROW("linalg.norm") ROW("linalg.solve") ROW(
                                        "linalg.inv") ROW("linalg.det") ROW("linalg.pinv")
                                        ROW("linalg.cholesky") ROW("linalg.matrix_power") ROW(
                                            "linalg.eigvals") ROW("linalg.eigvalsh") ROW("linalg.cond")
                                            ROW("linalg.matrix_rank") ROW("linalg.multi_dot") ROW("take") ROW(
                                                "take_along_axis") ROW("compress")
                                                ROW("extract") ROW("repeat") ROW("tile") ROW("choose") ROW(
                                                    "select") ROW("isin") ROW("union1d") ROW("intersect1d")
                                                    ROW("setdiff1d") ROW("round") ROW("around")
                                                        ROW("isclose") ROW("allclose") ROW("array_equal") ROW(
                                                            "nan_to_num") ROW("unwrap") ROW("polyval")
                                                            ROW("i0") ROW("sinc") ROW("packbits") ROW(
                                                                "unpackbits") ROW("ediff1d") ROW(".dot")
                                                                ROW(".cumsum") ROW(".cumprod") ROW(".argsort")
                                                                    ROW(".argpartition") ROW(".searchsorted")
                                                                        ROW(".var") ROW(".std") ROW(".trace")
                                                                            ROW(".take") ROW(".repeat")
                                                                                ROW(".compress")
                                                                                    ROW(".choose")
                                                                                        ROW(".round")
#undef ROW
};

}  // namespace

void register_library() { add_rows(kRows); }

}  // namespace stator::frontend::numpy
