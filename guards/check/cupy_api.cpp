// See check/cupy_api.h.
#include "guards/check/cupy_api.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "guards/check/numpy_api.h"
#include "guards/check/own_code.h"

namespace stator::guards {
namespace {

constexpr int kMaxRank = 8;

PyObject* attr(PyObject* o, std::initializer_list<const char*> path) {
    PyObject* at = Py_XNewRef(o);
    for (const char* name : path) {
        PyObject* next = at ? PyObject_GetAttrString(at, name) : nullptr;
        Py_XDECREF(at);
        at = next;
    }
    if (!at) PyErr_Clear();
    return at;
}

template <class T>
T load(const void* base, ptrdiff_t at) {
    T value;
    std::memcpy(&value, static_cast<const char*>(base) + at, sizeof value);
    return value;
}

// An array that shows memory which nobody ever looks at.
struct Sample {
    static constexpr int kRank = 3;
    static constexpr int64_t kShape[kRank] = {3, 5, 7}, kStrides[kRank] = {352, 64, 6};
    static constexpr intptr_t kAddress = 0x7e5700123400, kOffset = 0x60;
    static constexpr int kDevice = 0;
    PyObject *array = nullptr, *data = nullptr, *dtype = nullptr;
    ~Sample() {
        Py_XDECREF(array);
        Py_XDECREF(data);
        Py_XDECREF(dtype);
    }
};

OwnCode make_sample(
    "cupy.ndarray((3, 5, 7), 'int16', cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory("
    "0x7e5700123400, 4096, None, 0), 0x60), (352, 64, 6))",
    Py_eval_input);

bool take_sample(PyObject* cupy, Sample* s) {
    PyObject* globals = PyDict_New();
    if (globals && PyDict_SetItemString(globals, "cupy", cupy) == 0) s->array = make_sample.run(globals);
    PyErr_Clear();
    Py_XDECREF(globals);
    s->data = s->array ? attr(s->array, {"data"}) : nullptr;
    s->dtype = s->array ? attr(s->array, {"dtype"}) : nullptr;
    return s->data && s->dtype;
}

template <class Fits>
ptrdiff_t only_offset(const PyObject* o, ptrdiff_t step, ptrdiff_t width, const Fits& fits) {
    ptrdiff_t found = -1;
    for (ptrdiff_t at = sizeof(PyObject); at + width <= Py_TYPE(o)->tp_basicsize; at += step) {
        if (!fits(at)) continue;
        if (found >= 0) return -1;
        found = at;
    }
    return found;
}

// A vector of these numbers: two words that lie as far apart as they are long. Only such words are followed.
ptrdiff_t vector_offset(const PyObject* o, const int64_t (&numbers)[Sample::kRank]) {
    return only_offset(o, 8, 24, [&](ptrdiff_t at) {
        const auto begin = load<uintptr_t>(o, at), end = load<uintptr_t>(o, at + 8),
                   room = load<uintptr_t>(o, at + 16);
        return begin > 4096 && begin % 8 == 0 && end - begin == sizeof numbers && room >= end &&
               room - begin < 4096 &&
               std::memcmp(reinterpret_cast<const void*>(begin), numbers, sizeof numbers) == 0;
    });
}

ptrdiff_t word_offset(const PyObject* o, intptr_t word) {
    return only_offset(o, 8, 8, [&](ptrdiff_t at) { return load<intptr_t>(o, at) == word; });
}

// Where the parts of an array are; nothing is kept unless all are found.
void find_layout(CupyApi& api, PyObject* cupy) {
    Sample s;
    if (!take_sample(cupy, &s)) return;
    CupyApi found = api;
    found.strides_at = vector_offset(s.array, Sample::kStrides);
    found.dtype_at = word_offset(s.array, reinterpret_cast<intptr_t>(s.dtype));
    found.data_at = word_offset(s.array, reinterpret_cast<intptr_t>(s.data));
    found.pointer_at = word_offset(s.data, Sample::kAddress + Sample::kOffset);
    // The device follows the address as it is declared; two samples of different devices would need two
    // devices.
    found.device_at = found.pointer_at + 8;
    const bool fits = found.pointer_at > 0 && found.device_at + 4 <= Py_TYPE(s.data)->tp_basicsize &&
                      load<int>(s.data, found.device_at) == Sample::kDevice;
    found.shape_at = vector_offset(s.array, Sample::kShape);
    if (fits && found.shape_at > 0 && found.strides_at > 0 && found.dtype_at > 0 && found.data_at > 0)
        api = found;
}

intptr_t (*stream_function())() {
    PyObject* module = PyImport_ImportModule("cupy.cuda.stream");
    PyObject* exports = module ? attr(module, {"__pyx_capi__"}) : nullptr;
    PyObject* capsule =
        exports && PyDict_Check(exports) ? PyDict_GetItemString(exports, "get_current_stream_ptr") : nullptr;
    void* f = capsule && PyCapsule_IsValid(capsule, "intptr_t (void)")
                  ? PyCapsule_GetPointer(capsule, "intptr_t (void)")
                  : nullptr;
    PyErr_Clear();
    Py_XDECREF(exports);
    Py_XDECREF(module);
    return reinterpret_cast<intptr_t (*)()>(f);
}

int major_version(PyObject* cupy) {
    PyObject* version = attr(cupy, {"__version__"});
    const char* text = version && PyUnicode_Check(version) ? PyUnicode_AsUTF8(version) : nullptr;
    const int major = text ? std::atoi(text) : 0;
    PyErr_Clear();
    Py_XDECREF(version);
    return major;
}

bool load_api(PyObject* cupy, CupyApi& api) {
    PyObject* type = attr(cupy, {"ndarray"});
    api.get_device = attr(cupy, {"cuda", "runtime", "getDevice"});
    api.get_stream = attr(cupy, {"cuda", "get_current_stream"});
    if (!type || !PyType_Check(type) || !api.get_device || !api.get_stream) return false;
    if (major_version(cupy) < 14) return false;
    api.array = reinterpret_cast<PyTypeObject*>(type);
    find_layout(api, cupy);
    api.stream = stream_function();
    return true;
}

class PendingError {
  public:
    PendingError() { PyErr_Fetch(&type_, &value_, &traceback_); }
    ~PendingError() { PyErr_Restore(type_, value_, traceback_); }
    PendingError(const PendingError&) = delete;

