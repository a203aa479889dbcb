// The graph of one trace: nodes in program order, symbolic shapes, snapshots.
//
// A graph is functional and straight-line. Node i may use only nodes with smaller ids. A `store` does not
// change its operand; it yields a new version of the same buffer, and the buffer is decided in place
// afterwards (kernels/). Guards split the node list into segments: everything before a guard has happened
// when the guard leaves, nothing after it has. Visible effects are stores whose buffer root is an `input`;
// they commit in node order.
//
// Shapes are lists of Sym. Operands of pointwise nodes have either exactly the node's shape or rank 0 (a
// scalar, implicitly broadcast); every other broadcast is an explicit `view`.
//
// Attributes by op (Node::ints / Node::syms / Node::name):
//   input     ints = {slot index in Graph::inputs}
//   const     ints = {bits} or {re bits, im bits}; the low bytes in the dtype's representation
//   sym       syms = {value}
//   arange    operands start and delta (scalars of the node's dtype)
//   view      ints = {in_rank, map[0..in_rank), step[0..in_rank)}, syms = {start[0..in_rank)}
//             element (j0, j1, ...) of the result is element (i0, i1, ...) of the operand with
//             i_d = start_d + step_d * j_map_d, or i_d = start_d where map_d == -1. A result axis that no map
//             names is a new or broadcast axis.
//   store     the same attributes as `view`, describing a view of operand 0 that has operand 1's shape
//             (or any shape when operand 1 has rank 0: then Node::syms holds the view's extents after the
//             starts)
//   reduce    ints = {order, axis...} axes ascending; order is a ReduceOrder; Node::shape has the axes
//             removed; name is the host ufunc ("add", "multiply", "maximum", "minimum", "logical_and",
//             "logical_or")
//   argreduce ints = {axis or -1}; name is "argmax" or "argmin"; dtype I64
//   loop      name is the host ufunc; the loop is chosen by operand dtypes and node dtype
//   library   ints = {object index of the callable, recipe index of the argument tuple, recipe index of
//             the keyword names or -1}; name is for printing; syms, when given, are the symbols that the
//             result's extents bind (the shape may use others that were required equal)
//   guard, symguard, checkpoint  see ops.def
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/dtype.h"
#include "graph/sym.h"

