#include "frontend/host_calls/ufunc_loops.h"

#include <optional>
#include <vector>

#include "frontend/hosts/numpy/runtime.h"

namespace stator::frontend {

namespace {

using graph::DType;

PyObject* as_numpy_names_it(OperandKind k) {
    switch (k) {
        case OperandKind::PythonInt: return reinterpret_cast<PyObject*>(&PyLong_Type);
        case OperandKind::PythonFloat: return reinterpret_cast<PyObject*>(&PyFloat_Type);
        case OperandKind::PythonComplex: return reinterpret_cast<PyObject*>(&PyComplex_Type);
        default: return reinterpret_cast<PyObject*>(numpy::descr_of(dtype_of(k)));
    }
}

std::optional<DType> dtype_of_descr(PyObject* descr) {
    if (!PyArray_DescrCheck(descr)) return std::nullopt;
    const auto t = graph::dtype_numbered(reinterpret_cast<PyArray_Descr*>(descr)->type_num);
    const bool plain = t && descr == reinterpret_cast<PyObject*>(numpy::descr_of(*t));
    return plain ? t : std::nullopt;
}

// Whether NumPy converts the operand before its loop reads it.
bool converts(OperandKind k, DType t) { return is_dtype(k) && dtype_of(k) != t; }

}  // namespace

UfuncLoop UfuncLoops::ask(OperandKind first, OperandKind second) const {
    const OperandKind kinds[] = {first, second};
    const int nin = ufunc_.nin;
    const PyRef dtypes = PyRef::steal(PyTuple_New(nin + 1));
    if (!dtypes) return PyErr_Clear(), UfuncLoop{};
    for (int i = 0; i < nin; ++i) PyTuple_SET_ITEM(dtypes.get(), i, Py_NewRef(as_numpy_names_it(kinds[i])));
    PyTuple_SET_ITEM(dtypes.get(), nin, Py_NewRef(Py_None));
    const PyRef resolved =
        PyRef::steal(PyObject_CallMethod(ufunc_.object, "resolve_dtypes", "(O)", dtypes.get()));
    PyErr_Clear();  // there is no such loop: NumPy says so when it is called
    if (!resolved || !PyTuple_Check(resolved.get()) || PyTuple_GET_SIZE(resolved.get()) != nin + 1) return {};
    std::vector<DType> types;
    for (int i = 0; i <= nin; ++i) {
        const auto t = dtype_of_descr(PyTuple_GET_ITEM(resolved.get(), i));
        if (!t) return {};
        types.push_back(*t);
    }
    UfuncLoop found;
    found.out = types.back();
    numpy::LoopTypes loop_types{.out = found.out};
    bool inexact = false, converted = false, half = false;
    for (int i = 0; i < nin; ++i) {
        const DType t = types[static_cast<size_t>(i)];
        found.in[i] = loop_types.in[i] = t;
        inexact |= graph::is_float(t) || graph::is_complex(t);
        converted |= converts(kinds[i], t);
        half |= t == DType::F16;
        // A Python number as a bool or half is a conversion of its own.
        if (!is_dtype(kinds[i]) && (t == DType::Bool || t == DType::F16)) return {};
    }
    found.any_layout = !inexact || numpy::is_exact(ufunc_, loop_types);
    // Which of two zeros they take depends on where in its call of the loop an element stands.
    if (inexact && (ufunc_.name == "fmax" || ufunc_.name == "fmin")) found.any_layout = false;
    // Which of two NaNs they take depends on how they are called as well.
    if (inexact && converted && (ufunc_.name == "maximum" || ufunc_.name == "minimum"))
        found.any_layout = false;
    // A loop that looks at its operands' strides meets those of NumPy's buffers where they are converted.
    if (!found.any_layout && (half || (converted && nin > 1))) return {};
    found.loop = numpy::find_numpys_loop({ufunc_.name, types});
    return found;
}

}  // namespace stator::frontend
