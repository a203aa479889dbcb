// See check/torch_api.h. Where a tensor keeps its dispatch keys is found by looking at tensors whose keys are
// known, once; a torch in which they are not found in one and only one place is left alone.
#include "guards/check/torch_api.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iterator>

#include "guards/check/own_code.h"

namespace stator::guards {
namespace {

constexpr int32_t kCpu = 1, kCuda = 2;

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

// A builtin function without arguments, which is called without a frame.
PyCFunctionObject* builtin(PyObject* torch, const char* name) {
    PyObject* f = attr(torch, {"_C", name});
    if (f && PyCFunction_Check(f) && (PyCFunction_GET_FLAGS(f) & METH_NOARGS))
        return reinterpret_cast<PyCFunctionObject*>(f);
    Py_XDECREF(f);
    return nullptr;
}

uint64_t number(PyObject* o) {
    const uint64_t value = o ? PyLong_AsUnsignedLongLongMask(o) : 0;
    PyErr_Clear();
    Py_XDECREF(o);
    return value;
}

struct Sample {
    PyObject* tensor;
    uint64_t impl, keys;
};

bool take_sample(PyObject* torch, PyObject* tensor, Sample* out) {
    if (!tensor) return PyErr_Clear(), false;
    PyObject* query = attr(torch, {"_C", "_dispatch_keys"});
    PyObject* keys = query ? PyObject_CallOneArg(query, tensor) : nullptr;
    Py_XDECREF(query);
    PyErr_Clear();
    PyObject* raw = keys ? PyObject_CallMethod(keys, "raw_repr", nullptr) : nullptr;
    Py_XDECREF(keys);
    *out = {tensor, number(attr(tensor, {"_cdata"})), number(raw)};
    return out->impl && out->keys;
}

template <class Fits>
ptrdiff_t only_offset(ptrdiff_t begin, ptrdiff_t end, const Fits& fits) {
    ptrdiff_t found = -1;
    for (ptrdiff_t at = begin; at < end; at += 8) {
        if (!fits(at)) continue;
        if (found >= 0) return -1;
        found = at;
    }
    return found;
}

uint64_t word(const void* base, ptrdiff_t at) {
    uint64_t w;
    std::memcpy(&w, static_cast<const char*>(base) + at, 8);
    return w;
}

bool find_keys(TensorApi& api, const Sample* samples, int count) {
    const auto all = [&](auto&& holds) { return std::all_of(samples, samples + count, holds); };
    api.impl_at = only_offset(sizeof(PyObject), api.tensor->tp_basicsize - 7, [&](ptrdiff_t at) {
        return all([&](const Sample& s) { return word(s.tensor, at) == s.impl; });
    });
    if (api.impl_at < 0) return false;
    constexpr ptrdiff_t kLeastImplSize = 192;  // of c10::TensorImpl: 24 words, without debug fields
    api.keys_at = only_offset(8, kLeastImplSize, [&](ptrdiff_t at) {
        return all(
            [&](const Sample& s) { return word(reinterpret_cast<const void*>(s.impl), at) == s.keys; });
    });
    return api.keys_at >= 0;
}

OwnCode plain_sample("torch.inference_mode(False)(torch.ones)(3)", Py_eval_input);
OwnCode inference_sample("torch.inference_mode(True)(torch.ones)(3)", Py_eval_input);
OwnCode meta_sample("torch.ones(3, device='meta')", Py_eval_input);
OwnCode plain_cuda_sample("torch.inference_mode(False)(torch.ones)(3, device='cuda')", Py_eval_input);
OwnCode inference_cuda_sample("torch.inference_mode(True)(torch.ones)(3, device='cuda')", Py_eval_input);

PyObject* run(OwnCode& expression) {
    PyObject* globals = PyDict_New();
    PyObject* torch = PyImport_ImportModule("torch");
    PyObject* result = nullptr;
    if (globals && torch && PyDict_SetItemString(globals, "torch", torch) == 0)
        result = expression.run(globals);
    PyErr_Clear();
    Py_XDECREF(globals);
    Py_XDECREF(torch);
    return result;
}

struct ExchangeApi {
    uint32_t major, minor;
    void* previous;
    void* functions[5];  // the fourth is dltensor_from_py_object_no_sync
};

bool load(PyObject* torch, TensorApi& api) {
    PyObject* type = attr(torch, {"Tensor"});
    PyObject* parameter = attr(torch, {"nn", "Parameter"});
    PyObject* capsule = type ? attr(type, {"__dlpack_c_exchange_api__"}) : nullptr;
    if (!capsule || !parameter || !PyType_Check(type) || !PyType_Check(parameter)) return false;
    const auto* exchange =
        static_cast<const ExchangeApi*>(PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
    if (!exchange || exchange->major != 1 || !exchange->functions[3]) return PyErr_Clear(), false;
    api.tensor = reinterpret_cast<PyTypeObject*>(type);
    api.parameter = reinterpret_cast<PyTypeObject*>(parameter);
    api.read = reinterpret_cast<int (*)(void*, DLTensor*)>(exchange->functions[3]);
    PyObject* grad = attr(torch, {"_C", "TensorBase", "requires_grad"});
    if (!grad || !Py_IS_TYPE(grad, &PyGetSetDescr_Type)) return false;
    api.requires_grad = reinterpret_cast<PyGetSetDescrObject*>(grad)->d_getset;
    api.grad_enabled = builtin(torch, "is_grad_enabled");
    api.inference_enabled = builtin(torch, "is_inference_mode_enabled");
    api.function_modes = builtin(torch, "_len_torch_function_stack");
    api.dispatch_modes = builtin(torch, "_len_torch_dispatch_stack");
    api.autocast = builtin(torch, "_is_any_autocast_enabled");
    api.functorch_level = attr(torch, {"_C", "_functorch", "maybe_current_level"});
    api.tracing = attr(torch, {"_C", "_get_tracing_state"});
    api.default_dtype = attr(torch, {"get_default_dtype"});
    api.module_getattr = attr(torch, {"nn", "Module", "__getattr__"});
    int constants = 0;
    for (const char* name : {"dtype", "layout", "memory_format", "device"})
        api.constants[constants++] = reinterpret_cast<PyTypeObject*>(attr(torch, {name}));
    if (!api.grad_enabled || !api.inference_enabled || !api.function_modes || !api.dispatch_modes ||
        !api.autocast || !api.functorch_level || !api.tracing || !api.default_dtype)
        return false;
    // Samples must not be made under a mode that changes what they are.
    if (state(api.function_modes) || state(api.dispatch_modes)) return false;
    Sample samples[3];
    const bool sampled = take_sample(torch, run(plain_sample), &samples[0]) &&
                         take_sample(torch, run(inference_sample), &samples[1]) &&
                         take_sample(torch, run(meta_sample), &samples[2]);
    if (!sampled || !find_keys(api, samples, 3)) return false;
    api.plain_keys = samples[0].keys;
    api.inference_keys = samples[1].keys;
    api.stand_in = std::getenv("STATOR_TEST_TORCH_STAND_IN") != nullptr;
    return api.plain_keys != api.inference_keys;
}

// Guards are checked, too, while the program's exception is on its way.
class PendingError {
  public:
    PendingError() { PyErr_Fetch(&type_, &value_, &traceback_); }
    ~PendingError() { PyErr_Restore(type_, value_, traceback_); }
    PendingError(const PendingError&) = delete;

  private:
    PyObject *type_, *value_, *traceback_;
};

}  // namespace

const TensorApi* tensor_api() {
    static TensorApi api{};
    static enum { Unknown, Ready, Unusable } status = Unknown;
    if (status == Ready) [[likely]]
        return &api;
    if (status == Unusable) return nullptr;
    static PyObject* const name =
        PyUnicode_InternFromString("torch");  // its hash is kept: this is asked often
    PyObject* modules = PyImport_GetModuleDict();
    PyObject* torch = modules ? PyDict_GetItem(modules, name) : nullptr;
    if (!torch) return nullptr;
    const PendingError pending;
    // While torch is being imported not all of it is there; another module of this name never has it.
    PyObject* initializing = attr(torch, {"__spec__", "_initializing"});
    const bool imported = initializing != Py_True;
    Py_XDECREF(initializing);
    if (!imported) return nullptr;  // a sample made now would import parts of it before those they need
    PyObject* whole = attr(torch, {"_C", "_functorch"});
    PyObject* last = attr(torch, {"nn", "Parameter"});
    const bool there = whole && last;
    Py_XDECREF(whole);
    Py_XDECREF(last);
    if (!there) return nullptr;
    PyCFunctionObject* modes = builtin(torch, "_len_torch_function_stack");
    const bool busy = modes && state(modes);
    Py_XDECREF(modes);
    if (busy) return nullptr;  // asked again later
    // It runs Python, in which this is asked again, and torch must not be asked for a sample while it makes
    // one: what it does once it does under a lock. Another thread may do the same.
    static thread_local bool loading = false;
    if (loading) return nullptr;
    TensorApi fresh{};
    loading = true;
    const bool loaded = load(torch, fresh);
    loading = false;
    PyErr_Clear();
    if (status == Unknown) {
        api = fresh;
        status = loaded ? Ready : Unusable;
    }
    return status == Ready ? &api : nullptr;
}

bool is_tensor_type(PyTypeObject* type) {
    const TensorApi* api = tensor_api();
    return api && (type == api->tensor || type == api->parameter);
}

bool is_tensor_constant(PyObject* o) {
    const TensorApi* api = tensor_api();
    return api && std::ranges::find(api->constants, Py_TYPE(o)) != std::end(api->constants);
}

TensorKind tensor_kind(PyObject* tensor) {
    const TensorApi* api = tensor_api();
    const auto* impl = reinterpret_cast<const void*>(word(tensor, api->impl_at));
    if (!impl) return TensorKind::Other;
    const uint64_t keys = word(impl, api->keys_at);
    if (keys == api->plain_keys || (keys == api->cuda_keys[0] && keys)) return TensorKind::Plain;
    return keys == api->inference_keys || (keys == api->cuda_keys[1] && keys) ? TensorKind::Inference
                                                                              : TensorKind::Other;
}

void meet_tensor(PyObject* tensor) {
    auto* api = const_cast<TensorApi*>(tensor_api());
    if (api->cuda_keys[0] || tensor_kind(tensor) != TensorKind::Other) return;
    const PendingError pending;
    PyObject* on_gpu = attr(tensor, {"is_cuda"});
    Py_XDECREF(on_gpu);
    PyObject* torch = on_gpu == Py_True ? PyImport_ImportModule("torch") : nullptr;
    // Samples must not be made under a mode that changes what they are.
    Sample plain, inference;
    if (torch && !state(api->function_modes) && !state(api->dispatch_modes) &&
        take_sample(torch, run(plain_cuda_sample), &plain) &&
        take_sample(torch, run(inference_cuda_sample), &inference)) {
        api->cuda_keys[0] = plain.keys;
        api->cuda_keys[1] = inference.keys;
    }
    PyErr_Clear();
    Py_XDECREF(torch);
}

bool torch_stream(int device, void** stream) {
    static PyObject* query = nullptr;
    const PendingError pending;
    if (!query) {
        PyObject* torch = PyImport_ImportModule("torch");
        query = torch ? attr(torch, {"_C", "_cuda_getCurrentRawStream"}) : nullptr;
        PyErr_Clear();
        Py_XDECREF(torch);
        if (!query) return false;
    }
    PyObject* ordinal = PyLong_FromLong(device);
    PyObject* address = ordinal ? PyObject_CallOneArg(query, ordinal) : nullptr;
    Py_XDECREF(ordinal);
    *stream = address ? PyLong_AsVoidPtr(address) : nullptr;
    const bool known = address && !PyErr_Occurred();
    PyErr_Clear();
    Py_XDECREF(address);
    return known;
}

bool requires_grad(PyObject* tensor) {
    const TensorApi* api = tensor_api();
    PyObject* answer = api->requires_grad->get(tensor, api->requires_grad->closure);
    if (!answer) PyErr_Clear();
    const bool no = answer == Py_False;
    Py_XDECREF(answer);
    return !no;
}

bool state(PyCFunctionObject* function) {
    PyObject* answer = function->m_ml->ml_meth(function->m_self, nullptr);
    if (!answer) PyErr_Clear();
    bool on = answer != Py_False && answer != Py_None;
    if (answer && PyLong_CheckExact(answer)) on = PyLong_AsLong(answer) != 0;
    Py_XDECREF(answer);
    return on;
}

bool transformed() {
    for (PyObject* query : {tensor_api()->functorch_level, tensor_api()->tracing}) {
        PyObject* answer = PyObject_CallNoArgs(query);
        if (!answer) PyErr_Clear();
        Py_XDECREF(answer);
        if (answer != Py_None) return true;
    }
    return false;
}

static bool dtype_from_dlpack(DLDataType t, graph::DType* out) {
    using graph::DType;
    if (t.lanes != 1) return false;
    const int log = t.bits == 8 ? 0 : t.bits == 16 ? 1 : t.bits == 32 ? 2 : t.bits == 64 ? 3 : -1;
    if (log < 0) return t.code == 5 && t.bits == 128 ? *out = DType::C128, true : false;
    static constexpr DType kSigned[] = {DType::I8, DType::I16, DType::I32, DType::I64};
    static constexpr DType kUnsigned[] = {DType::U8, DType::U16, DType::U32, DType::U64};
    static constexpr DType kFloat[] = {DType::Bool, DType::F16, DType::F32, DType::F64};
    switch (t.code) {
        case 0: *out = kSigned[log]; return true;
        case 1: *out = kUnsigned[log]; return true;
        case 2: *out = kFloat[log]; return log > 0;
        case 4: *out = DType::BF16; return log == 1;
        case 5: *out = DType::C64; return log == 3;
        case 6: *out = DType::Bool; return log == 0;
        default: return false;
    }
}

bool read_tensor(PyObject* tensor, TensorView* out) {
    if (tensor_kind(tensor) == TensorKind::Other) return false;
    DLTensor t;
    if (tensor_api()->read(tensor, &t) != 0) {
        PyErr_Clear();
        return false;
    }
    if ((t.device.type != kCpu && t.device.type != kCuda) || t.ndim > 8 ||
        !dtype_from_dlpack(t.dtype, &out->dtype))
        return false;
    out->device = t.device.type == kCuda ? t.device.id : tensor_api()->stand_in ? 0 : -1;
    out->data = static_cast<char*>(t.data) + t.byte_offset;
    out->rank = t.ndim;
    out->shape = t.shape;
    out->strides = t.strides;
    return true;
}

// Whether the strides are a fresh tensor's whose axes lie in this order.
static bool exact(int rank, const int64_t* shape, const int64_t* strides, const int8_t* perm) {
    int64_t step = 1;
    for (int k = rank; k-- > 0;) {
        if (strides[perm[k]] != step) return false;
        step *= std::max<int64_t>(shape[perm[k]], 1);
    }
    return true;
}

TensorOrder tensor_order(int rank, const int64_t* shape, const int64_t* strides) {
    TensorOrder o{graph::Layout::Contiguous, {}, 0, false};
    for (int i = 0; i < rank; ++i) o.perm[i] = static_cast<int8_t>(i);
    if (exact(rank, shape, strides, o.perm)) return o;
    for (int i = 1; i < rank; ++i) {  // an insertion sort, stable
        const int8_t axis = o.perm[i];
        int at = i;
        for (; at > 0 && strides[o.perm[at - 1]] < strides[axis]; --at) o.perm[at] = o.perm[at - 1];
        o.perm[at] = axis;
    }
    if (exact(rank, shape, strides, o.perm)) return o;
    int before = -1;  // the axis of extent 2 or more that comes before
    int64_t step = 1;
    bool dense = true;
    for (int i = 0; i < rank; ++i)
        if (strides[i] == 0) o.zeros |= 1u << i;
    for (int k = rank; k-- > 0;) {
        const int axis = o.perm[k];
        if (shape[axis] == 1) continue;
        dense &= strides[axis] == step;
        step *= shape[axis];
        o.undecided |= before >= 0 && strides[axis] == strides[before] && strides[axis] != 0;
        before = axis;
    }
    o.undecided |= dense || step == 0;
    const bool dense_rows = rank > 0 && strides[o.perm[rank - 1]] == 1;
    o.layout = dense_rows ? graph::Layout::InnerDense : graph::Layout::Strided;
    return o;
}

}  // namespace stator::guards
