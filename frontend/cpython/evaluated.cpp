#include "frontend/cpython/raw/raw.h"
// raw.h must come first.
#include "frontend/cpython/evaluated.h"

#include <opcode.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "frontend/cpython/builtins.h"
#include "frontend/cpython/recursion.h"
#include "frontend/once.h"
#include "guards/check/own_code.h"

namespace stator::frontend {

namespace {

// A frame counts as complete from its RESUME on: without one nothing ever sees it. Code without optimized
// locals is offered to no handler of the eval-frame hook.
guards::OwnCode caller_code(R"(
def call(f, args, kwargs):
    return f(*args, **kwargs)

def hide(f):
    code, optimized = f.__code__, 1
    units = bytearray(code.co_code)
    resume = units[::2].index(RESUME) * 2
    end = resume + 2
    while units[end] == CACHE:
        end += 2
    units[resume:end] = bytes([NOP, 0]) * ((end - resume) // 2)
    f.__code__ = code.replace(co_code=bytes(units), co_flags=code.co_flags & ~optimized)

hide(call)
)",
                            Py_file_input);

PyObject* caller() {
    return once([] {
        const PyRef globals =
            PyRef::steal(Py_BuildValue("{s:O,s:i,s:i,s:i}", "__builtins__", builtins_at_import(), "RESUME",
                                       RESUME, "NOP", NOP, "CACHE", CACHE));
        const PyRef done = PyRef::steal(globals ? caller_code.run(globals.get()) : nullptr);
        PyObject* call = done ? PyDict_GetItemString(globals.get(), "call") : nullptr;
        PyErr_Clear();
        return Py_XNewRef(call);
    });
}

bool is_plain_number(PyObject* o) {
    return PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyBool_Check(o) || PyComplex_CheckExact(o);
}

std::span<PyObject* const> items_of(PyObject* sequence) {
    return {PySequence_Fast_ITEMS(sequence), static_cast<size_t>(PySequence_Fast_GET_SIZE(sequence))};
}

bool has_others_than_numbers(PyObject* iterable) {
    if (!PyList_CheckExact(iterable) && !PyTuple_CheckExact(iterable)) return true;
    return !std::ranges::all_of(items_of(iterable), is_plain_number);
}

}  // namespace

void make_caller() { caller(); }

bool applies_operators(PyObject* callable, PyObject* const* args, size_t positional) {
    const std::span operands(args, positional);
    if (operands.empty()) return false;
    if (PyCFunction_CheckExact(callable)) {
        PyObject* self = PyCFunction_GET_SELF(callable);
        if (self && !PyModule_Check(self)) return false;
        const std::string_view name = reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name;
        if (name == "sum" || name == "prod") return has_others_than_numbers(operands[0]);
        if (name == "reduce") return operands.size() > 1 && has_others_than_numbers(operands[1]);
    } else if (!PyType_Check(callable) ||
               PyType_HasFeature(reinterpret_cast<PyTypeObject*>(callable), Py_TPFLAGS_HEAPTYPE)) {
        return false;  // code of a class is Python's, for which the evaluator or the stepper is called
    }
    return std::ranges::any_of(operands, [](PyObject* o) { return Py_IS_TYPE(o, &PyMap_Type); });
}

PyObject* call_from_evaluator(PyObject* callable, PyObject* args, PyObject* kwargs) {
    PyObject* const call = caller();
    if (!call) return PyObject_Call(callable, args, kwargs);
    const PyRef none = kwargs ? PyRef() : PyRef::steal(PyDict_New());
    PyObject* const with = kwargs ? kwargs : none.get();
    if (!with) return nullptr;
    PyObject* const all[] = {callable, args, with};
    const RecursionPause uncounted(PyThreadState_Get());
    return PyObject_Vectorcall(call, all, std::size(all), nullptr);
}

PyObject* vectorcall_from_evaluator(PyObject* callable, PyObject* const* args, size_t positional,
                                    PyObject* names) {
    const PyRef tuple = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(positional)));
    if (!tuple) return nullptr;
    for (size_t i = 0; i < positional; ++i)
        PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Py_NewRef(args[i]));
    const PyRef kwargs = names ? PyRef::steal(PyDict_New()) : PyRef();
    if (names && !kwargs) return nullptr;
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i)
        if (PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(names, i),
                           args[positional + static_cast<size_t>(i)]) < 0)
            return nullptr;
    return call_from_evaluator(callable, tuple.get(), kwargs.get());
}

}  // namespace stator::frontend
