// NumPy's functions, methods and ufuncs by name: its own, as they were when stator was imported. What a
// program put into their place (`np.sum = traced(np.sum)`) is not one of them, and neither is another
// library's ufunc that is called the same (scipy.special.expm1).
#pragma once

#include <Python.h>

#include <string_view>
#include <vector>

namespace stator::frontend::numpy {

// A function that looks for __array_function__ first, as most of NumPy's are.
bool is_dispatcher(PyObject* o);

// Whether NumPy itself made this function, ufunc or class. Modules and instances are none of these.
bool is_numpys_own(PyObject* o);

// Borrowed; kept for ever. nullptr when NumPy has none of that name, or none of its own.
PyObject* numpy_function(const char* name);  // numpy.name
PyObject* array_method(const char* name);    // the descriptor of ndarray
PyObject* ufunc_method(const char* name);    // likewise of ufunc

bool is_function(PyObject* callable, const char* name);
bool is_function_or_method(PyObject* callable, const char* name);

// The name of a ufunc of NumPy's, "" of anything else.
std::string_view ufunc_name(PyObject* o);

// Those of NumPy's functions that traces know, look for __array_function__, and change none of their
// arguments. Kept for ever.
std::vector<PyObject*> known_dispatchers();

// Takes them down; called when stator is imported.
void keep_names();

}  // namespace stator::frontend::numpy
