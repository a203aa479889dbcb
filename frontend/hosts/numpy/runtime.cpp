// NumPy at replay time: result arrays, views, boxed scalars, error state and the inner loops behind host loop
// names. Everything here may be called with the GIL held only, and never runs Python code except
// faults_that_matter.
//
// Invariant: find_loop answers with the very loop NumPy would dispatch to for these dtypes, or with one that
// has its bits (kernels/sincos/sincos.h). NumPy's legacy loops (ufunc->functions) are that for all its
// numeric ufuncs; a ufunc whose strided loop is not the wrapper of its legacy loops is refused, so a later
// NumPy that moves one to its newer ArrayMethod API only costs speed.
#include "frontend/hosts/numpy/runtime.h"

#include <cstring>
#include <map>
#include <mutex>

#include "frontend/cpython/deferred.h"
#include "frontend/hosts/numpy/fresh.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/names.h"
#include "frontend/hosts/numpy/pool.h"
#include "frontend/hosts/numpy/py_loops.h"
#include "frontend/once.h"
#include "kernels/sincos/sincos.h"

namespace stator::frontend::numpy {

namespace {

PyArray_Descr* g_descr[graph::kDTypeCount];
PyArray_Descr* g_own_descr[graph::kDTypeCount];  // copies of these: equal, and other objects
PyObject* g_extobj_var = nullptr;                // the context variable behind np.errstate
PyObject* g_geterr = nullptr;

// What `ufunc._get_strided_loop` fills (NumPy's ufunc_call_info, capsule "numpy_1.24_ufunc_call_info").
struct CallInfo {
    void* strided_loop;
    void* context;
    void* auxdata;
    npy_bool requires_pyapi;
    npy_bool no_floatingpoint_errors;
};

// The strided loop NumPy dispatches to for these dtypes; nullptr when NumPy does not tell.
void* strided_loop_of(PyObject* ufunc, std::span<const DType> types, int nin) {
    PyRef dtypes = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(types.size())));
    for (size_t i = 0; i < types.size(); i++) {
        PyObject* item =
            static_cast<int>(i) < nin ? reinterpret_cast<PyObject*>(descr_of(types[i])) : Py_None;
        PyTuple_SET_ITEM(dtypes.get(), static_cast<Py_ssize_t>(i), Py_NewRef(item));
    }
    PyRef pair = PyRef::steal(PyObject_CallMethod(ufunc, "_resolve_dtypes_and_context", "(O)", dtypes.get()));
    void* found = nullptr;
    if (pair && PyTuple_Check(pair.get()) && PyTuple_GET_SIZE(pair.get()) == 2) {
        PyObject* capsule = PyTuple_GET_ITEM(pair.get(), 1);
        PyRef done = PyRef::steal(PyObject_CallMethod(ufunc, "_get_strided_loop", "(O)", capsule));
        if (done) {
            auto* info = static_cast<CallInfo*>(PyCapsule_GetPointer(capsule, "numpy_1.24_ufunc_call_info"));
            if (info) found = info->strided_loop;
        }
    }
    PyErr_Clear();
    return found;
}

bool dispatches_to_legacy(const Ufunc& u, std::span<const DType> types) {
    void* wrapper = once([] {
        const DType f8[] = {DType::F64, DType::F64, DType::F64};
        return strided_loop_of(find_ufunc("add")->object, f8, 2);
    });
    // Without the query (a NumPy that dropped it) the legacy table is all there is to go by.
    if (!wrapper) return true;
    return strided_loop_of(u.object, types, u.nin) == wrapper;
}

kernels::HostLoop search_loop(const Ufunc& u, std::span<const DType> types, bool generalized = false) {
    auto* f = reinterpret_cast<PyUFuncObject*>(u.object);
    if (static_cast<int>(types.size()) != f->nargs || (f->core_enabled != 0) != generalized) return {};
    for (int i = 0; i < f->ntypes; i++) {
        bool match = true;
        for (int k = 0; k < f->nargs && match; k++) {
            DType t;
            match = dtype_of_number(f->types[i * f->nargs + k], &t) && t == types[k];
        }
        if (!match || !f->functions[i]) continue;
        if (!dispatches_to_legacy(u, types)) return {};
        void* data = f->data ? const_cast<void*>(static_cast<const void*>(f->data[i])) : nullptr;
        return {reinterpret_cast<kernels::HostLoopFn>(f->functions[i]), data};
    }
    return {};
}

}  // namespace

