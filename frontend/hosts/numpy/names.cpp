#include "frontend/hosts/numpy/names.h"

#include "frontend/hosts/numpy/lower.h"
#include "frontend/once.h"
#include "guards/check/functions.h"
#include "guards/check/names.h"

namespace stator::frontend::numpy {

namespace {

bool begins_with_numpy(PyObject* module) {
    const std::string name = guards::utf8(module);
    return name == "numpy" || name.starts_with("numpy.");
}

// numpy's names as they were when this was called first.
const PyRef& numpy_names() {
    return once([] {
        const PyRef m = module_named("numpy");
        PyRef names = PyRef::steal(m ? PyDict_Copy(PyModule_GetDict(m.get())) : nullptr);
        PyErr_Clear();
        return names;
    });
}

}  // namespace

bool is_dispatcher(PyObject* o) {
    return std::string_view(Py_TYPE(o)->tp_name) == "numpy._ArrayFunctionDispatcher";
}

bool is_numpys_own(PyObject* o) {
    // functools.wraps copies __module__; the globals are where the function was written.
    if (guards::is_function(o))
        return begins_with_numpy(PyDict_GetItemString(PyFunction_GET_GLOBALS(o), "__name__"));
    if (PyCFunction_Check(o)) {
        PyObject* self = PyCFunction_GET_SELF(o);  // np.add.reduce: of a ufunc
        return (self && ufunc_of(self)) ||
               begins_with_numpy(reinterpret_cast<PyCFunctionObject*>(o)->m_module);
    }
    if (Py_TYPE(o) == &PyMethodDescr_Type)
        return is_numpys_own(reinterpret_cast<PyObject*>(PyDescr_TYPE(o)));  // np.ufunc.reduce
    if (PyType_Check(o)) {
        const PyRef module = PyRef::steal(PyObject_GetAttrString(o, "__module__"));
        if (!module) PyErr_Clear();
        return begins_with_numpy(module.get());
    }
    return is_dispatcher(o) || ufunc_of(o);
}

PyObject* numpy_function(const char* name) {
    PyObject* o = numpy_names() ? PyDict_GetItemString(numpy_names().get(), name) : nullptr;
    return o && is_numpys_own(o) ? o : nullptr;
}
PyObject* array_method(const char* name) { return PyDict_GetItemString(PyArray_Type.tp_dict, name); }
PyObject* ufunc_method(const char* name) { return PyDict_GetItemString(PyUFunc_Type.tp_dict, name); }

bool is_function(PyObject* callable, const char* name) {
    PyObject* f = numpy_function(name);
    return f && f == callable;
}

bool is_function_or_method(PyObject* callable, const char* name) {
    return is_function(callable, name) || array_method(name) == callable;
}

std::string_view ufunc_name(PyObject* o) {
    const Ufunc* f = ufunc_of(o);
    return f ? std::string_view(f->name) : std::string_view();
}

void keep_names() { numpy_names(); }

}  // namespace stator::frontend::numpy
