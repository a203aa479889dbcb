// Builds the graph of one trace. The recorder (bytecode) and the host adapters (which callable means which
// op) both speak to this class; it knows about Python objects but not about bytecode.
//
// Everything that is decided from values seen while recording (hints) is either proven by symbol bounds or
// becomes a guard here. Calls that cannot be expressed return nullptr / kNone / false and set `reason`; the
// caller then treats the whole instruction as an opaque step. Nothing built for an instruction that turned
// out opaque stays: the recorder brackets every instruction with `mark` and `rollback`.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/reasons.h"
#include "frontend/trace_builder/shadow.h"
#include "graph/graph.h"
#include "guards/check/check.h"

namespace stator::frontend {

// An operand as the recorder sees it: what is known, and the real object (alive during the call).
struct Operand {
    ShadowRef shadow;
    PyObject* obj = nullptr;
};

using Shape = std::vector<graph::Sym>;

struct ArrayMeta;

// Whose memory the result of a library call may lie in.
enum class Sharing : uint8_t {
    None,       // its own
    Hidden,     // of an array that nobody else sees, in whatever order: it is not written in the trace
    Arguments,  // theirs: none of them is written from then on, either
};

// What the extents of a library call's result follow from: what guards settle (then extents of 0 and 1 are
// constants of the trace), or elements of arguments, as with masks: the trace then leaves behind the call
// where an extent is 0, 1 or larger other than when it was recorded.
enum class ExtentsBy : uint8_t { Guards, Values };

class TraceBuilder {
  public:
    TraceBuilder();
    graph::Graph graph;
    guards::GuardProgram guards;
    std::vector<PyRef> objects;  // the trace's object table (recipes and library nodes refer to it)
    std::vector<int32_t> location_globals;  // per location of the graph: of its frame, in `objects`
    std::vector<PyRef> followed;            // code of the functions that are parts of the trace

    // The trace is for a GPU: what the host's bits on the CPU hang on (strides seen by a loop, the order of a
    // sum) decides nothing.
    bool for_gpu = false;
    // Sums of floats may be added up in another order than the host's: fastmath=True, or a GPU that was asked
    // for.
    bool any_order = false;

    int device = -1;  // the GPU that all arrays of the trace lie on

    Reason reason = Reason::None;  // why the last call failed
    std::string reason_detail;
    std::nullptr_t fail(Reason r, std::string detail = {});

    // --- shadows ---
    ShadowRef null();
    ShadowRef lazy(guards::SourceId source, PyObject* obj);
    ShadowRef constant(PyObject* obj);  // Object; ints become Int, floats and bools Scalar constants
    // Makes the kind concrete: ndarray -> Array (guards dtype, rank, layout; extents become symbols, 0 and 1
    // constants), int -> Int, float/bool/complex/NumPy scalar -> Scalar, tuple -> Tuple of Lazy items, slice
    // of constants, None, functions, modules, types, strings, dtypes and ufuncs -> Object (identity or
    // equality guard), any other -> Opaque (exact type). False (with reason) only for arrays that cannot be
    // compiled.
    bool resolve(const ShadowRef& s, PyObject* obj);
    // The Python value as a constant: adds a value guard for Int, Scalar and Lazy shadows. nullptr if not
    // possible.
    bool require_constant(const ShadowRef& s, PyObject* obj);

    ShadowRef tuple(std::vector<ShadowRef> items);
    ShadowRef new_int(graph::Sym s);
    ShadowRef new_scalar(graph::Id value, graph::Box box);
    // A fresh array object holding `value` (not a view node); `like` = the array NumPy returned: layout and
    // perm are taken from its strides.
    ShadowRef new_array(graph::Id value, PyObject* like);
    // An array object that views `base`'s memory.
    ShadowRef new_view(const ShadowRef& base, ViewStep step, PyObject* like);
    // A tensor that views `base`'s memory, as `callable(*args)` made it; the same call makes it again where
    // it leaves the trace.
    ShadowRef new_tensor_view(const ShadowRef& base, ViewStep step, PyObject* like, PyObject* callable,
                              std::span<const Operand> args, PyObject* kwnames);
    // Where a tensor made in this trace lies, by extents alone. False when that is not known.
    bool placement(const ShadowRef& s, Placement* out);
    // A part of a tensor that is known by how it is made only.
    std::vector<ShadowRef> maker(PyObject* callable, std::span<const Operand> args, PyObject* kwnames);

