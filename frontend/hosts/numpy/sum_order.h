// In which order this process's NumPy adds up a contiguous run of floats; versions differ.
#pragma once

#include <cstdint>

namespace stator::frontend::numpy {

// Longest run that NumPy sums pairwise as a whole, as the kernels do: everything since 2.3, one buffer of
// 8,192 elements before, nothing when NumPy does something else again. Found by trying, once.
int64_t longest_pairwise_run();

// The same of an array with gaps between its rows, whose elements are gathered in a buffer and added up as
// one run while all of them fit there. np.setbufsize is not followed.
int64_t longest_gathered_run();

}  // namespace stator::frontend::numpy
