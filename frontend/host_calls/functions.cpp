// NumPy's functions that look for __array_function__: objects with a vectorcall slot of their own. Few are so
// simple that a trace would be a detour: linalg.h.
#include <algorithm>
#include <unordered_map>

#include "frontend/cpython/frame.h"
#include "frontend/host_calls/case.h"
#include "frontend/host_calls/slots.h"
#include "frontend/host_calls/verified.h"
#include "frontend/hosts/numpy/names.h"
#include "frontend/profile/doing.h"

namespace stator::frontend {

namespace {

vectorcallfunc g_dispatch = nullptr;  // of all of them

std::unordered_map<PyObject*, HostFunction>& functions() {
    static auto* all = new std::unordered_map<PyObject*, HostFunction>;
    return *all;
}

PyObject* ask_function(const HostCall& call) {
    return g_dispatch(call.function->callable, call.args, call.nargsf, call.names);
}

PyObject* enter_function(PyObject* function, PyObject* const* args, size_t nargsf, PyObject* names) {
    HostFunction& f = functions().find(function)->second;
    if (f.at_once && !names && host_calls_are_on() && !is_traced(PyThreadState_Get())) {
        const Py_ssize_t count = PyVectorcall_NARGS(nargsf);
        const Timed timed(Activity::Answering, kFramesLine);
        if (PyObject* result = f.at_once(args, count))
            return answered(result, *f.tally, function, args, count,
                            [&] { return g_dispatch(function, args, nargsf, names); });
        if (PyErr_Occurred()) return nullptr;
    }
    return f.has_cases ? serve({&f, args, nargsf, names, ask_function})
                       : g_dispatch(function, args, nargsf, names);
}

// Functions that look at their first argument through np.asanyarray alone.
bool reads_lists(PyObject* function) {
    constexpr const char* kNames[] = {"sum",  "prod", "mean", "std",    "var",    "max",    "min",   "amax",
                                      "amin", "all",  "any",  "median", "argmax", "argmin", "cumsum"};
    return std::ranges::any_of(kNames,
                               [&](const char* name) { return numpy::numpy_function(name) == function; });
}

vectorcallfunc& function_slot(PyObject* function) {
    return *reinterpret_cast<vectorcallfunc*>(reinterpret_cast<char*>(function) +
                                              Py_TYPE(function)->tp_vectorcall_offset);
}

void give_function_back(HostFunction& f) { function_slot(f.callable) = g_dispatch; }

}  // namespace

void take_functions() {
    for (PyObject* function : numpy::known_dispatchers()) {
        if (Py_TYPE(function)->tp_vectorcall_offset <= 0) return;
        vectorcallfunc& slot = function_slot(function);
        if (!g_dispatch) g_dispatch = slot;
        if (slot != g_dispatch) continue;
        HostFunction& f = functions()
                              .emplace(function, HostFunction{function, give_function_back, nullptr,
                                                              &new_tally_of(function)})
                              .first->second;
        f.at_once = linalg_at_once(function);
        if (!f.at_once) f.at_once = numbers_at_once(function);
        f.reads_lists = reads_lists(function);
        slot = enter_function;
    }
}

}  // namespace stator::frontend
