// What np.array makes of a list or tuple.
#pragma once

#include "frontend/pyref.h"

namespace stator::frontend {

// A new array of numbers, of rows of numbers, or of float64 arrays with the same extents. Empty without an
// error for other objects and sequences: NumPy has to be asked.
PyRef array_of(PyObject* sequence);

}  // namespace stator::frontend
