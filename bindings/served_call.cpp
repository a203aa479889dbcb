// See served_call.h.
#include "bindings/served_call.h"

#include <string>
#include <vector>

#include "bindings/compiled_function.h"
#include "bindings/giving_back.h"

namespace stator::bindings {
namespace {

using frontend::Counters;
using frontend::Stance;

PyObject* graph_break_error = nullptr;
PyObject* recompile_error = nullptr;

// Sets GraphBreakError with what stayed in Python.
void set_graph_break(PyObject* function, const std::vector<frontend::Remark>& remarks) {
    PyObject* list = PyList_New(0);
    std::string lines;
    for (const frontend::Remark& r : remarks) {
        if (!is_break(r)) continue;
        const std::string line = remark_text(r);
        lines += "\n  " + line;
        PyObject* item = PyUnicode_FromString(line.c_str());
        if (list && item) PyList_Append(list, item);
        Py_XDECREF(item);
    }
    const Py_ssize_t count = list ? PyList_GET_SIZE(list) : 0;
    PyObject* text = PyUnicode_FromFormat(
        "fullgraph=True, but %zd place%s of %U cannot be compiled:%s", count, count == 1 ? "" : "s",
        reinterpret_cast<PyFunctionObject*>(function)->func_qualname, lines.c_str());
    PyObject* error = text ? PyObject_CallOneArg(graph_break_error, text) : nullptr;
    if (error && list && PyObject_SetAttrString(error, "reasons", list) == 0)
        PyErr_SetObject(graph_break_error, error);
    Py_XDECREF(error);
    Py_XDECREF(text);
    Py_XDECREF(list);
}

// Whether the call left anything to Python. A replay that did not changes none of these counters, so that the
// remarks are looked through only after the others.
bool left_to_python(Served& served, PyObject* function, const Counters& since) {
    const Counters& now = served.shared->state->counters();
    const bool stayed = now.eager_calls > since.eager_calls || now.opaque_steps > since.opaque_steps ||
                        now.calls == since.calls;  // a function that was given up counts no calls
    if (!stayed && now.recordings == since.recordings) return false;
    const auto remarks = served.shared->state->remarks();
    int64_t breaks = 0;
    for (const frontend::Remark& r : remarks)
        if (is_break(r)) breaks += r.count;
    const bool fresh = breaks > served.breaks_seen;
    served.breaks_seen = breaks;
    if (breaks == 0 || !(stayed || fresh)) return false;
    set_graph_break(function, remarks);
    return true;
}

struct Limited {
    SharedState* shared;
    PyObject* function;
};

void refuse(void* ctx, frontend::CallLimits::What what) {
    const auto* call = static_cast<Limited*>(ctx);
    if (what == frontend::CallLimits::LeavingToPython)
        return set_graph_break(call->function, call->shared->state->remarks());
    PyErr_Format(recompile_error,
                 "the stance is 'fail_on_recompile', and this call of %R would be recorded again; "
                 "STATOR_LOG=guards says why",
                 call->function);
}

PyObject* new_error(PyObject* module, const char* name, const char* doc) {
    PyObject* error =
        PyErr_NewExceptionWithDoc((std::string("stator.") + name).c_str(), doc, PyExc_RuntimeError, nullptr);
    if (error && PyModule_AddObjectRef(module, name, error) < 0) Py_CLEAR(error);
    return error;
}

}  // namespace

PyObject* settle(SharedState* shared, PyObject* result) {
    const bool inner = shared->running > 0;
    if (inner && (shared->owners == 0 || !shared->state->wants_python())) return result;
    // All of this may run code: the program's exception must not meet it.
    PyObject *kind, *value, *trace;
    PyErr_Fetch(&kind, &value, &trace);
    if (inner) {
        give_back(shared);  // the rest of a recursion is CPython's, too
    } else {
        if (std::exchange(shared->reset_wanted, false)) reset_state(shared);
        if (shared->state->wants_sweep()) shared->state->sweep();
        if (shared->owners == 0)
            drop_unowned(shared);  // its last owner went away in this call
        else if (shared->state->wants_python())
            give_back(shared);
    }
    PyErr_Restore(kind, value, trace);
    return result;
}

PyObject* call_checked(Served& served, PyObject* function, PyObject* const* args, size_t nargsf,
                       PyObject* kwnames) {
    SharedState* const shared = served.shared;
    if (frontend::stance() == Stance::Eager) return call_served(shared, function, args, nargsf, kwnames);
    const Counters since = shared->state->counters();
    Limited call{shared, function};
    frontend::CallLimits limits{0, refuse, &call};
    if (served.options.fullgraph) limits.forbidden |= frontend::CallLimits::LeavingToPython;
    if (frontend::stance() == Stance::FailOnRecompile && since.recordings > 0)
        limits.forbidden |= frontend::CallLimits::Recording;
    const frontend::CallLimits* before = shared->state->limit(&limits);
    PyObject* result = call_served(shared, function, args, nargsf, kwnames);
    shared->state->limit(before);
    if (result && served.options.fullgraph && left_to_python(served, function, since)) Py_CLEAR(result);
    return result;
}

bool add_call_errors(PyObject* module) {
    graph_break_error =
        new_error(module, "GraphBreakError",
                  "A function compiled with fullgraph=True could not be captured whole; `reasons` is the "
                  "list of what stayed in Python.");
    recompile_error = new_error(module, "RecompileError",
                                "A function was recorded again under the stance 'fail_on_recompile'.");
    return graph_break_error && recompile_error;
}

}  // namespace stator::bindings
