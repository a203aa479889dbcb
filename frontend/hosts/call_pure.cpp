// See call_pure.h. Python code warns by warnings.warn, which it looks up when it does: for the time of a call
// a function stands there that stops what this thread reports and passes on what others do. (It is built in,
// so it changes no stack level.) What C code warns of is kept, and dropped (kept_warnings.h): an array that
// is converted to a number, say, which some versions of NumPy advise against.
#include "frontend/hosts/call_pure.h"

#include <cstring>
#include <optional>
#include <utility>

#include "frontend/cpython/deferred.h"
#include "frontend/hosts/kept_warnings.h"
#include "frontend/once.h"

namespace stator::frontend {

namespace {

enum class Listening : uint8_t { No, Fail, Ignore };
thread_local Listening t_listening = Listening::No;
thread_local bool t_warned = false;

// Guarded by the GIL.
int g_listeners = 0;
PyObject* g_warn = nullptr;  // what stands in warnings.warn otherwise

PyObject* warn(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* names) {
    if (t_listening == Listening::No)
        return PyObject_Vectorcall(g_warn, args, static_cast<size_t>(nargs), names);
    t_warned = true;
    if (t_listening == Listening::Ignore) Py_RETURN_NONE;
    PyErr_SetString(PyExc_RuntimeWarning, "stator: the function warns");
    return nullptr;
}

struct WarningsModule {
    PyRef names, key, ours;
};

WarningsModule& warnings_module() {
    return once([] {
        static PyMethodDef method = {"warn",
                                     reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(warn)),
                                     METH_FASTCALL | METH_KEYWORDS, nullptr};
        const PyRef module = module_named("warnings");
        WarningsModule w;
        if (module && PyModule_Check(module.get())) {
            w.names = PyRef::borrow(PyModule_GetDict(module.get()));
            w.key = PyRef::steal(PyUnicode_InternFromString("warn"));
            w.ours = PyRef::steal(PyCFunction_New(&method, nullptr));
        }
        PyErr_Clear();
        return w;
    });
}

// What this thread warns about while it is alive is heard here. Exceptions are left as they are.
class Listener {
  public:
    explicit Listener(Listening how) : outer_(std::exchange(t_listening, how)) {
        t_warned = false;
        WarningsModule& w = warnings_module();
        if (!w.ours || g_listeners++ > 0) return;
        PyObject* now = PyDict_GetItemWithError(w.names.get(), w.key.get());
        if (now && now != w.ours.get()) {
            Py_XSETREF(g_warn, Py_NewRef(now));
            PyDict_SetItem(w.names.get(), w.key.get(), w.ours.get());
        }
        PyErr_Clear();
    }
    ~Listener() {
        t_listening = outer_;
        if (warnings_module().ours && --g_listeners == 0) put_back();
    }
    // In a child of a fork, whose thread listens in `here` calls.
    static void only(int here) {
        if (std::exchange(g_listeners, here) > 0 && here == 0) put_back();
    }
    Listener(const Listener&) = delete;

  private:
    static void put_back() {
        const WarningsModule& w = warnings_module();
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        if (PyDict_GetItemWithError(w.names.get(), w.key.get()) == w.ours.get() &&
            PyDict_SetItem(w.names.get(), w.key.get(), g_warn) < 0)
            PyErr_Clear();
        PyErr_Restore(type, value, traceback);
    }
    Listening outer_;
};

// An exception that another thread sends is raised wherever the evaluator looks. A pure function fails in the
// same way twice, so what does not come again was sent, and is sent once more.
PyRef call_again(PyObject* callable, PyObject* const* args, size_t nargs, PyObject* names) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    const PyRef first = PyRef::steal(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    PyRef result = PyRef::steal(PyObject_Vectorcall(callable, args, nargs, names));
    if ((result || PyErr_Occurred() != first.get()) && !t_warned)
        PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), first.get());
    return result;
}

// Methods of arrays do (var).
bool runs_python(PyObject* callable) {
    return !PyCFunction_Check(callable) && std::strcmp(Py_TYPE(callable)->tp_name, "numpy.ufunc") != 0;
}

}  // namespace

PyRef call_pure(PyObject* callable, PyObject* const* args, size_t nargs, PyObject* names,
                OnWarning on_warning) {
    const DeferredSignals deferred;
    std::optional<KeptWarnings> from_c;
    if ((runs_python(callable) || on_warning == OnWarning::Ignore) && !KeptWarnings::of_this_thread())
        from_c.emplace();
    if (!runs_python(callable)) return PyRef::steal(PyObject_Vectorcall(callable, args, nargs, names));
    const Listener listener(on_warning == OnWarning::Fail ? Listening::Fail : Listening::Ignore);
    PyRef result = PyRef::steal(PyObject_Vectorcall(callable, args, nargs, names));
    if (from_c && from_c->any() && on_warning == OnWarning::Fail) return {};
    if (result || t_warned || PyErr_ExceptionMatches(PyExc_FloatingPointError)) return result;
    return call_again(callable, args, nargs, names);
}

PyObject* run_pure(PyObject* (*body)(void* context), void* context, bool* warned) {
    const DeferredSignals deferred;
    std::optional<KeptWarnings> from_c;
    if (!KeptWarnings::of_this_thread()) from_c.emplace();
    const Listener listener(Listening::Fail);
    PyRef result = PyRef::steal(body(context));
    *warned = t_warned || (from_c && from_c->any());
    if (!*warned || !result) return result.release();
    PyErr_SetString(PyExc_RuntimeWarning, "stator: the function warns");
    return nullptr;
}

void other_threads_are_gone() {
    // A fork within such a call is one by a function of the library: none is known.
    Listener::only(t_listening == Listening::No ? 0 : 1);
    KeptWarnings::other_threads_are_gone();
}

}  // namespace stator::frontend
