// The CompiledFunction type, by hand rather than through pybind11: its call is the path everything else is
// measured against.
#include "bindings/compiled_function.h"

#include <structmember.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "bindings/shared_states.h"

namespace stator::bindings {
namespace {

using frontend::Counters;
using frontend::FunctionOptions;
using frontend::FunctionState;
using frontend::Stance;

struct CompiledFunction {
    PyObject_HEAD vectorcallfunc vectorcall;
    SharedState* shared;  // nullptr for a disabled function
    PyObject* function;   // what it stands for
    PyObject* weakrefs;
    FunctionOptions options;
    int64_t breaks_seen;                // fullgraph: remarks that have been raised about
    CompiledFunction *previous, *next;  // all live ones; no references
};

CompiledFunction* live = nullptr;
PyObject* graph_break_error = nullptr;
PyObject* recompile_error = nullptr;
extern PyTypeObject type;  // filled in by fill_type

CompiledFunction* cast(PyObject* o) { return reinterpret_cast<CompiledFunction*>(o); }

// --- calls ---

PyObject* finish_call(SharedState* shared, PyObject* result) {
    if (--shared->running > 0) return result;
    if (shared->reset_wanted || shared->state->wants_sweep()) [[unlikely]] {
        PyObject *kind, *value, *trace;
        PyErr_Fetch(&kind, &value, &trace);
        if (std::exchange(shared->reset_wanted, false)) shared->state->reset();
        if (shared->state->wants_sweep()) shared->state->sweep();
        PyErr_Restore(kind, value, trace);
    }
    return result;
}

PyObject* call(PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    CompiledFunction* self = cast(callable);
    SharedState* const shared = self->shared;
    ++shared->running;
    return finish_call(shared, shared->state->call(self->function, args, nargsf, kwnames));
}

// Sets GraphBreakError with what stayed in Python.
void set_graph_break(CompiledFunction* self, const std::vector<frontend::Remark>& remarks) {
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
        reinterpret_cast<PyFunctionObject*>(self->function)->func_qualname, lines.c_str());
    PyObject* error = text ? PyObject_CallOneArg(graph_break_error, text) : nullptr;
    if (error && list && PyObject_SetAttrString(error, "reasons", list) == 0)
        PyErr_SetObject(graph_break_error, error);
    Py_XDECREF(error);
    Py_XDECREF(text);
    Py_XDECREF(list);
}

// Whether the call left anything to Python. A replay that did not changes none of these counters, so that the
// remarks are looked through only after the others.
bool left_to_python(CompiledFunction* self, const Counters& since) {
    const Counters& now = self->shared->state->counters();
    const bool stayed = now.eager_calls > since.eager_calls || now.opaque_steps > since.opaque_steps ||
                        now.calls == since.calls;  // a function that was given up counts no calls
    if (!stayed && now.recordings == since.recordings) return false;
    const auto remarks = self->shared->state->remarks();
    int64_t breaks = 0;
    for (const frontend::Remark& r : remarks)
        if (is_break(r)) breaks += r.count;
    const bool fresh = breaks > self->breaks_seen;
    self->breaks_seen = breaks;
    if (breaks == 0 || !(stayed || fresh)) return false;
    set_graph_break(self, remarks);
    return true;
}

void refuse(void* ctx, frontend::CallLimits::What what) {
    auto* self = static_cast<CompiledFunction*>(ctx);
    if (what == frontend::CallLimits::LeavingToPython)
        return set_graph_break(self, self->shared->state->remarks());
    PyErr_Format(recompile_error,
                 "the stance is 'fail_on_recompile', and this call of %R would be recorded again; "
                 "STATOR_LOG=guards says why",
                 self->function);
}

// fullgraph=True, and the stance "fail_on_recompile": the call stops before what must not happen. What shows
// only afterwards (a function that was given up, an operation that turned out not to be modelled) is raised
// at the end.
PyObject* call_checked(PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    CompiledFunction* self = cast(callable);
    if (frontend::stance() == Stance::Eager) return call(callable, args, nargsf, kwnames);
    const Counters since = self->shared->state->counters();
    frontend::CallLimits limits{0, refuse, self};
    if (self->options.fullgraph) limits.forbidden |= frontend::CallLimits::LeavingToPython;
    if (frontend::stance() == Stance::FailOnRecompile && since.recordings > 0)
        limits.forbidden |= frontend::CallLimits::Recording;
    const frontend::CallLimits* before = self->shared->state->limit(&limits);
    PyObject* result = call(callable, args, nargsf, kwnames);
    self->shared->state->limit(before);
    if (result && self->options.fullgraph && left_to_python(self, since)) Py_CLEAR(result);
    return result;
}

PyObject* call_disabled(PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    const Stance before = frontend::stance();
    if (before != Stance::Eager) apply_stance(Stance::Eager);
    PyObject* result = PyObject_Vectorcall(cast(callable)->function, args, nargsf, kwnames);
    if (before != Stance::Eager) apply_stance(before);
    return result;
}

vectorcallfunc choose_call(const CompiledFunction* self) {
    if (!self->shared) return call_disabled;
    return self->options.fullgraph || frontend::stance() == Stance::FailOnRecompile ? call_checked : call;
}

// --- life ---

CompiledFunction* allocate(PyObject* function) {
    CompiledFunction* self = PyObject_GC_New(CompiledFunction, &type);
    if (!self) return nullptr;
    self->vectorcall = nullptr;
    self->shared = nullptr;
    self->function = Py_NewRef(function);
    self->weakrefs = nullptr;
    self->options = {};
    self->breaks_seen = 0;
    self->previous = nullptr;
    self->next = live;
    if (live) live->previous = self;
    live = self;
    return self;
}

int traverse(PyObject* o, visitproc visit, void* arg) {
    CompiledFunction* self = cast(o);
    Py_VISIT(self->function);
    // What several own is none's to show: the collector would count it more often than it is referred to.
    return self->shared && self->shared->owners == 1 ? self->shared->state->traverse(visit, arg) : 0;
}

// The function stays, so that a call from a finalizer still works; it breaks its own cycles.
int clear(PyObject* o) {
    CompiledFunction* self = cast(o);
    if (self->shared && self->shared->owners == 1 && self->shared->running == 0) self->shared->state->reset();
    return 0;
}

void dealloc(PyObject* o) {
    CompiledFunction* self = cast(o);
    PyObject_GC_UnTrack(o);
    if (self->weakrefs) PyObject_ClearWeakRefs(o);
    (self->previous ? self->previous->next : live) = self->next;
    if (self->next) self->next->previous = self->previous;
    if (self->shared) release_state(self->shared);
    Py_DECREF(self->function);
    PyObject_GC_Del(o);
}

// --- looking like the function ---

PyObject* getattro(PyObject* self, PyObject* name) {
    PyObject* own = PyObject_GenericGetAttr(self, name);
    if (own || !PyErr_ExceptionMatches(PyExc_AttributeError)) return own;
    PyErr_Clear();
    return PyObject_GetAttr(cast(self)->function, name);
}

int setattro(PyObject* self, PyObject* name, PyObject* value) {
    PyObject* own = PyDict_GetItemWithError(type.tp_dict, name);
    if (!own && PyErr_Occurred()) return -1;
    if (own && Py_TYPE(own)->tp_descr_set) return Py_TYPE(own)->tp_descr_set(own, self, value);
    if (own) {
        PyErr_Format(PyExc_AttributeError,
                     "attribute %R of a compiled function is stator's own and cannot be changed", name);
        return -1;
    }
    return PyObject_SetAttr(cast(self)->function, name, value);
}

PyObject* descr_get(PyObject* self, PyObject* instance, PyObject*) {
    if (!instance || instance == Py_None) return Py_NewRef(self);
    return PyMethod_New(self, instance);
}

PyObject* repr(PyObject* self) {
    return PyUnicode_FromFormat(cast(self)->shared ? "<stator.compile of %R>" : "<stator.disable of %R>",
                                cast(self)->function);
}

PyObject* get_doc(PyObject* self, void*) { return PyObject_GetAttrString(cast(self)->function, "__doc__"); }
int set_doc(PyObject* self, PyObject* value, void*) {
    return PyObject_SetAttrString(cast(self)->function, "__doc__", value);
}
PyObject* get_dict(PyObject* self, void*) { return PyObject_GetAttrString(cast(self)->function, "__dict__"); }
PyObject* get_wrapped(PyObject* self, void*) { return Py_NewRef(cast(self)->function); }
int set_wrapped(PyObject* self, PyObject* value, void*) {  // functools.update_wrapper does this
    return PyObject_SetAttrString(cast(self)->function, "__wrapped__", value);
}

PyObject* get_traces(PyObject* self, void*);
PyObject* get_regions(PyObject* self, void*);

PyGetSetDef getset[] = {
    {"__doc__", get_doc, set_doc, nullptr, nullptr},
    {"__dict__", get_dict, nullptr, nullptr, nullptr},
    {"__wrapped__", get_wrapped, set_wrapped, "The function as it was written.", nullptr},
    {"traces", get_traces, nullptr, "Traces recorded so far, in order.", nullptr},
    {"regions", get_regions, nullptr, "Loops compiled as a whole, by name.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

// Inspection lives in Python (stator/_inspect.py), imported when first used: name(self, *args, **kwargs).
PyObject* inspect(const char* name, PyObject* self, PyObject* args, PyObject* kwargs) {
    PyObject* module = PyImport_ImportModule("stator._inspect");
    PyObject* function = module ? PyObject_GetAttrString(module, name) : nullptr;
    PyObject* head = function ? PyTuple_Pack(1, self) : nullptr;
    PyObject* all = head ? PySequence_Concat(head, args) : nullptr;
    PyObject* result = all ? PyObject_Call(function, all, kwargs) : nullptr;
    Py_XDECREF(all);
    Py_XDECREF(head);
    Py_XDECREF(function);
    Py_XDECREF(module);
    return result;
}

PyObject* get_traces(PyObject* self, void*) {
    PyObject* none = PyTuple_New(0);
    PyObject* result = none ? inspect("traces", self, none, nullptr) : nullptr;
    Py_XDECREF(none);
    return result;
}

PyObject* get_regions(PyObject* self, void*) {
    PyObject* none = PyTuple_New(0);
    PyObject* result = none ? inspect("regions", self, none, nullptr) : nullptr;
    Py_XDECREF(none);
    return result;
}

#define STATOR_METHODS(X)                                                                                    \
    X(stats, "stats($self, /)\n--\n\nCounters of this function since it was compiled or reset, as a dict.")  \
    X(graph,                                                                                                 \
      "graph($self, /, trace=-1, *, recorded=False)\n--\n\nGraph of one trace, after or before the passes.") \
    X(llvm, "llvm($self, /, trace=-1)\n--\n\nLLVM IR of one trace's kernels.")                               \
    X(asm, "asm($self, /, trace=-1)\n--\n\nAssembly of one trace's kernels.")                                \
    X(cuda,                                                                                                  \
      "cuda($self, /, *args, arch='sm_90', **kwargs)\n--\n\n"                                                \
      "The CUDA kernels of a call with these arguments, in launch order, made with NVRTC on any machine. "   \
      "The function is run on copies of the arguments, as often as it takes to record it.")                  \
    X(explain, "explain($self, /, *args, **kwargs)\n--\n\nCall the function and say what became of it.")

#define X(name, doc)                                                            \
    PyObject* method_##name(PyObject* self, PyObject* args, PyObject* kwargs) { \
        return inspect(#name, self, args, kwargs);                              \
    }
STATOR_METHODS(X)
#undef X

PyObject* reset(PyObject* o, PyObject*) {
    CompiledFunction* self = cast(o);
    if (self->shared && self->shared->running)
        self->shared->reset_wanted = true;
    else if (self->shared)
        self->shared->state->reset();
    Py_RETURN_NONE;
}

PyObject* reduce(PyObject* self, PyObject*) {
    PyObject* module = PyImport_ImportModule("stator._pickle");
    PyObject* result = module ? PyObject_CallMethod(module, "reduce", "O", self) : nullptr;
    Py_XDECREF(module);
    return result;
}

PyObject* same(PyObject* self, PyObject*) {
    return Py_NewRef(self);
}  // functions are atoms to the copy module

PyMethodDef methods[] = {
#define X(name, doc)                                                                    \
    {#name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(method_##name)), \
     METH_VARARGS | METH_KEYWORDS, doc},
    STATOR_METHODS(X)
#undef X
        {"reset", reset, METH_NOARGS,
         "reset($self, /)\n--\n\nDrop the traces and counters of this function."},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {"__copy__", same, METH_NOARGS, nullptr},
    {"__deepcopy__", same, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

const PyVarObject kTypeHead[] = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject type{};

void fill_type() {
    type.ob_base = kTypeHead[0];
    type.tp_name = "stator.CompiledFunction";
    type.tp_basicsize = sizeof(CompiledFunction);
    type.tp_dealloc = dealloc;
    type.tp_vectorcall_offset = offsetof(CompiledFunction, vectorcall);
    type.tp_repr = repr;
    type.tp_call = PyVectorcall_Call;
    type.tp_getattro = getattro;
    type.tp_setattro = setattro;
    type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                    Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    type.tp_doc = "A Python function that stator compiles: what stator.compile returns.";
    type.tp_traverse = traverse;
    type.tp_clear = clear;
    type.tp_weaklistoffset = offsetof(CompiledFunction, weakrefs);
    type.tp_methods = methods;
    type.tp_getset = getset;
    type.tp_descr_get = descr_get;
}

PyObject* unwrap(PyObject* object) {
    return Py_TYPE(object) == &type && cast(object)->shared ? cast(object)->function : nullptr;
}

CompiledFunction* compiled(PyObject* object) {
    if (Py_TYPE(object) == &type && cast(object)->shared) return cast(object);
    PyErr_Format(PyExc_TypeError, "expected a function compiled by stator.compile, found %R", object);
    return nullptr;
}

PyObject* new_error(PyObject* module, const char* name, const char* doc) {
    PyObject* error =
        PyErr_NewExceptionWithDoc((std::string("stator.") + name).c_str(), doc, PyExc_RuntimeError, nullptr);
    if (error && PyModule_AddObjectRef(module, name, error) < 0) Py_CLEAR(error);
    return error;
}

}  // namespace

bool add_compiled_function(PyObject* module) {
    fill_type();
    if (PyType_Ready(&type) < 0 || PyModule_AddType(module, &type) < 0) return false;
    graph_break_error =
        new_error(module, "GraphBreakError",
                  "A function compiled with fullgraph=True could not be captured whole; `reasons` is the "
                  "list of what stayed in Python.");
    recompile_error = new_error(module, "RecompileError",
                                "A function was recorded again under the stance 'fail_on_recompile'.");
    frontend::set_compiled_unwrapper(unwrap);
    return graph_break_error && recompile_error;
}

PyObject* make_compiled(PyObject* function, const FunctionOptions& options) {
    SharedState* shared = acquire_state(function, options);
    if (!shared) return nullptr;
    CompiledFunction* self = allocate(function);
    if (!self) return release_state(shared), nullptr;
    self->options = options;
    self->shared = shared;
    self->vectorcall = choose_call(self);
    PyObject_GC_Track(self);
    return reinterpret_cast<PyObject*>(self);
}

PyObject* make_disabled(PyObject* callable) {
    CompiledFunction* self = allocate(callable);
    if (!self) return nullptr;
    self->vectorcall = choose_call(self);
    PyObject_GC_Track(self);
    return reinterpret_cast<PyObject*>(self);
}

FunctionState* state_of(PyObject* object) {
    CompiledFunction* self = compiled(object);
    return self ? self->shared->state.get() : nullptr;
}

const FunctionOptions* options_of(PyObject* object) {
    CompiledFunction* self = compiled(object);
    return self ? &self->options : nullptr;
}

void apply_stance(Stance stance) {
    const bool checks = frontend::stance() == Stance::FailOnRecompile;
    frontend::set_stance(stance);
    if (checks == (stance == Stance::FailOnRecompile)) return;
    for (CompiledFunction* f = live; f; f = f->next) f->vectorcall = choose_call(f);
}

void reset_all() {
    // A reset may run finalizers, which may drop functions: hold each while it is worked on.
    std::vector<PyObject*> all;
    for (CompiledFunction* f = live; f; f = f->next)
        if (Py_REFCNT(f) > 0) all.push_back(Py_NewRef(reinterpret_cast<PyObject*>(f)));
    for (PyObject* f : all) {
        Py_XDECREF(reset(f, nullptr));
        Py_DECREF(f);
    }
    forget_kept_states();
    frontend::reset_global_counters();
}

}  // namespace stator::bindings
