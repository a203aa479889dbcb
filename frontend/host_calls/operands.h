// Operands that operators and ufuncs are served for: exact ndarrays of float64 with few elements, and numbers
// that NumPy takes for float64 beside one.
#pragma once

#include <cstdint>

#include "frontend/hosts/numpy/fresh.h"
#include "frontend/hosts/numpy/lower.h"

namespace stator::frontend {

// Arrays with more elements are NumPy's: its loops are vectors, ours are as short as possible.
inline constexpr int64_t kMostElements = 256;
inline constexpr int kMostAxes = 4;

// An array of float64 that is laid out in the one way in which its results are, too: C-contiguous, and not in
// Fortran's order at the same time, unless it has one axis.
struct SmallArray {
    PyArrayObject* array = nullptr;
    int64_t size = 0;

    explicit operator bool() const { return array != nullptr; }
    double* data() const { return reinterpret_cast<double*>(PyArray_BYTES(array)); }
    int rank() const { return PyArray_NDIM(array); }
    const npy_intp* shape() const { return PyArray_DIMS(array); }
    // The last axes are those of the other array.
    bool ends_like(const SmallArray& other) const {
        const int more = rank() - other.rank();
        if (more < 0) return false;
        for (int i = 0; i < other.rank(); ++i)
            if (shape()[more + i] != other.shape()[i]) return false;
        return true;
    }
    bool is_like(const SmallArray& other) const { return rank() == other.rank() && ends_like(other); }
};

// NumPy's one dtype object for it; set by start_host_calls.
inline PyArray_Descr* g_float64 = nullptr;

inline SmallArray small_array(PyObject* o) {
    if (!PyArray_CheckExact(o)) return {};
    auto* a = reinterpret_cast<PyArrayObject*>(o);
    constexpr int kLaidOut = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
    const int rank = PyArray_NDIM(a);
    if (PyArray_DESCR(a) != g_float64 || (PyArray_FLAGS(a) & kLaidOut) != kLaidOut) return {};
    if (rank < 1 || rank > kMostAxes || (rank > 1 && (PyArray_FLAGS(a) & NPY_ARRAY_F_CONTIGUOUS))) return {};
    int64_t size = 1;
    for (int i = 0; i < rank; ++i) {
        if (PyArray_DIM(a, i) > kMostElements) return {};
        size *= PyArray_DIM(a, i);
    }
    if (size < 1 || size > kMostElements) return {};
    return {a, size};
}

enum class NumberKind : uint8_t {
    None,
    Float,  // of Python or NumPy
    Int,    // of Python; as a double it is the same number
};

inline NumberKind read_number(PyObject* o, double* value) {
    if (PyFloat_CheckExact(o)) return *value = PyFloat_AS_DOUBLE(o), NumberKind::Float;
    if (Py_TYPE(o) == &PyDoubleArrType_Type) return *value = PyArrayScalar_VAL(o, Double), NumberKind::Float;
    if (!PyLong_CheckExact(o)) return NumberKind::None;
    constexpr int64_t kExact = int64_t{1} << 53;
    int overflow = 0;
    const long long whole = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow != 0 || whole > kExact || whole < -kExact) return NumberKind::None;
    *value = static_cast<double>(whole);
    return NumberKind::Int;
}

// A new array laid out as `like` is; nullptr without an error where NumPy has to make it.
inline PyObject* new_like(const SmallArray& like, PyArray_Descr* descr, int64_t itemsize) {
    return numpy::new_small_array(descr, like.rank(), like.shape(), like.size * itemsize);
}

}  // namespace stator::frontend