  private:
    PyObject *type_, *value_, *traceback_;
};

bool dtype_of(PyObject* dtype, graph::DType* out) {
    if (!PyArray_DescrCheck(dtype)) return false;
    auto* d = reinterpret_cast<PyArray_Descr*>(dtype);
    if (!PyArray_ISNBO(d->byteorder)) return false;
    int number = d->type_num;
    if (number == NPY_LONGLONG) number = NPY_LONG;
    if (number == NPY_ULONGLONG) number = NPY_ULONG;
    const std::optional<graph::DType> t = graph::dtype_numbered(number);
    if (t) *out = *t;
    return t.has_value();
}

// Strides of bytes become strides of elements. An axis of extent 1 may have any.
bool take_strides(const int64_t* bytes, TensorView* out) {
    const int64_t item = graph::info(out->dtype).size;
    for (int i = 0; i < out->rank; ++i) {
        if (bytes[i] % item != 0 && out->shape[i] > 1) return false;
        out->kept[kMaxRank + i] = bytes[i] / item;
    }
    out->strides = out->kept + kMaxRank;
    return true;
}

bool read_numbers(PyObject* tuple, int64_t* out, int* count) {
    bool ok = tuple && PyTuple_Check(tuple) && PyTuple_GET_SIZE(tuple) <= kMaxRank;
    *count = ok ? static_cast<int>(PyTuple_GET_SIZE(tuple)) : 0;
    for (int i = 0; i < *count; ++i) out[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i));
    Py_XDECREF(tuple);
    if (PyErr_Occurred()) PyErr_Clear(), ok = false;
    return ok;
}

bool read_number(PyObject* o, int64_t* out) {
    *out = o ? PyLong_AsLongLong(o) : -1;
    const bool ok = o && !PyErr_Occurred();
    PyErr_Clear();
    Py_XDECREF(o);
    return ok;
}

}  // namespace

