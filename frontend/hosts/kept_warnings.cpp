// See kept_warnings.h. The filter's entry is a tuple like all others, ("ignore", f, f, None, 0), whose f is
// an object that matches each text, and of which each category is a subclass, where this thread keeps
// warnings.
#include "frontend/hosts/kept_warnings.h"

#include "frontend/once.h"

namespace stator::frontend {

namespace {

thread_local KeptWarnings* t_keeps = nullptr;

PyObject* match(PyObject*, PyObject* text) {
    if (t_keeps) t_keeps->hears(text);
    return PyBool_FromLong(t_keeps != nullptr);
}

PyObject* subclasscheck(PyObject*, PyObject* category) {
    if (t_keeps) t_keeps->keep(category);
    return PyBool_FromLong(t_keeps != nullptr);
}

struct Filters {
    PyRef names, key, entry;  // of the module warnings
};

Filters& filters_module() {
    return once([] {
        static PyMethodDef methods[] = {
            {"match", match, METH_O, nullptr}, {"__subclasscheck__", subclasscheck, METH_O, nullptr}, {}};
        static PyType_Slot slots[] = {{Py_tp_methods, methods}, {}};
        static PyType_Spec spec = {"stator.KeptWarnings", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT, slots};
        Filters f;
        const PyRef module = module_named("warnings");
        const PyRef type = PyRef::steal(PyType_FromSpec(&spec));
        const PyRef keeper = PyRef::steal(type ? PyObject_CallNoArgs(type.get()) : nullptr);
        if (module && PyModule_Check(module.get()) && keeper) {
            f.names = PyRef::borrow(PyModule_GetDict(module.get()));
            f.key = PyRef::steal(PyUnicode_InternFromString("filters"));
            f.entry =
                PyRef::steal(Py_BuildValue("(sOOOi)", "ignore", keeper.get(), keeper.get(), Py_None, 0));
        }
        PyErr_Clear();
        return f;
    });
}

// Guarded by the GIL. Lists into which the entry was put; more than one where a program sets another
// meanwhile.
int g_keepers = 0;
std::vector<PyRef>& lists() {
    static auto& all =
        *new std::vector<PyRef>;  // never goes: a thread may be in a call when the process ends
    return all;
}

PyObject* list_now() {
    const Filters& f = filters_module();
    PyObject* list = f.entry ? PyDict_GetItemWithError(f.names.get(), f.key.get()) : nullptr;
    return list && PyList_CheckExact(list) ? list : nullptr;
}

void put_entry() {
    PyObject* list = list_now();
    PyObject* entry = filters_module().entry.get();
    if (!list || (PyList_GET_SIZE(list) > 0 && PyList_GET_ITEM(list, 0) == entry)) return;
    if (PyList_Insert(list, 0, entry) == 0) lists().push_back(PyRef::borrow(list));
}

void take_entry(PyObject* list) {
    PyObject* entry = filters_module().entry.get();
    for (Py_ssize_t i = PyList_GET_SIZE(list); i-- > 0;)
        if (PyList_GET_ITEM(list, i) == entry) PyList_SetSlice(list, i, i + 1, nullptr);
}

void take_entries() {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (const PyRef& list : std::exchange(lists(), {})) take_entry(list.get());
    PyErr_Restore(type, value, traceback);
}

}  // namespace

KeptWarnings* KeptWarnings::of_this_thread() { return t_keeps; }

KeptWarnings::KeptWarnings() : outer_(t_keeps) {
    t_keeps = this;
    ++g_keepers;
    put_entry();
    PyErr_Clear();
}

KeptWarnings::~KeptWarnings() {
    t_keeps = outer_;
    if (--g_keepers == 0) take_entries();
}

void KeptWarnings::other_threads_are_gone() {
    g_keepers = 0;
    for (const KeptWarnings* k = t_keeps; k; k = k->outer_) ++g_keepers;
    if (g_keepers == 0) take_entries();
}

bool KeptWarnings::tell(const char* file, int line, PyObject* globals) {
    const PyRef name = PyRef::steal(PyUnicode_DecodeFSDefault(file));
    const PyRef key = PyRef::steal(PyUnicode_InternFromString("__warningregistry__"));
    PyObject* registry = key ? PyDict_GetItemWithError(globals, key.get()) : nullptr;
    if (!registry && key && !PyErr_Occurred()) {
        const PyRef made = PyRef::steal(PyDict_New());
        if (made && PyDict_SetItem(globals, key.get(), made.get()) == 0) registry = made.get();
    }
    const PyRef held = PyRef::borrow(registry);
    const PyRef module = PyRef::borrow(PyDict_GetItemString(globals, "__name__"));
    KeptWarnings* const keeps = std::exchange(t_keeps, nullptr);
    bool ok = name && registry;
    for (size_t i = 0; ok && i < found_.size(); ++i)
        ok = PyErr_WarnExplicitObject(found_[i].first.get(), found_[i].second.get(), name.get(), line,
                                      module.get(), registry) == 0;
    t_keeps = keeps;
    PyErr_Clear();
    return ok;
}

}  // namespace stator::frontend
