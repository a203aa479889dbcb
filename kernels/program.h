// A Program: one segment of a graph, scheduled into loop nests over buffers. What the loop nests look like is
// loops/loop_ir.h's business; the replayer needs only what stands here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "kernels/abi.h"

namespace stator::kernels {

struct LoopNest;  // loops/loop_ir.h

enum class BufferKind : uint8_t {
    Input,    // the array of graph input / value `value` (its memory exists before the program runs)
    Output,   // a fresh array of value `value` that outlives the program
    Scratch,  // used inside the program only
};

struct Buffer {
    BufferKind kind;
    graph::Id value;
    graph::DType dtype;
    std::vector<graph::Sym> shape;
    graph::Layout layout;   // Contiguous in `perm` order for Output and Scratch
    std::vector<int> perm;  // empty = C order
    int stride_base;        // index of its first stride in KernelArgs::strides
    bool written = false;
};

enum class ScalarKind : uint8_t { Input, Const, Sym, Result };
struct Scalar {
    ScalarKind kind;
    graph::Id value;  // the rank-0 node (Input and Result)
    graph::DType dtype;
    uint64_t bits[2] = {0, 0};  // Const
};

struct LoopRef {
    std::string name;                 // host ufunc, "exp"
    std::vector<graph::DType> types;  // operands, then result
};

struct NestInfo {
    graph::Sym extent;  // trip count of the outermost loop
    bool splittable;    // [begin, end) may be divided among threads, with the same bits
    graph::Sym work;    // elements touched in all: decides about threads
    bool commit;  // runs only after the faults of all earlier nests were found harmless (visible stores)
};

struct Program {
    std::vector<Buffer> buffers;
    std::vector<Scalar> scalars;
    std::vector<graph::Sym> syms;  // KernelArgs::syms[i] is the value of syms[i]
    std::vector<LoopRef> loops;
    std::vector<NestInfo> nests;
    std::vector<std::shared_ptr<LoopNest>> code;  // parallel to nests
    int stride_count = 0;
    int64_t scratch_bytes = 0;  // per thread
    uint32_t fault_mask = 0;    // Fault bits that may come back
    bool repeats = false;       // visible stores happen before all faults are known (stores_can_repeat)
};

// What the nests are printed for. A GPU reports no floating-point faults, computes every op that cuda/ops.h
// lists itself, adds up in any fixed order, and would rather compute twice than move memory.
enum class Target : uint8_t { Cpu, Gpu };

// What the segment must leave behind.
struct SegmentRequest {
    graph::Id begin, end;              // nodes [begin, end) of the graph; no guard or library node inside
    std::vector<graph::Id> available;  // values materialized before (arrays in memory, scalars known)
    std::vector<graph::Id> wanted;     // values that must be arrays (or scalar results) afterwards
    // The segment may be run again from its start after visible stores have happened, as long as it then
    // computes the same (a warning is wanted, not an exception). Stores to buffers of which the segment reads
    // no older version then need not wait for their value's faults: they are computed and stored in one nest
    // that is not a commit.
    bool stores_can_repeat = false;
    Target target = Target::Cpu;
};

// Schedules a segment. Never fails on a verified graph: what cannot be fused becomes a nest of its own.
// `syms` may grow (strides, products), hence the non-const graph.
Program schedule(graph::Graph& g, const SegmentRequest& request);

std::string print(const Program& p, const graph::Graph& g);  // the loop IR as text, for dumps and goldens

// Tier 0: runs nest `index` of the program by calling host loops on chunks; no compilation. Same contract as
// NestFn.
uint32_t interpret(const Program& p, int index, const KernelArgs& args, int64_t begin, int64_t end);

}  // namespace stator::kernels
