// numpy_host(): the table of entry points, and the table that says which callable means what.
//
// Callables are found by identity: ufuncs, array-function dispatchers, builtins, method descriptors of
// ndarray and types are all singletons that the tables of the families name once at start-up. Bound methods
// of ufuncs (np.add.reduce) are made anew by every attribute access and are recognized by what they are bound
// to.
#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "frontend/cpython/functions.h"
#include "frontend/hosts/numpy/functions/table.h"
#include "frontend/hosts/numpy/lapack.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/names.h"
#include "frontend/hosts/numpy/trace_steps.h"
#include "guards/check/names.h"

namespace stator::frontend::numpy {

namespace {

struct Entry {
    Lowering lower;
    Lowering otherwise;  // where that fails
    bool writes;         // into its first argument
    const Function* function;
};
std::unordered_map<PyObject*, Entry>& table() {
    static auto* t = new std::unordered_map<PyObject*, Entry>;
    return *t;
}

Lowering whole_call(Gives gives) {
    switch (gives) {
        case Gives::Shares: return lower_shared;
        case Gives::Rounded: return lower_rounded;
        case Gives::Where: return lower_where_whole;
        case Gives::Anything: return nullptr;
        case Gives::Fresh: break;
    }
    return lower_library;
}

// Rows of parts of NumPy that are not imported yet (numpy.fft is imported on first use); asking for them
// would import.
std::vector<CallRow>& waiting() {
    static auto* rows = new std::vector<CallRow>;
    return *rows;
}

bool part_is_missing(std::string_view where) {
    size_t dot = where.find('.');
    if (dot == 0 || dot == std::string_view::npos || where.find(':') != std::string_view::npos) return false;
    PyRef numpy = module_named("numpy");
    PyObject* names = numpy ? PyModule_GetDict(numpy.get()) : nullptr;
    PyErr_Clear();
    return !names || !PyDict_GetItemString(names, std::string(where.substr(0, dot)).c_str());
}

// The object a row names; a new reference, or null when this NumPy (or Python) has none.
PyRef find_object(std::string_view where) {
    PyRef at;
    if (where.starts_with('.')) {
        at = PyRef::borrow(reinterpret_cast<PyObject*>(&PyArray_Type));
        PyObject* found = PyDict_GetItemString(PyArray_Type.tp_dict, std::string(where.substr(1)).c_str());
        return PyRef::borrow(found);
    }
    std::string module = "numpy", path(where);
    if (size_t colon = path.find(':'); colon != std::string::npos) {
        module = path.substr(0, colon);
        path = path.substr(colon + 1);
    }
    at = module_named(module.c_str());
    while (at && !path.empty()) {
        size_t dot = path.find('.');
        std::string name = path.substr(0, dot);
        path = dot == std::string::npos ? "" : path.substr(dot + 1);
        at = PyRef::steal(PyObject_GetAttrString(at.get(), name.c_str()));
    }
    PyErr_Clear();
    return at && module == "numpy" && !is_numpys_own(at.get()) ? PyRef() : std::move(at);
}

// ufunc.method for a bound builtin method of a ufunc.
PyObject* bound_ufunc(PyObject* callable) {
    if (!PyCFunction_Check(callable)) return nullptr;
    PyObject* self = PyCFunction_GET_SELF(callable);
    return self && ufunc_of(self) ? self : nullptr;
}

// A bound method of a ufunc, found as one object: the ufunc comes first in the arguments then.
ShadowRef lower_ufunc_method(TraceBuilder& tb, const Call& call) {
    PyObject* self = PyCFunction_GET_SELF(call.callable);
    std::vector<Operand> args{{tb.constant(self), self}};
    args.insert(args.end(), call.args.begin(), call.args.end());
    PyRef name = PyRef::steal(PyObject_GetAttrString(call.callable, "__name__"));
    PyObject* method = name ? PyDict_GetItem(PyUFunc_Type.tp_dict, name.get()) : nullptr;
    PyErr_Clear();
    if (!method) return tb.fail(Reason::UnknownCall, "a method of a ufunc");
    return numpy_host().lower_call(tb, {method, args, call.kwnames, call.result});
}

bool init(std::string* error) {
    static bool done = false;
    if (done) return true;
    if (!init_runtime(error)) return false;
    register_functions();
    register_scalars();
    register_closeness();
    register_creation();
    register_pad();
    register_compounds();
    register_shape_ops();
    register_facts();
    register_in_place();
    register_library();
    register_error_state();
    done = true;
    return true;
}

bool knows(PyObject* callable) {
    if (ufunc_of(callable) || table().count(callable) || bound_ufunc(callable) || is_lapack(callable))
        return true;
    if (waiting().empty()) return false;
    std::vector<CallRow> rows = std::move(waiting());
    waiting().clear();
    add_rows(rows);
    return table().count(callable) != 0;
}

ShadowRef lower_call(TraceBuilder& tb, const Call& call) {
    auto it = table().find(call.callable);
    bool host_operand = std::any_of(call.args.begin(), call.args.end(), host_only);
    if (it != table().end() && host_operand && !it->second.writes) return lower_library(tb, call);
    if (it != table().end()) {
        size_t before = tb.graph.nodes.size();
        ShadowRef s = it->second.lower(tb, call);
        if (s || !it->second.otherwise) return s;
        Reason reason = tb.reason;
        std::string detail = tb.reason_detail;
        tb.rollback(before);
        s = it->second.otherwise(tb, call);
        return s ? s : tb.fail(reason, detail);
    }
    if (ufunc_of(call.callable)) return host_operand ? lower_library(tb, call) : lower_ufunc_call(tb, call);
    if (bound_ufunc(call.callable)) return lower_ufunc_method(tb, call);
    if (is_lapack(call.callable)) return lower_lapack(tb, call);
    return tb.fail(Reason::UnknownCall, kind_for_messages(call.callable));
}

PyObject* method(PyObject* array, PyObject* name) {
    if (!PyUnicode_Check(name)) return nullptr;
    PyObject* found = nullptr;
    if (is_array(array))
        found = PyDict_GetItem(PyArray_Type.tp_dict, name);
    else if (PyArray_CheckScalar(array))
        found = _PyType_Lookup(Py_TYPE(array), name);
    return found && table().count(found) ? found : nullptr;
}

bool is_scalar(PyObject* o) { return PyArray_CheckScalar(o) && !PyArray_Check(o); }

}  // namespace

void add_rows(std::span<const CallRow> rows) {
    for (const CallRow& row : rows) {
        if (part_is_missing(row.where)) {
            waiting().push_back(row);
            continue;
        }
        const Lowering otherwise = row.function ? whole_call(row.function->gives)
                                   : row.shares ? lower_shared
                                   : row.pure   ? lower_library
                                                : nullptr;
        if (PyRef o = find_object(row.where);
            o && table().emplace(o.get(), Entry{row.lower, otherwise, row.writes, row.function}).second)
            o.release();  // singletons: kept for ever
    }
}

bool bind(TraceBuilder& tb, const Call& call, std::initializer_list<const char*> names, const Operand** out) {
    return bind(tb, call, std::span(names.begin(), names.size()), out);
}

bool bind(TraceBuilder& tb, const Call& call, std::span<const char* const> names, const Operand** out) {
    size_t keywords = call.kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(call.kwnames)) : 0;
    size_t positional = call.args.size() - keywords;
    std::fill(out, out + names.size(), nullptr);
    if (positional > names.size())
        return tb.fail(Reason::UnknownCall, "a call with that many arguments"), false;
    for (size_t i = 0; i < positional; i++) out[i] = &call.args[i];
    for (size_t k = 0; k < keywords; k++) {
        PyObject* name = PyTuple_GET_ITEM(call.kwnames, static_cast<Py_ssize_t>(k));
        size_t i = 0;
        for (const char* candidate : names) {
            if (PyUnicode_CompareWithASCIIString(name, candidate) == 0) break;
            i++;
        }
        if (i == names.size())
            return tb.fail(Reason::UnknownCall, "an argument " + guards::utf8(name)), false;
        out[i] = &call.args[positional + k];
    }
    return true;
}

