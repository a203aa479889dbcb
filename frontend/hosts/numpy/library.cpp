// Calls left to NumPy on whole operands: the rows of functions.def, and what others fall back to. Results may
// be several (tuples, named tuples, lists), which the trace holds one by one.
#include <algorithm>
#include <iterator>

#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/names.h"
#include "frontend/hosts/numpy/own_warnings.h"
#include "frontend/once.h"
#include "frontend/trace_builder/array_meta.h"
#include "guards/check/check.h"
#include "guards/check/names.h"

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
        return guards::utf8(value.get());
    };
    if (ufunc_of(callable) || text("__module__").ends_with("operator")) return true;
    return std::ranges::find(kQuiet, text("__name__")) != std::end(kQuiet);
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

const InPlaceFlag* in_place_flag(PyObject* callable) {
    static constexpr struct {
        const char* name;
        InPlaceFlag flag;
    } kLibraryRows[] = {
        {"median", {"overwrite_input", 3}},        {"nanmedian", {"overwrite_input", 3}},
        {"percentile", {"overwrite_input", 4}},    {"quantile", {"overwrite_input", 4}},
        {"nanpercentile", {"overwrite_input", 4}}, {"nanquantile", {"overwrite_input", 4}},
    };
    static constexpr InPlaceFlag kByteswap = {"inplace", 1};
    if (callable == array_method("byteswap")) return &kByteswap;
    for (const auto& row : kLibraryRows)
        if (callable == numpy_function(row.name)) return &row.flag;
    return nullptr;
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

bool python_number(PyObject* o) {
    return PyFloat_CheckExact(o) || PyBool_Check(o) || PyComplex_CheckExact(o) || PyLong_CheckExact(o);
}

bool plain_result(PyObject* o) {
    DType t;
    return (is_array(o) || PyArray_CheckScalar(o) || python_number(o)) && dtype_of_object(o, &t);
}

bool in_parts(PyObject* o) { return PyTuple_Check(o) || PyList_CheckExact(o); }

// Whether every part of a result is something that a trace can hold.
bool plain_parts(PyObject* o) {
    if (!in_parts(o)) return false;
    for (Py_ssize_t i = 0; i < Py_SIZE(o); i++) {
        PyObject* part = PySequence_Fast_GET_ITEM(o, i);
        if (part != Py_None && !plain_result(part)) return false;
    }
    return true;
}

// Whether memory of `result` is that of an array in `o`, which may be a sequence of them.
bool lies_in(PyObject* result, PyObject* o) {
    if (in_parts(result)) std::swap(result, o);
    if (in_parts(o)) {
        for (Py_ssize_t i = 0; i < Py_SIZE(o); i++)
            if (lies_in(result, PySequence_Fast_GET_ITEM(o, i))) return true;
        return false;
    }
    if (!is_array(result) || !is_array(o)) return false;
    return result == o || guards::spans_overlap(result, o);
}

// An array that lies in memory as a fresh one does, and is not a part of another that may be reached.
bool fresh_layout(PyObject* o) {
    ArrayMeta meta;
    std::string why;
    return !is_array(o) || (read_array_meta(o, &meta, &why) && meta.layout == graph::Layout::Contiguous &&
                            meta.standard_strides);
}

// Whether what a call gave, apart from its arguments, is to be treated as a view: of another part of the
// result, or of an array that nobody sees in another order.
bool gives_views(const Call& call) {
    std::vector<PyObject*> found;
    if (in_parts(call.result))
        for (Py_ssize_t i = 0; i < Py_SIZE(call.result); i++)
            found.push_back(PySequence_Fast_GET_ITEM(call.result, i));
    else
        found.push_back(call.result);
    for (size_t i = 0; i < found.size(); i++) {
        for (size_t k = 0; k < i; k++)
            if (lies_in(found[i], found[k])) return true;
        if (!fresh_layout(found[i])) return true;
    }
    return false;
}

// np.median(x, overwrite_input=True) and its like, which leave an array changed.
bool changes_array(TraceBuilder& tb, const Call& call) {
    const InPlaceFlag* flag = in_place_flag(call.callable);
    if (!flag) return false;
    const size_t named = call.kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(call.kwnames)) : 0;
    const size_t positional = call.args.size() - named;
    const Operand* given = flag->position < positional ? &call.args[flag->position] : nullptr;
    for (size_t k = 0; k < named; ++k)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(call.kwnames, static_cast<Py_ssize_t>(k)),
                                             flag->keyword) == 0)
            given = &call.args[positional + k];
    return given && (given->obj != Py_False || !require_fixed(tb, *given));
}

