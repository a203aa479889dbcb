// The GPU's half of a schedule: which nests of a program become one kernel, in which form, and how a launch
// cuts the work up. The printer (source.h) follows it, the launcher evaluates it; neither decides
// anything.
//
// Forms. `columns` is the axis along which neighbouring threads work, `rows` all other parallel axes.
//   Scalar       no axes: one thread
//   Elementwise  no reductions: a block takes a tile of a row, or several short rows
//   Tiles        no reductions, but memory that is dense along another axis, `across`: a block takes a tile
//   of
//                both axes, and what lies across goes through shared memory, so that either side is accessed
//                along itself
//   Rows         reductions along the innermost memory: a group of threads of one block takes a row. Nests
//                that go over the same rows join the kernel: what one leaves behind per row or per element is
//                read by the same threads (softmax and layer norms are one kernel). Operands that several of
//                these nests read are kept in shared memory where a row fits. Long rows are shared by the
//                blocks of a cluster, which keep a part each and exchange what they reduced; a few very long
//                ones are cut into slices, with a launch for each reduction and one for what follows it.
//   Columns      reductions across memory: a thread takes one column of a slice, a block's slices are
//                combined. Few long columns are cut into slices for several blocks, which takes two launches.
//   Partial, Combine   reductions to a single value: blocks leave partial results, one block combines them
// Every reduction is combined in a fixed order that depends on extents alone: results are deterministic.
//
// Launches. A kernel that may be cut into slices stands in the schedule once for each of its phases, all of
// the same code. Where it is not cut, the first one does everything and the others are empty.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/loops/loop_ir.h"

namespace stator::kernels {

enum class Form : uint8_t { Scalar, Elementwise, Tiles, Rows, Columns, Partial, Combine };
const char* form_name(Form f);

inline constexpr int kVectorBytes = 16;             // of one access
inline constexpr int kRowThreads = 512;             // at most, Rows
inline constexpr int kBlockThreads = 256;           // all other forms
inline constexpr int64_t kReduceSlot = 16;          // bytes of one partial result
inline constexpr int kReduceScratch = 2 * 32 * 16;  // bytes in which the warps of a block meet, by turns
inline constexpr int kClusterScratch = 2 * 16;      // the same for the blocks of a cluster

// An operand of which a row is kept in shared memory, because several nests of a kernel read it.
struct StagedOperand {
    Access access;
    int itemsize;  // bytes
};

struct GpuKernel {
    Form form;
    std::vector<int> nests;
    std::vector<Int> rows;     // extents of the axes that count rows, outermost first
    std::vector<Int> columns;  // of those that count columns; more than one where they could not be merged
    std::vector<Int> depth;    // Columns: extents of the reduced axes
    int across = -1;           // Tiles: the other axis, one of the rows
    int side = 0;              // Tiles: elements along each axis, where both are long
    int vector = 1;            // elements of one access where memory allows
    int unroll = 1;            // accesses of each operand that a thread has in flight
    int single_unroll = 1;     // the same where elements are accessed one by one
    bool calls = false;        // dear functions are called instead of copied in
    int reductions = 0;
    std::vector<StagedOperand> staged;  // Rows
    int phases = 1;                     // launches that it takes where it is cut into slices
    int phase = 0;                      // which of them this is
};

std::vector<GpuKernel> schedule_gpu(const Program& p);

struct Launch {
    uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
    uint32_t cluster = 1;      // blocks of a cluster along x
    int64_t shared_bytes = 0;  // dynamic
    bool together = false;     // all blocks are on the device at once
    bool staged = false;       // Rows: operands are kept in shared memory
    int64_t slices = 1;        // blocks that share a row, a column or the single value
    int64_t phase = kAllPhases;
    int64_t tile_shift = 0;     // Tiles: a tile has 2^tile_shift elements across
    int64_t partial_bytes = 0;  // memory between the phases
    static constexpr int64_t kAllPhases = -1;
    bool empty() const { return grid[0] == 0; }  // nothing is launched
};
// What a device offers.
struct GpuLimits {
    int64_t shared = 48 << 10;  // bytes of shared memory that a block may use
    int cluster = 1;            // blocks of a cluster
    int64_t grain = 1;          // divides the sizes from which on blocks share a row or column; for tests
};
// `syms` are the values of Program::syms.
Launch plan_launch(const GpuKernel& k, const int64_t* syms, const GpuLimits& limits);

// A kernel's schedule as text, for the dump; `last` is the launch it was run with most recently, or null.
std::string print(const GpuKernel& k, const Program& p, const graph::Graph& g, const Launch* last);

// How an access moves along one axis of its nest.
enum class Movement : uint8_t { None, Unit, Dense, Bytes };
Movement movement(const Access& a, int axis);
// Tiles: whether an access is dense along `across` instead of the columns.
bool crosses(const Access& a, const GpuKernel& k);
// Elements of shared memory that such an access takes: a column of a tile has one more than elements, so that
// neither direction has conflicts between banks.
int64_t tile_room(int side);
int tile_steps(const GpuKernel& k);  // words of each operand that a thread takes of a tile
// Whether two nests' accesses name the same element for the same row and column.
bool same_row(const Access& a, const Access& b, int row_axes);

// The statements that need the result of a reduction.
std::vector<char> behind_reductions(const LoopNest& nest);

}  // namespace stator::kernels