const Function* function_of(PyObject* callable) {
    if (!knows(callable)) return nullptr;
    const auto it = table().find(callable);
    return it == table().end() ? nullptr : it->second.function;
}

bool known_callable(PyObject* callable) { return knows(callable); }

std::vector<PyObject*> known_dispatchers() {
    std::vector<PyObject*> out;
    for (const auto& [callable, entry] : table())
        if (is_dispatcher(callable) && !entry.writes) out.push_back(callable);
    return out;
}

bool is_pure(PyObject* callable, bool* quiet) {
    *quiet = true;
    constexpr int kBinaryOperators = 13;  // NB_ADD to NB_XOR
    for (int nb = 0; nb < kBinaryOperators; ++nb)
        if (callable == operator_function(nb)) return true;
    if (!knows(callable) || bound_ufunc(callable) || is_lapack(callable)) return false;
    *quiet = quiet_about_nothing(callable);
    if (const Ufunc* u = ufunc_of(callable)) return u->nout == 1;
    const Entry& e = table().at(callable);
    return is_always_fresh(e.lower) || is_always_fresh(e.otherwise);
}

}  // namespace stator::frontend::numpy

namespace stator::frontend {

const Host& numpy_host() {
    static const Host host = {
        .name = "numpy",
        .id = graph::HostId::NumPy,
        .init = numpy::init,
        .knows = numpy::knows,
        .lower_call = numpy::lower_call,
        .lower_binary = numpy::lower_binary,
        .lower_compare = numpy::lower_compare,
        .lower_unary = numpy::lower_unary,
        .lower_subscript = numpy::lower_subscript,
        .lower_store = numpy::lower_store,
        .lower_attr = numpy::lower_attr,
        .lower_set_attr = numpy::lower_set_attr,
        .method = numpy::method,
        .lower_truth = numpy::lower_truth,
        .is_array = numpy::is_array,
        .is_scalar = numpy::is_scalar,
    };
    return host;
}

}  // namespace stator::frontend