// Where the argument `out=` stands; the number of arguments when there is none.
size_t output_keyword(const Call& call) {
    const Py_ssize_t named = call.kwnames ? PyTuple_GET_SIZE(call.kwnames) : 0;
    for (Py_ssize_t i = 0; i < named; i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(call.kwnames, i), "out") == 0)
            return call.args.size() - static_cast<size_t>(named - i);
    return call.args.size();
}

// Functions and methods whose last positional argument may be the output array, by its name `out`.
bool takes_output_by_position(PyObject* callable) {
    static constexpr std::string_view kNames[] = {
        "accumulate", "all",   "any", "argmax", "argmin", "choose", "compress", "cumprod",
        "cumsum",     "dot",   "max", "mean",   "min",    "prod",   "ptp",      "reduce",
        "reduceat",   "round", "std", "sum",    "take",   "trace",  "var"};
    if (const Ufunc* u = ufunc_of(callable)) return u->generalized && u->nin == 2;
    const PyRef name = PyRef::steal(PyObject_GetAttrString(callable, "__name__"));
    PyErr_Clear();
    return std::find(std::begin(kNames), std::end(kNames), guards::utf8(name.get())) != std::end(kNames);
}

// Where the array stands that the call filled and gave back: `out=`, or the last of several arguments.
size_t output_of(const Call& call) {
    size_t out = output_keyword(call);
    if (out == call.args.size() && !call.kwnames && out >= 2 && call.args[out - 1].obj == call.result &&
        takes_output_by_position(call.callable))
        --out;
    if (out < call.args.size() && (call.args[out].obj != call.result || !is_array(call.result)))
        return call.args.size();
    return out;
}

bool names_dtype(const Operand& o) {
    return PyType_Check(o.obj) || PyUnicode_Check(o.obj) || PyArray_DescrCheck(o.obj);
}

// Whether a call on such arguments can be made again, and reports nothing that a replay would not see.
bool repeatable(TraceBuilder& tb, const Call& call, bool host, bool may_share) {
    const auto refuse = [&](const char* why) { return tb.fail(Reason::UnknownCall, why), false; };
    PyObject* sample = in_parts(call.result) && Py_SIZE(call.result) > 0
                           ? PySequence_Fast_GET_ITEM(call.result, 0)
                           : call.result;
    DType result_type = DType::F64;
    dtype_of_object(sample, &result_type);
    const bool converts = call.callable != array_method("view");  // which reads the same bytes
    const bool real = converts && !has_complex(sample) && result_type != DType::Bool;
    bool complex_operand = false, chooses_dtype = PyType_Check(call.callable);
    bool into_real = false;  // np.pad(x, 1, constant_values=1j)
    const bool quiet = quiet_about_nothing(call.callable);
    for (const Operand& o : call.args) {
        complex_operand |= has_complex(o.obj);
        into_real |= &o != &call.args[0] && has_complex(o.obj);
        chooses_dtype |=
            names_dtype(o) || (o.obj == Py_None && is_function_or_method(call.callable, "astype"));
        if (is_array(o.obj) && PyArray_SIZE(reinterpret_cast<PyArrayObject*>(o.obj)) == 0 && !quiet)
            return refuse("an empty array");
        if (!may_share && o.obj == call.result && PyArray_Check(o.obj))
            return refuse("a function that returns its argument");
        if (!may_share && in_parts(call.result) && lies_in(o.obj, call.result))
            return refuse("a function that returns a view");
        if (!may_share && PyArray_Check(o.obj) && !(host && host_only(o)) &&
            (overlaps(call.result, o.obj) || overlaps(o.obj, call.result)))
            return refuse("a function that returns a view");
        if (!rebuildable(tb, o)) return refuse("a function with such an argument");
    }
    if (real && ((complex_operand && chooses_dtype) || into_real))
        return refuse("a conversion from complex, which warns");
    if (const size_t out = output_keyword(call); out < call.args.size() && given(tb, &call.args[out]))
        return refuse("out=");
    if (changes_array(tb, call)) return refuse("a function that changes its argument");
    std::vector<PyObject*> argv;
    for (const Operand& o : call.args) argv.push_back(o.obj);
    const size_t named = call.kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(call.kwnames)) : 0;
    if (warns_by_itself(call.callable, argv.data(), argv.size() - named, call.kwnames))
        return refuse("a function that warns about such arguments");
    return true;
}

