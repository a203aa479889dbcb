// See pool.h. The arrays own their data, as all results of NumPy do: OWNDATA is set, and the capsule of our
// handler lies in the array's mem_handler, through which NumPy frees and resizes. No context variable is
// touched: arrays that NumPy allocates go on coming from its own handler. A handler that the program has set
// takes all results instead.
//
// Invariant: handler and capsule are never freed, since arrays may outlive everything else of stator. All of
// this runs with the GIL held, as NumPy's own calls of handlers do.
#include "frontend/hosts/numpy/pool.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "frontend/hosts/numpy/blocks.h"
#include "frontend/pyref.h"
#include "frontend/services.h"

extern "C" void stator_trace_memory(void* p, size_t bytes);  // trace_memory.c

namespace stator::frontend::numpy {

namespace {

// Sizes of pool buffers that belong to arrays: resizing does not tell the old one.
std::unordered_map<void*, int64_t>& owned() {
    static auto* sizes = new std::unordered_map<void*, int64_t>;
    return *sizes;
}

bool give_back(void* p) {
    if (block_bytes(p)) return give_block(p), true;
    auto it = owned().find(p);
    if (it == owned().end()) return false;
    compiler()->release(p, it->second);
    owned().erase(it);
    return true;
}

void* handler_malloc(void*, size_t size) { return std::malloc(size ? size : 1); }
void* handler_calloc(void*, size_t count, size_t size) {
    return std::calloc(count ? count : 1, size ? size : 1);
}

void handler_free(void*, void* p, size_t) {
    if (!give_back(p)) std::free(p);
}

void* handler_realloc(void*, void* p, size_t size) {
    auto bytes = static_cast<size_t>(block_bytes(p));
    if (!bytes) {
        auto it = owned().find(p);
        if (it == owned().end()) return std::realloc(p, size ? size : 1);
        bytes = static_cast<size_t>(it->second);
    }
    void* moved = std::malloc(size ? size : 1);
    if (!moved) return nullptr;
    std::memcpy(moved, p, std::min(size, bytes));
    give_back(p);
    return moved;
}

PyDataMem_Handler g_handler = {
    "stator_pool", 1, {nullptr, handler_malloc, handler_calloc, handler_realloc, handler_free}};

}  // namespace

PyObject* pool_handler() {
    static PyObject* capsule = [] {
        PyObject* c = PyCapsule_New(&g_handler, "mem_handler", nullptr);
        if (!c) PyErr_Clear();
        return c;
    }();
    return capsule;
}

namespace {

bool default_handler_in_use() {
    PyRef current = PyRef::steal(PyDataMem_GetHandler());
    if (!current) PyErr_Clear();
    return current.get() == PyDataMem_DefaultHandler;
}

}  // namespace

PyObject* new_pooled_array(PyArray_Descr* descr, int ndim, const npy_intp* shape, const npy_intp* strides,
                           int64_t bytes) {
    const kernels::CompilerApi* api = compiler();
    PyObject* capsule = pool_handler();
    if (!api || !capsule || !default_handler_in_use()) return nullptr;
    void* data = api->allocate(bytes);
    if (!data) return nullptr;
    Py_INCREF(descr);
    int flags = NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED | (strides ? 0 : NPY_ARRAY_C_CONTIGUOUS);
    PyObject* o = PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, strides, data, flags, nullptr);
    if (!o) {
        api->release(data, bytes);
        PyErr_Clear();
        return nullptr;
    }
    auto* array = reinterpret_cast<PyArrayObject*>(o);
    owned().emplace(data, bytes);
    reinterpret_cast<PyArrayObject_fields*>(o)->mem_handler = Py_NewRef(capsule);
    PyArray_ENABLEFLAGS(array, NPY_ARRAY_OWNDATA);
    stator_trace_memory(data, static_cast<size_t>(bytes));
    return o;
}

}  // namespace stator::frontend::numpy
