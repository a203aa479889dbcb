// Handlers of instructions that only newer versions have (3.12+: intrinsics, super().x; 3.14: LOAD_SPECIAL),
// and IMPORT_FROM, whose error text each version words differently.
#include "frontend/cpython/ops.h"
#if PY_VERSION_HEX >= 0x030C0000
#include "internal/pycore_intrinsics.h"
#include "internal/pycore_pyerrors.h"
#endif
#if PY_VERSION_HEX >= 0x030E0000
#include "internal/pycore_interpolation.h"
#include "internal/pycore_template.h"
#endif

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
#if PY_VERSION_HEX < 0x030C0000
    PyErr_SetImportError(text.get(), module_name, path.get());
#else
    PyObject *n = module_name ? module_name : Py_None, *p = path ? path.get() : Py_None;
    PyRef details = PyRef::steal(Py_BuildValue("{s:O,s:O,s:O}", "name", n, "path", p, "name_from", name));
    PyRef args = PyRef::steal(text ? PyTuple_Pack(1, text.get()) : nullptr);
    PyRef error =
        PyRef::steal(details && args ? PyObject_Call(PyExc_ImportError, args.get(), details.get()) : nullptr);
    if (error) PyErr_SetObject(PyExc_ImportError, error.get());
#endif
}

#endif

#if PY_VERSION_HEX < 0x030E0000

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

#endif

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

#else

// [super, class, self]; without the two-argument flag super() looks at this frame itself. A method is left
// bound, as the evaluator does when it has not specialized the instruction.
Step op_LoadSuperAttr(const Op& o) {
    PyObject* args[] = {top(o, 1), top(o)};
    PyRef super = PyRef::steal(PyObject_Vectorcall(top(o, 2), args, o.in.arg & 2, nullptr));
    PyObject* value = super ? PyObject_GetAttr(super.get(), o.in.obj) : nullptr;
    const bool method = o.in.flags & Insn::kMethod;
    if (!value || !method) return replace<3>(o, value);
    Step s = replace<3>(o, value);
    push_slot(o, raw::slot_null());
    if (raw::kMinor < 13) std::swap(sp(o)[-1], sp(o)[-2]);
    return s;
}

#if PY_VERSION_HEX < 0x030D0000

Step op_CallIntrinsic1(const Op&) { return Step::Cannot; }

Step op_CallIntrinsic2(const Op& o) {
    if (o.in.arg != INTRINSIC_PREP_RERAISE_STAR) return Step::Cannot;
    return replace<2>(o, _PyExc_PrepReraiseStar(top(o, 1), top(o)));
}

#else

Step op_CallIntrinsic1(const Op& o) {
    return replace<1>(o, _PyIntrinsics_UnaryFunctions[o.in.arg].func(o.ts, top(o)));
}

Step op_CallIntrinsic2(const Op& o) {
    return replace<2>(o, _PyIntrinsics_BinaryFunctions[o.in.arg].func(o.ts, top(o, 1), top(o)));
}

#endif

#endif

#if PY_VERSION_HEX < 0x030E0000

Step op_LoadSpecial(const Op&) { return Step::Cannot; }
Step op_BuildInterpolation(const Op&) { return Step::Cannot; }
Step op_BuildTemplate(const Op&) { return Step::Cannot; }

#else

Step op_LoadSpecial(const Op& o) {
    PyObject* owner = top(o);
    raw::slot_t found[2] = {raw::slot_null(), raw::slot_copy(sp(o)[-1])};  // becomes [method, self or NULL]
    int err = _PyObject_LookupSpecialMethod(_Py_SpecialMethods[o.in.arg].name, found);
    if (err <= 0) {
        if (err == 0) {
            const _Py_SpecialMethod& special = _Py_SpecialMethods[o.in.arg];
            const bool suggest = _PyEval_SpecialMethodCanSuggest(owner, o.in.arg);
            PyErr_Format(PyExc_TypeError, suggest ? special.error_suggestion : special.error, owner);
        }
        raw::slot_close(found[1]);
        return Step::Raised;
    }
    raw::slot_t old = sp(o)[-1];
    sp(o)[-1] = found[0];
    push_slot(o, found[1]);
    raw::slot_close(old);
    return next(o);
}

Step op_BuildInterpolation(const Op& o) {
    const bool has_spec = o.in.arg & 1;
    PyRef spec = has_spec ? PyRef::borrow(top(o)) : PyRef::steal(PyUnicode_New(0, 0));
    PyObject* result =
        _PyInterpolation_Build(top(o, has_spec + 1), top(o, has_spec), o.in.arg >> 2, spec.get());
    return replace_many(o, 2 + has_spec, result);
}

Step op_BuildTemplate(const Op& o) { return replace<2>(o, _PyTemplate_Build(top(o, 1), top(o))); }

#endif

}  // namespace stator::frontend::ops
