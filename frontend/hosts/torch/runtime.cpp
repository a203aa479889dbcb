// See runtime.h. Memory is torch's own (its allocator, resizable storage): a tensor made through DLPack would
// have a storage that cannot grow, which resize_ shows.
#include "frontend/hosts/torch/runtime.h"

#include "frontend/once.h"
#include "guards/check/check.h"
#include "guards/check/module.h"
#include "guards/check/torch_api.h"

namespace stator::frontend::torch {

using graph::DType;

namespace {

PyObject* torch_attr(const char* name) {
    PyRef module = module_named("torch");
    PyObject* o = module ? PyObject_GetAttrString(module.get(), name) : nullptr;
    if (!o) PyErr_Clear();
    return o;
}

constexpr const char* kNames[graph::kDTypeCount] = {
    "bool",   "int8",    "uint8",   "int16",   "uint16",    "int32",      "uint32",  "int64",
    "uint64", "float16", "float32", "float64", "complex64", "complex128", "bfloat16"};

struct Objects {
    PyObject *empty_strided, *as_strided, *keywords, *with_device;
    PyObject* dtypes[graph::kDTypeCount];
};

const Objects& objects() {
    return once([] {
        Objects o{};
        o.empty_strided = torch_attr("empty_strided");
        o.as_strided = torch_attr("as_strided");
        o.keywords = Py_BuildValue("(s)", "dtype");
        o.with_device = Py_BuildValue("(ss)", "dtype", "device");
        for (int i = 0; i < graph::kDTypeCount; ++i) o.dtypes[i] = torch_attr(kNames[i]);
        return o;
    });
}

// torch.device("cuda", ordinal), borrowed.
PyObject* gpu(int ordinal) {
    static auto* known = new std::vector<PyObject*>;
    const auto at = static_cast<size_t>(ordinal);
    if (at >= known->size()) known->resize(at + 1);
    if (!(*known)[at]) {
        PyRef type = PyRef::steal(torch_attr("device"));
        PyObject* made = type ? PyObject_CallFunction(type.get(), "si", "cuda", ordinal) : nullptr;
        if (!made) return nullptr;
        (*known)[at] = made;
    }
    return (*known)[at];
}

}  // namespace

static PyRef ints(int count, const int64_t* values) {
    PyRef tuple = PyRef::steal(PyTuple_New(count));
    for (int i = 0; tuple && i < count; ++i) PyTuple_SET_ITEM(tuple.get(), i, PyLong_FromLongLong(values[i]));
    return tuple;
}

PyObject* new_tensor(DType dtype, int ndim, const int64_t* shape, const std::vector<int>& perm, int device) {
    int64_t strides[8];
    int64_t step = 1;
    for (int k = ndim; k-- > 0;) {
        const int axis = perm.empty() ? k : perm[static_cast<size_t>(k)];
        strides[axis] = step;
        step *= shape[axis] > 0 ? shape[axis] : 1;
    }
    const PyRef size = ints(ndim, shape), stride = ints(ndim, strides);
    if (!size || !stride) return nullptr;
    const Objects& o = objects();
    PyObject* args[4] = {size.get(), stride.get(), o.dtypes[static_cast<int>(dtype)]};
    if (device < 0 || guards::tensor_api()->stand_in)
        return PyObject_Vectorcall(o.empty_strided, args, 2, o.keywords);
    if (!(args[3] = gpu(device))) return nullptr;
    return PyObject_Vectorcall(o.empty_strided, args, 2, o.with_device);
}

PyObject* new_strided(PyObject* base, int ndim, const int64_t* shape, const int64_t* strides,
                      int64_t offset) {
    guards::TensorView whole, view;
    const PyRef size = ints(ndim, shape), stride = ints(ndim, strides), at = ints(1, &offset);
    if (!size || !stride || !at || !guards::read_tensor(base, &whole)) return nullptr;
    PyObject* args[] = {base, size.get(), stride.get(), PyTuple_GET_ITEM(at.get(), 0)};
    PyRef made = PyRef::steal(PyObject_Vectorcall(objects().as_strided, args, 4, nullptr));
    if (!made || !guards::read_tensor(made.get(), &view)) return nullptr;
    // The offset is one in the storage, where the array may begin elsewhere.
    if (view.data == whole.data + offset * graph::info(whole.dtype).size) return made.release();
    PyErr_SetString(PyExc_SystemError, "stator: a tensor that does not begin where its storage does");
    return nullptr;
}

char* locate(PyObject* tensor, int rank, int64_t* out) {
    guards::TensorView t;
    if (!guards::read_tensor(tensor, &t) || t.rank != rank) return nullptr;
    const int64_t item = graph::info(t.dtype).size;
    for (int i = 0; i < rank; ++i) out[i] = t.strides[i] * item;
    return t.data;
}

PyObject* dtype_object(DType t) { return objects().dtypes[static_cast<int>(t)]; }

bool dtype_of_object(PyObject* o, DType* out) {
    for (int i = 0; i < graph::kDTypeCount; ++i)
        if (objects().dtypes[i] == o) return *out = static_cast<DType>(i), true;
    return false;
}

int64_t tensor_size(PyObject* object) {
    guards::TensorView t;
    if (!guards::is_tensor(object) || !guards::read_tensor(object, &t)) return 0;
    int64_t count = 1;
    for (int i = 0; i < t.rank; ++i) count *= t.shape[i];
    return count;
}

bool iterates_children(PyObject* o) {
    if (!guards::is_module_class(Py_TYPE(o))) return false;
    struct Methods {
        PyObject *name, *sequential, *list;
    };
    const Methods& methods = once([] {
        const PyRef nn = module_named("torch.nn");
        const auto iter_of = [&](const char* container) {
            PyRef type = PyRef::steal(nn ? PyObject_GetAttrString(nn.get(), container) : nullptr);
            PyObject* f = type ? PyObject_GetAttrString(type.get(), "__iter__") : nullptr;
            PyErr_Clear();
            return f;
        };
        return Methods{PyUnicode_InternFromString("__iter__"), iter_of("Sequential"), iter_of("ModuleList")};
    });
    PyObject* iter = _PyType_Lookup(Py_TYPE(o), methods.name);
    return iter && (iter == methods.sequential || iter == methods.list);
}

static bool apart(PyObject* result, PyObject* arg, const char* lo, const char* hi) {
    if (PyTuple_CheckExact(arg) || PyList_CheckExact(arg)) {
        for (Py_ssize_t i = 0; i < Py_SIZE(arg); ++i) {
            PyObject* item = PyTuple_CheckExact(arg) ? PyTuple_GET_ITEM(arg, i) : PyList_GET_ITEM(arg, i);
            if (!apart(result, item, lo, hi)) return false;
        }
        return true;
    }
    if (!guards::is_tensor(arg)) return true;
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

}  // namespace stator::frontend::torch
