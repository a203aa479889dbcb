#include "frontend/hosts/cupy/runtime.h"

#include "frontend/hosts/numpy/lower.h"
#include "frontend/once.h"
#include "guards/check/check.h"
#include "guards/check/cupy_api.h"

namespace stator::frontend::cupy {

using graph::DType;

namespace {

struct Objects {
    PyObject *alloc, *strides;  // cupy.cuda.alloc, ("strides",)
    PyObject* dtypes[graph::kDTypeCount];
};

const Objects& objects() {
    return once([] {
        Objects o{};
        PyRef module = module_named("cupy");
        PyRef cuda = PyRef::steal(module ? PyObject_GetAttrString(module.get(), "cuda") : nullptr);
        o.alloc = cuda ? PyObject_GetAttrString(cuda.get(), "alloc") : nullptr;
        PyErr_Clear();
        for (int i = 0; i < graph::kDTypeCount; ++i)
            if (graph::kDTypes[i].numpy_type >= 0)
                o.dtypes[i] = reinterpret_cast<PyObject*>(numpy::descr_of(static_cast<DType>(i)));
        return o;
    });
}

PyRef tuple_of(int count, const int64_t* numbers) {
    PyRef tuple = PyRef::steal(PyTuple_New(count));
    for (int i = 0; tuple && i < count; ++i)
        PyTuple_SET_ITEM(tuple.get(), i, PyLong_FromLongLong(numbers[i]));
    return tuple;
}

}  // namespace

PyObject* new_array(DType dtype, int ndim, const int64_t* shape, const std::vector<int>& perm) {
    const Objects& o = objects();
    PyRef size = tuple_of(ndim, shape);
    if (!size) return nullptr;
    auto* type = reinterpret_cast<PyObject*>(guards::cupy_api()->array);
    PyObject* args[4] = {size.get(), o.dtypes[static_cast<int>(dtype)]};
    if (perm.empty()) return PyObject_Vectorcall(type, args, 2, nullptr);
    int64_t strides[8], step = graph::info(dtype).size;
    for (int k = ndim; k-- > 0;) {
        const int axis = perm[static_cast<size_t>(k)];
        strides[axis] = step;
        step *= shape[axis] > 0 ? shape[axis] : 1;
    }
    PyRef bytes = PyRef::steal(PyLong_FromLongLong(step)), stride = tuple_of(ndim, strides);
    PyRef memory = PyRef::steal(bytes && o.alloc ? PyObject_CallOneArg(o.alloc, bytes.get()) : nullptr);
    if (!memory || !stride) return nullptr;
    args[2] = memory.get(), args[3] = stride.get();
    return PyObject_Vectorcall(type, args, 4, nullptr);
}

char* locate(PyObject* array, int rank, int64_t* out) {
    guards::TensorView t;
    if (!guards::is_cupy_array(array) || !guards::read_cupy_array(array, &t) || t.rank != rank)
        return nullptr;
    const int64_t item = graph::info(t.dtype).size;
    for (int i = 0; i < rank; ++i) out[i] = t.strides[i] * item;
    return t.data;
}

int64_t array_size(PyObject* object) {
    guards::TensorView t;
    if (!guards::is_cupy_array(object) || !guards::read_cupy_array(object, &t)) return 0;
    int64_t count = 1;
    for (int i = 0; i < t.rank; ++i) count *= t.shape[i];
    return count;
}

static bool apart(PyObject* result, PyObject* arg, const char* lo, const char* hi) {
    if (PyTuple_CheckExact(arg) || PyList_CheckExact(arg)) {
        for (Py_ssize_t i = 0; i < Py_SIZE(arg); ++i) {
            PyObject* item = PyTuple_CheckExact(arg) ? PyTuple_GET_ITEM(arg, i) : PyList_GET_ITEM(arg, i);
            if (!apart(result, item, lo, hi)) return false;
        }
        return true;
    }
    if (!guards::is_cupy_array(arg)) return true;
    if (result == arg) return false;
    const char *begin, *end;
    guards::memory_span(arg, &begin, &end);
    return begin == end || lo == hi || end <= lo || hi <= begin;
}

bool lies_apart(PyObject* result, PyObject* const* args, size_t count) {
    const char *lo, *hi;
    guards::memory_span(result, &lo, &hi);
    for (size_t i = 0; i < count; ++i)
        if (!apart(result, args[i], lo, hi)) return false;
    return true;
}

}  // namespace stator::frontend::cupy
