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
#include "bindings/inspector.h"
#include "frontend/cpython/c_stack.h"
#include "frontend/cpython/functions.h"
#include "frontend/drive/driver.h"
#include "frontend/pyref.h"
#include "guards/check/functions.h"

namespace stator::bindings {

struct Handle {
    PyObject_HEAD Inspector* inspector;
    PyObject* entries;              // SharedState::entries, nullptr of one that was adopted
    PyObject* function;             // no reference; nullptr once it is gone, or this one was taken from it
    PyObject* made_of;              // the function as it was written; nullptr of one that was adopted
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
    if (shared->running >= kDeepest || frontend::c_stack_is_scarce()) [[unlikely]]
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
    frontend::set_vectorcall(function, frontend::python_vectorcall());
    const bool as_it_was = f->func_code == h->code && f->func_defaults == h->defaults &&
                           count_of(h->defaults) == h->default_count;
    // 0: CPython gives it a new one, up to 3.13.
    f->func_version = as_it_was ? h->version : 0;
}

void choose_vectorcall(Handle* h) {
    if (!h->function) return;
    const SharedState* shared = h->inspector->served.shared;
    if (shared->given_back || shared->deep > 0) return give_to_python(h, h->function);
    frontend::set_vectorcall(h->function, h->adopted                         ? call_adopted
                                          : is_checked(h->inspector->served) ? call_with_checks
                                                                             : call);
}

// --- the tie ---

struct Tie {
    PyObject_HEAD vectorcallfunc vectorcall;
    Handle* handle;  // no reference
};

const PyVarObject kTypeHead[] = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject tie_type{}, handle_type{};

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
    if (!guards::is_function(o)) return nullptr;
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

// --- the handle ---

Handle* new_handle(Inspector* inspector) {
    Handle* h = PyObject_GC_New(Handle, &handle_type);
    if (!h) return nullptr;
    SharedState* shared = inspector->served.shared;
    h->inspector = inspector;
    Py_INCREF(inspector);
    h->entries = h->function = h->made_of = h->weak = nullptr;
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
    Py_VISIT(as_handle(o)->made_of);
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
    Py_XDECREF(h->made_of);
    Py_DECREF(h->inspector);
    PyObject_GC_Del(o);
}

// The function itself, or another one like it where it is gone: in `stator.compile(f).explain(x)` nobody
// holds it any more when the method is called. nullptr where none can be made, with or without an error set.
PyRef function_of(Handle* h) {
    if (h->function) return PyRef::borrow(h->function);
    const Served& served = h->inspector->served;
    if (!h->made_of || !served.shared) return {};
    ++served.shared->owners;
    return PyRef::steal(make_function_object(h->made_of, served.shared, served.options));
}

PyObject* ask_function(const char* name, PyObject* o, PyObject* args, PyObject* kwargs) {
    const PyRef function = function_of(as_handle(o));
    if (function) return inspect(name, function.get(), args, kwargs);
    if (PyErr_Occurred()) return nullptr;
    PyErr_Format(PyExc_ReferenceError, "the compiled function that %s was a method of is gone", name);
    return nullptr;
}

// Whoever pickles the function by value, `__dict__` and all, takes this one along.
PyObject* reduce(PyObject* o, PyObject*) {
    const auto function = PyRef::borrow(as_handle(o)->function);
    const auto module = frontend::module_named("stator._pickle");
    if (!module) return nullptr;
    if (function)
        return PyObject_CallMethod(module.get(), "reduce_handle", "OO", function.get(),
                                   as_handle(o)->inspector);
    PyErr_SetString(PyExc_ReferenceError, "the compiled function is gone");
    return nullptr;
}

// --- methods ---

#define X(name, doc)                                                            \
    PyObject* method_##name(PyObject* self, PyObject* args, PyObject* kwargs) { \
        return ask_function(#name, self, args, kwargs);                         \
    }
STATOR_METHODS_OF_FUNCTIONS(X)
#undef X

#define X(name, doc)                                                                    \
    {#name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(method_##name)), \
     METH_VARARGS | METH_KEYWORDS, doc},
PyMethodDef handle_methods[] = {
    STATOR_METHODS_OF_FUNCTIONS(X){"__reduce__", reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
#undef X
// That are entries of the function's `__dict__`.
constexpr size_t kOfFunctions = std::size(handle_methods) - 2;

// --- the function's __dict__ ---

// Functions are made anew all the time (decorated inner functions, code that exec runs): each gets a copy of
// a dict that has all keys, and the values are put in by names that have their hash.
PyObject* all_keys = nullptr;
std::vector<PyObject*> entry_names;
PyObject *wrapped_name = nullptr, *method_names[kOfFunctions];

bool make_keys() {
    all_keys = PyDict_New();
    const auto add = [](const char* text) -> PyObject* {
        PyObject* name = all_keys ? PyUnicode_InternFromString(text) : nullptr;
        return name && PyDict_SetItem(all_keys, name, Py_None) == 0 ? name : nullptr;
    };
    bool ok = (wrapped_name = add("__wrapped__"));
    for (const char* text : names_of_entries()) ok = ok && entry_names.emplace_back(add(text));
    for (size_t i = 0; i < kOfFunctions; ++i) ok = ok && (method_names[i] = add(handle_methods[i].ml_name));
    return ok;
}

PyObject* new_dict(PyObject* function, Handle* h) {
    PyObject* written = cast(function)->func_dict;
    auto dict = PyRef::steal(PyDict_Copy(all_keys));
    if (!dict || PyDict_SetItem(dict.get(), wrapped_name, function) < 0) return nullptr;
    for (size_t i = 0; i < entry_names.size(); ++i) {
        PyObject* entry = PyTuple_GET_ITEM(h->entries, static_cast<Py_ssize_t>(i));
        if (PyDict_SetItem(dict.get(), entry_names[i], entry) < 0) return nullptr;
    }
    for (size_t i = 0; i < kOfFunctions; ++i) {
        const auto method = PyRef::steal(PyCFunction_New(&handle_methods[i], reinterpret_cast<PyObject*>(h)));
        if (!method || PyDict_SetItem(dict.get(), method_names[i], method.get()) < 0) return nullptr;
    }
    if (written && PyDict_Merge(dict.get(), written, 0) < 0) return nullptr;
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
    for (PyTypeObject* t : {&tie_type, &handle_type}) {
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
}

}  // namespace

bool add_function_objects() {
    if (guards::kServedHaveOwnType && !guards::add_served_function_type()) return false;
    if (!add_inspectors()) return false;
    fill_types();
    for (PyTypeObject* t : {&tie_type, &handle_type})
        if (PyType_Ready(t) < 0) return false;
    return make_keys();
}

PyObject* make_function_object(PyObject* function, SharedState* shared,
                               const frontend::FunctionOptions& options) {
    const auto inspector = PyRef::steal(reinterpret_cast<PyObject*>(inspector_of(shared, options)));
    if (!inspector) return nullptr;
    const auto handle = PyRef::steal(reinterpret_cast<PyObject*>(new_handle(as_inspector(inspector.get()))));
    if (!handle) return nullptr;
    Handle* const h = as_handle(handle.get());
    if (!shared->entries) {
        h->entries = new_entries(inspector.get());
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
    h->made_of = Py_NewRef(function);
    if (shared->state->wants_python()) give_back(shared);
    choose_vectorcall(h);
    return copy.release();
}

PyObject* adopt(PyObject* function, PyObject* inspector, const frontend::FunctionOptions& options) {
    if (PyObject* h = reinterpret_cast<PyObject*>(handle_of(function))) return Py_NewRef(h);
    if (!is_inspector(inspector)) {
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

Served* served_of(PyObject* object) {
    if (is_inspector(object))
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
    if (!guards::is_function(function)) return false;
    const vectorcallfunc v = cast(function)->vectorcall;
    return v == call || v == call_with_checks || v == call_adopted;
}

}  // namespace stator::bindings
