// Reading sources without running Python code.
//
// The danger is everywhere: `obj.name` may call a property, a `__getattr__`, a metaclass. So each read first
// looks at what the lookup would do (the class's own getattr slot, what the class holds under the name and
// whether that is a descriptor) and only then does it; where code could run, the read fails and with it the
// guard. Nothing here is cached across calls except through CPython's own method cache and dictionary
// versions, so nothing can go stale.
#include <cstddef>
#include <string_view>

#include "guards/check/functions.h"
#include "guards/check/impl.h"
#include "guards/check/lazy.h"
#include "guards/check/module.h"
#if PY_VERSION_HEX < 0x030C0000
#include <structmember.h>
#endif

// Exported by every supported version; declared in internal headers from 3.13 on.
extern "C" {
PyAPI_FUNC(int) _PyObject_GetMethod(PyObject* obj, PyObject* name, PyObject** method);
PyAPI_FUNC(PyObject*) _PyType_Lookup(PyTypeObject*, PyObject*);
#if PY_VERSION_HEX < 0x030D0000
PyAPI_FUNC(PyObject*) _PyObject_GenericGetAttrWithDict(PyObject*, PyObject*, PyObject*, int);
#endif
}

namespace stator::guards {
namespace {

using Place = GuardProgram::AttrPlace;

struct Found {
    Place place = Place::Unreadable;
    PyObject* value = nullptr;  // new reference
};

// Lookups return with an error set only for reasons that mean "cannot be read" here (a failing __eq__ of a
// foreign key, no memory).
PyObject* quiet(PyObject* o) {
    if (!o && PyErr_Occurred()) PyErr_Clear();
    return o;
}

// obj.name of an object whose class uses the generic lookup, without making an AttributeError when there is
// none.
PyObject* generic_attr(PyObject* obj, PyObject* name) {
#if PY_VERSION_HEX < 0x030D0000
    return quiet(_PyObject_GenericGetAttrWithDict(obj, name, nullptr, 1));
#else
    PyObject* value = nullptr;
    PyObject_GetOptionalAttr(obj, name, &value);
    return quiet(value);
#endif
}

// What a functools.partial holds, which only its own code could change.
bool is_partial_member(PyObject* obj, PyObject* descr) {
    PyTypeObject* type = Py_TYPE(obj);
    if (!PyType_HasFeature(type, Py_TPFLAGS_IMMUTABLETYPE) ||
        std::string_view(type->tp_name) != "functools.partial")
        return false;
    const PyMemberDef* m = reinterpret_cast<PyMemberDescrObject*>(descr)->d_member;
    constexpr int kObject = 6, kReadOnly = 1;  // _Py_T_OBJECT, T_OBJECT before 3.12
    return m->type == kObject && m->flags == kReadOnly && PyObject_TypeCheck(obj, PyDescr_TYPE(descr));
}

Found read_member(PyObject* obj, PyObject* descr) {
    if (!is_slot_member(obj, descr) && !is_partial_member(obj, descr)) return {};
    const PyMemberDef* m = reinterpret_cast<PyMemberDescrObject*>(descr)->d_member;
    PyObject* value = *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(obj) + m->offset);
    return value ? Found{Place::Instance, Py_NewRef(value)} : Found{};
}

Found read_module(PyObject* module, PyObject* name, PyObject* descr) {
    if (descr) return {};  // __dict__, __class__ ...: computed
    PyObject* value = quiet(PyDict_GetItemWithError(PyModule_GetDict(module), name));
    if (value && is_lazy_import(value)) return {};
    return value ? Found{Place::Module, Py_NewRef(value)}
                 : Found{};  // a module's __getattr__ serves missing names
}

// An attribute of a class, read on the class itself.
Found read_class(PyTypeObject* type, PyObject* name) {
    const PyTypeObject* meta = Py_TYPE(type);
    if (meta->tp_getattro != PyType_Type.tp_getattro) return {};
    PyObject* on_meta = _PyType_Lookup(Py_TYPE(type), name);
    if (on_meta && Py_TYPE(on_meta)->tp_descr_set) return {};
    PyObject* value = quiet(_PyType_Lookup(type, name));
    if (!value) return {};
    PyTypeObject* kind = Py_TYPE(value);
    if (kind == &PyStaticMethod_Type) {
        PyObject* callable = quiet(kind->tp_descr_get(value, nullptr, reinterpret_cast<PyObject*>(type)));
        return callable ? Found{Place::ClassAttr, callable} : Found{};
    }
    const bool plain = !kind->tp_descr_get || PyType_HasFeature(kind, Py_TPFLAGS_METHOD_DESCRIPTOR);
    return plain ? Found{Place::ClassAttr, Py_NewRef(value)} : Found{};
}

// An attribute of a torch.nn.Module, which may be one that its __getattr__ finds.
Found read_torch_module(PyObject* obj, PyObject* name, PyObject* descr) {
    PyObject* own = module_own(obj, name);
    if (!descr) {
        PyObject* value = own ? own : module_registered(obj, name);
        return value ? Found{Place::Instance, Py_NewRef(value)} : Found{};
    }
    PyTypeObject* kind = Py_TYPE(descr);
    if (kind->tp_descr_set) return {};
    if (PyType_HasFeature(kind, Py_TPFLAGS_METHOD_DESCRIPTOR))
        return own ? Found{} : Found{Place::Method, Py_NewRef(descr)};
    if (own) return {Place::Instance, Py_NewRef(own)};
    return kind->tp_descr_get ? Found{} : Found{Place::ClassAttr, Py_NewRef(descr)};
}

// What collections.namedtuple makes for each field: it reads an item. A program could change a class of its
// own.
bool is_tuple_field(PyTypeObject* descriptor) {
    const bool own = !PyType_HasFeature(descriptor, Py_TPFLAGS_HEAPTYPE) ||
                     PyType_HasFeature(descriptor, Py_TPFLAGS_IMMUTABLETYPE);
    return own && descriptor->tp_descr_set &&
           std::string_view(descriptor->tp_name).ends_with("collections._tuplegetter");
}

Found read(PyObject* obj, PyObject* name) {
    if (!PyUnicode_CheckExact(name)) return {};
    if (PyType_Check(obj)) return read_class(reinterpret_cast<PyTypeObject*>(obj), name);
    PyTypeObject* type = Py_TYPE(obj);
    PyObject* descr =
        quiet(_PyType_Lookup(type, name));  // borrowed; no Python code runs below that could drop it
    if (type == &PyModule_Type) return read_module(obj, name, descr);
    if (type->tp_getattro != PyObject_GenericGetAttr)
        return is_module_class(type) ? read_torch_module(obj, name, descr) : Found{};
    if (!descr) {
        PyObject* value = generic_attr(obj, name);
        return value ? Found{Place::Instance, value} : Found{};
    }
    PyTypeObject* kind = Py_TYPE(descr);
    if (kind == &PyMemberDescr_Type) return read_member(obj, descr);
    if (is_tuple_field(kind) && PyTuple_Check(obj)) {
        PyObject* value = quiet(kind->tp_descr_get(descr, obj, reinterpret_cast<PyObject*>(type)));
        return value ? Found{Place::Instance, value} : Found{};
    }
    if (kind->tp_descr_set) return {};
    if (PyType_HasFeature(kind, Py_TPFLAGS_METHOD_DESCRIPTOR)) {
        PyObject* method = nullptr;
        if (_PyObject_GetMethod(obj, name, &method) == 1) return {Place::Method, method};
        Py_XDECREF(
            quiet(method));  // an instance attribute of the same name: whether it binds differs, so leave it
        return {};
    }
    if (kind->tp_descr_get && kind != &PyStaticMethod_Type) return {};
    PyObject* value = generic_attr(obj, name);
    if (!value) return {};
    return {value == descr || kind == &PyStaticMethod_Type ? Place::ClassAttr : Place::Instance, value};
}

}  // namespace

