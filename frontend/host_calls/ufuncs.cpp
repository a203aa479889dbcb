// Calls of ufuncs with small arrays or numbers of float64: `np.sin(x)` of a number, 500 ns in NumPy.
//
// The loop is the one that NumPy would run, with the strides that it would have, so the bits are its own;
// what is left out is how NumPy finds it. Where the loop reports a floating-point fault its results are
// dropped, and NumPy is asked.
#include <vector>

#include "frontend/host_calls/operands.h"
#include "frontend/host_calls/slots.h"
#include "frontend/hosts/numpy/runtime.h"
#include "kernels/tier0/flags.h"

namespace stator::frontend {

namespace {

using numpy::DType;

vectorcallfunc g_ufunc_call;  // of all ufuncs

struct ServedUfunc {
    PyObject* ufunc = nullptr;
    kernels::HostLoop loop;
    int nin = 0;
    DType out = DType::F64;
    bool takes_ints = false;  // ints of Python alone are float64, because there is no loop for ints
};

// By address, without a step between.
constexpr size_t kSlots = 1024;
ServedUfunc g_served[kSlots];

size_t index_of(const PyObject* ufunc) {
    return (reinterpret_cast<uintptr_t>(ufunc) * 0x9E3779B97F4A7C15u) >> 54;
}

const ServedUfunc* served(const PyObject* ufunc) {
    const ServedUfunc& s = g_served[index_of(ufunc)];
    return s.ufunc == ufunc ? &s : nullptr;
}

// NULL without an error where NumPy has to be asked.
PyObject* answer(const ServedUfunc& u, PyObject* const* args) {
    SmallArray like;
    double numbers[2];
    char* data[3];
    npy_intp steps[3] = {};
    bool floats = u.takes_ints;
    for (int i = 0; i < u.nin; ++i) {
        if (const SmallArray a = small_array(args[i])) {
            if (like && !like.is_like(a)) return nullptr;
            like = a;
            data[i] = reinterpret_cast<char*>(a.data());
            steps[i] = sizeof(double);
            floats = true;
            continue;
        }
        const NumberKind kind = read_number(args[i], &numbers[i]);
        if (kind == NumberKind::None) return nullptr;
        floats |= kind == NumberKind::Float;
        data[i] = reinterpret_cast<char*>(&numbers[i]);
    }
    if (!floats) return nullptr;
    const int64_t itemsize = u.out == DType::Bool ? 1 : sizeof(double);
    steps[u.nin] = itemsize;
    PyObject* result = nullptr;
    char bits[16] = {};
    if (like) {
        result = new_like(like, numpy::descr_of(u.out), itemsize);
        if (!result) return nullptr;
        data[u.nin] = PyArray_BYTES(reinterpret_cast<PyArrayObject*>(result));
    } else {
        data[u.nin] = bits;
    }
    npy_intp count = like ? like.size : 1;
    kernels::tier0::clear_flags();
    u.loop.fn(data, &count, steps, u.loop.data);
    if (kernels::tier0::read_faults() == 0)
        return like ? result : numpy::box_scalar(graph::Box::NpScalar, u.out, bits);
    kernels::tier0::clear_flags();
    Py_XDECREF(result);
    return nullptr;
}

PyObject* enter_ufunc(PyObject* ufunc, PyObject* const* args, size_t nargsf, PyObject* names) {
    if (!names && host_calls_are_on()) {
        const ServedUfunc* u = served(ufunc);
        if (u && PyVectorcall_NARGS(nargsf) == u->nin)
            if (PyObject* result = answer(*u, args)) return result;
        if (PyErr_Occurred()) return nullptr;
    }
    return g_ufunc_call(ufunc, args, nargsf, names);
}

kernels::HostLoop loop_of(const numpy::Ufunc& u, DType in, DType out) {
    std::vector<DType> types(static_cast<size_t>(u.nin), in);
    types.push_back(out);
    return numpy::find_numpys_loop({u.name, types});
}

// What is served of a ufunc; without a loop: nothing.
ServedUfunc served_of(const numpy::Ufunc& u) {
    ServedUfunc s{.ufunc = u.object, .nin = u.nin};
    // Loops that look at strides of 0 or leave elements out are not as simple as this.
    if (u.nin > 2 || u.nout != 1 || u.generalized || u.scalar_paths || u.skips) return s;
    s.loop = loop_of(u, DType::F64, DType::F64);
    if (!s.loop.fn) {
        s.out = DType::Bool;
        s.loop = loop_of(u, DType::F64, DType::Bool);
    }
    s.takes_ints = !loop_of(u, DType::I64, DType::I64).fn && !loop_of(u, DType::I64, DType::Bool).fn &&
                   !loop_of(u, DType::I64, DType::F64).fn;
    return s;
}

}  // namespace

void take_ufuncs() {
    for (const numpy::Ufunc* u : numpy::all_ufuncs()) {
        const ServedUfunc s = served_of(*u);
        ServedUfunc& place = g_served[index_of(u->object)];
        if (!s.loop.fn || place.ufunc) continue;
        auto& slot = *reinterpret_cast<vectorcallfunc*>(reinterpret_cast<char*>(u->object) +
                                                        Py_TYPE(u->object)->tp_vectorcall_offset);
        if (!g_ufunc_call) g_ufunc_call = slot;
        if (slot != g_ufunc_call) continue;
        place = s;
        slot = enter_ufunc;
    }
}

}  // namespace stator::frontend
