// See inspector.h.
#include "bindings/inspector.h"

#include <iterator>
#include <string_view>
#include <vector>

#include "bindings/giving_back.h"
#include "bindings/inspection.h"
#include "frontend/drive/driver.h"
#include "frontend/pyref.h"

namespace stator::bindings {
namespace {

using frontend::PyRef;

const PyVarObject kTypeHead[] = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject inspector_type{}, sequence_type{};

PyObject* ask_state(const char* name, PyObject* o, PyObject* args, PyObject* kwargs) {
    if (as_inspector(o)->served.shared) return inspect(name, o, args, kwargs);
    PyErr_SetString(PyExc_ReferenceError, "the compiled function is not here");
    return nullptr;
}

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
    const auto module = frontend::module_named("stator._pickle");
    const auto make = PyRef::steal(module ? PyObject_GetAttrString(module.get(), "inspector") : nullptr);
    return make ? Py_BuildValue("O()", make.get()) : nullptr;
}

#define X(name, doc)                                                            \
    PyObject* method_##name(PyObject* self, PyObject* args, PyObject* kwargs) { \
        return ask_state(#name, self, args, kwargs);                            \
    }
STATOR_METHODS_OF_STATES(X)
#undef X

#define X(name, doc)                                                                    \
    {#name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(method_##name)), \
     METH_VARARGS | METH_KEYWORDS, doc},
PyMethodDef inspector_methods[] = {
    STATOR_METHODS_OF_STATES(X){"reset", reset, METH_NOARGS, kResetDoc},
    {"__reduce__", reduce_inspector, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
#undef X
constexpr size_t kMethods = std::size(inspector_methods) - 2;  // in functions' `__dict__`s

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
    const auto module = frontend::module_named("stator._pickle");
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

constexpr const char* kSequences[] = {"traces", "regions"};

void fill_types() {
    for (PyTypeObject* t : {&inspector_type, &sequence_type}) {
        t->ob_base = kTypeHead[0];
        t->tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    }
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

bool add_inspectors() {
    fill_types();
    return PyType_Ready(&inspector_type) == 0 && PyType_Ready(&sequence_type) == 0;
}

bool is_inspector(PyObject* o) { return Py_IS_TYPE(o, &inspector_type); }

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

std::vector<const char*> names_of_entries() {
    std::vector<const char*> names;
    for (size_t i = 0; i < kMethods; ++i) names.push_back(inspector_methods[i].ml_name);
    names.insert(names.end(), std::begin(kSequences), std::end(kSequences));
    return names;
}

PyObject* new_entries(PyObject* inspector) {
    auto entries = PyRef::steal(PyTuple_New(kMethods + std::size(kSequences)));
    if (!entries) return nullptr;
    Py_ssize_t at = 0;
    for (size_t i = 0; i < kMethods; ++i)
        PyTuple_SET_ITEM(entries.get(), at++, PyCFunction_New(&inspector_methods[i], inspector));
    for (const char* name : kSequences) PyTuple_SET_ITEM(entries.get(), at++, new_sequence(inspector, name));
    for (Py_ssize_t i = 0; i < at; ++i)
        if (!PyTuple_GET_ITEM(entries.get(), i)) return nullptr;
    return entries.release();
}

PyObject* detached_inspector() { return reinterpret_cast<PyObject*>(new_inspector(nullptr, {})); }

PyObject* sequence_of(PyObject* inspector, const char* name) {
    for (const char* known : kSequences)
        if (is_inspector(inspector) && std::string_view(known) == name) return new_sequence(inspector, known);
    PyErr_SetString(PyExc_TypeError, "expected an inspector, and 'traces' or 'regions'");
    return nullptr;
}

}  // namespace stator::bindings
