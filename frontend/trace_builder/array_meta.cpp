// See trace_builder/array_meta.h. The layout class of an array is decided here and nowhere else in the
// frontend.

#include "frontend/trace_builder/array_meta.h"

#include <algorithm>

#include "guards/check/check.h"
#include "guards/check/cupy_api.h"
#include "guards/check/numpy_api.h"
#include "guards/check/torch_api.h"

namespace stator::frontend {

using graph::DType;
using graph::Layout;

bool dtype_from_numpy(int type_num, DType* out) {
    if (type_num == NPY_LONGLONG) type_num = NPY_LONG;
    if (type_num == NPY_ULONGLONG) type_num = NPY_ULONG;
    const std::optional<DType> t = graph::dtype_numbered(type_num);
    if (t) *out = *t;
    return t.has_value();
}

bool is_any_ndarray(PyObject* obj) { return obj && PyArray_Check(obj); }

bool is_builtin_type(int type_num) {
    return type_num >= 0 && type_num < NPY_NTYPES_LEGACY && type_num != NPY_OBJECT && type_num != NPY_VOID;
}

bool is_ufunc(PyObject* obj) {
    static PyObject* type = nullptr;
    if (!type) {
        PyRef np = module_named("numpy");
        if (np) type = PyObject_GetAttrString(np.get(), "ufunc");
        if (!type) {
            PyErr_Clear();
            return false;
        }
    }
    return Py_TYPE(obj) == reinterpret_cast<PyTypeObject*>(type);
}

bool is_method_descriptor(PyObject* obj) { return Py_IS_TYPE(obj, &PyMethodDescr_Type); }

bool np_scalar_dtype(PyObject* scalar, DType* out) {
    if (!PyArray_IsScalar(scalar, Number) && !PyArray_IsScalar(scalar, Bool)) return false;
    PyArray_Descr* descr = PyArray_DescrFromScalar(scalar);
    if (!descr) {
        PyErr_Clear();
        return false;
    }
    int num = descr->type_num;
    bool exact = reinterpret_cast<PyTypeObject*>(descr->typeobj) == Py_TYPE(scalar);
    Py_DECREF(descr);
    return exact && dtype_from_numpy(num, out);
}

// Strides of a fresh array: axes from the innermost of `perm` outwards. Empty arrays have zero strides in
// recent NumPy, and count a zero extent as one before.
static bool has_standard_strides(const ArrayMeta& m, int64_t itemsize) {
    int rank = static_cast<int>(m.shape.size());
    if (std::all_of(m.strides.begin(), m.strides.end(), [](int64_t s) { return s == 0; }) &&
        std::find(m.shape.begin(), m.shape.end(), 0) != m.shape.end())
        return true;
    int64_t expect = itemsize;
    for (int k = rank - 1; k >= 0; --k) {
        int axis = m.perm.empty() ? k : m.perm[k];
        if (m.strides[axis] != expect) return false;
        if (m.shape[axis] != 0) expect *= m.shape[axis];
    }
    return true;
}

// An order of the axes in which the strides are exactly those of a dense array, extents of one included;
// NumPy's K order places such axes in ways that matter for results' strides. Empty result: there is none.
static std::vector<int> exact_order(const ArrayMeta& m, int64_t itemsize) {
    int rank = static_cast<int>(m.shape.size());
    std::vector<int> inner_first;
    std::vector<bool> used(rank, false);
    int64_t expect = itemsize;
    for (int k = 0; k < rank; ++k) {
        int pick = -1;
        for (int d = rank - 1; d >= 0; --d) {
            if (used[d] || m.strides[d] != expect) continue;
            if (pick < 0 || (m.shape[pick] != 1 && m.shape[d] == 1)) pick = d;
        }
        if (pick < 0) return {};
        used[pick] = true;
        inner_first.push_back(pick);
        if (m.shape[pick] != 0) expect *= m.shape[pick];
    }
    return {inner_first.rbegin(), inner_first.rend()};
}

static void classify(ArrayMeta* m, int64_t itemsize, bool c_contiguous) {
    m->layout = Layout::Contiguous;
    m->perm.clear();
    m->standard_strides = has_standard_strides(*m, itemsize);
    if (m->standard_strides) return;
    if (std::vector<int> order = exact_order(*m, itemsize); !order.empty()) {
        m->perm = std::move(order);
        m->standard_strides = true;
        return;
    }
    if (c_contiguous) return;
    int rank = static_cast<int>(m->shape.size());
    std::vector<int> perm(rank);
    guards::memory_order(rank, m->shape.data(), m->strides.data(), perm.data());
    bool dense = true;
    int64_t expect = itemsize;
    for (int k = rank - 1; k >= 0; --k) {
        int a = perm[k];
        if (m->shape[a] == 1) continue;
        if (m->strides[a] != expect) dense = false;
        expect *= m->shape[a];
    }
    bool c_order = std::is_sorted(perm.begin(), perm.end());
    if (!dense)
        m->layout = rank > 0 && m->strides[perm.back()] == itemsize ? Layout::InnerDense : Layout::Strided;
    if (!c_order) m->perm = std::move(perm);
}

bool ArrayMeta::strides_positive() const {
    for (size_t d = 0; d < shape.size(); ++d)
        if (shape[d] > 1 && strides[d] <= 0) return false;
    return true;
}

static bool read_tensor_meta(PyObject* obj, ArrayMeta* out, std::string* why) {
    guards::TensorView t;
    const bool cupy = guards::is_cupy_array(obj);
    if (!cupy) guards::meet_tensor(obj);
    if (cupy ? !guards::read_cupy_array(obj, &t) : !guards::read_tensor(obj, &t)) {
        *why = cupy ? "a CuPy array of an unusual dtype, or of more than 8 dimensions"
                    : "a tensor that is not in plain memory of the CPU or a GPU, or of an unusual dtype";
        return false;
    }
    const guards::TensorOrder order = guards::tensor_order(t.rank, t.shape, t.strides);
    if (order.undecided) {
        *why = "an array with two axes of the same stride, or with odd strides of axes of one element";
        return false;
    }
    out->host = cupy ? graph::HostId::CuPy : t.device >= 0 ? graph::HostId::TorchCuda : graph::HostId::Torch;
    out->device = t.device;
    out->dtype = t.dtype;
    out->own_dtype = false;
    out->writeable = true;
    out->layout = order.layout;
    out->standard_strides = order.layout == Layout::Contiguous;
    out->perm.assign(order.perm, order.perm + t.rank);
    if (std::is_sorted(out->perm.begin(), out->perm.end())) out->perm.clear();
    out->shape.assign(t.shape, t.shape + t.rank);
    out->strides.clear();
    for (int i = 0; i < t.rank; ++i) out->strides.push_back(t.strides[i] * graph::info(t.dtype).size);
    return true;
}

bool read_array_meta(PyObject* obj, ArrayMeta* out, std::string* why) {
    if (!PyArray_CheckExact(obj)) {
        if (guards::is_cupy_array(obj) || guards::is_tensor(obj)) return read_tensor_meta(obj, out, why);
        *why = std::string("expected numpy.ndarray, found ") + Py_TYPE(obj)->tp_name;
        return false;
    }
    auto* a = reinterpret_cast<PyArrayObject*>(obj);
    if (!dtype_from_numpy(PyArray_TYPE(a), &out->dtype)) {
        *why = "dtype is not a bool, int, float or complex of at most 64 bits a component";
        return false;
    }
    if (!PyArray_ISNOTSWAPPED(a) || !PyArray_ISALIGNED(a)) {
        *why = "byte-swapped or unaligned";
        return false;
    }
    PyArray_Descr* descr = PyArray_DESCR(a);
    if (PyDataType_METADATA(descr)) {
        *why = "a dtype with metadata";
        return false;
    }
    PyArray_Descr* builtin = PyArray_DescrFromType(descr->type_num);
    out->own_dtype = builtin != descr;
    Py_XDECREF(builtin);
    int rank = PyArray_NDIM(a);
    if (rank > 8) {
        *why = "more than 8 dimensions";
        return false;
    }
    out->shape.assign(PyArray_DIMS(a), PyArray_DIMS(a) + rank);
    out->strides.assign(PyArray_STRIDES(a), PyArray_STRIDES(a) + rank);
    int64_t itemsize = PyArray_ITEMSIZE(a);
    out->writeable = PyArray_ISWRITEABLE(a);
    for (int i = 0; i < rank; ++i)
        if (out->shape[i] > 1 && out->strides[i] % itemsize != 0) {
            *why = "strides are not multiples of the element size";
            return false;
        }
    classify(out, itemsize, PyArray_IS_C_CONTIGUOUS(a));
    return true;
}

}  // namespace stator::frontend
