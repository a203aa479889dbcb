#include "frontend/cpython/raw/raw.h"
// raw.h must come first.
#include "frontend/cpython/functions.h"

#include <cctype>
#include <cstring>

#include "frontend/once.h"
#include "guards/check/functions.h"
#include "guards/check/names.h"

namespace stator::frontend {

PyObject* new_function(PyObject* code, PyObject* globals) {
    PyObject* function = PyFunction_New(code, globals);
    if (function)
        raw::set_function_version(reinterpret_cast<PyFunctionObject*>(function),
                                  reinterpret_cast<PyCodeObject*>(code));
    return function;
}

void set_function_part(PyObject* function, int part, PyObject* steal) {
    auto* f = reinterpret_cast<PyFunctionObject*>(function);
    switch (part) {
        case kPartDefaults: f->func_defaults = steal; break;
        case kPartKwDefaults: f->func_kwdefaults = steal; break;
        case kPartAnnotations: f->func_annotations = steal; break;
        case kPartClosure: f->func_closure = steal; break;
#if PY_VERSION_HEX >= 0x030E0000
        case kPartAnnotate: f->func_annotate = steal; break;
#endif
        default: Py_XDECREF(steal);
    }
}

vectorcallfunc python_vectorcall() {
    // 3.13 exports it no more.
    return once([] {
        PyRef code = PyRef::steal(reinterpret_cast<PyObject*>(PyCode_NewEmpty("", "", 0)));
        PyRef globals = PyRef::steal(PyDict_New());
        PyRef function = PyRef::steal(code && globals ? PyFunction_New(code.get(), globals.get()) : nullptr);
        if (!function) Py_FatalError("stator: no memory for a function");
        return reinterpret_cast<PyFunctionObject*>(function.get())->vectorcall;
    });
}

void set_vectorcall(PyObject* function, vectorcallfunc vectorcall) {
    auto* f = reinterpret_cast<PyFunctionObject*>(function);
#if PY_VERSION_HEX >= 0x030C0000
    PyFunction_SetVectorcall(f, vectorcall);
#else
    f->vectorcall = vectorcall;
    f->func_version = 0;
    Py_SET_TYPE(function,
                vectorcall == python_vectorcall() ? &PyFunction_Type : &guards::served_function_type);
#endif
}

namespace {

// Not yet tracked; `extra` bytes are zeroed.
PyObject* allocate_function(size_t extra) {
#if PY_VERSION_HEX >= 0x030C0000
    return PyUnstable_Object_GC_NewWithExtraData(&PyFunction_Type, extra);
#else
    // 3.11 allocates what the type says, and nothing more. What it frees is the whole block.
    static PyTypeObject room{};
    room.tp_basicsize = static_cast<Py_ssize_t>(sizeof(PyFunctionObject) + extra);
    room.tp_flags = Py_TPFLAGS_HAVE_GC;
    PyObject* function = PyObject_GC_New(PyObject, &room);
    if (!function) return nullptr;
    std::memset(reinterpret_cast<char*>(function) + sizeof(PyObject), 0,
                room.tp_basicsize - sizeof(PyObject));
    Py_SET_TYPE(function, &PyFunction_Type);
    return function;
#endif
}

}  // namespace

PyObject* begin_copy_of_function(PyObject* function, size_t extra) {
    PyObject* copy = allocate_function(extra);
    if (!copy) return nullptr;
    auto* to = reinterpret_cast<PyFunctionObject*>(copy);
    std::memcpy(reinterpret_cast<char*>(copy) + sizeof(PyObject),
                reinterpret_cast<const char*>(function) + sizeof(PyObject),
                sizeof(PyFunctionObject) - sizeof(PyObject));
    to->func_dict = nullptr;
    to->func_weakreflist = nullptr;
    to->vectorcall = python_vectorcall();
    // It visits what a function owns, whatever that is in this version.
    PyFunction_Type.tp_traverse(copy, [](PyObject* o, void*) { return Py_INCREF(o), 0; }, nullptr);
    return copy;
}

PyObject* copy_of_function(PyObject* function) {
    PyRef copy = PyRef::steal(begin_copy_of_function(function, 0));
    if (!copy) return nullptr;
    PyObject_GC_Track(copy.get());
    PyObject* dict = reinterpret_cast<PyFunctionObject*>(function)->func_dict;
    if (dict && !(reinterpret_cast<PyFunctionObject*>(copy.get())->func_dict = PyDict_Copy(dict)))
        return nullptr;
    return copy.release();
}

bool asking_runs_no_code(PyObject* o, const char* attribute) {
    PyTypeObject* type = Py_TYPE(o);
    if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return true;
    if (type->tp_getattro != PyObject_GenericGetAttr) return false;
    const PyRef name = PyRef::steal(PyUnicode_FromString(attribute));
    // A descriptor that Python code defines is of a heap type.
    PyObject* found = name ? _PyType_Lookup(type, name.get()) : nullptr;
    PyErr_Clear();
    return name && (!found || !PyType_HasFeature(Py_TYPE(found), Py_TPFLAGS_HEAPTYPE)) &&
           !(found && Py_IS_TYPE(found, &PyProperty_Type));
}

std::string name_for_messages(PyObject* callable, const char* attribute) {
    if (PyType_Check(callable)) {
        const std::string name = reinterpret_cast<PyTypeObject*>(callable)->tp_name;
        return name.substr(name.rfind('.') + 1);
    }
    if (!asking_runs_no_code(callable, attribute)) return {};
    const PyRef name = PyRef::steal(PyObject_GetAttrString(callable, attribute));
    PyErr_Clear();
    return guards::utf8(name.get());
}

std::string kind_for_messages(PyTypeObject* type) {
    const std::string name = type->tp_name;
    // As it is said: a vowel takes "an", but for the u of "unit", "user" and "ufunc"; "ndarray" begins with
    // its n.
    const auto vowel = [&](size_t i) {
        return i < name.size() && strchr("aeiou", std::tolower(static_cast<unsigned char>(name[i])));
    };
    const bool long_u = std::tolower(static_cast<unsigned char>(name[0])) == 'u' &&
                        (name.starts_with("ufunc") || (!vowel(1) && vowel(2)));
    const bool an = (vowel(0) && !long_u) || name == "ndarray";
    return (an ? "an " : "a ") + name;
}

}  // namespace stator::frontend
