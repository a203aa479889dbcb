// Reductions of all elements of an array with gaps between its rows.
#pragma once

#include <string>

#include "frontend/regions/routines/library.h"

namespace stator::frontend::regions {

// By add, maximum or minimum; no function when this NumPy's order of additions is another one.
LibraryRoutine gapped_reduction_routine(const std::string& ufunc, DType t, int rank);

}  // namespace stator::frontend::regions