PyArray_Descr* descr_of(DType t) { return g_descr[static_cast<int>(t)]; }

bool init_runtime(std::string* error) {
    for (int i = 0; i < graph::kDTypeCount; i++) {
        if (graph::kDTypes[i].numpy_type < 0) continue;
        g_descr[i] = PyArray_DescrFromType(graph::kDTypes[i].numpy_type);
        g_own_descr[i] = PyArray_DescrNew(g_descr[i]);
    }
    PyRef umath = module_named("numpy._core.umath");
    if (umath) g_extobj_var = PyObject_GetAttrString(umath.get(), "_extobj_contextvar");
    PyErr_Clear();
    // What np.geterr asks, without Python code, in which a signal's handler could run and raise.
    if (umath) g_geterr = PyObject_GetAttrString(umath.get(), "_get_extobj_dict");
    PyErr_Clear();
    const PyRef np = module_named("numpy");
    if (!g_geterr && np) g_geterr = PyObject_GetAttrString(np.get(), "geterr");
    register_ufuncs();
    watch_loops();
    keep_names();
    if (!g_geterr || !find_ufunc("add")) {
        PyErr_Clear();
        *error = "NumPy is not laid out as stator expects: please report this";
        return false;
    }
    return true;
}

kernels::HostLoop find_loop(const kernels::LoopRef& ref) {
    using Key = std::pair<std::string, std::vector<DType>>;
    static std::map<Key, kernels::HostLoop>* cache = new std::map<Key, kernels::HostLoop>;
    Key key{ref.name, ref.types};
    auto it = cache->find(key);
    if (it != cache->end()) return it->second;
    kernels::HostLoop loop = python_loop(ref.name, ref.types);
    if (!loop.fn)
        if (const Ufunc* u = find_ufunc(ref.name)) loop = search_loop(*u, ref.types);
    if (ref.types.size() == 2 && ref.types[0] == DType::F64 && ref.types[1] == DType::F64) {
        if (ref.name == "sin" || ref.name == "py.sin")
            loop = kernels::with_sincos_lanes(kernels::Trig::Sin, loop);
        else if (ref.name == "cos" || ref.name == "py.cos")
            loop = kernels::with_sincos_lanes(kernels::Trig::Cos, loop);
    }
    cache->emplace(std::move(key), loop);
    return loop;
}

kernels::HostLoop find_numpys_loop(const kernels::LoopRef& ref) {
    const Ufunc* u = find_ufunc(ref.name);
    return u ? search_loop(*u, ref.types) : kernels::HostLoop{};
}

kernels::HostLoop find_core_loop(const kernels::LoopRef& ref) {
    const Ufunc* u = find_ufunc(ref.name);
    return u ? search_loop(*u, ref.types, true) : kernels::HostLoop{};
}

PyObject* new_array(DType dtype, int ndim, const int64_t* shape, const std::vector<int>& perm,
                    bool own_dtype) {
    PyArray_Descr* descr = (own_dtype ? g_own_descr : g_descr)[static_cast<int>(dtype)];
    npy_intp strides[NPY_MAXDIMS];
    npy_intp* given = nullptr;
    int64_t count = 1;
    for (int i = 0; i < ndim; i++) count *= shape[i];
    if (!perm.empty()) {
        npy_intp step = graph::info(dtype).size;
        for (int i = ndim - 1; i >= 0; i--) {
            strides[perm[i]] = step;
            step *= shape[perm[i]] > 0 ? shape[perm[i]] : 1;
        }
        given = strides;
    }
    int64_t bytes = count * graph::info(dtype).size;
    if (bytes >= kPoolThreshold)
        if (PyObject* a = new_pooled_array(descr, ndim, shape, given, bytes)) return a;
    if (!given && bytes < kPoolThreshold)
        if (PyObject* a = new_small_array(descr, ndim, shape, bytes)) return a;
    Py_INCREF(descr);
    return PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, given, nullptr, 0, nullptr);
}