    // --- graph values ---
    graph::Id value(const ShadowRef& s);           // Array: current contents; Scalar, Int: a rank-0 value
    const Shape& shape(const ShadowRef& s) const;  // empty for scalars
    const graph::Node& node(graph::Id v) const { return graph.node(v); }
    graph::Id scalar_const(graph::DType dtype, uint64_t lo, uint64_t hi = 0);
    graph::Id sym_scalar(graph::Sym s,
                         graph::DType dtype);         // a symbolic integer as a number of `dtype`; adds range
                                                      // guards where the dtype cannot hold every int64
    graph::Id cast(graph::Id v, graph::DType dtype);  // no node when the dtype is already right
    graph::Id pointwise(graph::Op op, std::span<const graph::Id> in,
                        graph::DType out);  // operands must share a shape or be rank 0
    graph::Id host_loop(const std::string& ufunc, std::span<const graph::Id> in, graph::DType out);
    graph::Id view(graph::Id v, const ViewStep& step);
    graph::Id reshape(graph::Id v, Shape shape);
    graph::Id broadcast(graph::Id v, const Shape& shape);  // right-aligned; axes of extent 1 stretch
    // The common broadcast shape; adds equality guards. False when the hints do not broadcast.
    bool broadcast_shape(std::span<const graph::Id> in, Shape* out);
    graph::Id empty(graph::DType dtype, Shape shape, PyObject* like);
    graph::Id full(graph::Id scalar, Shape shape, PyObject* like);
    graph::Id reduce(const std::string& ufunc, graph::Id v, std::span<const int> axes, graph::DType out);
    graph::Id append(graph::Node n);

    // Overwrites the part of dst's memory that `step` selects (all of it when nullptr) with `value`
    // (broadcast to it, cast to dst's dtype by the caller). False when dst cannot be written by a trace.
    bool store(const ShadowRef& dst, const ViewStep* step, graph::Id value);
    // Whether a snapshot before the store knows its buffer, so that the store must never be undone or done
    // again.
    bool outlives_segment(graph::Id store) const;
    // Whether the trace has views of a tensor that was given to it and requires grad: they keep the version
    // that it had when they were made.
    bool has_views_of_leaf(const ShadowRef& root) const;
    // A guard on torch's modes as they are; false, with a reason, under those that see each call.
    bool expect_torch_modes();
    bool will_write(const ShadowRef& dst);  // guards that its memory can be written and is nobody else's

