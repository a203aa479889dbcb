// Functions of the module operator, which are Python's operators.
#pragma once

#include "frontend/pyref.h"

namespace stator::frontend::numpy {

PyObject* unary_function(const char* name);  // operator.neg, ...; borrowed, NULL if there is none

}  // namespace stator::frontend::numpy
