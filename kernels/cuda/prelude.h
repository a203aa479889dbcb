// The pieces of the prelude, by subject. Which of them a source begins with is found in cuda/prelude.cpp.
#pragma once

#include <span>

namespace stator::kernels::cuda {

struct Piece {
    const char* name;
    const char* needs;  // names separated by spaces
    const char* text;
};

std::span<const Piece> grid_pieces();       // of kernels of loops: the grid, its warps
std::span<const Piece> number_pieces();     // types and operations
std::span<const Piece> combining_pieces();  // what reductions combine with
std::span<const Piece> word_pieces();       // neighbouring elements as words
std::span<const Piece> lane_pieces();       // values of other lanes
std::span<const Piece> fold_pieces();       // of kernels of loops: reductions by warps
std::span<const Piece> block_pieces();      // reductions by blocks, clusters and slices

}  // namespace stator::kernels::cuda
