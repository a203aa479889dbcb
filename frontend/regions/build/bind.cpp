// Which argument of a call is which parameter: the one place that knows keywords, defaults, `/` and `*`.
//
// Calls of Python functions fill the callee's parameter slots. Calls of functions that regions know by name
// (signatures.def) become calls by position: args[i] is parameter i, Kind::Empty where nothing was given, and
// what is left out at the end, or is None and means the same, is not there. So their code never sees a
// keyword.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "frontend/cpython/builtins.h"
#include "frontend/hosts/numpy/functions/table.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/names.h"
#include "frontend/regions/build/builder.h"
#include "guards/check/names.h"

namespace stator::frontend::regions {

namespace {

using numpy::Parameters;

// By callable; nullptr when there is no row for it.
const Parameters* parameters_of(PyObject* callable) {
    if (const numpy::Function* f = numpy::function_of(callable)) return &numpy::parameters_of(*f);
    static const std::map<PyObject*, Parameters> table = [] {
        const auto NUMPY = numpy::numpy_function, ARRAY = numpy::array_method;
        const auto BUILTIN = builtin;
        std::map<PyObject*, Parameters> all;
#define SIGNATURE(owner, name, text) \
    if (PyObject* f = owner(#name)) all.emplace(f, numpy::parse_parameters(text));
#include "frontend/regions/build/signatures.def"
#undef SIGNATURE
        return all;
    }();
    auto it = table.find(callable);
    return it == table.end() ? nullptr : &it->second;
}

// Inputs, then out, where, dtype; the rest of what ufuncs take is rare.
Parameters parameters_of_ufunc(const PyUFuncObject* ufunc) {
    Parameters out;
    for (int i = 0; i < ufunc->nin; ++i) out.push_back({"", false, true, false});
    for (int i = 0; i < ufunc->nout; ++i) out.push_back({ufunc->nout == 1 ? "out" : "", true, true, true});
    for (const char* name : {"where", "dtype"}) out.push_back({name, name[0] == 'd', false, true});
    return out;
}

}  // namespace

bool Builder::bind_known(PyObject* callable, std::vector<Value>* args, PyObject* names) {
    Parameters ufunc;
    const Parameters* parameters = parameters_of(callable);
    if (!parameters && PyObject_TypeCheck(callable, &PyUFunc_Type)) {
        ufunc = parameters_of_ufunc(reinterpret_cast<PyUFuncObject*>(callable));
        parameters = &ufunc;
    }
    const auto named = names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0;
    if (!parameters) return named == 0 || unknown("a call with keywords");
    const size_t positional = args->size() - named;
    std::vector<Value> bound(parameters->size());
    size_t next = 0;
    for (size_t i = 0; i < positional; ++i) {
        if (next >= bound.size() || !(*parameters)[next].by_position)
            return unknown("a call with too many arguments");
        if (!(*parameters)[next].rest) {
            bound[next++] = std::move((*args)[i]);
            continue;
        }
        if (bound[next].kind == Kind::Empty) bound[next] = composed(Kind::Tuple, {});
        bound[next].items.push_back(std::move((*args)[i]));
    }
    for (size_t k = 0; k < named; ++k) {
        const std::string name = guards::utf8(PyTuple_GET_ITEM(names, static_cast<Py_ssize_t>(k)));
        size_t at = 0;
        while (at < bound.size() && !((*parameters)[at].by_name && (*parameters)[at].name == name)) ++at;
        if (at == bound.size() || bound[at].kind != Kind::Empty)
            return unknown(fmt::format("a call with the keyword {}", name));
        bound[at] = std::move((*args)[positional + k]);
    }
    while (!bound.empty()) {
        const bool none = bound.back().is_none() && (*parameters)[bound.size() - 1].optional;
        if (bound.back().kind != Kind::Empty && !none) break;
        bound.pop_back();
    }
    *args = std::move(bound);
    return true;
}

// The callee's parameter slots, as CPython fills them; defaults are what they were when the region was built,
// which is guarded (Followed).
bool Builder::bind_python(PyObject* function, const std::vector<Value>& args, PyObject* names,
                          std::vector<Value>* slots) {
    auto* co = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
    const std::string named = std::string("a call of ") + guards::utf8(co->co_name);
    const auto argc = static_cast<size_t>(co->co_argcount);
    const auto all = argc + static_cast<size_t>(co->co_kwonlyargcount);
    const auto keywords = names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0;
    const size_t positional = args.size() - keywords;
    if (co->co_flags & CO_VARKEYWORDS) return unknown(named + ", which takes any keywords");
    std::vector<char> set(all, 0);
    for (size_t i = 0; i < std::min(positional, argc); ++i) (*slots)[i] = args[i], set[i] = 1;
    if (co->co_flags & CO_VARARGS) {
        Value rest = composed(Kind::Tuple, {});
        for (size_t i = argc; i < positional; ++i) rest.items.push_back(args[i]);
        (*slots)[all] = std::move(rest);
    } else if (positional > argc) {
        return unknown(named + " with too many arguments");
    }
    const auto name_of = [&](size_t i) {
        return PyTuple_GET_ITEM(co->co_localsplusnames, static_cast<Py_ssize_t>(i));
    };
    for (size_t k = 0; k < keywords; ++k) {
        PyObject* name = PyTuple_GET_ITEM(names, static_cast<Py_ssize_t>(k));
        auto at = static_cast<size_t>(co->co_posonlyargcount);
        while (at < all && PyUnicode_Compare(name, name_of(at)) != 0) ++at;
        if (at == all || set[at]) return unknown(named + " with the keyword " + guards::utf8(name));
        (*slots)[at] = args[positional + k], set[at] = 1;
    }
    PyObject* defaults = PyFunction_GET_DEFAULTS(function);
    PyObject* kwdefaults = PyFunction_GET_KW_DEFAULTS(function);
    const size_t without = argc - static_cast<size_t>(defaults ? PyTuple_GET_SIZE(defaults) : 0);
    for (size_t i = 0; i < all; ++i) {
        if (set[i]) continue;
        PyObject* value = nullptr;
        if (i < argc && i >= without)
            value = PyTuple_GET_ITEM(defaults, static_cast<Py_ssize_t>(i - without));
        if (i >= argc && kwdefaults) {
            value = PyDict_GetItem(kwdefaults, name_of(i));
            if (value)
                out_->pinned.push_back(
                    {PyRef::borrow(kwdefaults), PyRef::borrow(name_of(i)), PyRef::borrow(value)});
        }
        if (!value) return unknown(named + " without an argument");
        if (!constant(value, &(*slots)[i])) return false;
    }
    return true;
}

// A dtype argument: a dtype object, a scalar type, Python's types of numbers, a name. Not given: `standard`.
bool Builder::dtype_argument(const Value& v, DType standard, DType* out) {
    if (v.kind == Kind::Empty || v.is_none()) return *out = standard, true;
    if (v.kind != Kind::Known) return unknown("a dtype that is " + describe(v));
    PyArray_Descr* d = nullptr;
    const bool names_one = PyArray_DescrCheck(v.obj) || PyType_Check(v.obj) || PyUnicode_CheckExact(v.obj);
    if (!names_one || !PyArray_DescrConverter(v.obj, &d)) {
        PyErr_Clear();
        return unknown("a dtype that is " + describe(v));
    }
    const PyRef keep_alive = PyRef::steal(reinterpret_cast<PyObject*>(d));
    const std::optional<DType> t = graph::dtype_numbered(d->type_num);
    if (t && d == numpy::descr_of(*t)) return *out = *t, true;
    return unknown("a dtype that is " + describe(v));
}

}  // namespace stator::frontend::regions
