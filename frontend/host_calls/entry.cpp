// Finds the case that a call belongs to.
#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontend/cpython/frame.h"
#include "frontend/drive/driver.h"
#include "frontend/host_calls/case.h"
#include "frontend/host_calls/host_calls.h"
#include "frontend/host_calls/new_arrays.h"
#include "frontend/host_calls/operands.h"
#include "frontend/host_calls/slots.h"
#include "frontend/host_calls/verified.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/names.h"
#include "frontend/hosts/numpy/runtime.h"
#include "frontend/policy.h"
#include "frontend/stance.h"

namespace stator::frontend {

namespace {

bool g_on = true;

// Whether NumPy's functions do with it what they do without running code of the program's, which a recording
// that is dropped would have run in vain.
bool runs_no_python(PyObject* o) {
    PyTypeObject* type = Py_TYPE(o);
    return PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyBool_Check(o) || o == Py_None ||
           PyUnicode_CheckExact(o) || PyComplex_CheckExact(o) || PySlice_Check(o) || o == Py_Ellipsis ||
           numpy::is_no_value(o) || PyArray_DescrCheck(o) ||
           (PyType_Check(o) && !(reinterpret_cast<PyTypeObject*>(o)->tp_flags & Py_TPFLAGS_HEAPTYPE)) ||
           (PyArray_CheckScalar(o) && !(type->tp_flags & Py_TPFLAGS_HEAPTYPE));
}

// What decides which case a call belongs to, mixed into one number.
class Kinds {
  public:
    explicit Kinds(const HostCall& call) {
        mix(reinterpret_cast<uintptr_t>(call.function->callable));
        mix(call.count());
        for (Py_ssize_t i = 0; call.names && i < PyTuple_GET_SIZE(call.names); ++i)
            mix(reinterpret_cast<uintptr_t>(PyTuple_GET_ITEM(call.names, i)));
        for (size_t i = 0; i < call.count() && fits_; ++i) add(call.args[i], 0);
        // Who is quicker depends on how much there is to do.
        mix(static_cast<uint64_t>(std::bit_width(static_cast<uint64_t>(size_)) / 3));
        fits_ &= size_ <= policy().host_call_elements;
    }
    bool fits() const { return fits_; }
    uint64_t key() const { return key_; }

  private:
    void add(PyObject* o, int depth) {
        int64_t size = 0;
        if (PyArray_CheckExact(o)) {
            fits_ &= PyTypeNum_ISNUMBER(PyArray_TYPE(reinterpret_cast<PyArrayObject*>(o))) ||
                     PyTypeNum_ISBOOL(PyArray_TYPE(reinterpret_cast<PyArrayObject*>(o)));
            mix(numpy::array_form(o, &size));
            size_ += size;
            return;
        }
        mix(reinterpret_cast<uintptr_t>(Py_TYPE(o)));
        const bool sequence = PyList_CheckExact(o) || PyTuple_CheckExact(o);
        if (!sequence) {
            fits_ &= runs_no_python(o);
            return;
        }
        const Py_ssize_t count = PySequence_Fast_GET_SIZE(o);
        items_ += count;
        fits_ &= depth < 2 && items_ <= policy().host_call_items;
        mix(static_cast<uint64_t>(count));
        for (Py_ssize_t i = 0; i < count && fits_; ++i) add(PySequence_Fast_GET_ITEM(o, i), depth + 1);
    }
    void mix(uint64_t x) {
        key_ = (key_ ^ x) * 0x9E3779B97F4A7C15u;
        key_ ^= key_ >> 29;
    }
    uint64_t key_ = 0;
    int64_t size_ = 0, items_ = 0;
    bool fits_ = true;
};

std::unordered_map<uint64_t, std::unique_ptr<HostCase>>& cases() {
    static auto* all = new std::unordered_map<uint64_t, std::unique_ptr<HostCase>>;
    return *all;
}

// The case of a call, made where it is the first of its kind; nullptr where there are too many.
HostCase* case_of(const HostCall& call, uint64_t key) {
    // Those that were asked for last, by their keys.
    struct Recent {
        uint64_t key = 0;
        HostCase* found = nullptr;
    };
    static Recent recent[64];
    Recent& slot = recent[key >> 58];
    if (slot.key == key && slot.found) return slot.found->is_called_like(call) ? slot.found : nullptr;
    auto& all = cases();
    const auto it = all.find(key);
    HostCase* found = it == all.end() ? nullptr : it->second.get();
    if (!found) {
        if (all.size() >= static_cast<size_t>(policy().host_call_cases)) return nullptr;
        found = all.emplace(key, std::make_unique<HostCase>(call)).first->second.get();
    }
    slot = {key, found};
    return found->is_called_like(call) ? found : nullptr;
}

PyObject* serve_as_it_is(const HostCall& call) {
    const Kinds kinds(call);
    if (!kinds.fits() || recording_on_this_thread() || is_traced(PyThreadState_Get())) return call.by_numpy();
    HostCase* found = case_of(call, kinds.key());
    return found ? found->serve(call) : call.by_numpy();
}

// With an array instead of the list that is the first argument.
PyObject* serve_with(const HostCall& call, PyObject* array) {
    constexpr size_t kMostArguments = 8;
    if (call.count() > kMostArguments) return call.by_numpy();
    PyObject* args[kMostArguments];
    std::copy_n(call.args, call.count(), args);
    args[0] = array;
    return serve_as_it_is({call.function, args, call.nargsf, call.names, call.ask, &call});
}

}  // namespace

PyObject* serve(const HostCall& call) {
    if (!host_calls_are_on() || in_host_case()) return call.by_numpy();
    if (call.function->reads_lists && PyVectorcall_NARGS(call.nargsf) > 0)
        if (const PyRef array = array_of(call.args[0])) return serve_with(call, array.get());
    return serve_as_it_is(call);
}

void start_host_calls() {
    static bool started = false;
    if (std::exchange(started, true)) return;
    g_float64 = numpy::descr_of(numpy::DType::F64);
    take_operators();
    take_ufuncs();
    take_functions();
    take_methods();
    take_new_arrays();
}

void set_host_calls(bool on) { g_on = on; }

bool host_calls_are_on() { return g_on && stance() == Stance::Default && !is_by_numpy(); }

}  // namespace stator::frontend
