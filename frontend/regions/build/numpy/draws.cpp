// Random numbers in a loop: methods of NumPy's Generator and RandomState, of Python's Random, and the
// functions of `np.random` and `random`, which are methods of a hidden one.
//
// They are called one by one and in order, so the numbers are the program's own: through Python, or as the C
// functions that Python would call. What has
// been drawn cannot be drawn again: Python goes on behind the call, never in front of it.

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "frontend/cpython/functions.h"
#include "frontend/hosts/call_pure.h"
#include "frontend/hosts/numpy/generators.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/policy.h"
#include "frontend/regions/build/builder.h"
#include "guards/check/functions.h"
#include "guards/check/names.h"

namespace stator::frontend::regions {

namespace {

bool is_size(const Value& v) {
    if (v.kind == Kind::Int) return true;
    return v.kind == Kind::Tuple &&
           std::all_of(v.items.begin(), v.items.end(), [](const Value& n) { return n.kind == Kind::Int; });
}

bool is_argument(const Value& v) {
    if (v.kind == Kind::Known) return v.obj == Py_None || PyType_Check(v.obj);
    const bool number = v.is_number() && !(v.kind == Kind::Scalar && v.dtype == DType::F16);
    return number || is_size(v);
}

// Small numbers that methods accept: each int is greater than the one before. Floats may be probabilities,
// or, if `growing`, bounds.
PyRef sample_of(const Value& v, bool growing, long* next) {
    switch (v.kind) {
        case Kind::Known: return PyRef::borrow(v.obj);
        case Kind::Bool: return PyRef::borrow(Py_True);
        case Kind::Float:
            return PyRef::steal(PyFloat_FromDouble(growing ? static_cast<double>(++*next) : 0.5));
        case Kind::Scalar: {
            const PyRef n = graph::is_float(v.dtype) ? PyRef::steal(PyFloat_FromDouble(0.5))
                                                     : PyRef::steal(PyLong_FromLong(++*next));
            PyObject* type = reinterpret_cast<PyObject*>(numpy::descr_of(v.dtype)->typeobj);
            return PyRef::steal(PyObject_CallOneArg(type, n.get()));
        }
        case Kind::Tuple: {
            PyRef t = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(v.items.size())));
            for (size_t i = 0; i < v.items.size(); ++i)
                PyTuple_SET_ITEM(t.get(), static_cast<Py_ssize_t>(i),
                                 sample_of(v.items[i], growing, next).release());
            return t;
        }
        default: return PyRef::steal(PyLong_FromLong(++*next));
    }
}

PyRef attribute_of(PyObject* o, const char* name) {
    if (!asking_runs_no_code(o, name)) return {};
    PyRef a = PyRef::steal(PyObject_GetAttrString(o, name));
    PyErr_Clear();
    return a;
}

// Whether a Python function is one of this module's.
bool is_function_of(PyObject* function, const char* module) {
    PyObject* name = PyDict_GetItemString(PyFunction_GET_GLOBALS(function), "__name__");
    return name && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, module) == 0;
}

}  // namespace

