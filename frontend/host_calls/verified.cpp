#include "frontend/host_calls/verified.h"

#include <utility>

#include "frontend/host_calls/host_calls.h"

namespace stator::frontend {

namespace {

bool g_verified = false, g_spoiled = false;
thread_local bool t_by_numpy = false;

}  // namespace

bool host_calls_are_verified() { return g_verified; }
void set_host_calls_verified(bool on) { g_verified = on; }
void spoil_host_calls(bool on) { g_spoiled = on; }

ByNumPy::ByNumPy() : outer_(std::exchange(t_by_numpy, true)) {}
ByNumPy::~ByNumPy() { t_by_numpy = outer_; }
bool is_by_numpy() { return g_verified && t_by_numpy; }

PyObject* compare_with_numpys(PyObject* ours, PyObject* theirs, PyRef function, PyObject* const* args,
                              Py_ssize_t count) {
    PyRef found = PyRef::steal(ours);
    if (g_spoiled) found = PyRef::borrow(Py_None);
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    if (!theirs) PyErr_Fetch(&type, &value, &traceback);  // NumPy's exception is the program's
    const PyRef arguments = PyRef::steal(PyTuple_New(count));
    for (Py_ssize_t i = 0; arguments && i < count; ++i)
        PyTuple_SET_ITEM(arguments.get(), i, Py_NewRef(args[i]));
    const PyRef module = module_named("stator._verify");
    if (module && arguments && function) {
        PyObject* expected = theirs ? theirs : value ? value : Py_None;
        const PyRef done = PyRef::steal(PyObject_CallMethod(module.get(), "check_host_call", "OOOOO",
                                                            function.get(), arguments.get(), expected,
                                                            found.get(), theirs ? Py_False : Py_True));
    }
    PyErr_Clear();
    if (!theirs) PyErr_Restore(type, value, traceback);
    return theirs;
}

}  // namespace stator::frontend