    // A pure host function called on whole operands during replay. The result's extents become fresh symbols.
    // `args` may hold any shadows that can be rebuilt; result = what the host returned while recording.
    // Unless `extents` says what they are.
    ShadowRef library(PyObject* callable, std::span<const Operand> args, PyObject* kwnames, PyObject* result,
                      const Shape* extents = nullptr, Sharing sharing = Sharing::None,
                      ExtentsBy by = ExtentsBy::Guards);
    // The same for a function whose result is a Python number or bool. An int is a new symbol.
    ShadowRef number_library(PyObject* callable, std::span<const Operand> args, PyObject* kwnames,
                             PyObject* result);
    // A number or an array of these extents that a generator's method gives, which changes the generator. A
    // checkpoint follows the instruction.
    ShadowRef draw(PyObject* callable, std::span<const Operand> args, PyObject* kwnames, PyObject* result,
                   const Shape& extents);
    // The same for one whose result is a tuple (or named tuple) of arrays, and None where it always is. The
    // shadow is Opaque, its items are theirs.
    ShadowRef tuple_library(PyObject* callable, std::span<const Operand> args, PyObject* kwnames,
                            PyObject* result, Sharing sharing);
    // The same for one whose result is a tuple, a named tuple or a list that each call makes anew, of arrays,
    // numbers, and None where it always is. The shadow is a Tuple or List of its items, so the trace makes
    // another such object where it leaves: nobody has seen this one.
    ShadowRef parts_library(PyObject* callable, std::span<const Operand> args, PyObject* kwnames,
                            PyObject* result, Sharing sharing, ExtentsBy by = ExtentsBy::Guards);
    // The same for one whose result is another object (a list of numbers, bytes), of which nothing is known
    // but its type and its length (-1: any). The shadow is Opaque.
    ShadowRef object_library(PyObject* callable, std::span<const Operand> args, PyObject* kwnames,
                             PyObject* result, Py_ssize_t length = -1);
    // Which array library's rules the nodes follow that are appended now.
    graph::HostId host = graph::HostId::NumPy;

    // The same for a result that only the host's functions read (another byte order, unaligned), and that may
    // share memory with such an argument. The shadow is Opaque.
    ShadowRef host_library(PyObject* callable, std::span<const Operand> args, PyObject* kwnames,
                           PyObject* result);
    // A call that writes to such an argument, or fails before it does. A checkpoint follows the instruction.
    bool host_effect(PyObject* callable, std::span<const Operand> args);
    // The plain arrays that were read at entry up to now.
    std::vector<Operand> inputs_read() const;

    // --- symbolic integers ---
    graph::SymTable& syms() { return graph.syms; }
    graph::Sym int_const(int64_t v) { return graph.syms.constant(v); }
    int64_t hint(graph::Sym s) const { return graph.syms.hint(s); }
    // The relation holds on the hints: prove it or guard it. Always succeeds when it holds; false when it
    // does not.
    bool require(guards::Relation r, graph::Sym a, graph::Sym b);
    // An extent of 0 or 1 becomes a constant, of a larger one is guarded that it is at least 2: broadcasting,
    // memory order and loops treat them differently.
    bool settle_extent(graph::Sym extent);
    // Decides a relation from the hints and guards the outcome.
    bool decide(guards::Relation r, graph::Sym a, graph::Sym b);

    // --- how floating-point faults are handled (np.errstate) ---
    // An object that `callable` made from arguments that are constants; those of keywords come last.
    ShadowRef made(PyObject* callable, PyObject* kwnames, std::span<const Operand> values);
    // From here on `manager` is entered: the kinds in `set` (kernels::Fault bits) are handled its way, and
    // ignored if in `ignored`. Snapshots enter it, too.
    void enter_errors(const ShadowRef& manager, uint32_t set, uint32_t ignored);
    bool leave_errors(const ShadowRef& manager);  // false when it is not the innermost one
    bool entered(const ShadowRef& manager) const;

    // --- recipes and snapshots ---
    int32_t recipe(const ShadowRef& s, PyObject* obj);  // deduplicated per snapshot by shadow identity
    // Starts a new identity scope. What a snapshot names must keep its contents: buffers are marked.
    void begin_recipes(bool snapshot = false);
    // From here on recipes are for values that are computed again: nothing is kept for them.
    void recompute_recipes() { in_snapshot_ = false; }
    // Whether what the recipe gives can be computed later from what inputs hold by now.
    bool can_be_recomputed(const graph::LostVariable& lost);
    // Appends what the instances hold that are computed with `s`. False when something cannot be rebuilt.
    bool contents_apart(const ShadowRef& s, std::vector<graph::CellContents>* out);
    // What a recipe was made for after recompute_recipes is kept after all.
    void keep(const Shadow& s);
    // The recipe that a shadow has since begin_recipes, or -1.
    int32_t known_recipe(const ShadowRef& s) const;
    int32_t object_index(PyObject* obj);
    // What the cells hold that the recipes since begin_recipes name, or that the trace wrote. False when
    // something in them cannot be rebuilt.
    bool cell_contents(std::vector<graph::CellContents>* out);
    bool attribute_contents(std::vector<graph::CellContents>* out);