// A key with a mask selects as many elements as it has true ones.
bool has_mask(PyObject* key) {
    if (is_array(key)) return PyArray_ISBOOL(reinterpret_cast<PyArrayObject*>(key));
    if (!PyTuple_CheckExact(key)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++)
        if (has_mask(PyTuple_GET_ITEM(key, i))) return true;
    return false;
}

// A function that fills an array and gives it back.
ShadowRef into_output(TraceBuilder& tb, const Call& call, size_t at) {
    const Operand& out = call.args[at];
    if (!array_operand(tb, &out)) return tb.fail(Reason::UnknownCall, "out= that is not an ndarray");
    std::vector<Operand> args(call.args.begin(), call.args.end());
    args.erase(args.begin() + static_cast<std::ptrdiff_t>(at));
    const bool complex =
        graph::is_complex(out.shadow->dtype) && std::none_of(args.begin(), args.end(), names_dtype);
    for (const Operand& o : args) {
        // np.dot(x, x, out=x) tells the world when it drops a copy because of an error.
        const bool itself = o.obj == out.obj && !is_function_or_method(call.callable, "dot");
        if (!itself && lies_in(out.obj, o.obj)) return tb.fail(Reason::UnknownCall, "out= that is read");
        if (!complex && has_complex(o.obj))
            return tb.fail(Reason::UnknownCall, "complex into real, which warns");
    }
    const Py_ssize_t named = call.kwnames ? PyTuple_GET_SIZE(call.kwnames) : 0;
    PyRef names;
    if (named > 1) {
        names = PyRef::steal(PyTuple_New(named - 1));
        const auto left_out =
            static_cast<Py_ssize_t>(at) - (static_cast<Py_ssize_t>(call.args.size()) - named);
        for (Py_ssize_t i = 0, k = 0; names && i < named; i++)
            if (i != left_out)
                PyTuple_SET_ITEM(names.get(), k++, Py_NewRef(PyTuple_GET_ITEM(call.kwnames, i)));
    }
    const PyRef like = PyRef::steal(
        PyArray_NewLikeArray(reinterpret_cast<PyArrayObject*>(out.obj), NPY_KEEPORDER, nullptr, 0));
    if (!like || PyErr_Occurred()) return PyErr_Clear(), tb.fail(Reason::UnknownCall, "out=");
    const Call inner = {call.callable, args, names.get(), like.get()};
    return repeatable(tb, inner, false, false) ? lower_call_into(tb, inner, out) : nullptr;
}

ShadowRef whole_call(TraceBuilder& tb, const Call& call, bool may_share, ExtentsBy by = ExtentsBy::Guards) {
    auto refuse = [&](const char* why) { return tb.fail(Reason::UnknownCall, why); };
    if (!call.callable) return refuse("this function");
    if (const size_t out = output_of(call); out < call.args.size()) return into_output(tb, call, out);
    const bool host = host_result(call), parts = plain_parts(call.result);
    if (!host && !parts && !plain_result(call.result))
        return refuse("a function whose result is no plain array");
    if (!repeatable(tb, call, host, may_share)) return nullptr;
    if (host) return tb.host_library(call.callable, call.args, call.kwnames, call.result);
    if (!parts && python_number(call.result))
        return tb.number_library(call.callable, call.args, call.kwnames, call.result);
    // Which of view and copy a function chooses may hang on what no guard looks at.
    const Sharing sharing = may_share           ? Sharing::Arguments
                            : gives_views(call) ? Sharing::Hidden
                                                : Sharing::None;
    if (sharing == Sharing::Arguments && std::any_of(call.args.begin(), call.args.end(), host_only))
        return refuse("a function that returns a view");
    if (parts) return tb.parts_library(call.callable, call.args, call.kwnames, call.result, sharing, by);
    return tb.library(call.callable, call.args, call.kwnames, call.result, nullptr, sharing, by);
}

}  // namespace

