// Loop IR: what a group of fused graph nodes becomes. One language for the CPU emitter, tier 0, and the CUDA
// printer; it knows nothing of LLVM, vector widths, chunks or host calls.
//
// A LoopNest is a list of axes, outermost first, parallel ones before reduced ones, around a list of
// statements in SSA form. Statement i may use only statements with smaller ids. `depth` says inside how many
// axes a statement lies:
//   0                  before all loops, once per call of the nest (scalars);
//   parallel_axes()    once per iteration of the parallel axes (what follows a reduction, and where there is
//   no
//                      reduction, the body);
//   axes.size()        once per iteration of all axes.
// A value may be used at its own depth or deeper; only a Reduce or ArgReduce lifts one from the depth of all
// axes to parallel_axes().
//
// Invariants the scheduler guarantees:
//  * Iterations of parallel axes are independent. A buffer that is stored to is either not loaded in the same
//  nest, or
//    loaded at exactly the access it is stored to, by an earlier statement (`in_place`). Stores of one nest
//    never touch the same element twice.
//  * Behind a nest that commits, only commits compute what can fault (and they computed it before, without
//  storing).
//  * Every access is inside its buffer for every iteration. An axis may have extent 0; with no axes the body
//  runs once.
//    NestInfo::extent is the extent of axis 0 if that is parallel, else the constant 1 (the call runs all of
//    it).
//  * SetScalar statements have depth 0, or parallel_axes() == 0; when the nest is called in ranges, only the
//  call with
//    begin == 0 writes them.
//  * Operand and result dtypes of a Compute follow graph/ops.def; graph::is_native says whether generated
//  code may
//    compute it, otherwise the CPU executors call the host's inner loop on chunks (loops/chunks.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "kernels/program.h"

namespace stator::kernels {

enum class AxisKind : uint8_t { Parallel, Reduce };

// An integer known when the nest is called: a constant, or KernelArgs::syms[sym] when sym >= 0.
struct Int {
    int64_t value = 0;
    int32_t sym = -1;
    bool is(int64_t v) const { return sym < 0 && value == v; }
    int64_t get(const int64_t* syms) const { return sym < 0 ? value : syms[sym]; }
    bool operator==(const Int&) const = default;
};

struct Axis {
    Int extent;
    AxisKind kind = AxisKind::Parallel;
};

// One summand of a byte offset: `factor` times the stride of dimension `dim` of the buffer, or `factor` times
// the element size when dim is kDense (the buffer is dense and indexed as if flat). Accesses to buffers with
// Layout::Contiguous are always kDense, so their strides are never read.
inline constexpr int kDense = -1;
struct Term {
    int dim;
    Int factor;
    bool operator==(const Term&) const = default;
};

enum class Space : uint8_t { Global };  // where a buffer lives

// Byte address of iteration (i0, i1, ...): buffer + sum(offset) + sum over axes a of i_a * sum(axis[a]).
// An axis with an empty term list does not move the access (broadcast).
struct Access {
    int buffer = -1;  // index in Program::buffers
    Space space = Space::Global;
    std::vector<Term> offset;
    std::vector<std::vector<Term>>
        axis;  // one list per axis of the nest (statements above an axis ignore it)
    bool operator==(const Access&) const = default;
};

enum class StmtKind : uint8_t {
    Load,     // value = element at `access`
    Scalar,   // value = Program::scalars[slot]
    Index,    // value = the integer sum(access.offset) + sum(i_a * sum(access.axis[a])) in element units (all
              // terms kDense, no buffer), converted to dtype as by a C cast from int64
    Compute,  // value = op(in...)
    Store,    // element at `access` = in[0]
    SetScalar,  // Program::scalars[slot] = in[0]
    Reduce,     // value = reduction of in[0] over the reduced axes by the host ufunc `name`
    ArgReduce,  // value = flat position (i64, C order of the reduced axes) of the first extremum of in[0];
                // `name`
};

// The order in which elements meet the accumulator of a Reduce; floating-point results depend on it.
enum class RunOrder : uint8_t {
    // The innermost reduced axis is a run that NumPy hands to one inner-loop call with a stride-0
    // accumulator; floating
    // add sums it pairwise (blocks of 128, eight accumulators), other ops from left to right as that loop
    // does. The
    // runs of the outer reduced axes are combined with the accumulator one after the other, outermost
    // slowest.
    Run,
    // Element by element, outermost reduced axis slowest; the host loop is called along the innermost
    // parallel axis
    // with an accumulator per element.
    Sequential,
};

enum class ReduceStart : uint8_t {
    Identity,  // accumulators start at the ufunc's initial value (scalar statement in[1])
    First,     // accumulators start as a copy of the first element (no initial value; extents are nonzero)
};

struct Stmt {
    StmtKind kind;
    graph::DType dtype;  // of the value (of the stored element for Store and SetScalar)
    int depth = 0;
    graph::Op op = graph::Op::Copy;  // Compute
    std::string name;                // host loop (Compute with Op::HostLoop), or reduction
    std::vector<int> in;             // operand statements
    Access access;                   // Load, Store, Index
    // Scalar, SetScalar: index in Program::scalars. Reduce of floats to the greatest or smallest:
    // schedule/reduction_order.h's extremum_bits.
    int slot = -1;
    RunOrder order = RunOrder::Run;  // Reduce
    ReduceStart start = ReduceStart::Identity;
    graph::Id node = graph::kNone;  // the graph node this statement computes; for dumps
};

struct LoopNest {
    std::vector<Axis> axes;
    std::vector<Stmt> stmts;
    int index_bits = 64;    // width that holds every index and byte offset
    bool in_place = false;  // some stored buffer is also loaded (at the same access)
    // What tier 0 works out at its first call (tier0/plan.h); a copy of the nest works it out again.
    struct Tier0 {
        Tier0() = default;
        Tier0(const Tier0&) {}
        Tier0& operator=(const Tier0&) { return *this; }
        mutable std::atomic<std::shared_ptr<const void>> plan;
    };
    Tier0 tier0;
    int parallel_axes() const;
    int full_depth() const { return static_cast<int>(axes.size()); }
};

// The host loop that computes statement `i` when it is not generated: ufunc name and dtypes (operands,
// result). The name is empty for statements that need no host loop (loads, casts, copies, where).
LoopRef host_loop_of(const LoopNest& nest, int i);
// Index in p.loops of that loop, or -1. `schedule` enters the loops of all Compute and Reduce statements.
int find_loop(const Program& p, const LoopRef& ref);

// Fault bits that computing statement `i` may report. Every flag a host loop leaves behind counts (NumPy
// looks at all of them); generated code and tier 0's own loops report those of graph/ops.def.
uint32_t faults_of(const LoopNest& nest, int i);

// Empty when the invariants above that can be checked hold, else one line per defect.
std::string verify(const Program& p, const graph::Graph& g);

}  // namespace stator::kernels
