// 3.13 and later export the evaluator's own function. Before, an empty Python function does what has no
// exported function: the evaluator serves its breaker where that function starts. Signals and pending calls
// are served first, from this frame, so a signal handler is given the frame it would be given otherwise; an
// asynchronous exception loses the empty function's traceback entry.
#include "frontend/cpython/raw/raw.h"
// raw.h must come first.
#include <frameobject.h>

#include "frontend/cpython/deferred.h"
#include "frontend/cpython/frame.h"
#include "frontend/cpython/pending.h"
#include "guards/check/own_code.h"
#if PY_VERSION_HEX >= 0x030D0000
#include "internal/pycore_ceval.h"
#endif

namespace stator::frontend {

void show_pending_call(PyInterpreterState* interp) { raw::set_eval_breaker(interp); }

#if PY_VERSION_HEX < 0x030D0000

namespace {

guards::OwnCode empty_function_code("lambda: None", Py_eval_input);

PyObject* make_empty_function() {
    PyRef globals = PyRef::steal(PyDict_New());
    return globals ? empty_function_code.run(globals.get()) : nullptr;
}

// Of the function, or of the code that makes it: what another thread sends may be raised there already.
void drop_own_traceback_entry() {
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb);
    auto* entry = reinterpret_cast<PyTracebackObject*>(tb);
    if (entry) {
        PyRef co = PyRef::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(entry->tb_frame)));
        PyObject* file = reinterpret_cast<PyCodeObject*>(co.get())->co_filename;
        if (PyUnicode_CompareWithASCIIString(file, "<stator>") == 0) {
            tb = Py_XNewRef(reinterpret_cast<PyObject*>(entry->tb_next));
            Py_DECREF(entry);
        }
    }
    PyErr_Restore(type, value, tb);
}

// While alive, a tracer or profiler that the program has set sees nothing of this thread.
class Untraced {
  public:
    explicit Untraced(PyThreadState* ts) : ts_(ts) { PyThreadState_EnterTracing(ts); }
    ~Untraced() { PyThreadState_LeaveTracing(ts_); }
    Untraced(const Untraced&) = delete;

  private:
    PyThreadState* ts_;
};

// Lets go of the GIL, and raises what another thread has this one raise. A signal that comes meanwhile, from
// the thread that gets the GIL, say, waits: its handler would be given the empty function's frame.
bool serve_others(PyThreadState* ts) {
    const DeferredSignals later;
    const Untraced ours(ts);
    static PyObject* function = nullptr;
    if (!function && !(function = make_empty_function())) return drop_own_traceback_entry(), false;
    PyObject* none = PyObject_CallNoArgs(function);
    if (!none) return drop_own_traceback_entry(), false;
    Py_DECREF(none);
    return true;
}

bool serve(PyThreadState* ts) {
    return Py_MakePendingCalls() == 0 && serve_others(ts) && Py_MakePendingCalls() == 0;
}

}  // namespace

#else

namespace {

bool serve(PyThreadState* ts) { return _Py_HandlePending(ts) == 0; }

}  // namespace

#endif

bool serve_pending(PyThreadState* ts) {
    HookPause pause;
    return serve(ts);
}

}  // namespace stator::frontend
