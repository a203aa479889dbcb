// See kept_alive.h.
#include "frontend/cpython/kept_alive.h"

#include <algorithm>
#include <utility>

#include "guards/check/functions.h"

namespace stator::frontend {
namespace {

PyObject* imported_modules() {  // borrowed
    PyObject* modules = PyImport_GetModuleDict();
    return modules && PyDict_CheckExact(modules) ? modules : nullptr;
}

PyObject* entry(PyObject* dict, PyObject* name) {  // borrowed
    PyObject* found = name && PyUnicode_CheckExact(name) ? PyDict_GetItemWithError(dict, name) : nullptr;
    PyErr_Clear();
    return found;
}

}  // namespace

bool is_of_imported_module(PyObject* globals) {
    PyObject* modules = imported_modules();
    PyObject* name = PyDict_GetItemString(globals, "__name__");
    PyErr_Clear();
    PyObject* module = modules ? entry(modules, name) : nullptr;
    return module && PyModule_Check(module) && PyModule_GetDict(module) == globals;
}

KeptAlive::KeptAlive(size_t most_objects) : most_objects_(most_objects) {
    PyObject *modules = imported_modules(), *name, *module;
    Py_ssize_t at = 0;
    while (modules && PyDict_Next(modules, &at, &name, &module))
        if (PyModule_Check(module)) modules_.insert({module, PyModule_GetDict(module)});
}

// What an imported module has under its own name is the module's.
bool KeptAlive::is_known(PyObject* o) const {
    if (modules_.contains(o)) return true;
    if (guards::is_function(o)) {
        PyObject* globals = PyFunction_GET_GLOBALS(o);
        return modules_.contains(globals) &&
               entry(globals, reinterpret_cast<PyFunctionObject*>(o)->func_name) == o;
    }
    if (!PyType_Check(o)) return false;
    auto* type = reinterpret_cast<PyTypeObject*>(o);
    if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return true;
    PyObject *modules = imported_modules(), *dict = type->tp_dict;
    PyObject* name = dict ? PyDict_GetItemString(dict, "__module__") : nullptr;
    PyErr_Clear();
    PyObject* module = modules && name ? entry(modules, name) : nullptr;
    return module && PyModule_Check(module) &&
           entry(PyModule_GetDict(module), reinterpret_cast<PyHeapTypeObject*>(o)->ht_name) == o;
}

void KeptAlive::visit_references(PyObject* o, visitproc visit, void* arg) const {
    if (PyCode_Check(o)) {
        PyObject* constants = reinterpret_cast<PyCodeObject*>(o)->co_consts;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants); ++i)
            if (PyCode_Check(PyTuple_GET_ITEM(constants, i))) visit(PyTuple_GET_ITEM(constants, i), arg);
        return;
    }
    if (!PyObject_IS_GC(o) || !Py_TYPE(o)->tp_traverse || is_known(o)) return;
    // Others that are not tracked may be in the making. CPython does not track these where they hold nothing
    // that is.
    if (PyObject_GC_IsTracked(o) || PyTuple_CheckExact(o) || PyDict_CheckExact(o))
        Py_TYPE(o)->tp_traverse(o, visit, arg);
}

int KeptAlive::count_one(PyObject* o, void* self) {
    auto* all = static_cast<KeptAlive*>(self);
    const auto [at, fresh] = all->nodes_.try_emplace(o);
    ++at->second.seen;
    if (fresh) all->ahead_.push_back(o);
    return 0;
}

bool KeptAlive::count(const std::vector<Keeper>& keepers) {
    for (const Keeper& k : keepers) k.traverse(count_one, this);
    while (!ahead_.empty()) {
        if (nodes_.size() > most_objects_) return false;
        PyObject* o = ahead_.back();
        ahead_.pop_back();
        visit_references(o, count_one, this);
    }
    return true;
}

void KeptAlive::want(PyObject* o) {
    const auto found = nodes_.find(o);
    if (found == nodes_.end() || std::exchange(found->second.wanted, true)) return;
    ahead_.push_back(o);
}

int KeptAlive::want_one(PyObject* o, void* self) {
    static_cast<KeptAlive*>(self)->want(o);
    return 0;
}

void KeptAlive::want_all() {
    while (!ahead_.empty()) {
        PyObject* o = ahead_.back();
        ahead_.pop_back();
        visit_references(o, want_one, this);
    }
}

std::optional<std::vector<size_t>> KeptAlive::useless(const std::vector<Keeper>& keepers,
                                                      size_t most_objects) {
    KeptAlive all(most_objects);
    if (!all.count(keepers)) return std::nullopt;
    for (auto& [o, node] : all.nodes_)
        if (Py_REFCNT(o) > node.seen) all.want(o);
    all.want_all();
    std::vector<size_t> left(keepers.size());
    for (size_t i = 0; i < left.size(); ++i) left[i] = i;
    const auto has_all = [&](size_t i) {
        return std::ranges::all_of(keepers[i].needed, [&](PyObject* o) {
            const auto found = all.nodes_.find(o);
            return found == all.nodes_.end() || found->second.wanted;
        });
    };
    // What one of them keeps may be what another one needs.
    for (size_t before = left.size() + 1; left.size() < before;) {
        before = left.size();
        std::erase_if(left, [&](size_t i) {
            if (!has_all(i)) return false;
            keepers[i].traverse(want_one, &all);
            all.want_all();
            return true;
        });
    }
    return left;
}

}  // namespace stator::frontend
