// See compiled_function.h. The wrapper type is written by hand rather than through pybind11: its call is the
// path everything else is measured against.
#include "bindings/compiled_function.h"

#include <structmember.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "bindings/function_object.h"
#include "bindings/giving_back.h"
#include "bindings/inspection.h"
#include "bindings/served_call.h"
#include "frontend/host_calls/host_calls.h"

namespace stator::bindings {
namespace {

using frontend::FunctionOptions;
using frontend::FunctionState;
using frontend::Stance;

struct CompiledFunction {
    PyObject_HEAD vectorcallfunc vectorcall;
    Served served;       // without a state for a disabled function
    PyObject* function;  // what it stands for
    PyObject* weakrefs;
    CompiledFunction *previous, *next;  // all live ones; no references
};

CompiledFunction* live = nullptr;
extern PyTypeObject type;  // filled in by fill_type

CompiledFunction* cast(PyObject* o) { return reinterpret_cast<CompiledFunction*>(o); }

// --- calls ---

PyObject* call(PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    CompiledFunction* self = cast(callable);
    return call_served(self->served.shared, self->function, args, nargsf, kwnames);
}

PyObject* call_with_checks(PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    CompiledFunction* self = cast(callable);
    return call_checked(self->served, self->function, args, nargsf, kwnames);
}

PyObject* call_disabled(PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    const Stance before = frontend::chosen_stance();
    if (before != Stance::Eager) apply_stance(Stance::Eager);
    PyObject* result = PyObject_Vectorcall(cast(callable)->function, args, nargsf, kwnames);
    if (before != Stance::Eager) apply_stance(before);
    return result;
}

vectorcallfunc choose_call(const CompiledFunction* self) {
    if (!self->served.shared) return call_disabled;
    return is_checked(self->served) ? call_with_checks : call;
}

// --- life ---

CompiledFunction* allocate(PyObject* function) {
    CompiledFunction* self = PyObject_GC_New(CompiledFunction, &type);
    if (!self) return nullptr;
    self->vectorcall = nullptr;
    self->served = {};
    self->function = Py_NewRef(function);
    self->weakrefs = nullptr;
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
    return self->served.shared && self->served.shared->owners == 1
               ? self->served.shared->state->traverse(visit, arg)
               : 0;
}

// The function stays, so that a call from a finalizer still works; it breaks its own cycles.
int clear(PyObject* o) {
    CompiledFunction* self = cast(o);
    if (self->served.shared && self->served.shared->owners == 1 && self->served.shared->running == 0)
        self->served.shared->state->reset();
    return 0;
}

void dealloc(PyObject* o) {
    CompiledFunction* self = cast(o);
    PyObject_GC_UnTrack(o);
    if (self->weakrefs) PyObject_ClearWeakRefs(o);
    (self->previous ? self->previous->next : live) = self->next;
    if (self->next) self->next->previous = self->previous;
    if (self->served.shared) release_state(self->served.shared);
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
    return PyUnicode_FromFormat(
        cast(self)->served.shared ? "<stator.compile of %R>" : "<stator.disable of %R>",
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

PyObject* get_traces(PyObject* self, void*) { return inspect("traces", self, nullptr, nullptr); }
PyObject* get_regions(PyObject* self, void*) { return inspect("regions", self, nullptr, nullptr); }

PyGetSetDef getset[] = {
    {"__doc__", get_doc, set_doc, nullptr, nullptr},
    {"__dict__", get_dict, nullptr, nullptr, nullptr},
    {"__wrapped__", get_wrapped, set_wrapped, "The function as it was written.", nullptr},
    {"traces", get_traces, nullptr, "Traces recorded so far, in order.", nullptr},
    {"regions", get_regions, nullptr, "Loops compiled as a whole, by name.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

#define X(name, doc)                                                            \
    PyObject* method_##name(PyObject* self, PyObject* args, PyObject* kwargs) { \
        return inspect(#name, self, args, kwargs);                              \
    }
STATOR_METHODS(X)
#undef X

PyObject* reset(PyObject* o, PyObject*) {
    if (SharedState* shared = cast(o)->served.shared) reset_soon(shared);
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
        {"reset", reset, METH_NOARGS, kResetDoc},
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
    return Py_TYPE(object) == &type && cast(object)->served.shared ? cast(object)->function : nullptr;
}

// From 3.13 on the evaluator runs the frame of a class's `__init__` itself, whatever that function's
// vectorcall.
bool is_entered_unasked(PyObject* function) {
    PyObject* name = reinterpret_cast<PyFunctionObject*>(function)->func_name;
    return PY_VERSION_HEX >= 0x030D0000 && PyUnicode_CompareWithASCIIString(name, "__init__") == 0;
}

Served* compiled(PyObject* object) {
    if (Py_TYPE(object) == &type && cast(object)->served.shared) return &cast(object)->served;
    if (Served* served = served_of(object)) return served;
    PyErr_Format(PyExc_TypeError, "expected a function compiled by stator.compile, found %R", object);
    return nullptr;
}

}  // namespace

bool add_compiled_function(PyObject* module) {
    fill_type();
    if (PyType_Ready(&type) < 0 || PyModule_AddType(module, &type) < 0) return false;
    frontend::set_compiled_unwrapper(unwrap);
    return add_function_objects() && add_call_errors(module);
}

PyObject* make_compiled(PyObject* function, const FunctionOptions& options) {
    SharedState* shared = acquire_state(function, options);
    if (!shared) return nullptr;
    frontend::start_host_calls();
    if (!is_entered_unasked(function)) return make_function_object(function, shared, options);
    CompiledFunction* self = allocate(function);
    if (!self) return release_state(shared), nullptr;
    self->served = {shared, options};
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

bool is_compiled(PyObject* object) { return Py_TYPE(object) == &type || served_of(object); }

FunctionState* state_of(PyObject* object) {
    const Served* served = compiled(object);
    return served ? served->shared->state.get() : nullptr;
}

const FunctionOptions* options_of(PyObject* object) {
    const Served* served = compiled(object);
    return served ? &served->options : nullptr;
}

void apply_stance(Stance stance) {
    const bool checks = frontend::chosen_stance() == Stance::FailOnRecompile;
    frontend::set_stance(stance);
    if (checks == (stance == Stance::FailOnRecompile)) return;
    for (CompiledFunction* f = live; f; f = f->next) f->vectorcall = choose_call(f);
    choose_all_vectorcalls();
}

void reset_all() {
    // A reset may run finalizers, which may drop functions: hold each while it is worked on.
    std::vector<SharedState*> all = states_of_function_objects();
    for (CompiledFunction* f = live; f; f = f->next)
        if (f->served.shared) all.push_back(f->served.shared);
    for (SharedState* s : all) ++s->owners;
    for (SharedState* s : all) {
        reset_soon(s);
        release_state(s);
    }
    forget_kept_states();
    frontend::reset_global_counters();
    frontend::reset_host_call_counts();
}

}  // namespace stator::bindings