PyObject* new_view(PyObject* base, DType dtype, int ndim, const int64_t* shape, const int64_t* strides,
                   char* data, bool stretched) {
    auto* root = reinterpret_cast<PyArrayObject*>(base);
    PyArray_Descr* descr = PyArray_DESCR(root)->type_num == graph::info(dtype).numpy_type
                               ? PyArray_DESCR(root)
                               : descr_of(dtype);
    Py_INCREF(descr);
    int flags = PyArray_ISWRITEABLE(root) && !stretched ? NPY_ARRAY_WRITEABLE : 0;
    PyObject* view = PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, strides, data, flags, nullptr);
    if (!view) return nullptr;
    // Collapses chains of views to the array that owns the memory, as NumPy's own views do.
    if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(view), Py_NewRef(base)) < 0) {
        Py_DECREF(view);
        return nullptr;
    }
    return view;
}

namespace {

double double_of(DType t, const char* bits) {
    switch (t) {
        case DType::F64:
        case DType::C128: {
            double v;
            std::memcpy(&v, bits, 8);
            return v;
        }
        case DType::F32:
        case DType::C64: {
            float v;
            std::memcpy(&v, bits, 4);
            return v;
        }
        case DType::Bool: return *bits != 0;
        case DType::I64: {
            int64_t v;
            std::memcpy(&v, bits, 8);
            return static_cast<double>(v);
        }
        default: {
            PyRef o = PyRef::steal(PyArray_Scalar(const_cast<char*>(bits), descr_of(t), nullptr));
            return o ? PyFloat_AsDouble(o.get()) : -1;
        }
    }
}

}  // namespace

// As PyArray_Scalar makes it, which asks a dozen questions about other types first.
PyObject* new_scalar(DType dtype, const char* bits) {
    if (dtype == DType::Bool) PyArrayScalar_RETURN_BOOL_FROM_LONG(*bits);
    static_assert(offsetof(PyDoubleScalarObject, obval) == sizeof(PyObject) &&
                  offsetof(PyByteScalarObject, obval) == sizeof(PyObject) &&
                  offsetof(PyCDoubleScalarObject, obval) == sizeof(PyObject));
    PyTypeObject* type = descr_of(dtype)->typeobj;
    PyObject* o = type->tp_alloc(type, 0);
    if (o) std::memcpy(reinterpret_cast<char*>(o) + sizeof(PyObject), bits, graph::info(dtype).size);
    return o;
}

PyObject* box_scalar(Box box, DType dtype, const char* bits) {
    switch (box) {
        case Box::PyFloat: return PyFloat_FromDouble(double_of(dtype, bits));
        case Box::PyBool: return PyBool_FromLong(*bits != 0);
        case Box::PyInt: {
            if (dtype == DType::I64) {
                int64_t v;
                std::memcpy(&v, bits, 8);
                return PyLong_FromLongLong(v);
            }
            PyRef o = PyRef::steal(PyArray_Scalar(const_cast<char*>(bits), descr_of(dtype), nullptr));
            return o ? PyNumber_Index(o.get()) : nullptr;
        }
        case Box::PyComplex: {
            double re = double_of(dtype, bits), im = 0;
            if (dtype == DType::C128) std::memcpy(&im, bits + 8, 8);
            if (dtype == DType::C64) im = double_of(DType::F32, bits + 4);
            return PyComplex_FromDoubles(re, im);
        }
        case Box::NpScalar: return new_scalar(dtype, bits);
        case Box::Array: {  // a 0-d array
            PyObject* a = new_array(dtype, 0, nullptr, {});
            if (a) std::memcpy(data(a), bits, graph::info(dtype).size);
            return a;
        }
    }
    return nullptr;
}

uint32_t array_kind(PyObject* object) {
    if (!PyArray_Check(object)) return 0;
    auto* a = reinterpret_cast<PyArrayObject*>(object);
    return 1 + static_cast<uint32_t>(PyArray_TYPE(a)) * 64 + static_cast<uint32_t>(PyArray_NDIM(a));
}

