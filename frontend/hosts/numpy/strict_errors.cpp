// StrictErrors and scalar_bits (runtime.h). NumPy keeps np.errstate in one context variable whose values are
// capsules; one strict capsule per set of conditions that matter is made on first use and kept. A capsule has
// the size of the ufuncs' buffers, too, which decides in what pieces conversions are reduced: capsules are
// those of one size (np.setbufsize).

#include <algorithm>
#include <iterator>
#include <string>

#include "frontend/hosts/numpy/runtime.h"
#include "frontend/once.h"
#include "guards/check/numpy_api.h"

namespace stator::frontend::numpy {

namespace {

struct ErrorCapsules {
    PyObject* variable = nullptr;
    PyObject* make = nullptr;
    PyObject* describe = nullptr;
    PyObject* strict[16] = {};
    PyRef current;  // the program's, when it was last looked at
    long buffer_size = 0;
    bool usable = false;

    ErrorCapsules() {
        PyRef umath = module_named("numpy._core.umath");
        if (umath) {
            variable = PyObject_GetAttrString(umath.get(), "_extobj_contextvar");
            make = PyObject_GetAttrString(umath.get(), "_make_extobj");
            describe = PyObject_GetAttrString(umath.get(), "_get_extobj_dict");
        }
        usable = variable && make && describe && PyContextVar_CheckExact(variable);
        PyErr_Clear();
    }

    // Drops the capsules where the program has another size of buffers than they.
    void follow_buffer_size() {
        PyObject* found = nullptr;
        if (PyContextVar_Get(variable, nullptr, &found) < 0) return PyErr_Clear();
        PyRef now = PyRef::steal(found);  // none: NumPy's default
        if (now.get() == current.get() && buffer_size > 0) return;
        if (now && std::find(std::begin(strict), std::end(strict), now.get()) != std::end(strict)) return;
        PyRef all = PyRef::steal(PyObject_CallNoArgs(describe));
        PyObject* size =
            all && PyDict_Check(all.get()) ? PyDict_GetItemString(all.get(), "bufsize") : nullptr;
        const long elements = size && PyLong_Check(size) ? PyLong_AsLong(size) : 0;
        PyErr_Clear();
        if (elements != buffer_size)
            for (PyObject*& c : strict) Py_CLEAR(c);
        buffer_size = elements;
        current = std::move(now);
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
    c.follow_buffer_size();
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
