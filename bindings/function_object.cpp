// See function_object.h.
#include "bindings/function_object.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/giving_back.h"
#include "bindings/inspection.h"
#include "frontend/cpython/functions.h"
#include "frontend/pyref.h"
#include "frontend/replay/driver.h"

namespace stator::bindings {

#if PY_VERSION_HEX >= 0x030C0000

// Answers what a state can be asked; one for all functions that share it, and the state's owner.
struct Inspector {
    PyObject_HEAD Served served;  // without a state: it was unpickled, and nothing was adopted with it
};

struct Handle {
    PyObject_HEAD Inspector* inspector;
    PyObject* entries;              // SharedState::entries, nullptr of one that was adopted
    PyObject* function;             // no reference; nullptr once it is gone, or this one was taken from it
    PyObject* weak;                 // the reference with the tie
    Handle *previous, *next;        // all live ones; no references
    Handle *previous_of, *next_of;  // those of the same state
    bool adopted;                   // the function was made elsewhere, and has no tail
    // What CPython had made of the function: its version, for call sites, as long as code and defaults stay.
    uint32_t version;
    PyObject *code, *defaults;  // no references
    Py_ssize_t default_count;
};

namespace {

using frontend::PyRef;

Handle* live = nullptr;

// Behind each function object that is made here.
struct Tail {
    Handle* handle;
    SharedState* shared;
};

Tail& tail(PyObject* function) {
    return *reinterpret_cast<Tail*>(reinterpret_cast<char*>(function) + sizeof(PyFunctionObject));
}
PyFunctionObject* cast(PyObject* function) { return reinterpret_cast<PyFunctionObject*>(function); }
Handle* as_handle(PyObject* o) { return reinterpret_cast<Handle*>(o); }
Py_ssize_t count_of(PyObject* defaults) { return defaults ? PyTuple_GET_SIZE(defaults) : 0; }

// --- calls ---

// A served call needs C stack, which CPython 3.12 limits to less than the recursion limit: from so many calls
// in progress on, the functions of a state recurse as CPython's own do.
constexpr int kDeepest = 100;

PyObject* call_deeply(SharedState* shared, PyObject* function, PyObject* const* args, size_t nargsf,
                      PyObject* kwnames) {
    // The state stays, because calls of it are in progress.
    if (shared->deep++ == 0) choose_vectorcalls(shared);
    PyObject* result = frontend::python_vectorcall()(function, args, nargsf, kwnames);
    if (--shared->deep == 0) choose_vectorcalls(shared);
    return result;
}

PyObject* call(PyObject* function, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    SharedState* const shared = tail(function).shared;
    if (shared->running >= kDeepest) [[unlikely]]
        return call_deeply(shared, function, args, nargsf, kwnames);
    return call_served(shared, function, args, nargsf, kwnames);
}

PyObject* call_with_checks(PyObject* function, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    Handle* handle = tail(function).handle;
    const auto inspector = PyRef::borrow(reinterpret_cast<PyObject*>(handle->inspector));
    return call_checked(handle->inspector->served, function, args, nargsf, kwnames);
}

PyObject* call_adopted(PyObject* function, PyObject* const* args, size_t nargsf, PyObject* kwnames);

void give_to_python(Handle* h, PyObject* function) {
    PyFunctionObject* f = cast(function);
    PyFunction_SetVectorcall(f, frontend::python_vectorcall());
    const bool as_it_was = f->func_code == h->code && f->func_defaults == h->defaults &&
                           count_of(h->defaults) == h->default_count;
    // 0: CPython gives it a new one, up to 3.13.
    f->func_version = as_it_was ? h->version : 0;
}

void choose_vectorcall(Handle* h) {
    if (!h->function) return;
    const SharedState* shared = h->inspector->served.shared;
    if (shared->given_back || shared->deep > 0) return give_to_python(h, h->function);
    PyFunction_SetVectorcall(cast(h->function), h->adopted                         ? call_adopted
                                                : is_checked(h->inspector->served) ? call_with_checks
                                                                                   : call);
}

// --- the tie ---

struct Tie {
    PyObject_HEAD vectorcallfunc vectorcall;
    Handle* handle;  // no reference
};

const PyVarObject kTypeHead[] = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject tie_type{}, handle_type{}, inspector_type{}, sequence_type{};

// The function is a plain one from now on.
void part(Handle* h) {
    PyObject* function = std::exchange(h->function, nullptr);
    if (!function) return;
    give_to_python(h, function);
    if (!h->adopted) tail(function) = {};
    PyObject* weak = std::exchange(h->weak, nullptr);
    PyObject* tie = reinterpret_cast<PyWeakReference*>(weak)->wr_callback;
    if (tie) reinterpret_cast<Tie*>(tie)->handle = nullptr;
    Py_DECREF(weak);
}

PyObject* function_goes(PyObject* tie, PyObject* const*, size_t, PyObject*) {
    if (Handle* h = std::exchange(reinterpret_cast<Tie*>(tie)->handle, nullptr)) part(h);
    Py_RETURN_NONE;
}

bool tie(Handle* h, PyObject* function) {
    Tie* t = PyObject_New(Tie, &tie_type);
    if (!t) return false;
    t->vectorcall = function_goes;
    t->handle = h;
    h->weak = PyWeakref_NewRef(function, reinterpret_cast<PyObject*>(t));
    Py_DECREF(t);
    if (!h->weak) return false;
    const PyFunctionObject* f = cast(function);
    h->function = function;
    h->version = f->func_version;
    h->code = f->func_code;
    h->defaults = f->func_defaults;
    h->default_count = count_of(f->func_defaults);
    return true;
}

Handle* handle_of(PyObject* o) {
    if (!PyFunction_Check(o)) return nullptr;
    for (auto* r = reinterpret_cast<PyWeakReference*>(cast(o)->func_weakreflist); r; r = r->wr_next)
        if (r->wr_callback && Py_IS_TYPE(r->wr_callback, &tie_type))
            if (Handle* h = reinterpret_cast<Tie*>(r->wr_callback)->handle) return h;
    return nullptr;
}

PyObject* call_adopted(PyObject* function, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    Handle* h = handle_of(function);
    if (!is_checked(h->inspector->served))
        return call_served(h->inspector->served.shared, function, args, nargsf, kwnames);
    const auto inspector = PyRef::borrow(reinterpret_cast<PyObject*>(h->inspector));
    return call_checked(h->inspector->served, function, args, nargsf, kwnames);
}

// --- the inspector ---

Inspector* new_inspector(SharedState* shared, const frontend::FunctionOptions& options) {
    Inspector* i = PyObject_GC_New(Inspector, &inspector_type);
    if (!i) {
        if (shared) release_state(shared);
        return nullptr;
    }
    i->served = {shared, options};
    if (shared) shared->inspector = reinterpret_cast<PyObject*>(i);
    PyObject_GC_Track(i);
    return i;
}

Inspector* as_inspector(PyObject* o) { return reinterpret_cast<Inspector*>(o); }

int traverse_inspector(PyObject* o, visitproc visit, void* arg) {
    const SharedState* shared = as_inspector(o)->served.shared;
    // What several own is none's to show: the collector would count it more often than it is referred to.
    return shared && shared->owners == 1 ? shared->state->traverse(visit, arg) : 0;
}

// The state stays, so that a call from a finalizer still works.
int clear_inspector(PyObject* o) {
    SharedState* shared = as_inspector(o)->served.shared;
    if (shared && shared->owners == 1 && shared->running == 0) reset_state(shared);
    return 0;
}

void dealloc_inspector(PyObject* o) {
    PyObject_GC_UnTrack(o);
    if (SharedState* shared = as_inspector(o)->served.shared) {
        if (shared->inspector == o) shared->inspector = nullptr;
        PyObject *kind, *value, *trace;
        PyErr_Fetch(&kind, &value, &trace);  // a call of the function may be on its way out with an exception
        release_state(shared);
        PyErr_Restore(kind, value, trace);
    }
    PyObject_GC_Del(o);
}

PyObject* ask_state(const char* name, PyObject* o, PyObject* args, PyObject* kwargs) {
    if (as_inspector(o)->served.shared) return inspect(name, o, args, kwargs);
    PyErr_SetString(PyExc_ReferenceError, "the compiled function is not here");
    return nullptr;
}

PyObject* reset(PyObject* o, PyObject*) {
    if (SharedState* shared = as_inspector(o)->served.shared) reset_soon(shared);
    Py_RETURN_NONE;
}

PyObject* get_qualname(PyObject* o, void*) {
    const SharedState* shared = as_inspector(o)->served.shared;
    return PyUnicode_FromString(shared ? shared->state->impl()->name.c_str() : "");
}
PyGetSetDef inspector_attributes[] = {{"__qualname__", get_qualname, nullptr, nullptr, nullptr},
                                      {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyObject* reduce_inspector(PyObject*, PyObject*) {
    const auto module = PyRef::steal(PyImport_ImportModule("stator._pickle"));
    const auto make = PyRef::steal(module ? PyObject_GetAttrString(module.get(), "inspector") : nullptr);
    return make ? Py_BuildValue("O()", make.get()) : nullptr;
}

// --- the handle ---

Handle* new_handle(Inspector* inspector) {
    Handle* h = PyObject_GC_New(Handle, &handle_type);
    if (!h) return nullptr;
    SharedState* shared = inspector->served.shared;
    h->inspector = inspector;
    Py_INCREF(inspector);
    h->entries = h->function = h->weak = nullptr;
    h->adopted = false;
    h->previous = h->previous_of = nullptr;
    h->next = live;
    if (live) live->previous = h;
    live = h;
    h->next_of = shared->functions;
    if (h->next_of) h->next_of->previous_of = h;
    shared->functions = h;
    PyObject_GC_Track(h);
    return h;
}

int traverse(PyObject* o, visitproc visit, void* arg) {
    Py_VISIT(as_handle(o)->inspector);
    Py_VISIT(as_handle(o)->entries);
    return 0;
}

void dealloc(PyObject* o) {
    Handle* h = as_handle(o);
    PyObject_GC_UnTrack(o);
    part(h);
    SharedState* shared = h->inspector->served.shared;
    (h->previous ? h->previous->next : live) = h->next;
    if (h->next) h->next->previous = h->previous;
    (h->previous_of ? h->previous_of->next_of : shared->functions) = h->next_of;
    if (h->next_of) h->next_of->previous_of = h->previous_of;
    PyObject* entries = h->entries;
    if (entries && Py_REFCNT(entries) == 1) {
        if (!shared->functions && keep_entries(shared, entries))
            entries = nullptr;
        else
            shared->entries = nullptr;
    }
    Py_XDECREF(entries);
    Py_DECREF(h->inspector);
    PyObject_GC_Del(o);
}

PyObject* ask_function(const char* name, PyObject* o, PyObject* args, PyObject* kwargs) {
    const auto function = PyRef::borrow(as_handle(o)->function);
    if (function) return inspect(name, function.get(), args, kwargs);
    PyErr_Format(PyExc_ReferenceError, "the compiled function that %s was a method of is gone", name);
    return nullptr;
}

// Whoever pickles the function by value, `__dict__` and all, takes this one along.
PyObject* reduce(PyObject* o, PyObject*) {
    const auto function = PyRef::borrow(as_handle(o)->function);
    const auto module = PyRef::steal(PyImport_ImportModule("stator._pickle"));
    if (!module) return nullptr;
    if (function)
        return PyObject_CallMethod(module.get(), "reduce_handle", "OO", function.get(),
                                   as_handle(o)->inspector);
    PyErr_SetString(PyExc_ReferenceError, "the compiled function is gone");
    return nullptr;
}

// --- methods ---

#define X(name, doc)                                                                                   \
    PyObject* method_##name(PyObject* self, PyObject* args, PyObject* kwargs) {                        \
        return (Py_IS_TYPE(self, &handle_type) ? ask_function : ask_state)(#name, self, args, kwargs); \
    }
STATOR_METHODS(X)
#undef X

#define X(name, doc)                                                                    \
    {#name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(method_##name)), \
     METH_VARARGS | METH_KEYWORDS, doc},
PyMethodDef inspector_methods[] = {
    STATOR_METHODS_OF_STATES(X){"reset", reset, METH_NOARGS, kResetDoc},
    {"__reduce__", reduce_inspector, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyMethodDef handle_methods[] = {
    STATOR_METHODS_OF_FUNCTIONS(X){"__reduce__", reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
#undef X
// That are entries of the function's `__dict__`.
constexpr size_t kOfStates = std::size(inspector_methods) - 2, kOfFunctions = std::size(handle_methods) - 2;

// --- what is seen of traces and regions ---

// A sequence that shows what there is when it is looked at.
struct LiveSequence {
    PyObject_HEAD PyObject* inspector;
    const char* name;  // in _inspect
};

PyObject* now(PyObject* o) {
    auto* s = reinterpret_cast<LiveSequence*>(o);
    return ask_state(s->name, s->inspector, nullptr, nullptr);
}
Py_ssize_t length_now(PyObject* o) {
    const auto items = PyRef::steal(now(o));
    return items ? PyObject_Size(items.get()) : -1;
}
PyObject* item_now(PyObject* o, PyObject* key) {
    const auto items = PyRef::steal(now(o));
    return items ? PyObject_GetItem(items.get(), key) : nullptr;
}
PyObject* item_at_now(PyObject* o, Py_ssize_t i) {
    const auto items = PyRef::steal(now(o));
    return items ? PySequence_GetItem(items.get(), i) : nullptr;
}
PyObject* iterate_now(PyObject* o) {
    const auto items = PyRef::steal(now(o));
    return items ? PyObject_GetIter(items.get()) : nullptr;
}
PyObject* show_now(PyObject* o) {
    const auto items = PyRef::steal(now(o));
    return items ? PyObject_Repr(items.get()) : nullptr;
}
PyObject* compare_now(PyObject* o, PyObject* other, int op) {
    const auto items = PyRef::steal(now(o));
    const auto others = PyRef::steal(Py_IS_TYPE(other, &sequence_type) ? now(other) : Py_NewRef(other));
    return items && others ? PyObject_RichCompare(items.get(), others.get(), op) : nullptr;
}
PyObject* reduce_sequence(PyObject* o, PyObject*) {
    auto* s = reinterpret_cast<LiveSequence*>(o);
    const auto module = PyRef::steal(PyImport_ImportModule("stator._pickle"));
    const auto make = PyRef::steal(module ? PyObject_GetAttrString(module.get(), "sequence") : nullptr);
    return make ? Py_BuildValue("O(Os)", make.get(), s->inspector, s->name) : nullptr;
}
PyMethodDef sequence_methods[] = {
    {"__reduce__", reduce_sequence, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
int traverse_sequence(PyObject* o, visitproc visit, void* arg) {
    Py_VISIT(reinterpret_cast<LiveSequence*>(o)->inspector);
    return 0;
}
void dealloc_sequence(PyObject* o) {
    PyObject_GC_UnTrack(o);
    Py_DECREF(reinterpret_cast<LiveSequence*>(o)->inspector);
    PyObject_GC_Del(o);
}
PySequenceMethods as_sequence = {.sq_length = length_now, .sq_item = item_at_now};
PyMappingMethods as_mapping = {.mp_length = length_now, .mp_subscript = item_now};

PyObject* new_sequence(PyObject* inspector, const char* name) {
    LiveSequence* s = PyObject_GC_New(LiveSequence, &sequence_type);
    if (!s) return nullptr;
    s->inspector = Py_NewRef(inspector);
    s->name = name;
    PyObject_GC_Track(s);
    return reinterpret_cast<PyObject*>(s);
}

// --- the function's __dict__ ---

constexpr const char* kSequences[] = {"traces", "regions"};
// What functions of one state have in common there, `__wrapped__` not yet set.
PyRef new_entries(PyObject* inspector) {
    auto dict = PyRef::steal(PyDict_New());
    const auto set = [&](const char* name, PyObject* steal) {
        const auto value = PyRef::steal(steal);
        return value && PyDict_SetItemString(dict.get(), name, value.get()) == 0;
    };
    bool ok = dict && set("__wrapped__", Py_NewRef(Py_None));
    for (size_t i = 0; i < kOfStates; ++i)
        ok = ok && set(inspector_methods[i].ml_name, PyCFunction_New(&inspector_methods[i], inspector));
    for (size_t i = 0; i < kOfFunctions; ++i) ok = ok && set(handle_methods[i].ml_name, Py_NewRef(Py_None));
    for (const char* name : kSequences) ok = ok && set(name, new_sequence(inspector, name));
    return ok ? std::move(dict) : PyRef();
}

PyObject* wrapped_name = nullptr;
PyObject* method_names[kOfFunctions];

PyObject* new_dict(PyObject* function, Handle* h) {
    PyObject* written = cast(function)->func_dict;
    auto dict = PyRef::steal(PyDict_Copy(h->entries));
    if (!dict) return nullptr;
    if (written && PyDict_Merge(dict.get(), written, 0) < 0) return nullptr;
    if (PyDict_SetItem(dict.get(), wrapped_name, function) < 0) return nullptr;
    for (size_t i = 0; i < kOfFunctions; ++i) {
        const auto method = PyRef::steal(PyCFunction_New(&handle_methods[i], reinterpret_cast<PyObject*>(h)));
        if (!method || PyDict_SetItem(dict.get(), method_names[i], method.get()) < 0) return nullptr;
    }
    return dict.release();
}

// Of the functions that share the state, which is taken over; nullptr with an error set.
Inspector* inspector_of(SharedState* shared, const frontend::FunctionOptions& options) {
    if (shared->inspector) {
        --shared->owners;  // it is the owner
        Py_INCREF(shared->inspector);
        return as_inspector(shared->inspector);
    }
    shared->state->let_python_serve();
    return new_inspector(shared, options);
}

void fill_types() {
    for (PyTypeObject* t : {&tie_type, &handle_type, &inspector_type, &sequence_type}) {
        t->ob_base = kTypeHead[0];
        t->tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    }
    tie_type.tp_name = "stator._stator.Tie";
    tie_type.tp_basicsize = sizeof(Tie);
    tie_type.tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
    tie_type.tp_vectorcall_offset = offsetof(Tie, vectorcall);
    tie_type.tp_call = PyVectorcall_Call;
    tie_type.tp_dealloc = [](PyObject* o) { PyObject_Free(o); };
    handle_type.tp_name = "stator._stator.Handle";
    handle_type.tp_basicsize = sizeof(Handle);
    handle_type.tp_flags |= Py_TPFLAGS_HAVE_GC;
    handle_type.tp_doc = "What a compiled function's __dict__ owns of stator.";
    handle_type.tp_methods = handle_methods;
    handle_type.tp_traverse = traverse;
    handle_type.tp_dealloc = dealloc;
    inspector_type.tp_name = "stator._stator.Inspector";
    inspector_type.tp_basicsize = sizeof(Inspector);
    inspector_type.tp_flags |= Py_TPFLAGS_HAVE_GC;
    inspector_type.tp_doc = "Answers what compiled functions are asked.";
    inspector_type.tp_methods = inspector_methods;
    inspector_type.tp_getset = inspector_attributes;
    inspector_type.tp_traverse = traverse_inspector;
    inspector_type.tp_clear = clear_inspector;
    inspector_type.tp_dealloc = dealloc_inspector;
    sequence_type.tp_name = "stator.LiveSequence";
    sequence_type.tp_basicsize = sizeof(LiveSequence);
    sequence_type.tp_flags |= Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_SEQUENCE;
    sequence_type.tp_doc = "Traces or regions of a compiled function: those there are when it is looked at.";
    sequence_type.tp_as_sequence = &as_sequence;
    sequence_type.tp_as_mapping = &as_mapping;
    sequence_type.tp_methods = sequence_methods;
    sequence_type.tp_iter = iterate_now;
    sequence_type.tp_repr = show_now;
    sequence_type.tp_richcompare = compare_now;
    sequence_type.tp_hash = PyObject_HashNotImplemented;
    sequence_type.tp_traverse = traverse_sequence;
    sequence_type.tp_dealloc = dealloc_sequence;
}

}  // namespace

bool add_function_objects() {
    fill_types();
    for (PyTypeObject* t : {&tie_type, &handle_type, &inspector_type, &sequence_type})
        if (PyType_Ready(t) < 0) return false;
    wrapped_name = PyUnicode_InternFromString("__wrapped__");
    bool ok = wrapped_name;
    for (size_t i = 0; i < kOfFunctions; ++i)
        ok = ok && (method_names[i] = PyUnicode_InternFromString(handle_methods[i].ml_name));
    return ok;
}

PyObject* make_function_object(PyObject* function, SharedState* shared,
                               const frontend::FunctionOptions& options) {
    const auto inspector = PyRef::steal(reinterpret_cast<PyObject*>(inspector_of(shared, options)));
    if (!inspector) return nullptr;
    const auto handle = PyRef::steal(reinterpret_cast<PyObject*>(new_handle(as_inspector(inspector.get()))));
    if (!handle) return nullptr;
    Handle* const h = as_handle(handle.get());
    if (!shared->entries) {
        h->entries = new_entries(inspector.get()).release();
        if (!h->entries) return nullptr;
        shared->entries = h->entries;
    } else {
        h->entries = Py_NewRef(shared->entries);
        Py_CLEAR(shared->kept_entries);
    }
    auto copy = PyRef::steal(frontend::begin_copy_of_function(function, sizeof(Tail)));
    if (!copy) return nullptr;
    tail(copy.get()) = {h, shared};
    PyObject_GC_Track(copy.get());
    cast(copy.get())->func_dict = new_dict(function, h);
    if (!cast(copy.get())->func_dict || !tie(h, copy.get())) return nullptr;
    if (shared->state->wants_python()) give_back(shared);
    choose_vectorcall(h);
    return copy.release();
}

PyObject* adopt(PyObject* function, PyObject* inspector, const frontend::FunctionOptions& options) {
    if (PyObject* h = reinterpret_cast<PyObject*>(handle_of(function))) return Py_NewRef(h);
    if (!Py_IS_TYPE(inspector, &inspector_type)) {
        PyErr_SetString(PyExc_TypeError, "expected the inspector that came with the function");
        return nullptr;
    }
    Served& served = as_inspector(inspector)->served;
    if (!served.shared) {
        SharedState* shared = acquire_state(function, options);
        if (!shared) return nullptr;
        shared->state->let_python_serve();
        served = {shared, options};
        if (!shared->inspector) shared->inspector = inspector;
    }
    auto handle = PyRef::steal(reinterpret_cast<PyObject*>(new_handle(as_inspector(inspector))));
    if (!handle) return nullptr;
    Handle* const h = as_handle(handle.get());
    h->adopted = true;
    if (!tie(h, function)) return nullptr;
    choose_vectorcall(h);
    return handle.release();
}

PyObject* detached_inspector() { return reinterpret_cast<PyObject*>(new_inspector(nullptr, {})); }

PyObject* sequence_of(PyObject* inspector, const char* name) {
    for (const char* known : kSequences)
        if (Py_IS_TYPE(inspector, &inspector_type) && std::string_view(known) == name)
            return new_sequence(inspector, known);
    PyErr_SetString(PyExc_TypeError, "expected an inspector, and 'traces' or 'regions'");
    return nullptr;
}

Served* served_of(PyObject* object) {
    if (Py_IS_TYPE(object, &inspector_type))
        return as_inspector(object)->served.shared ? &as_inspector(object)->served : nullptr;
    Handle* h = handle_of(object);
    return h ? &h->inspector->served : nullptr;
}

void choose_vectorcalls(SharedState* shared) {
    for (Handle* h = shared->functions; h; h = h->next_of) choose_vectorcall(h);
}

void choose_all_vectorcalls() {
    for (Handle* h = live; h; h = h->next) choose_vectorcall(h);
}

std::vector<SharedState*> states_of_function_objects() {
    std::vector<SharedState*> all;
    for (Handle* h = live; h; h = h->next)
        if (h == h->inspector->served.shared->functions) all.push_back(h->inspector->served.shared);
    return all;
}

bool is_served(PyObject* function) {
    if (!PyFunction_Check(function)) return false;
    const vectorcallfunc v = cast(function)->vectorcall;
    return v == call || v == call_with_checks || v == call_adopted;
}

#else

bool add_function_objects() { return true; }
PyObject* make_function_object(PyObject*, SharedState*, const frontend::FunctionOptions&) { return nullptr; }
PyObject* adopt(PyObject* function, PyObject*, const frontend::FunctionOptions&) {
    return Py_NewRef(function);
}
PyObject* detached_inspector() { Py_RETURN_NONE; }
PyObject* sequence_of(PyObject*, const char*) { Py_RETURN_NONE; }
Served* served_of(PyObject*) { return nullptr; }
void choose_vectorcalls(SharedState*) {}
void choose_all_vectorcalls() {}
std::vector<SharedState*> states_of_function_objects() { return {}; }
bool is_served(PyObject*) { return false; }

#endif

}  // namespace stator::bindings
