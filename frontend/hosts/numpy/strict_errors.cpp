// StrictErrors and scalar_bits (runtime.h). NumPy keeps np.errstate in one context variable whose values are
// capsules; one strict capsule per set of conditions that matter is made on first use and kept.

#include <string>

#include "frontend/hosts/numpy/runtime.h"
#include "frontend/once.h"
#include "guards/check_numpy_api.h"

namespace stator::frontend::numpy {

namespace {

struct ErrorCapsules {
    PyObject* variable = nullptr;
    PyObject* make = nullptr;
    PyObject* strict[16] = {};
    bool usable = false;

    ErrorCapsules() {
        PyRef umath = PyRef::steal(PyImport_ImportModule("numpy._core.umath"));
        if (umath) {
            variable = PyObject_GetAttrString(umath.get(), "_extobj_contextvar");
            make = PyObject_GetAttrString(umath.get(), "_make_extobj");
        }
        usable = variable && make && PyContextVar_CheckExact(variable);
        PyErr_Clear();
    }

    PyObject* capsule(uint32_t mask) {
        PyObject*& c = strict[mask & 15];
        if (c) return c;
        auto mode = [&](uint32_t bit) { return mask & bit ? "raise" : "ignore"; };
        PyRef kwargs = PyRef::steal(Py_BuildValue(
            "{s:s,s:s,s:s,s:s}", "divide", mode(kernels::kFaultDivide), "over", mode(kernels::kFaultOverflow),
            "under", mode(kernels::kFaultUnderflow), "invalid", mode(kernels::kFaultInvalid)));
        PyRef none = PyRef::steal(PyTuple_New(0));
        if (kwargs && none) c = PyObject_Call(make, none.get(), kwargs.get());
        PyErr_Clear();
        return c;
    }
};

ErrorCapsules& capsules() {
    return once([] { return ErrorCapsules(); });
}

}  // namespace

StrictErrors::StrictErrors(uint32_t set, uint32_t ignored) {
    ErrorCapsules& c = capsules();
    if (!c.usable) return;
    constexpr uint32_t kAll = 15;
    uint32_t mask = (set & ~ignored & kAll) | faults_that_matter(kAll & ~set);
    if (PyObject* capsule = c.capsule(mask)) token_ = PyContextVar_Set(c.variable, capsule);
    PyErr_Clear();
}

StrictErrors::~StrictErrors() {
    if (!token_) return;
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb);
    if (PyContextVar_Reset(capsules().variable, token_) < 0) PyErr_Clear();
    Py_DECREF(token_);
    PyErr_Restore(type, value, tb);
}

void scalar_bits(PyObject* scalar, char* out) { PyArray_ScalarAsCtype(scalar, out); }

}  // namespace stator::frontend::numpy