namespace stator::graph {

using Id = int32_t;
inline constexpr Id kNone = -1;

enum class Op : uint8_t {
#define OP(id, text, arity, cls, dtype, faults, native, host, doc) id,
#include "graph/ops.def"
#undef OP
};

enum class OpClass : uint8_t { Input, Const, Alloc, Pointwise, View, Reduction, Effect, Library, Guard };
enum class DTypeRule : uint8_t { same, bool_, free };

struct OpInfo {
    std::string_view id, text;
    int arity;
    OpClass cls;
    DTypeRule dtype;
    std::string_view faults, native, host, doc;
};

const OpInfo& info(Op op);
int op_count();
std::optional<Op> find_op(std::string_view text);
// Whether generated code has NumPy's bits for this op on operands of dtype `t`; otherwise the host loop is
// called.
bool is_native(Op op, DType t);

// Which array library a value belongs to, and in which memory it has its arrays: how array objects are made
// and read, and whether floating-point flags are reported (NumPy does, the others do not).
enum class HostId : uint8_t { NumPy, Torch, CuPy, TorchCuda };
// Whether its arrays lie in the memory of a GPU.
constexpr bool on_gpu(HostId host) { return host == HostId::CuPy || host == HostId::TorchCuda; }
constexpr bool is_torch(HostId host) { return host == HostId::Torch || host == HostId::TorchCuda; }

// How a value appears to Python when it leaves the trace.
enum class Box : uint8_t { Array, NpScalar, PyFloat, PyInt, PyBool, PyComplex };

// What a library node gives, ints[3]: a plain array or a number, nothing (it is called for what it does to an
// array that only the host reads), or from 0 on such an array, of this kind.
// From kGivesObject down it is any object of the type and length (a tuple of both; -1: of any length) at that
// index of the object table, counted downwards; from kGivesShared down a plain array that may share memory
// with an operand, less the mask of its axes of stride 0. kGivesFresh is kGivesPlain of which it is known
// that it never shares memory with an operand; kGivesDrawn the same, or a number, of a call that changes what
// it was drawn from: it is made once.
inline constexpr int64_t kGivesPlain = -1, kGivesNothing = -2, kGivesFresh = -3, kGivesDrawn = -4,
                         kGivesObject = -16, kGivesShared = -(int64_t{1} << 32);
constexpr bool gives_object(int64_t gives) { return gives <= kGivesObject && gives > kGivesShared; }
constexpr bool gives_shared(int64_t gives) { return gives <= kGivesShared; }
// Whether the call changes something, so that what follows must not go back to before it.
constexpr bool has_effects(int64_t gives) { return gives == kGivesNothing || gives == kGivesDrawn; }

// In which memory order an array's elements lie; decides strides of results and the stride class of loops.
// `perm` lists axes from the largest stride to the smallest; empty = C order. Input arrays carry how much of
// this their guard establishes.
enum class Layout : uint8_t {
    Contiguous,  // elements are dense in the order given by perm
    InnerDense,  // arbitrary outer strides, the last axis of perm has stride itemsize
    Strided,     // arbitrary strides (possibly negative or zero)
};

enum class ReduceOrder : uint8_t {
    CContiguous,  // as NumPy reduces a C-contiguous operand: see docs/design/numerics.md
};

// What a trace reads at entry. The guard program fills it; `source` is how Python would say it.
enum class InputKind : uint8_t { Array, PyFloat, PyInt, PyBool, PyComplex, NpScalar };
struct Input {
    InputKind kind;
    DType dtype;
    Layout layout = Layout::Contiguous;
    std::vector<int> perm;
    std::vector<Sym> shape;  // one symbol (or constant) per axis
    Sym value;               // PyInt: the symbol that stands for it
    std::string source;      // L['x'], G['scale'], L['self'].grid
    bool own_dtype = false;  // see Node
    HostId host = HostId::NumPy;
    bool written = false;  // a store reaches it: it must be writeable and must not overlap other inputs
};

struct Location {
    std::string file;
    std::string function;
    int line;
};

struct Node {
    Op op;
    DType dtype = DType::F64;
    Box box = Box::Array;
    Layout layout = Layout::Contiguous;  // of the eager result: what a materialized value must have
    std::vector<int> perm;               // empty = C order
    // Eager's dtype object is a copy of the host's built-in one, as arrays that were unpickled and operations
    // on foreign byte orders have. It is equal to the built-in one but not the same, and asarray(x, dtype)
    // shows that.
    bool own_dtype = false;
    HostId host = HostId::NumPy;
    bool host_number = false;  // traces of a GPU: of rank 0, and computed from Python's numbers alone
    std::vector<Id> in;
    std::vector<Sym> shape;
    std::vector<int64_t> ints;
    std::vector<Sym> syms;
    std::string name;
    int32_t loc = -1;  // index in Graph::locations
};

// A recipe says how to build a Python object from the values of a trace: the contents of a snapshot's slots,
// the returned object, and the arguments of library calls. Recipes form trees in Graph::recipes.
enum class RecipeKind : uint8_t {
    Null,      // an empty slot
    Value,     // node `index`, boxed as the node says
    SymInt,    // the Python int with the value `sym`
    Object,    // entry `index` of the trace's object table (constants and guarded objects; owned by the
               // frontend)
    Slot,      // the very object found in entry slot `index`
    InputObj,  // the very object that input `index` was read from
    Cell,      // cell number `index` of those that the trace makes; what it holds is said by CellContents
    Tuple,     // items; kinds from here on have items
    List,      // items
    Slice,     // three items
    Method,    // items = function, self
    Dict,      // items = key, value, key, value ...
    Make,      // a new object: items = callable, tuple of keywords, values (those of keywords last)
    Function,  // a Python function: items as FunctionItem says, null where it has none
    Iter,      // an iterator over items[0] that has given `index` of its items
    Attr,      // no object but the place that a write goes to: attribute items[1] of items[0]; only in
               // CellContents
    ListEnd,   // the same: behind the last item of the list items[0]
    View,     // a view object: node `index` (chain of view/reshape nodes) over the array that items[0] builds
    Strided,  // a view that only a function of the host sees: of the array items[0], then its extents, its
              // strides (in elements) and its offset in the array's storage, all int
};
struct Recipe {
    RecipeKind kind = RecipeKind::Null;
    int32_t index = -1;
    Sym sym;
    std::vector<int32_t> items;  // recipe indices
    bool operator==(const Recipe&) const = default;
};

// The parts of a function that a trace makes.
enum FunctionItem : uint8_t {
    kCode,
    kGlobals,
    kDefaults,
    kKwDefaults,
    kAnnotations,
    kClosure,
    kAnnotate,
    kFunctionItems
};

// What a cell is made to hold, after all objects were built: cells and functions may refer to each other in
// cycles. `cell` is of kind Cell, or Slot for a cell that existed before the trace and was written by it, or
// Attr for an attribute that it wrote, or ListEnd for a list that it appended to.
struct CellContents {
    int32_t cell, contents;  // recipes; contents of kind Null leave it empty (not of Attr and ListEnd)
    // Of Attr, the source by which the trace has read at entry what it held: another thread may have stored
    // to it while a function of the host's had let go of the GIL.
    int32_t read = -1;
};

// A variable that a frame has and that nothing reads any more. It is not built with the frame, and nothing is
// kept for it: who needs it after all computes it again from the recorded graph.
struct LostVariable {
    int32_t slot, recipe;
    std::vector<CellContents> contents = {};  // attributes of objects in it that the trace made
};

// Where Python goes on, innermost frame last.
struct SnapFrame {
    int32_t code = -1;           // object index of the code object; the function for frames above the first
    int32_t func = -1;           // recipe of the function of an inlined frame, -1 for the entry frame
    int32_t unit = 0;            // code unit to resume at (outer frames: the unit of the call in progress)
    std::vector<int32_t> slots;  // recipe per localsplus slot, then stack
    std::vector<LostVariable> lost = {};  // of a recorded graph; the passes know of none
};
struct Snapshot {
    std::vector<SnapFrame> frames;
    std::vector<int32_t> contexts = {};  // recipes of context managers that are entered first, in this order
    std::vector<CellContents> cells = {};
};

enum class EndKind : uint8_t { Return, Leave };  // Leave: continue in Python at snapshot `end`

struct Graph {
    std::string name;  // "step#1"
    SymTable syms;
    std::vector<Input> inputs;
    std::vector<Node> nodes;
    std::vector<Recipe> recipes;
    std::vector<Snapshot> snapshots;
    std::vector<Location> locations;
    EndKind end_kind = EndKind::Return;
    int32_t end = -1;                     // Return: recipe of the returned object; Leave: snapshot index
    std::vector<CellContents> end_cells;  // Return only

