// torch.nn.Module as programs use it: attributes that its __getattr__ looks up in dictionaries of the
// instance. Nothing here runs Python code or leaves an error set.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace stator::guards {

// Whether attributes of the class's instances are found as Module's own __getattr__ finds them.
bool is_module_class(PyTypeObject* type);

// What such an instance's own dictionary holds under `name`, and what the dictionaries in it that __getattr__
// looks into do. Borrowed; nullptr when nothing does, or that cannot be known.
PyObject* module_own(PyObject* module, PyObject* name);
PyObject* module_registered(PyObject* module, PyObject* name);

// An exact dict or OrderedDict: of one as of the other, items and length are read in the same way.
bool is_plain_dict(PyObject* o);
// A tuple, or an object of a subclass (a named tuple) that has tuple's own items and iterator.
bool is_plain_tuple(PyObject* o);

}  // namespace stator::guards
