// Random numbers: methods of generators (frontend/hosts/numpy/generators.h) are calls of the trace, each made
// once and in the program's order. A checkpoint follows, since what has been drawn cannot be drawn again.

#include <algorithm>
#include <string>

#include "frontend/hosts/numpy/generators.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/record/recorder.h"
#include "guards/check/names.h"

namespace stator::frontend {

namespace {

// Its name, of a method of these classes; "" of anything else. Looks at attributes of builtin types only.
std::string method_name(PyObject* callable) {
    PyObject* function = PyMethod_Check(callable) ? PyMethod_GET_FUNCTION(callable) : callable;
    if (PyCFunction_Check(function)) return reinterpret_cast<PyCFunctionObject*>(function)->m_ml->ml_name;
    if (!PyType_HasFeature(Py_TYPE(function), Py_TPFLAGS_METHOD_DESCRIPTOR) || PyFunction_Check(function))
        return {};
    const PyRef name = PyRef::steal(PyObject_GetAttrString(function, "__name__"));
    PyErr_Clear();
    return name && PyUnicode_Check(name.get()) ? guards::utf8(name.get()) : std::string();
}

numpy::GeneratorClass* drawn_from(PyObject* generator, const std::string& method) {
    if (!generator || !numpy::draws_are_possible()) return nullptr;
    if (method == "choice") return nullptr;  // it gives what its argument holds
    numpy::GeneratorClass* c = numpy::generator_class(generator);
    return c && c->draws(method) ? c : nullptr;
}

}  // namespace

bool is_draw(PyObject* callable) {
    PyObject* self = PyMethod_Check(callable)      ? PyMethod_GET_SELF(callable)
                     : PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable)
                                                   : nullptr;
    const std::string name = self ? method_name(callable) : std::string();
    const numpy::GeneratorClass* c = drawn_from(self, name);
    if (!c) return false;
    // Each `rng.normal` is another object; those of the module stay.
    PyObject* m = PyDict_GetItemString(PyImport_GetModuleDict(), c->module);
    return m && PyModule_Check(m) && PyDict_GetItemString(PyModule_GetDict(m), name.c_str()) == callable;
}

bool is_draw_of(PyObject* generator, PyObject* callable) {
    return !PyMethod_Check(callable) && drawn_from(generator, method_name(callable)) != nullptr;
}

// The extents of what is drawn: those of `size`, or of the arguments. False where they are not known.
bool Recorder::drawn_shape(std::string_view method, std::span<const Operand> args, PyObject* kwnames,
                           PyObject* result, Shape* out) {
    if (!PyArray_Check(result)) return true;
    std::vector<graph::Id> arrays;
    for (const Operand& a : args)
        if (a.shadow->kind == ShadowKind::Array) arrays.push_back(b_.value(a.shadow));
    if (!arrays.empty()) return b_.broadcast_shape(arrays, out);
    const size_t named = kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0,
                 positional = args.size() - named;
    std::vector<ShadowRef> sizes;
    if (method == "rand" || method == "randn")
        for (const Operand& a : args) sizes.push_back(a.shadow);
    else if (positional > 0)
        sizes = {args[positional - 1].shadow};
    for (size_t k = 0; k < named; ++k)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, static_cast<Py_ssize_t>(k)), "size") ==
            0)
            sizes = {args[positional + k].shadow};
    if (sizes.size() == 1 && sizes[0]->kind == ShadowKind::Tuple) {
        const std::vector<ShadowRef> items = sizes[0]->items;
        sizes = items;
    }
    auto* a = reinterpret_cast<PyArrayObject*>(result);
    if (static_cast<size_t>(PyArray_NDIM(a)) != sizes.size()) return false;
    for (size_t d = 0; d < sizes.size(); ++d) {
        if (sizes[d]->kind != ShadowKind::Int ||
            b_.hint(sizes[d]->sym) != PyArray_DIM(a, static_cast<int>(d)) || !b_.settle_extent(sizes[d]->sym))
            return false;
        out->push_back(b_.hint(sizes[d]->sym) < 2 ? b_.int_const(b_.hint(sizes[d]->sym)) : sizes[d]->sym);
    }
    return !sizes.empty();
}

// What a method of a generator gives; nullptr, with a reason, where the arguments are not known well enough.
ShadowRef Recorder::drawn(const CallParts& call, PyObject* result) {
    const bool bound = is_draw(call.callable.obj);
    const std::string method = method_name(call.callable.obj);
    const auto arguments = std::span(call.args).subspan(bound ? 0 : 1);
    // Such an int may have more bits than the trace's integers.
    if (PyLong_CheckExact(result) && method != "randint")
        return b_.fail(Reason::UnknownCall, "a function that gives an int");
    size_t arrays = 0, tuples = 0;
    for (const Operand& a : arguments) {
        if (a.obj == result) return b_.fail(Reason::UnknownCall, "out=");
        if (!b_.resolve(a.shadow, a.obj)) return nullptr;
        if (PyLong_CheckExact(result) && a.shadow->kind == ShadowKind::Int &&
            !b_.require(guards::Relation::Lt, a.shadow->sym, b_.int_const((int64_t{1} << 62) - 1)))
            return nullptr;
        if (PyTuple_CheckExact(a.obj))
            for (size_t i = 0; i < a.shadow->items.size(); ++i)
                if (!b_.resolve(a.shadow->items[i], PyTuple_GET_ITEM(a.obj, static_cast<Py_ssize_t>(i))))
                    return nullptr;
        const Shadow& s = *a.shadow;
        const bool number = s.kind == ShadowKind::Int || s.kind == ShadowKind::Object ||
                            (s.kind == ShadowKind::Scalar && !graph::is_complex(s.dtype));
        const bool size =
            s.kind == ShadowKind::Tuple && s.maker.empty() && PyTuple_CheckExact(a.obj) &&
            std::ranges::all_of(s.items, [](const ShadowRef& i) { return i->kind == ShadowKind::Int; });
        const bool array = s.kind == ShadowKind::Array && s.host == graph::HostId::NumPy &&
                           !graph::is_complex(s.dtype) && !b_.shape(a.shadow).empty();
        if (!number && !size && !array) return b_.fail(Reason::UnknownCall, "such an argument");
        arrays += array;
        tuples += size;
    }
    Shape shape;
    const auto given_size = [&] {
        const Py_ssize_t n = call.kwnames ? PyTuple_GET_SIZE(call.kwnames.get()) : 0;
        for (Py_ssize_t k = 0; k < n; ++k)
            if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(call.kwnames.get(), k), "size") == 0)
                return true;
        return false;
    };
    if (arrays && (tuples || given_size() || arguments.size() > 2))
        return b_.fail(Reason::UnknownCall, "arrays and a size");
    const HostScope scope(b_, numpy_host());
    if (!drawn_shape(method, arguments, call.kwnames.get(), result, &shape))
        return b_.fail(Reason::UnknownCall, "a size that is not known");
    return b_.draw(call.callable.obj, call.args, call.kwnames.get(), result, shape);
}

}  // namespace stator::frontend