    // --- objects of classes in Python (trace_builder/instances.cpp) ---
    // An object of a class, which nobody else has, for guards on what is found on the class: nullptr where
    // none can be made without running code.
    struct Example {
        PyRef object;
        guards::SourceId source;
    };
    const Example* example_of(PyTypeObject* type);
    ShadowRef new_instance(const Example& of);
    // The tuple of that type, a named one, with these items.
    ShadowRef named_tuple(PyTypeObject* type, std::vector<ShadowRef> items);
    // Appends what the instances hold that the recipes since begin_recipes name.
    bool attributes_of(const ShadowRef& instance, std::vector<graph::CellContents>* out);
    bool instance_contents(size_t* said, std::vector<graph::CellContents>* out);

    // --- cells ---
    ShadowRef new_cell(ShadowRef contents);
    // The one shadow of a cell that `s` (Lazy) was found to be at entry, however many sources lead to it.
    ShadowRef entry_cell(const ShadowRef& s, PyObject* cell);
    ShadowRef read_cell(const ShadowRef& cell, PyObject* contents);
    void write_cell(const ShadowRef& cell, ShadowRef contents);

    // --- attributes of objects that were there at entry (attributes.cpp) ---
    // Contents of an attribute of the object that `owner` stands for, nullptr when the trace has not met it.
    const ShadowRef* known_attribute(const ShadowRef& owner, PyObject* obj, PyObject* name);
    // ... which is read, or is going to be written, by this trace for the first time.
    void meet_attribute(const ShadowRef& owner, PyObject* obj, PyObject* name, ShadowRef contents);
    void write_attribute(const ShadowRef& owner, PyObject* obj, PyObject* name, ShadowRef contents);
    // Of a dict that was there at entry: false where it holds the attributes of an object that the trace
    // looks into. Otherwise the trace may look into the dict, too.
    bool meet_dict(const ShadowRef& dict, PyObject* obj);
    // The same, of the object: its attributes are no items of a dict that the trace looks into.
    bool apart_from_dicts(PyObject* obj) const;
    // Puts items behind the last one of a list that was there at entry, where the trace is left. False where
    // the trace goes through its items.
    bool append_to_list(const ShadowRef& list, PyObject* obj, std::span<const ShadowRef> items);
    // Whether what such a list held at entry is what it holds now; `all`: all of it is going to be read.
    bool look_into_list(const ShadowRef& list, PyObject* obj, bool all);
    // How many items a list, tuple, dict, set, string or bytes that was there at entry has by now; nullptr
    // where that is not known.
    ShadowRef length_of(const ShadowRef& s, PyObject* obj);
    // Whether an item of a dict that was there at entry was stored to: then such dicts are not what they
    // were.
    bool stored_items() const;
    void forget_cells();  // cells and functions refer to each other: breaks the cycles

    // --- undo ---
    size_t mark();
    void rollback(size_t mark);  // nodes since `mark` become inert; inputs and entry guards stay

    // A sym with every equality that was required applied: two extents are the same when their canonical syms
    // are.
    graph::Sym canon(graph::Sym s);
    // Whether every symbol in `s` is known when the trace is entered (and not only after a library call).
    bool known_at_entry(graph::Sym s) const;
    // Moves the entry guards on symbols into the guard program; called once, when recording ends.
    void finish();

    int kernel_nodes() const;  // nodes that do array work
    // Nodes that follow are of this location, in a frame with these globals.
    void set_location(int32_t loc, PyObject* globals);
    void note_followed(PyCodeObject* code);
    std::function<int32_t()>* snapshot_hook =
        nullptr;  // set by the recorder: snapshot at the current instruction

