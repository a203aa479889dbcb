// Arrays that kernels do not read: byte-swapped or unaligned ones, dates, long doubles. NumPy itself works on
// them inside a trace; parts and attributes of them, and what it makes of them, are real objects there.
//
// What writes to one does so in a single call that cannot fail half way: values are computed and converted
// into fresh memory before. It also fails before it writes where the array shares memory with an argument
// that kernels read, whose values the trace may hold on to.
#include "frontend/hosts/numpy/lower.h"
#include "frontend/once.h"
#include "guards/check/check.h"

namespace stator::frontend::numpy {

namespace {

// `value` as it will be stored in the part of `array` that a key selects, in fresh memory; a part without
// axes may be a number.
PyRef converted(PyObject* array, PyObject* part, PyObject* value) {
    PyArray_Descr* descr = PyArray_DESCR(reinterpret_cast<PyArrayObject*>(array));
    auto* shape = is_array(part) ? reinterpret_cast<PyArrayObject*>(part) : nullptr;
    Py_INCREF(descr);
    PyRef fresh = PyRef::steal(
        PyArray_Empty(shape ? PyArray_NDIM(shape) : 0, shape ? PyArray_DIMS(shape) : nullptr, descr, 0));
    if (!fresh || PyObject_SetItem(fresh.get(), Py_Ellipsis, value) < 0) return {};
    return fresh;
}

// array_assign(array, key, value, *inputs)
PyObject* array_assign(PyObject*, PyObject* const* args, Py_ssize_t count) {
    PyObject *array = args[0], *key = args[1], *value = args[2];
    for (Py_ssize_t i = 3; i < count; i++)
        if (guards::spans_overlap(array, args[i])) return PyErr_Format(PyExc_ValueError, "memory is shared");
    auto* to = reinterpret_cast<PyArrayObject*>(array);
    auto* from = reinterpret_cast<PyArrayObject*>(value);
    PyRef fresh;
    if (!is_array(value) || !PyArray_EquivTypes(PyArray_DESCR(from), PyArray_DESCR(to))) {
        if (is_array(value) && guards::spans_overlap(array, value))
            return PyErr_Format(PyExc_ValueError, "memory is shared");
        PyRef part = PyRef::steal(PyObject_GetItem(array, key));
        fresh = part ? converted(array, part.get(), value) : PyRef();
        if (!fresh) return nullptr;
        value = fresh.get();
    }
    return PyObject_SetItem(array, key, value) < 0 ? nullptr : Py_NewRef(Py_None);
}

PyObject* assign_function() {
    static PyMethodDef method = {"array_assign",
                                 reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(array_assign)),
                                 METH_FASTCALL, nullptr};
    return once([] { return PyCFunction_New(&method, nullptr); });
}

bool assign(TraceBuilder& tb, const Operand& array, const Operand& key, const Operand& value) {
    std::vector<Operand> args = {array, key, value};
    for (const Operand& input : tb.inputs_read()) args.push_back(input);
    return tb.host_effect(assign_function(), args);
}

bool complex_number(PyObject* o) {
    if (is_array(o)) return PyArray_ISCOMPLEX(reinterpret_cast<PyArrayObject*>(o));
    DType t;
    return dtype_of_object(o, &t) && graph::is_complex(t);
}

PyObject* getter(const char* attribute) {
    PyRef module = module_named("operator");
    return module ? PyObject_CallMethod(module.get(), "attrgetter", "s", attribute) : nullptr;
}

}  // namespace

// In place, `a op= b`: NumPy's loop into fresh memory, then an assignment. Only for loops that give the same
// bits however memory lies, because the fresh array is aligned and without gaps.
ShadowRef lower_host_in_place(TraceBuilder& tb, const Ufunc& u, const Operand& a, const Operand& b) {
    DType t;
    bool same_bits = dtype_of_number(PyArray_TYPE(reinterpret_cast<PyArrayObject*>(a.obj)), &t) &&
                     (graph::is_integer(t) || u.exact || (u.op != Op::HostLoop && graph::is_native(u.op, t)));
    if (!same_bits) return tb.fail(Reason::UnknownOp, u.name + " in place of such an array");
    Operand both[] = {a, b};
    ShadowRef fresh = ufunc_into(tb, u, both, a, nullptr);
    PyObject* everything = Py_Ellipsis;
    if (!fresh || !assign(tb, a, {tb.constant(everything), everything}, {fresh, a.obj})) return nullptr;
    return a.shadow;
}

bool lower_host_store(TraceBuilder& tb, const Operand& a, const Operand& key, const Operand& value) {
    if (complex_number(value.obj) && !complex_number(a.obj))
        return tb.fail(Reason::Unstoreable, "complex into real"), false;
    bool known = is_array(value.obj) || PyArray_CheckScalar(value.obj) || PyLong_CheckExact(value.obj) ||
                 PyFloat_CheckExact(value.obj) || PyBool_Check(value.obj) || PyComplex_CheckExact(value.obj);
    if (!known || !fixed_index(tb, key)) return tb.fail(Reason::Unstoreable, "into such an array"), false;
    return assign(tb, a, key, value);
}

ShadowRef lower_host_attr(TraceBuilder& tb, const Operand& a, std::string_view name, PyObject* result) {
    if (name == "ndim" || name == "itemsize") return tb.constant(result);
    PyObject* transposed = once([] { return getter("T"); });
    if (name == "T") return library_of(tb, transposed, {a}, result);
    return tb.fail(Reason::UnknownAttr, std::string(name));
}

}  // namespace stator::frontend::numpy