int64_t array_size(PyObject* object) {
    return PyArray_CheckExact(object) ? PyArray_SIZE(reinterpret_cast<PyArrayObject*>(object)) : 0;
}
uint32_t array_form(PyObject* object, int64_t* size) {
    if (!PyArray_CheckExact(object)) return 0;
    auto* a = reinterpret_cast<PyArrayObject*>(object);
    *size = PyArray_SIZE(a);
    constexpr int kLayout = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS;
    return array_kind(object) * 4 + static_cast<uint32_t>(PyArray_FLAGS(a) & kLayout);
}
char* data(PyObject* array) { return PyArray_BYTES(reinterpret_cast<PyArrayObject*>(array)); }
char* locate(PyObject* array, int rank, int64_t* out) {
    auto* a = reinterpret_cast<PyArrayObject*>(array);
    const npy_intp* from = PyArray_STRIDES(a);
    for (int d = 0; d < rank; ++d) out[d] = from[d];
    return PyArray_BYTES(a);
}
const int64_t* strides(PyObject* array) { return PyArray_STRIDES(reinterpret_cast<PyArrayObject*>(array)); }
const int64_t* shape(PyObject* array) { return PyArray_DIMS(reinterpret_cast<PyArrayObject*>(array)); }
bool is_plain_array(PyObject* object) { return PyArray_CheckExact(object); }
PyObject* owner_of(PyObject* array) {
    while (PyArray_CheckExact(array)) {
        PyObject* base = PyArray_BASE(reinterpret_cast<PyArrayObject*>(array));
        if (!base || !PyArray_CheckExact(base)) break;
        array = base;
    }
    return array;
}
int rank(PyObject* array) { return PyArray_NDIM(reinterpret_cast<PyArrayObject*>(array)); }
int itemsize(PyObject* array) {
    return static_cast<int>(PyArray_ITEMSIZE(reinterpret_cast<PyArrayObject*>(array)));
}

namespace {

// Fault bits that some np.errstate mode other than "ignore" handles, and other than "ignore" and "warn".
struct ErrorState {
    uint32_t matter, raise;
};

ErrorState read_error_state() {
    const DeferredSignals deferred;  // np.geterr is a Python function
    PyRef dict = PyRef::steal(PyObject_CallNoArgs(g_geterr));
    if (!dict || !PyDict_Check(dict.get())) {
        PyErr_Clear();
        return {~0u, ~0u};
    }
    static constexpr struct {
        const char* name;
        uint32_t bit;
    } kKinds[] = {{"divide", kernels::kFaultDivide},
                  {"over", kernels::kFaultOverflow},
                  {"under", kernels::kFaultUnderflow},
                  {"invalid", kernels::kFaultInvalid}};
    ErrorState state{~15u, ~15u};
    for (const auto& kind : kKinds) {
        PyObject* mode = PyDict_GetItemString(dict.get(), kind.name);
        auto is = [&](const char* text) {
            return mode && PyUnicode_Check(mode) && PyUnicode_CompareWithASCIIString(mode, text) == 0;
        };
        if (is("ignore")) continue;
        state.matter |= kind.bit;
        if (!is("warn")) state.raise |= kind.bit;
    }
    return state;
}

ErrorState error_state() {
    PyObject *type, *raised, *traceback;  // an error the caller may be carrying
    PyErr_Fetch(&type, &raised, &traceback);
    // The context variable's value is replaced, never changed, by np.errstate: its identity stands for the
    // settings.
    static PyObject* cached_value = nullptr;
    static ErrorState cached{};
    ErrorState state{};
    PyObject* value = nullptr;
    if (g_extobj_var && PyContextVar_Get(g_extobj_var, nullptr, &value) == 0 && value) {
        if (value != cached_value) {
            cached = read_error_state();
            Py_XSETREF(cached_value, Py_NewRef(value));
        }
        state = cached;
        Py_DECREF(value);
    } else {
        PyErr_Clear();
        state = read_error_state();
    }
    PyErr_Restore(type, raised, traceback);
    return state;
}

}  // namespace

uint32_t faults_that_matter(uint32_t faults) { return faults & error_state().matter; }
uint32_t faults_that_raise(uint32_t faults) { return faults & error_state().raise; }

uint32_t faults_that_matter(uint32_t faults, uint32_t set, uint32_t ignored) {
    if (uint32_t own = faults & set & ~ignored) return own;
    uint32_t others = faults & ~set;
    return others ? faults_that_matter(others) : 0;
}

}  // namespace stator::frontend::numpy
