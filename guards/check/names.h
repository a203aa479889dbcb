// Names and other strings of a program as text, for messages, logs and comparisons with what we know.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>

namespace stator::guards {

// UTF-8 at all times: code points that have none (lone surrogates: names of files that could not be decoded,
// and whatever a program calls an attribute) are written as Python escapes them. Empty for what is no string,
// or NULL. An exception that is set stays, and none is raised.
std::string utf8(PyObject* str);

// Short text of an object, "an ndarray of float64, shape (3, 4)"; repr only of exact built-in constants. No
// exception is raised, and no code of the program's runs.
std::string show(PyObject* obj);

}  // namespace stator::guards
