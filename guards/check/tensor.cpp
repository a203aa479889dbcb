// Guards on tensors. The order of a tensor's strides is part of what is promised (TensorOrder): with it,
// TensorIterator lays out results as it did while recording, whatever the extents.
#include "guards/check/cupy_api.h"
#include "guards/check/impl.h"

namespace stator::guards {
namespace {

enum Want : uint32_t { kInference = 1, kNoGrad = 2 };

uint32_t class_version(PyTypeObject* type) { return static_cast<uint32_t>(type->tp_version_tag); }

// Classes get a version when something is looked up in them.
uint32_t give_version(PyTypeObject* type) {
    PyObject* name = PyUnicode_InternFromString("add");
    if (name) class_lookup(type, name);
    Py_XDECREF(name);
    return class_version(type);
}

}  // namespace

void lower_tensor(GuardProgram::Impl& p, const Guard& g, Instr& in, std::vector<bool>& defined) {
    const ArraySpec& spec = g.spec;
    in.ndim = static_cast<uint8_t>(spec.ndim);
    in.layout = spec.layout;
    in.device = spec.device;
    in.lo = graph::info(spec.dtype).size;
    in.hi = static_cast<int64_t>(spec.dtype);
    if (spec.inference) in.want |= kInference;
    if (spec.no_grad) in.want |= kNoGrad;
    in.first = static_cast<int32_t>(p.axes.size());
    for (const graph::Sym extent : spec.shape) p.axes.push_back(lower_axis(*p.syms, extent, defined));
    in.perm = static_cast<int32_t>(p.perms.size());
    for (int i = 0; i < spec.ndim; ++i)
        p.perms.push_back(static_cast<int8_t>(spec.perm.empty() ? i : spec.perm[static_cast<size_t>(i)]));
    for (size_t i = 0; i < spec.signs.size(); ++i)
        if (spec.signs[i] == 0 && spec.layout != graph::Layout::Contiguous) in.mask |= 1u << i;
}

// What was read is of the recorded dtype, rank, device and layout class.
[[gnu::always_inline]] static inline bool check_view(const GuardProgram::Impl& p, const Instr& in,
                                                     const TensorView* view, int64_t* symbols) {
    if (view->rank != in.ndim || static_cast<int64_t>(view->dtype) != in.hi || view->device != in.device)
        return false;
    const Axis* axes = p.axes.data() + in.first;
    for (int i = 0; i < in.ndim; ++i) {
        const Axis& axis = axes[i];
        const int64_t n = view->shape[i];
        if (n < axis.lo || n > axis.hi) return false;
        if (axis.mode == Axis::Define) symbols[axis.symbol] = n;
        if (axis.mode == Axis::Equal && symbols[axis.symbol] != n) return false;
    }
    const TensorOrder order = tensor_order(view->rank, view->shape, view->strides);
    if (order.layout != in.layout || order.zeros != in.mask || order.undecided) return false;
    const int8_t* perm = p.perms.data() + in.perm;
    for (int i = 0; i < in.ndim; ++i)
        if (order.perm[i] != perm[i]) return false;
    return true;
}

bool check_tensor(const GuardProgram::Impl& p, const Instr& in, PyObject* obj, int64_t* symbols,
                  TensorView* view) {
    if (Py_TYPE(obj) != reinterpret_cast<PyTypeObject*>(in.p)) return false;
    const TensorKind kind = tensor_kind(obj);
    if (kind != (in.want & kInference ? TensorKind::Inference : TensorKind::Plain)) return false;
    if (!read_tensor(obj, view) || !check_view(p, in, view, symbols)) return false;
    return !(in.want & kNoGrad) || !requires_grad(obj);
}

bool check_cupy(const GuardProgram::Impl& p, const Instr& in, PyObject* obj, int64_t* symbols,
                TensorView* view) {
    return Py_TYPE(obj) == reinterpret_cast<PyTypeObject*>(in.p) && read_cupy_array(obj, view) &&
           check_view(p, in, view, symbols);
}

void lower_cupy_state(const Guard& g, Instr& in) {
    in.hi = g.number;
    in.lo = give_version(cupy_api()->array);
}

bool check_cupy_state(const Instr& in) {
    return class_version(cupy_api()->array) == in.lo && cupy_device() == in.hi;
}

void lower_torch_state(const Guard& g, Instr& in) {
    const TensorApi* api = tensor_api();
    in.want = static_cast<uint32_t>(g.number);
    in.p = g.obj;
    in.lo = give_version(api->tensor);
    in.hi = give_version(api->parameter);
}

bool check_torch_state(const Instr& in) {
    const TensorApi* api = tensor_api();
    if (class_version(api->tensor) != in.lo || class_version(api->parameter) != in.hi) return false;
    if (state(api->grad_enabled) != ((in.want & 1) != 0)) return false;
    if (state(api->inference_enabled) != ((in.want & 2) != 0)) return false;
    if (state(api->function_modes) || state(api->dispatch_modes) || state(api->autocast)) return false;
    if (transformed()) return false;
    if (!in.p) return true;
    PyObject* dtype = PyObject_CallNoArgs(api->default_dtype);
    if (!dtype) PyErr_Clear();
    Py_XDECREF(dtype);
    return dtype == in.p;
}

std::string tensor_text(const ArraySpec& spec, bool written, const graph::SymTable* syms) {
    std::string s = dtype_text(spec.dtype) + "[";
    for (int i = 0; i < spec.ndim; ++i)
        s += (i ? ", " : "") + (syms ? syms->str(spec.shape[static_cast<size_t>(i)]) : std::string("?"));
    s += "]";
    if (spec.layout != graph::Layout::Contiguous) s += ", strided";
    if (!spec.perm.empty() && spec.ndim > 1) {
        s += ", axes in memory order (";
        for (size_t i = 0; i < spec.perm.size(); ++i) s += (i ? ", " : "") + std::to_string(spec.perm[i]);
        s += ")";
    }
    if (spec.device >= 0) s += ", on device " + std::to_string(spec.device);
    if (spec.inference) s += ", made in inference mode";
    if (spec.no_grad) s += ", not requiring grad";
    return written ? s + ", written" : s;
}

}  // namespace stator::guards