  private:
    friend class Recorder;
    struct BufferState {
        graph::Id root, version;
        bool visible;         // its memory existed before the trace
        int input;            // graph input, or -1
        bool named = false;   // a snapshot in the middle of the trace refers to its contents
        bool shared = false;  // other values of the trace may lie in the same memory
        bool viewed = false;  // a tensor of the trace is a view of it
    };
    int32_t strided_recipe(const ShadowRef& s, ShadowRef* origin);
    ShadowRef int_library(PyObject* callable, std::span<const Operand> args, PyObject* kwnames,
                          PyObject* result);
    bool library_node(PyObject* callable, std::span<const Operand> args, PyObject* kwnames, graph::Node* n);
    bool resolve_array(const ShadowRef& s, PyObject* obj);
    bool resolve_host_array(const ShadowRef& s, PyObject* obj);
    bool resolve_number(const ShadowRef& s, PyObject* obj);
    int add_input(graph::Input in);
    graph::Sym fresh_extent(int64_t n);
    void substitute(graph::Sym symbol, graph::Sym by, bool from_entry);
    graph::Id restated(graph::Id v);
    graph::Id apply(graph::Id v, const ViewStep& step);

    std::vector<BufferState> buffers_;
    std::vector<BufferState> saved_buffers_;
    std::vector<bool> saved_written_;  // per graph input
    struct Substitution {
        graph::Sym symbol, by;
        bool from_entry;
    };
    std::vector<Substitution> substitutions_;  // what symbols were shown to equal
    size_t saved_substitutions_ = 0;           // how many there were at mark()
    struct ErrorContext {
        ShadowRef manager;
        uint32_t set, ignored;
    };
    void append_error_state();
    std::vector<ErrorContext> errors_, saved_errors_;  // entered, outermost first
    std::unordered_map<int32_t, int32_t> canon_memo_;
    std::vector<bool> entry_symbol_;       // by symbol index
    std::vector<PyObject*> input_arrays_;  // per graph input, nullptr for numbers; alive in kept_
    bool fits_device(const ArrayMeta& meta);
    bool fits_torch(PyObject* tensor, guards::ArraySpec* spec);
    bool share_buffers(std::span<const Operand> args);
    bool overlaps_other_input(int input) const;
    std::vector<PyRef> kept_;                             // keeps by_object_'s keys alive
    std::unordered_map<PyObject*, ShadowRef> by_object_;  // entry objects already resolved
    // Whether one of the first so many nodes changes memory that was there at entry.
    bool has_stored();
    bool has_stored_ = false;
    graph::Id looked_for_stores_ = 0;
    std::unordered_map<const Shadow*, int32_t> recipe_memo_;
    struct Attribute {
        ShadowRef owner, name;
        PyRef object;        // what `owner` was while recording
        ShadowRef contents;  // nullptr: not looked at
        bool written = false;
        ShadowRef before = nullptr;  // what was read before it was written
    };
    void keep_dicts_apart();
    Attribute* find_attribute(PyObject* obj, PyObject* name);
    std::vector<Attribute> attributes_;
    std::vector<size_t> attribute_writes_;  // into attributes_, in the order of their first writes
    struct Appended {
        Operand list;
        std::vector<ShadowRef> items;
    };
    std::vector<Appended> appended_;       // to lists that were there at entry, in order
    std::vector<Operand> walked_;          // such lists whose items were all looked at
    std::vector<ShadowRef> cells_;         // all cells that the trace made or looked into
    std::vector<Operand> dicts_;           // that were there at entry, and are looked into
    std::vector<PyRef> kept_dicts_;        // and lists
    std::vector<ShadowRef> cells_to_say_;  // those in recipes since begin_recipes
    std::vector<ShadowRef> instances_to_say_;
    std::vector<std::unique_ptr<Example>> examples_;
    bool in_snapshot_ = false;
    int32_t location_ = -1;
};

}  // namespace stator::frontend
