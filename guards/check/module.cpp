// See check/module.h.
#include "guards/check/module.h"

#include <cstdint>

#include "guards/check/impl.h"

extern "C" PyAPI_FUNC(PyObject**) _PyObject_GetDictPtr(PyObject*);

namespace stator::guards {
namespace {

PyObject* interned(const char* text) { return PyUnicode_InternFromString(text); }

PyObject* entry(PyObject* dict, PyObject* name) {
    PyObject* found = PyDict_GetItemWithError(dict, name);
    if (!found && PyErr_Occurred()) PyErr_Clear();
    return found;
}

bool looks_up_as_module(PyTypeObject* type) {
    static PyObject* const getattribute = interned("__getattribute__");
    static PyObject* const getattr = interned("__getattr__");
    static PyObject* const generic =
        class_lookup(&PyBaseObject_Type, getattribute);  // a slot wrapper of the immortal `object`
    const TensorApi* api = tensor_api();
    return api && api->module_getattr && class_lookup(type, getattr) == api->module_getattr &&
           class_lookup(type, getattribute) == generic;
}

}  // namespace

bool is_plain_tuple(PyObject* o) {
    if (PyTuple_CheckExact(o)) return true;
    if (!PyTuple_Check(o)) return false;
    const PyTypeObject* type = Py_TYPE(o);
    return type->tp_iter == PyTuple_Type.tp_iter && type->tp_as_mapping &&
           type->tp_as_mapping->mp_subscript == PyTuple_Type.tp_as_mapping->mp_subscript;
}

bool is_plain_dict(PyObject* o) { return PyDict_CheckExact(o) || PyODict_CheckExact(o); }

bool is_module_class(PyTypeObject* type) {
    // The last answer for each class: a version belongs to one state of one class for ever.
    struct Known {
        PyTypeObject* type;
        uint32_t version;
        bool yes;
    };
    static Known known[16];
    if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return false;
    Known& k = known[(reinterpret_cast<uintptr_t>(type) >> 6) % 16];
    const auto version = static_cast<uint32_t>(type->tp_version_tag);
    if (k.type == type && k.version == version && version) [[likely]]
        return k.yes;
    const bool yes = looks_up_as_module(type);
    if (const auto now = static_cast<uint32_t>(type->tp_version_tag)) k = {type, now, yes};
    return yes;
}

PyObject* module_own(PyObject* module, PyObject* name) {
    PyObject** dict = _PyObject_GetDictPtr(module);
    if (PyErr_Occurred()) PyErr_Clear();
    return dict && *dict && PyDict_CheckExact(*dict) ? entry(*dict, name) : nullptr;
}

PyObject* module_registered(PyObject* module, PyObject* name) {
    static PyObject* const places[] = {interned("_parameters"), interned("_buffers"), interned("_modules")};
    PyObject** dict = _PyObject_GetDictPtr(module);
    if (PyErr_Occurred()) PyErr_Clear();
    if (!dict || !*dict || !PyDict_CheckExact(*dict)) return nullptr;
    for (PyObject* place : places) {
        PyObject* registered = entry(*dict, place);
        if (!registered) continue;
        if (!is_plain_dict(registered)) return nullptr;
        if (PyObject* found = entry(registered, name)) return found;
    }
    return nullptr;
}

}  // namespace stator::guards
