// NumPy's functions that look for __array_function__: objects with a vectorcall slot of their own. Few are so
// simple that a trace would be a detour: linalg.h.
#include <unordered_map>

#include "frontend/host_calls/case.h"
#include "frontend/host_calls/linalg.h"
#include "frontend/host_calls/slots.h"
#include "frontend/hosts/numpy/names.h"

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
    return serve({&functions().find(function)->second, args, nargsf, names, ask_function});
}

PyObject* enter_linalg(PyObject* function, PyObject* const* args, size_t nargsf, PyObject* names) {
    if (!names && host_calls_are_on())
        if (PyObject* result = answer_linalg(function, args, PyVectorcall_NARGS(nargsf))) return result;
    if (PyErr_Occurred()) return nullptr;
    return keeps_cases(function) ? enter_function(function, args, nargsf, names)
                                 : g_dispatch(function, args, nargsf, names);
}

vectorcallfunc& function_slot(PyObject* function) {
    return *reinterpret_cast<vectorcallfunc*>(reinterpret_cast<char*>(function) +
                                              Py_TYPE(function)->tp_vectorcall_offset);
}

void give_function_back(HostFunction& f) { function_slot(f.callable) = g_dispatch; }

}  // namespace

void take_functions() {
    find_linalg();
    for (PyObject* function : numpy::known_dispatchers()) {
        if (Py_TYPE(function)->tp_vectorcall_offset <= 0) return;
        vectorcallfunc& slot = function_slot(function);
        if (!g_dispatch) g_dispatch = slot;
        if (slot != g_dispatch) continue;
        functions().emplace(function, HostFunction{function, give_function_back, nullptr});
        slot = is_linalg(function) ? enter_linalg : enter_function;
    }
}

}  // namespace stator::frontend