ShadowRef lower_library(TraceBuilder& tb, const Call& call) { return whole_call(tb, call, false); }

// Of ints that decide whether an argument itself is given back.
static ShadowRef lower_fixed_ints(TraceBuilder& tb, const Call& call) {
    for (const Operand& o : call.args)
        if ((PyLong_Check(o.obj) || PyArray_IsScalar(o.obj, Integer)) && !require_fixed(tb, o))
            return nullptr;
    return lower_library(tb, call);
}

// Whether ints rounded to decimals of 0 and more are the argument itself, as before NumPy 2.4.
static bool rounding_gives_back() {
    return once([] {
        npy_intp n = 1;
        const PyRef ints = PyRef::steal(PyArray_ZEROS(1, &n, NPY_INT64, 0));
        const PyRef rounded = PyRef::steal(ints ? PyObject_CallMethod(ints.get(), "round", "i", 1) : nullptr);
        PyErr_Clear();
        return !rounded || rounded.get() == ints.get();
    });
}

ShadowRef lower_rounded(TraceBuilder& tb, const Call& call) {
    return rounding_gives_back() ? lower_fixed_ints(tb, call) : lower_library(tb, call);
}

// np.where: with one argument, its elements decide about the extents.
ShadowRef lower_where_whole(TraceBuilder& tb, const Call& call) {
    return call.args.size() == 1 ? lower_by_values(tb, call) : lower_library(tb, call);
}

bool is_always_fresh(Lowering lower) {
    return lower == lower_library || lower == lower_where_whole ||
           (lower == lower_rounded && !rounding_gives_back());
}

ShadowRef lower_by_values(TraceBuilder& tb, const Call& call) {
    return whole_call(tb, call, false, ExtentsBy::Values);
}

ShadowRef lower_getitem(TraceBuilder& tb, const Call& call) {
    return whole_call(tb, call, false, has_mask(call.args[1].obj) ? ExtentsBy::Values : ExtentsBy::Guards);
}

ShadowRef lower_shared(TraceBuilder& tb, const Call& call) { return whole_call(tb, call, true); }

// np.histogram(x, bins): bins that are an array are given back.
static ShadowRef lower_histogram(TraceBuilder& tb, const Call& call) {
    const bool array = std::any_of(call.args.begin(), call.args.end(), [&](const Operand& o) {
        return &o != call.args.data() && is_array(o.obj);
    });
    return array ? lower_shared(tb, call) : lower_library(tb, call);
}

ShadowRef lower_object(TraceBuilder& tb, const Call& call) {
    if (plain_result(call.result)) return lower_library(tb, call);
    if (!PyList_CheckExact(call.result) && !PyBytes_CheckExact(call.result))
        return tb.fail(Reason::UnknownCall, "a function that gives this");
    if (!repeatable(tb, call, false, false)) return nullptr;
    return tb.object_library(call.callable, call.args, call.kwnames, call.result);
}

ShadowRef library_of(TraceBuilder& tb, PyObject* callable, std::initializer_list<Operand> args,
                     PyObject* result) {
    std::span<const Operand> span(args.begin(), args.size());
    return lower_library(tb, {callable, span, nullptr, result});
}

namespace {

constexpr CallRow kLibraryRows[] = {
#define FRESH(where) {where, lower_library},
#define FIXED(where) {where, lower_fixed_ints},
#define VALUES(where) {where, lower_by_values},
#define VIEW(where) {where, lower_shared},
#define OBJECT(where) {where, lower_object},
#define HISTOGRAM(where) {where, lower_histogram},
#include "frontend/hosts/numpy/functions.def"
#undef FRESH
#undef FIXED
#undef VALUES
#undef VIEW
#undef OBJECT
#undef HISTOGRAM
};

}  // namespace

void register_library() { add_rows(kLibraryRows); }

}  // namespace stator::frontend::numpy