    Node& node(Id i) { return nodes[i]; }
    const Node& node(Id i) const { return nodes[i]; }
    Id append(Node n) {
        nodes.push_back(std::move(n));
        return static_cast<Id>(nodes.size()) - 1;
    }
    int32_t add_recipe(Recipe r) {
        recipes.push_back(std::move(r));
        return static_cast<int32_t>(recipes.size()) - 1;
    }
};

// The buffer a value lives in: follows views and stores to the input, alloc, pointwise, ... node that made
// it.
Id buffer_root(const Graph& g, Id v);
// Whether a value without axes is an element of an array in memory, where it has to be read before it can
// decide anything. Other values without axes are numbers, wherever they come from.
bool in_memory(const Node& n);
// Whether dropping the node could change what the program observes (stores, guards, ops that can raise a
// flag).
bool has_effect(const Graph& g, Id v);
// Whether computing the node may raise a floating-point flag or a warning that NumPy reports, given its
// operand dtypes and constants. Finer than OpInfo::faults: integer addition on arrays cannot.
bool can_fault(const Graph& g, Id v);
// The node's value at the time it was made: `v` itself, or for a chain of views what they look at (a store,
// an input, an alloc, ...). Two values with one buffer_root but different versions differ by stores.
Id buffer_version(const Graph& g, Id v);

// Attributes of `view` and `store`, one entry per axis of operand 0.
struct AxisMap {
    Sym start;
    int64_t step = 0;
    int axis = -1;  // result axis that moves along this one, -1 = fixed at start
};
std::vector<AxisMap> view_axes(const Node& n);
void set_view_axes(Node& n, std::span<const AxisMap> axes);  // clears a store's extents
// Extents of the region a `store` writes: operand 1's shape, or what the attributes say when that has rank 0.
std::span<const Sym> store_region(const Graph& g, const Node& n);
// Whether ints, syms and name have the counts that the op prescribes; everything else may rely on it.
bool attributes_well_formed(const Node& n);

// print/parse round-trip exactly: parse(print(g)) prints the same text. parse reports "line N: expected ...,
// found ...".
std::string print(const Graph& g);
struct ParseResult {
    Graph graph;
    std::string error;  // empty on success
};
ParseResult parse(std::string_view text);

// Empty when the graph is well-formed, else one line per defect. Checks operand order and counts, dtype
// rules, shape rules, view bounds where provable, snapshots referring to dominating values, and that no
// visible store lies between a guard and its snapshot's values.
std::string verify(const Graph& g);

// The pass list, in order. Each pass is a function graph -> changed. `run_passes` runs the whole list;
// `on_pass` is called after each pass that changed something (dumps).
struct Pass {
    std::string_view name;
    std::string_view doc;
    bool (*run)(Graph&);
};
std::span<const Pass> passes();
void run_passes(Graph& g, void (*on_pass)(const Pass&, const Graph&, void*) = nullptr, void* ctx = nullptr);

}  // namespace stator::graph
