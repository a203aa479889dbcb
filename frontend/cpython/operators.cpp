#include "frontend/cpython/operators.h"

extern "C" PyAPI_FUNC(PyObject*) _PyType_Lookup(PyTypeObject*, PyObject*);

namespace stator::frontend {

const OperatorMethods kOperatorMethods[kOperators] = {
    {"__add__", "__radd__", "__iadd__", "+"},
    {"__and__", "__rand__", "__iand__", "&"},
    {"__floordiv__", "__rfloordiv__", "__ifloordiv__", "//"},
    {"__lshift__", "__rlshift__", "__ilshift__", "<<"},
    {"__matmul__", "__rmatmul__", "__imatmul__", "@"},
    {"__mul__", "__rmul__", "__imul__", "*"},
    {"__mod__", "__rmod__", "__imod__", "%"},
    {"__or__", "__ror__", "__ior__", "|"},
    {"__pow__", "__rpow__", "__ipow__", "**"},
    {"__rshift__", "__rrshift__", "__irshift__", ">>"},
    {"__sub__", "__rsub__", "__isub__", "-"},
    {"__truediv__", "__rtruediv__", "__itruediv__", "/"},
    {"__xor__", "__rxor__", "__ixor__", "^"},
};

PyObject* reflected(int nb_op, PyObject* a, PyObject* b) {
    const OperatorMethods& methods = kOperatorMethods[nb_op % kOperators];
    if (Py_TYPE(a) != Py_TYPE(b)) {
        PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(b));
        const PyRef name = PyRef::steal(PyUnicode_InternFromString(methods.reflected));
        if (!name) return nullptr;
        if (_PyType_Lookup(Py_TYPE(b), name.get())) {
            PyObject* result = PyObject_CallMethodObjArgs(type, name.get(), b, a, nullptr);
            if (result != Py_NotImplemented) return result;
            Py_DECREF(result);
        }
    }
    const bool in_place = nb_op >= kOperators;
    const char* symbol = nb_op == 8 ? "** or pow()" : methods.symbol;  // NB_POWER
    PyErr_Format(PyExc_TypeError, "unsupported operand type(s) for %s%s: '%.100s' and '%.100s'",
                 in_place ? methods.symbol : symbol, in_place ? "=" : "", Py_TYPE(a)->tp_name,
                 Py_TYPE(b)->tp_name);
    return nullptr;
}

}  // namespace stator::frontend
