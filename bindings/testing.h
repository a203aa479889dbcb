// stator._stator._testing: doors into the implementation for tests/python. Not part of what users see.
#pragma once

#include "frontend/pyref.h"

namespace stator::bindings {

// A new module object; NULL with a Python error set.
PyObject* make_testing_module();

}  // namespace stator::bindings
