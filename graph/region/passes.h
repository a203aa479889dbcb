// Passes on regions. Each takes a verified region and leaves one that does the same.
#pragma once

#include "graph/region/region.h"

namespace stator::graph {

// Makes one loop of neighbouring array statements of the same extents (region/fuse.cpp). May need more
// scratch cells, so it runs before anybody counts them.
void fuse_nests(Region& r);

// Takes arrays that cannot lie in a `scratch`'s cells off its list of what to keep clear of, and the cells
// that were for them (region/cells.cpp).
void prune_cells(Region& r);

// Computes in the entry block what depends on nothing else: constants, extents, sums of inputs.
void hoist_to_entry(Region& r);

// Tests in front of the outermost loop what makes checks inside of it unnecessary (indices in range, sums
// that do not overflow, inner loops too short to be interrupted) and runs a copy of it without them. Where
// the test fails, the loop runs as it was.
void hoist_checks(Region& r);

// Gives the outermost loop a version whose array statements store directly and do not look at flags; it runs
// from one checkpoint to the next (region/checkpoints.cpp).
void run_from_checkpoints(Region& r);

// Moves a window over the rows of all statements of a loop, for many iterations at once, where nothing that
// leaves the loop can see their order (region/wavefront.cpp).
void run_in_wavefronts(Region& r);

}  // namespace stator::graph
