// Handlers of instructions that only newer versions have (3.12+: intrinsics, super().x; 3.14: LOAD_SPECIAL),
// and IMPORT_FROM, whose error text each version words differently.
#include "frontend/cpython/ops.h"

namespace stator::frontend::ops {

namespace {

#if PY_VERSION_HEX < 0x030D0000

void raise_cannot_import(PyObject* module, PyObject* name, PyObject* module_name) {
    PyRef shown = module_name ? PyRef::borrow(module_name)
                              : PyRef::steal(PyUnicode_FromString("<unknown module name>"));
    if (!shown) return;
    PyRef path = PyRef::steal(PyModule_GetFilenameObject(module));
    PyRef text;
    if (!path) {
        PyErr_Clear();
        text = PyRef::steal(
            PyUnicode_FromFormat("cannot import name %R from %R (unknown location)", name, shown.get()));
    } else {
        PyRef spec = PyRef::steal(PyObject_GetAttrString(module, "__spec__"));
        const bool partial = _PyModuleSpec_IsInitializing(spec.get());
        text = PyRef::steal(
            PyUnicode_FromFormat(partial ? "cannot import name %R from partially initialized module %R "
                                           "(most likely due to a circular import) (%S)"
                                         : "cannot import name %R from %R (%S)",
                                 name, shown.get(), path.get()));
    }
    PyErr_SetImportError(text.get(), module_name, path.get());
}

#endif

// The attribute, or the submodule of that name in sys.modules (circular imports); NULL without an error:
// neither.
PyObject* import_from(PyObject* module, PyObject* name, PyRef& module_name) {
    PyObject* value = PyObject_GetAttr(module, name);
    if (value || !PyErr_ExceptionMatches(PyExc_AttributeError)) return value;
    PyErr_Clear();
    module_name = PyRef::steal(PyObject_GetAttrString(module, "__name__"));
    if (!module_name || !PyUnicode_Check(module_name.get())) {
        PyErr_Clear();
        module_name = {};
        return nullptr;
    }
    PyRef full = PyRef::steal(PyUnicode_FromFormat("%U.%U", module_name.get(), name));
    return full ? PyImport_GetModule(full.get()) : nullptr;
}

}  // namespace

Step op_ImportFrom(const Op& o) {
#if PY_VERSION_HEX >= 0x030E0000
    PyObject* value = _PyEval_ImportFrom(o.ts, top(o), o.in.obj);
#else
    PyRef module_name;
    PyObject* value = import_from(top(o), o.in.obj, module_name);
    if (!value && !PyErr_Occurred()) {
        // 3.13 looks for shadowed modules before it words the error; it may do so itself.
        if (raw::kMinor == 13) return Step::Cannot;
#if PY_VERSION_HEX < 0x030D0000
        raise_cannot_import(top(o), o.in.obj, module_name.get());
#endif
    }
#endif
    if (!value) return Step::Raised;
    push(o, value);
    return next(o);
}

#if PY_VERSION_HEX < 0x030C0000

Step op_LoadSuperAttr(const Op&) { return Step::Cannot; }
Step op_CallIntrinsic1(const Op&) { return Step::Cannot; }
Step op_CallIntrinsic2(const Op&) { return Step::Cannot; }

#endif

#if PY_VERSION_HEX < 0x030E0000

Step op_LoadSpecial(const Op&) { return Step::Cannot; }

#endif

}  // namespace stator::frontend::ops
