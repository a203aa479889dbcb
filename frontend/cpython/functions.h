// Python functions as MAKE_FUNCTION and SET_FUNCTION_ATTRIBUTE make them, and what callables are called.
#pragma once

#include <string>

#include "frontend/pyref.h"

namespace stator::frontend {

// The flags of MAKE_FUNCTION's operand, which became SET_FUNCTION_ATTRIBUTE's in 3.13.
enum FunctionPart : int {
    kPartDefaults = 1,
    kPartKwDefaults = 2,
    kPartAnnotations = 4,
    kPartClosure = 8,
    kPartAnnotate = 16,  // 3.14
};

PyObject* new_function(PyObject* code, PyObject* globals);  // new reference, or NULL with an error set
// Only for functions that nobody else has seen: the fields are written directly, without the events of
// function watchers.
void set_function_part(PyObject* function, int part, PyObject* steal);

// What CPython calls Python functions with. The functions that stator.compile makes have another vectorcall.
vectorcallfunc python_vectorcall();
// Another one, or that one again; a call site that CPython has specialized for the function notices.
void set_vectorcall(PyObject* function, vectorcallfunc vectorcall);
// With `extra` bytes behind it, zeroed, and everything of `function` but its `__dict__`, weak references and
// vectorcall, which is CPython's; not yet tracked. Without the events of function watchers. New reference, or
// NULL with an error set.
PyObject* begin_copy_of_function(PyObject* function, size_t extra);
// The same with its `__dict__`, finished.
PyObject* copy_of_function(PyObject* function);

// Whether attributes of `o` can be asked for without running code of the program: `__getattr__`, properties,
// metaclasses.
bool asking_runs_no_code(PyObject* o, const char* attribute);
// The name of what is called, for messages; empty where asking for it could run code of the program.
std::string name_for_messages(PyObject* callable, const char* attribute = "__name__");
// What kind of object it is, with the article that it takes: "a list", "an int", "an iterator".
std::string kind_for_messages(PyTypeObject* type);
inline std::string kind_for_messages(PyObject* o) { return kind_for_messages(Py_TYPE(o)); }

}  // namespace stator::frontend