// Declined: it is none of these.
Did Builder::call_draw(PyObject* callable, std::vector<Value>& args, PyObject* names, Value* out) {
    if (!numpy::draws_are_possible() || PyType_Check(callable) || PyObject_TypeCheck(callable, &PyUFunc_Type))
        return Did::Declined;
    // A method, whose object comes first, or one that is bound to its object.
    PyObject* self = nullptr;
    if (!args.empty() && args[0].kind == Kind::Passed && args[0].slot >= 0) self = object_at(args[0].slot);
    const bool bound = !self || !numpy::generator_class(self);
    const PyRef owner = bound ? attribute_of(callable, "__self__") : PyRef{};
    if (bound) self = owner.get();
    numpy::GeneratorClass* source = self ? numpy::generator_class(self) : nullptr;
    if (!source) return Did::Declined;
    const PyRef name = attribute_of(callable, "__name__");
    if (!name || !PyUnicode_Check(name.get())) return Did::Declined;
    const std::string method = guards::utf8(name.get());
    if (!source->draws(method)) return Did::Declined;
    const auto first = args.begin() + (bound ? 0 : 1);
    const auto named = names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0;
    const auto positional = static_cast<size_t>(args.end() - first) - named;
    const std::string what = "a call of " + method;
    // Of other numbers the module random warns, by a function that is its own.
    if ((method == "randint" || method == "randrange") && source->module == std::string_view("random") &&
        !std::all_of(first, args.end(), [](const Value& v) { return v.kind == Kind::Int; }))
        return unknown(what + " with such arguments");
    // Of anything else it gives what that holds.
    if (method == "choice" && (args.end() - first != 1 || first->kind != Kind::Int))
        return unknown(what + " with such arguments");
    if (!std::all_of(first, args.end(), is_argument) || args.size() > policy().region_draw_arguments)
        return unknown(what + " with such arguments");

    // What such a call gives, found out on another generator.
    PyObject* const generator = source->sample();
    const PyRef probe = generator ? attribute_of(generator, method.c_str()) : PyRef{};
    const auto sampled = [&](bool growing) {
        std::vector<PyRef> held;
        std::vector<PyObject*> argv;
        long next = growing ? 1 : 0;  // zipf takes what is greater than 1
        for (auto v = first; v != args.end(); ++v) {
            held.push_back(sample_of(*v, growing, &next));
            argv.push_back(held.back().get());
            if (!argv.back()) return PyErr_Clear(), PyRef();
        }
        PyRef made =
            probe ? call_pure(probe.get(), argv.data(), positional, names, OnWarning::Fail) : PyRef();
        PyErr_Clear();
        return made;
    };
    PyRef sample = sampled(false);
    if (!sample) sample = sampled(true);
    HostResult gives;
    if (!sample || !describe_result(sample.get(), &gives) || !gives.owns)
        return PyErr_Clear(), unknown(what + " with such arguments");

    std::vector<ValueId> extents;
    if (gives.kind == Kind::Array) {  // as `size` says, or the arguments of rand and randn
        std::vector<Value> sizes;
        const bool spelled_out = method == "rand" || method == "randn";
        for (size_t k = 0; k < named; ++k)
            if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, static_cast<Py_ssize_t>(k)),
                                                 "size") == 0)
                sizes = {*(first + static_cast<ptrdiff_t>(positional + k))};
        if (spelled_out)
            sizes.assign(first, args.end());
        else if (sizes.empty() && positional > 0)
            sizes = {*(first + static_cast<ptrdiff_t>(positional) - 1)};
        const auto tuples = [](const Value& v) { return v.kind == Kind::Tuple; };
        if (std::count_if(first, args.end(), tuples) > std::count_if(sizes.begin(), sizes.end(), tuples))
            return unknown(what + " with such arguments");
        if (sizes.size() == 1 && sizes[0].kind == Kind::Tuple) {
            const std::vector<Value> items = sizes[0].items;
            sizes = items;
        }
        for (const Value& n : sizes) {
            if (n.kind != Kind::Int) return unknown(what + " of such a size");
            if (!guard(pointwise(graph::Op::GreaterEqual, DType::I64, DType::Bool, {n.id, const_int(0)})))
                return false;
            extents.push_back(n.id);
        }
        if (std::ssize(extents) != gives.rank) return unknown(what + " of such a size");
    }
    if (!finish_expressions() || !no_lazy_left()) return false;
    std::vector<ValueId> operands;
    if (!bound) operands.push_back(address_of(args[0].slot, EntryInput::Object));
    std::vector<Value> given = args;
    for (Value& v : given) {
        v.whole = false;
        if (v.is_number()) operands.push_back(v.id);
        for (const Value& item : v.items) operands.push_back(item.id);
    }
    HostFunction f{PyRef::borrow(callable), PyRef::borrow(names), std::move(given), true};
    // Of numbers neither NumPy's own methods warn nor those of Python's Random.
    PyObject* const function = PyMethod_Check(callable) ? PyMethod_GET_FUNCTION(callable) : callable;
    const bool librarys = guards::is_function(function) ? is_function_of(function, source->module)
                                                        : is_own_method(callable, self, method);
    f.silent = librarys && std::all_of(first, args.end(), [](const Value& v) {
                   return v.kind == Kind::Int || v.kind == Kind::Float || v.kind == Kind::Bool;
               });
    LibraryRoutine routine =
        direct_draw_routine(self, source->module, method, f, gives, draw_routine(f, gives));
    Value place;
    if (!memory(gives.dtype, extents, gives.kind == Kind::Array, &place) ||
        !library(method, std::move(routine), place, operands))
        return false;
    out_->draws = true;
    effect();
    if (gives.kind == Kind::Array) return *out = std::move(place), true;
    if (!load_element(place, {}, out)) return false;
    *out = number(gives.kind, gives.dtype, out->id);
    return true;
}

}  // namespace stator::frontend::regions
