// Regions: Python loops as native control flow.
//
// A region is what a loop of a Python function means, from the state of the frame at the loop's header to the
// state in which Python goes on: scalars in registers, elements of arrays, branches, inner loops, whole-array
// statements (`nest`). It is a control-flow graph whose blocks have parameters (what other IRs write as phi
// nodes), in static single assignment form, closed: everything it reads is an input, everything a loop
// carries is a parameter of its header, and it ends in an exit, which lists the values that Python needs.
// Every cycle goes through one header (the graph is reducible, as Python's loops are), and `loops` says how
// they nest, so that printers of structured languages and dependence analysis need no analysis of their own.
//
// Semantics are sequential: instructions of a block run in order, stores are seen by later loads. An
// instruction that cannot do what Python would (an index out of range, overflow, a fault that warns) leaves
// through its exit *before* it has changed anything, and Python executes it. No reassociation, no
// contraction: every operation rounds as written.
//
// Knows no Python: how an exit's values become objects, and at which instruction Python goes on, is the
// frontend's (frontend/regions/).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/dtype.h"
#include "graph/graph.h"

namespace stator::graph {

using ValueId = int32_t;
using BlockId = int32_t;

enum class RegionOp : uint8_t {
#define REGION_OP(id, text, operands, result, doc) id,
#include "graph/region/ops.def"
#undef REGION_OP
};
struct RegionOpInfo {
    std::string_view text;
    int operands;  // -1: see region/ops.def
    enum Result : uint8_t { none, scalar, array } result;
    std::string_view doc;
};
inline constexpr int kRegionOpCount = 0
#define REGION_OP(id, text, operands, result, doc) +1
#include "graph/region/ops.def"
#undef REGION_OP
    ;
const RegionOpInfo& info(RegionOp op);
// Whether it has a body in Region::nests, at ints[0].
constexpr bool has_body(RegionOp op) { return op == RegionOp::Nest || op == RegionOp::Pack; }
// A nest's fault besides floating-point flags: an index that is out of range (bits of Inst::ints[1]).
inline constexpr int64_t kIndexFault = 32;
inline std::string_view text(RegionOp op) { return info(op).text; }

// A scalar or an array; arrays are described by address, extents and strides (bytes), all of them values at
// run time.
struct RegionType {
    DType dtype = DType::I64;
    int8_t rank = -1;  // -1: a scalar
    bool is_array() const { return rank >= 0; }
    friend bool operator==(const RegionType&, const RegionType&) = default;
};

// One axis of a View, in the order of the result's axes, or (Drop) of an axis of the operand that the result
// does not have.
struct ViewAxis {
    enum Kind : uint8_t {
        Slice,  // result axis: elements start, start + step, ... of `axis`, `count` of them
        Drop,   // `axis` at position start
        New,    // result axis of extent `count` along which nothing moves (newaxis has 1; broadcasting any)
    } kind = Slice;
    int8_t axis = -1;  // of the operand
    // Indices into Inst::in (1 is the first after the array), or 0: the whole axis (start 0, step 1, its
    // count).
    int start = 0, count = 0, step = 0;
    friend bool operator==(const ViewAxis&, const ViewAxis&) = default;
};
using ViewSpec = std::vector<ViewAxis>;

struct Inst {
    RegionOp op = RegionOp::Const;
    Op pointwise = Op::Add;      // Pointwise
    DType operand = DType::F64;  // Pointwise, Call: dtype of the operands (of the last two for `where`)
    ValueId result = -1;         // its type is Region::types[result]
    std::vector<ValueId> in;
    std::vector<int64_t> ints;
    int exit = -1;  // into Region::exits
    int line = 0;   // of Python's source, for dumps
};

struct Edge {
    BlockId to = -1;
    std::vector<ValueId> args;  // one for each parameter
};
struct Terminator {
    enum Kind : uint8_t { Jump, Branch, Leave } kind = Leave;
    ValueId cond = -1;  // Branch: a b1 scalar; then `then`, else `other`
    Edge then, other;   // Jump: then
    int exit = -1;      // Leave
};
struct Block {
    std::vector<ValueId> params;
    std::vector<Inst> insts;
    Terminator end;
    int loop = -1;      // innermost loop it belongs to
    int64_t steps = 0;  // so many of the interpreter's instructions; 0 in regions that do not count them
};

struct LoopInfo {
    BlockId header = -1;
    int parent = -1;
    int line = 0;
};

struct NestBody {
    std::vector<Inst> insts;  // Const, Pointwise, Call, Fma and what region/ops.def says is "in a nest"; may
                              // use any value of the region that dominates
};

// Values for Python, in the order in which the frontend asked for them.
struct RegionExit {
    std::vector<ValueId> values;
    std::string label;  // "end", "index", "overflow": for people
    int line = 0;
    int returns =
        -1;  // what the compiled region returns here; -1: the exit's own number (copies have another)
    BlockId to = -1;  // nothing is left: control goes on in this block, which has no parameters
};

// What a `call`, `dot`, `reduce`, `library` or `made` calls, found by the frontend when the region is loaded:
// objects hold no address.
struct RegionCall {
    enum Kind : uint8_t { Scalar, UfuncLoop, Dot, Library } kind = Scalar;
    std::string name;  // "pow", "exp", "dot", "matmul"
    std::vector<DType> types;
    friend bool operator==(const RegionCall&, const RegionCall&) = default;
};

struct RegionInput {
    ValueId value = -1;
    std::string source;       // as Python names it
    bool contiguous = false;  // array: C-contiguous, guarded at entry
    bool written = false;     // array: may be stored to; overlaps no other input, guarded at entry
};

struct Region {
    std::string name;  // "step@12"
    std::vector<RegionInput> inputs;
    std::vector<RegionType> types;  // of every value
    std::vector<Block> blocks;      // blocks[0] is the entry and has no parameters
    std::vector<LoopInfo> loops;    // outer ones first
    std::vector<NestBody> nests;
    std::vector<ViewSpec> views;
    std::vector<RegionCall> calls;
    std::vector<RegionExit> exits;

    ValueId add(RegionType t) {
        types.push_back(t);
        return static_cast<ValueId>(types.size()) - 1;
    }
};

// print and parse round-trip exactly. `parse` gives "" or what is wrong, with the line.
std::string print(const Region& r);
std::string parse(std::string_view text, Region* out);
// "" or the first thing that is wrong: types, dominance, edges' arguments, loops that do not nest, exits.
std::string verify(const Region& r);
// The same without what only people read (names, lines, labels): equal texts mean equal code.
std::string code_key(const Region& r);
// How many cells of RegionArgs::scratch (kernels/region_abi.h) it names. `optimize` may take as many more as
// kMostSaved.
int scratch_cells(const Region& r);
inline constexpr int kMostSaved = 8;
// Removes parameters that always have one value, and instructions without effect that nothing uses, folds
// integer arithmetic on constants, removes blocks that cannot be reached; gives `scratch` instructions
// without a cell one.
void simplify(Region& r);
// Gives every cycle one header, where a loop can be entered in its middle (region/headers.cpp). False when
// that would need an array that is not there.
bool give_headers(Region& r);
// The passes that make a verified region fast, in order (region/passes.cpp); what it does stays.
void optimize(Region& r);
// Whether it has statements on whole arrays.
bool works_on_arrays(const Region& r);
// Fills in `loops` and Block::loop from the graph itself (natural loops of back edges).
void find_loops(Region& r);

}  // namespace stator::graph
