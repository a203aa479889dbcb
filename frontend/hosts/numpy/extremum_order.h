// In which order this process's NumPy takes the greatest or smallest float of a run: as wide as the vectors
// of its loops are, which shows where zeros of both signs are equal. NumPy may do without registers that the
// processor has (NPY_DISABLE_CPU_FEATURES), and which it uses differs from version to version.
#pragma once

namespace stator::frontend::numpy {

// Asks the loops, once, and tells the kernels (kernels/schedule/reduction_order.h). To be called before such
// a reduction becomes a node.
void settle_extremum_order();

}  // namespace stator::frontend::numpy
