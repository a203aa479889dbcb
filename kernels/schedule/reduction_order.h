// In which order NumPy reduces a C-contiguous operand, and what of it the kernels can reproduce.
//
// NumPy drops axes of extent 1, merges neighbouring axes that are both reduced or both kept, and walks what
// is left in C order. When the last axis is reduced, each run along it goes to one call of the inner loop
// with a stride-0 accumulator (floating add: pairwise in blocks of 128; maximum and minimum: lanes of SIMD
// registers), and the runs of outer reduced axes follow one another. Otherwise the loop runs along the last
// kept axis, one accumulator per element. Observed on NumPy 2.4.6 for all subsets of axes of ranks 1 to 4.
#pragma once

#include "graph/graph.h"

namespace stator::kernels {

// Whether the Reduce or ArgReduce node can be scheduled with NumPy's bits. When false, the frontend keeps the
// call. Float sums need proof that the kept axes behind a reduced one are not all of extent 1.
// `any_order` asks for no bits of float sums.
bool can_reduce(graph::Graph& g, graph::Id id, bool any_order = false);

// Whether generated code performs the reduction (else the host's inner loop is called over a materialized
// operand).
bool native_reduce(const graph::Graph& g, graph::Id id);

// How wide the vectors of the host's loops are that reduce runs of floats to their maximum or minimum, in
// bits: which of two zeros comes out depends on it. 0: unknown, the loop is called; kOwnVectors, if nobody
// has said: as wide as generated code's.
constexpr int kOwnVectors = -1;
void set_extremum_bits(int bits);
int extremum_bits();

// Number of non-unit axes in the trailing run of reduced axes; 0 when the last non-unit axis is kept.
int trailing_run(const graph::Graph& g, graph::Id id);

}  // namespace stator::kernels