GuardProgram::AttrPlace GuardProgram::classify_attr(PyObject* obj, PyObject* name,
                                                    PyObject** value_borrowed) {
    const Found found = read(obj, name);
    // Whatever it was found in keeps it alive.
    Py_XDECREF(found.value);
    if (value_borrowed) *value_borrowed = found.value;
    return found.place;
}

bool is_slot_member(PyObject* obj, PyObject* descr) {
    if (!Py_IS_TYPE(descr, &PyMemberDescr_Type)) return false;
    const PyMemberDef* m = reinterpret_cast<PyMemberDescrObject*>(descr)->d_member;
    constexpr int kObjectEx = 16;  // Py_T_OBJECT_EX, T_OBJECT_EX before 3.12
    return m->type == kObjectEx && !(m->flags & ~1) && PyObject_TypeCheck(obj, PyDescr_TYPE(descr));
}

PyObject* read_attr(PyObject* obj, PyObject* name) { return read(obj, name).value; }

PyObject* class_lookup(PyTypeObject* type, PyObject* name) { return quiet(_PyType_Lookup(type, name)); }

PyObject* read_item(PyObject* container, PyObject* key) {
    if (is_plain_dict(container)) {
        if (!PyUnicode_CheckExact(key) && !PyLong_CheckExact(key)) return nullptr;
        return quiet(PyDict_GetItemWithError(container, key));
    }
    int64_t i;
    if (!int_value(key, &i)) return nullptr;
    if (is_plain_tuple(container)) {
        const Py_ssize_t n = PyTuple_GET_SIZE(container);
        if (i < 0) i += n;
        return i >= 0 && i < n ? PyTuple_GET_ITEM(container, i) : nullptr;
    }
    if (PyList_CheckExact(container)) {
        const Py_ssize_t n = PyList_GET_SIZE(container);
        if (i < 0) i += n;
        return i >= 0 && i < n ? PyList_GET_ITEM(container, i) : nullptr;
    }
    return nullptr;
}

