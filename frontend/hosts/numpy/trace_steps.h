// A call of one of the functions of the table (table.h) in a trace.
#pragma once

#include "frontend/hosts/numpy/lower.h"

namespace stator::frontend::numpy {

// Makes the rows known to the adapter. They come before those of the families that lower by themselves.
void register_functions();

}  // namespace stator::frontend::numpy
