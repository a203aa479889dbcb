// torch.Tensor as the whole extension reads it: through DLPack's C exchange API, which the type offers, and
// the dispatch keys of a tensor, which say what else it is (a view with its sign bit set, a sparse tensor, a
// wrapper of functorch). torch is never imported here: the API is there from when the program has imported
// it, and only where everything looks as expected.
//
// Nothing here runs Python code or leaves an error set.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <string>

#include "graph/graph.h"

namespace stator::guards {

// DLPack 1.3: what dltensor_from_py_object_no_sync fills in.
struct DLDevice {
    int32_t type, id;
};
struct DLDataType {
    uint8_t code, bits;
    uint16_t lanes;
};
struct DLTensor {
    void* data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t* shape;
    int64_t* strides;  // in elements
    uint64_t byte_offset;
};

// The kinds of tensors that are compiled. Inference tensors have no version counter.
enum class TensorKind : uint8_t { Plain, Inference, Other };

struct TensorApi {
    PyTypeObject *tensor, *parameter;
    int (*read)(void* object, DLTensor* out);  // 0, or -1 with an error set
    PyGetSetDef* requires_grad;
    ptrdiff_t impl_at, keys_at;  // where a tensor object keeps its implementation, and that its dispatch keys
    uint64_t plain_keys, inference_keys;
    uint64_t cuda_keys[2] = {0, 0};  // the same on a GPU, once a tensor of one was met
    bool stand_in = false;           // tests: tensors of the CPU count as those of GPU 0
    // Thread-local state that changes what operations do; each is called with nothing.
    PyCFunctionObject *grad_enabled, *inference_enabled, *function_modes, *dispatch_modes, *autocast;
    PyObject *functorch_level, *tracing, *default_dtype;  // the first two are None outside of those
    PyObject* module_getattr;                             // torch.nn.Module.__getattr__
    PyTypeObject* constants[4];                           // torch.dtype and its like, see is_tensor_constant
};

// nullptr while torch is not imported, or when it is not laid out as expected.
const TensorApi* tensor_api();

// Exactly torch.Tensor or torch.nn.Parameter.
bool is_tensor_type(PyTypeObject* type);
inline bool is_tensor(PyObject* o) { return is_tensor_type(Py_TYPE(o)); }
// Exactly a torch.dtype, layout, memory_format or device.
bool is_tensor_constant(PyObject* o);

TensorKind tensor_kind(PyObject* tensor);
// Learns what tensors of GPUs look like, when this is the first one. Runs Python code: not for guards.
void meet_tensor(PyObject* tensor);
// The stream that torch puts operations on this GPU into now, by this thread. False: torch cannot say.
bool torch_stream(int device, void** stream);
bool requires_grad(PyObject* tensor);
// The bool or None that one of the API's state functions returns, or whether the count it returns is above 0.
bool state(PyCFunctionObject* function);

// Whether a transform of functorch or a trace of torch.jit is in progress.
bool transformed();

// What is read of a tensor, or of an array of another library in the memory of a GPU.
struct TensorView {
    char* data;
    int rank;
    const int64_t *shape, *strides;  // in elements
    graph::DType dtype;
    int device = -1;   // ordinal of its GPU
    int64_t kept[16];  // shape and strides that are not kept elsewhere: a view is not copied
    TensorView() {}
    TensorView(const TensorView&) = delete;
};
// False for tensors that kernels cannot read: devices other than the CPU and GPUs, kinds and dtypes.
bool read_tensor(PyObject* tensor, TensorView* out);

// How a tensor's elements lie. What an operation returns depends on it: TensorIterator compares strides with
// each other and with 0, and looks at extents only where two strides are equal.
struct TensorOrder {
    graph::Layout layout;
    // Axes by descending stride, ties by axis. Contiguous: the strides are exactly those of a fresh tensor
    // whose memory has this order of axes.
    int8_t perm[8];
    uint32_t zeros;  // axes of stride 0
    // What torch takes the tensor for does not follow from these: two axes of extent 2 or more share a stride
    // other than 0, or it is dense where axes of extent 1, whose strides are another's, are not looked at.
    bool undecided;
};
TensorOrder tensor_order(int rank, const int64_t* shape, const int64_t* strides);

}  // namespace stator::guards