bool has_length(PyObject* o) {
    return PyList_CheckExact(o) || PyTuple_CheckExact(o) || PyDict_CheckExact(o) || PyUnicode_CheckExact(o) ||
           PyBytes_CheckExact(o) || PyAnySet_CheckExact(o);
}

PyObject* read_length(PyObject* container) {
    return has_length(container) ? quiet(PyLong_FromSsize_t(PyObject_Size(container))) : nullptr;
}

uint64_t dict_version(PyObject* dict) {
#if PY_VERSION_HEX < 0x030E0000
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#pragma GCC diagnostic pop
#else
    (void)dict;
    return 0;
#endif
}

PyObject* read_source(const std::vector<Source>& sources, SourceId s, PyObject* const* slots) {
    const Source& source = sources[s];
    PyObject* base = source.base >= 0 ? read_source(sources, source.base, slots) : nullptr;
    if (source.base >= 0 && !base) return nullptr;
    PyObject* found = nullptr;
    switch (source.kind) {
        case SourceKind::Slot: found = Py_XNewRef(slots[source.index]); break;
        case SourceKind::Object: found = Py_XNewRef(source.holder); break;
        case SourceKind::Global:
            found = quiet(PyDict_GetItemWithError(source.holder, source.key));
            if (!found) found = quiet(PyDict_GetItemWithError(source.holder2, source.key));
            if (found && is_lazy_import(found)) found = nullptr;
            Py_XINCREF(found);
            break;
        case SourceKind::Attr: found = read_attr(base, source.key); break;
        case SourceKind::Item: found = Py_XNewRef(read_item(base, source.key)); break;
        case SourceKind::Cell: found = PyCell_Check(base) ? Py_XNewRef(PyCell_GET(base)) : nullptr; break;
        case SourceKind::TypeOf: found = Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(base))); break;
        case SourceKind::Length: found = read_length(base); break;
        case SourceKind::FuncCell: {
            PyObject* closure = is_function(base) ? PyFunction_GET_CLOSURE(base) : nullptr;
            if (closure && source.index < PyTuple_GET_SIZE(closure))
                found = Py_NewRef(PyTuple_GET_ITEM(closure, source.index));
            break;
        }
    }
    Py_XDECREF(base);
    return found;
}

}  // namespace stator::guards
