// np.array and np.asarray of a few numbers, or of a few rows of them: `np.array([x, y, 0.0])`, of which NumPy
// finds out what it is first (500 ns).
#include "frontend/host_calls/new_arrays.h"

#include <algorithm>
#include <cstring>

#include "frontend/host_calls/operands.h"
#include "frontend/host_calls/slots.h"
#include "frontend/host_calls/verified.h"
#include "frontend/hosts/numpy/names.h"
#include "frontend/profile/doing.h"

namespace stator::frontend {

namespace {

using Fast = PyObject* (*)(PyObject * self, PyObject* const* args, Py_ssize_t count, PyObject* names);

constexpr Py_ssize_t kMostItems = 64;
constexpr int64_t kMostStacked = 2048;  // elements
Fast g_array, g_asarray;
Tally* g_tally;

bool is_row(PyObject* o) { return PyList_CheckExact(o) || PyTuple_CheckExact(o); }

// Numbers that were read from lists and tuples.
struct Numbers {
    double values[kMostItems];
    int64_t wholes[kMostItems];  // of the ints, as long as there are only such
    int64_t count = 0;
    bool has_float = false;

    // False where one is of another kind.
    bool add(PyObject* sequence) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); ++i) {
            if (count == kMostItems) return false;
            PyObject* item = PySequence_Fast_GET_ITEM(sequence, i);
            const NumberKind kind = read_number(item, &values[count]);
            if (kind == NumberKind::None) return false;
            if (kind == NumberKind::Int) wholes[count] = static_cast<int64_t>(values[count]);
            has_float |= kind == NumberKind::Float;
            ++count;
        }
        return true;
    }
};

PyObject* filled(PyArray_Descr* descr, int rank, const npy_intp* shape, const void* from, int64_t bytes) {
    PyObject* result = numpy::new_small_array(descr, rank, shape, bytes);
    if (result)
        std::memcpy(PyArray_DATA(reinterpret_cast<PyArrayObject*>(result)), from, static_cast<size_t>(bytes));
    return result;
}

// NULL without an error where NumPy has to be asked.
PyObject* from_rows(PyObject* list, bool as_float) {
    const Py_ssize_t length = PySequence_Fast_GET_SIZE(list);
    if (length < 1 || length > kMostItems) return nullptr;
    Numbers numbers;
    npy_intp shape[2] = {length, 0};
    const bool nested = is_row(PySequence_Fast_GET_ITEM(list, 0));
    if (nested) {
        shape[1] = PySequence_Fast_GET_SIZE(PySequence_Fast_GET_ITEM(list, 0));
        if (shape[1] < 1) return nullptr;
        for (Py_ssize_t i = 0; i < length; ++i) {
            PyObject* row = PySequence_Fast_GET_ITEM(list, i);
            if (!is_row(row) || PySequence_Fast_GET_SIZE(row) != shape[1] || !numbers.add(row))
                return nullptr;
        }
    } else if (!numbers.add(list)) {
        return nullptr;
    }
    const int rank = nested ? 2 : 1;
    if (numbers.has_float || as_float)
        return filled(g_float64, rank, shape, numbers.values, numbers.count * int64_t{sizeof(double)});
    return filled(numpy::descr_of(numpy::DType::I64), rank, shape, numbers.wholes,
                  numbers.count * int64_t{sizeof(int64_t)});
}

// Arrays of float64 with the same extents, one after the other.
PyObject* from_arrays(PyObject* list) {
    const Py_ssize_t length = PySequence_Fast_GET_SIZE(list);
    const SmallArray first = small_array(PySequence_Fast_GET_ITEM(list, 0));
    if (!first || first.rank() == kMostAxes || length > kMostItems || length * first.size > kMostStacked)
        return nullptr;
    npy_intp shape[kMostAxes] = {length};
    std::copy(first.shape(), first.shape() + first.rank(), shape + 1);
    for (Py_ssize_t i = 1; i < length; ++i) {
        const SmallArray other = small_array(PySequence_Fast_GET_ITEM(list, i));
        if (!other || !other.is_like(first)) return nullptr;
    }
    const int64_t bytes = first.size * int64_t{sizeof(double)};
    PyObject* result = numpy::new_small_array(g_float64, first.rank() + 1, shape, length * bytes);
    if (!result) return nullptr;
    char* out = PyArray_BYTES(reinterpret_cast<PyArrayObject*>(result));
    for (Py_ssize_t i = 0; i < length; ++i, out += bytes)
        std::memcpy(out, small_array(PySequence_Fast_GET_ITEM(list, i)).data(), static_cast<size_t>(bytes));
    return result;
}

bool means_float64(PyObject* dtype) {
    return dtype == reinterpret_cast<PyObject*>(&PyFloat_Type) ||
           dtype == reinterpret_cast<PyObject*>(&PyDoubleArrType_Type);
}

// With `dtype=` at most.
PyObject* answer(PyObject* const* args, Py_ssize_t count, PyObject* names) {
    if (count < 1 || count > 2 || !is_row(args[0])) return nullptr;
    const Timed timed(Activity::Answering, kFramesLine);
    const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
    if (count + named > 2) return nullptr;
    if (named && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "dtype") != 0) return nullptr;
    const bool as_float = count + named == 2;
    if (as_float && !means_float64(args[1])) return nullptr;
    if (!as_float) return array_of(args[0]).release();
    return from_rows(args[0], as_float);
}

template <Fast* Numpys>
PyObject* enter_new(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
    if (host_calls_are_on())
        if (PyObject* result = answer(args, count, names))
            return answered(result, *g_tally, "array", args, count,
                            [&] { return (*Numpys)(self, args, count, names); });
    return (*Numpys)(self, args, count, names);
}

template <Fast* Numpys>
void take_function(const char* name) {
    PyObject* function = numpy::numpy_function(name);
    if (!function || !PyCFunction_CheckExact(function)) return;
    PyMethodDef& def = *reinterpret_cast<PyCFunctionObject*>(function)->m_ml;
    if (def.ml_flags != (METH_FASTCALL | METH_KEYWORDS)) return;
    *Numpys = reinterpret_cast<Fast>(reinterpret_cast<void (*)()>(def.ml_meth));
    const Fast ours = enter_new<Numpys>;
    def.ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(ours));
}

}  // namespace

PyRef array_of(PyObject* sequence) {
    if (!is_row(sequence) || PySequence_Fast_GET_SIZE(sequence) < 1) return {};
    const bool arrays = PyArray_CheckExact(PySequence_Fast_GET_ITEM(sequence, 0));
    return PyRef::steal(arrays ? from_arrays(sequence) : from_rows(sequence, false));
}

void take_new_arrays() {
    g_tally = &new_tally("numpy.array");
    take_function<&g_array>("array");
    take_function<&g_asarray>("asarray");
}

}  // namespace stator::frontend