const CupyApi* cupy_api() {
    static CupyApi api{};
    static enum { Unknown, Ready, Unusable } status = Unknown;
    if (status == Ready) [[likely]]
        return &api;
    if (status == Unusable) return nullptr;
    static PyObject* const name =
        PyUnicode_InternFromString("cupy");  // its hash is kept: this is asked often
    PyObject* modules = PyImport_GetModuleDict();
    PyObject* cupy = modules ? PyDict_GetItem(modules, name) : nullptr;
    if (!cupy) return nullptr;
    const PendingError pending;
    PyObject* last = attr(cupy, {"show_config"});  // not there while CuPy is being imported
    if (!last) return nullptr;
    Py_DECREF(last);
    CupyApi fresh{};
    const bool loaded = load_api(cupy, fresh);  // runs Python: another thread may do the same
    PyErr_Clear();
    if (status == Unknown) {
        api = fresh;
        status = loaded ? Ready : Unusable;
    }
    return status == Ready ? &api : nullptr;
}

bool read_cupy_attributes(PyObject* array, TensorView* out) {
    struct Names {
        PyObject *shape, *strides, *dtype, *data, *ptr, *device_id;
    };
    static const Names n = {PyUnicode_InternFromString("shape"), PyUnicode_InternFromString("strides"),
                            PyUnicode_InternFromString("dtype"), PyUnicode_InternFromString("data"),
                            PyUnicode_InternFromString("ptr"),   PyUnicode_InternFromString("device_id")};
    const PendingError pending;
    int64_t bytes[kMaxRank], address, device;
    int rank;
    PyObject* dtype = PyObject_GetAttr(array, n.dtype);
    const bool known = dtype && dtype_of(dtype, &out->dtype);
    Py_XDECREF(dtype);
    PyErr_Clear();
    if (!known || !read_numbers(PyObject_GetAttr(array, n.shape), out->kept, &out->rank) ||
        !read_numbers(PyObject_GetAttr(array, n.strides), bytes, &rank) || rank != out->rank)
        return PyErr_Clear(), false;
    PyObject* data = PyObject_GetAttr(array, n.data);
    const bool there = data && read_number(PyObject_GetAttr(data, n.ptr), &address) &&
                       read_number(PyObject_GetAttr(data, n.device_id), &device);
    Py_XDECREF(data);
    PyErr_Clear();
    if (!there) return false;
    out->data = reinterpret_cast<char*>(address);
    out->device = static_cast<int>(device);
    out->shape = out->kept;
    return take_strides(bytes, out);
}

bool read_cupy_array(PyObject* array, TensorView* out) {
    const CupyApi& api = *cupy_api();
    if (api.shape_at < 0) return read_cupy_attributes(array, out);
    const auto* shape = load<const int64_t*>(array, api.shape_at);
    const int64_t rank = load<const int64_t*>(array, api.shape_at + 8) - shape;
    auto* dtype = load<PyObject*>(array, api.dtype_at);
    auto* data = load<PyObject*>(array, api.data_at);
    if (rank > kMaxRank || !dtype || !data || !dtype_of(dtype, &out->dtype)) return false;
    out->rank = static_cast<int>(rank);
    out->shape = shape;
    out->data = load<char*>(data, api.pointer_at);
    out->device = load<int>(data, api.device_at);
    return take_strides(load<const int64_t*>(array, api.strides_at), out);
}

int cupy_device() {
    int64_t device = -1;
    const PendingError pending;
    return read_number(PyObject_CallNoArgs(cupy_api()->get_device), &device) ? static_cast<int>(device) : -1;
}

bool cupy_stream(void** stream) {
    static PyObject* ptr = PyUnicode_InternFromString("ptr");
    const CupyApi& api = *cupy_api();
    const PendingError pending;
    if (api.stream) {
        *stream = reinterpret_cast<void*>(api.stream());
        return !PyErr_Occurred() || (PyErr_Clear(), false);
    }
    PyObject* current = PyObject_CallNoArgs(api.get_stream);
    int64_t address = 0;
    const bool ok = current && read_number(PyObject_GetAttr(current, ptr), &address);
    PyErr_Clear();
    Py_XDECREF(current);
    *stream = reinterpret_cast<void*>(address);
    return ok;
}

}  // namespace stator::guards
