// Shared by the lowerings of this folder: how operands are read, how promotion is decided, how nodes of a
// ufunc are built, how a result becomes a shadow, and how call tables are filled.
//
// Rules every lowering follows:
//  * Whatever is decided from an operand's type is decided after TraceBuilder::resolve (which guards it);
//  whatever is
//    decided from a value is decided through require, decide or require_constant.
//  * Dtypes of loops come from the ufunc's own resolver, result dtypes from the object NumPy returned.
//  * A function that returns nullptr, kNone or false has set TraceBuilder::reason. Nodes built until then are
//  undone by
//    the caller.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/hosts/host.h"
#include "frontend/hosts/numpy/runtime.h"
#include "guards/check/numpy_api.h"

namespace stator::frontend::numpy {

using graph::Box;
using graph::DType;
using graph::Id;
using graph::kNone;
using graph::Op;
using graph::Sym;
using guards::Relation;

// --- dtypes (promotion.cpp) ---
bool dtype_of(PyArray_Descr* descr, DType* out);  // native, exactly one of graph::DType; false otherwise
bool dtype_of_number(int type_num, DType* out);   // longlong counts as I64
bool dtype_of_object(PyObject* array_or_scalar,
                     DType* out);  // ndarray, NumPy scalar, float, int, bool, complex
PyArray_Descr* descr_of(DType t);  // borrowed, immortal

// --- operands (promotion.cpp) ---
enum class Weak : uint8_t {
    No,
    Int,
    Float,
    Complex
};  // Python scalars that adapt to the other operands (NEP 50)

struct Arg {
    Id id = kNone;  // graph value; kNone for Weak::Int
    DType dtype = DType::F64;
    Weak weak = Weak::No;
    Sym sym;             // Weak::Int
    bool array = false;  // an ndarray (also 0-d)
};

bool read_arg(TraceBuilder& tb, const Operand& o, Arg* out);
Arg arg_of(TraceBuilder& tb, Id v);                      // a graph value as a strong operand
Id arg_id(TraceBuilder& tb, const Arg& a, DType dtype);  // the operand's value as `dtype`
bool is_array(PyObject* o);                              // exactly numpy.ndarray
inline bool is_sequence(PyObject* o) { return PyList_CheckExact(o) || PyTuple_CheckExact(o); }
// An ndarray that only NumPy's own functions can read (TraceBuilder::resolve_host_array).
bool host_only(const Operand& o);
bool array_operand(TraceBuilder& tb, const Operand* o);  // resolved, and an array that kernels can read
// The array object at the start of a chain of views.
const Shadow& root_of(const ShadowRef& s);
// Whether the guards fix if the array is dense. They do for inputs, and so for all views of dense ones; part
// of an input with gaps may have some or not.
bool known_density(TraceBuilder& tb, const ShadowRef& s);
// In C order without gaps, for all extents that the guards let through and not only for those at hand.
bool c_contiguous(TraceBuilder& tb, const Operand& a);
// Whether it views an input, or a library call's view, with axes of extent 1, whose strides no guard looks at
// but copies in K order do.
bool unit_axes_at_entry(TraceBuilder& tb, const ShadowRef& s);
// An integer operand without a value guard: a Python int. False (no reason set) when it is not one.
bool read_int(TraceBuilder& tb, const Operand& o, Sym* out);
// The operand's value is now fixed by guards (recursing into tuples, lists and slices).
bool require_fixed(TraceBuilder& tb, const Operand& o);
// nullptr for an absent operand, None and np._NoValue (which then are guarded).
const Operand* given(TraceBuilder& tb, const Operand* o);
bool is_no_value(PyObject* o);  // np._NoValue
bool read_fixed_int(TraceBuilder& tb, const Operand& o, int64_t* out);
bool read_fixed_bool(TraceBuilder& tb, const Operand& o, bool* out);
bool read_dtype(TraceBuilder& tb, const Operand& o, DType* out);
// Items of a tuple or list operand with their shadows. False when it is neither, or its items are unknown.
bool read_items(TraceBuilder& tb, const Operand& o, std::vector<Operand>* out);
// Axes as an int, a tuple of ints, or None (all axes): normalized and ascending.
bool read_axes(TraceBuilder& tb, const Operand* o, int ndim, std::vector<int>* out);
bool normalize_axis(int64_t axis, int ndim, int* out);
bool read_shape(TraceBuilder& tb, const Operand& o, Shape* out);  // an int or a sequence of ints

// --- ufuncs (ufuncs.cpp) ---
struct Ufunc {
    PyObject* object;  // borrowed, lives as long as NumPy
    std::string name;
    int nin, nout, index;
    Op op = Op::HostLoop;       // the graph op with this host loop, if there is one
    bool exact = false;         // same bits in every stride class, for all dtypes
    bool scalar_paths = false;  // the loop looks at stride 0 (power, clip)
    bool generalized = false;   // has a core signature (matmul)
    bool skips = false;         // vector loops that leave elements of an output with gaps unwritten
};
const Ufunc* find_ufunc(std::string_view name);
const Ufunc* ufunc_of(PyObject* o);
std::vector<const Ufunc*> all_ufuncs();

inline constexpr int kMaxIn = 3;
struct LoopTypes {
    DType in[kMaxIn], out;
};
// Whether a loop over these gives the same bits however its elements lie.
bool is_exact(const Ufunc& u, const LoopTypes& types);
// What a call chooses itself: `dtype=`, `casting=` (index in no, equiv, safe, same_kind, unsafe; -1 =
// default).
struct Choice {
    std::optional<DType> dtype;
    int casting = -1;
};
// The dtypes in which NumPy would run the ufunc on these operands (and this `out` array, this `dtype=`).
bool resolve_loop(TraceBuilder& tb, const Ufunc& u, std::span<const Arg> args, std::optional<DType> out,
                  const Choice& choice, LoopTypes* types);
// The ufunc's nodes: casts, broadcasts, the operation.
Id emit_ufunc(TraceBuilder& tb, const Ufunc& u, std::span<const Arg> args, const LoopTypes& types);
// The only element of a value whose extents are all 1, as a scalar.
Id only_element(TraceBuilder& tb, Id v);
// Resolve and emit in one step, for compound lowerings.
Id emit(TraceBuilder& tb, std::string_view ufunc, std::initializer_list<Arg> args);
// Whether chunk calls of the loop have the bits of eager's call on these objects (docs/design/numerics.md).
bool chunkable(TraceBuilder& tb, const Ufunc& u, const LoopTypes& types, std::span<const Operand> operands,
               int result_ndim, const npy_intp* result_shape);
// A ufunc applied to operands, with an `out` array when not nullptr. The whole of calls and operators.
ShadowRef lower_ufunc(TraceBuilder& tb, const Ufunc& u, std::span<const Operand> in, const Operand* out,
                      const Operand* where, const Choice& choice, PyObject* result);
// The ufunc's result in a fresh array like `out`, by NumPy's own call (into_fresh.cpp).
ShadowRef ufunc_into(TraceBuilder& tb, const Ufunc& u, std::span<const Operand> in, const Operand& out,
                     const Operand* where, bool gaps = false);
// The same where only NumPy's own call on such strides has the right bits (into_fresh.cpp).
ShadowRef lower_ufunc_into(TraceBuilder& tb, const Ufunc& u, std::span<const Operand> in, const Operand& out,
                           const Operand* where);

// A function with the output argument `out`, which the call does not list (into_fresh.cpp).
ShadowRef lower_call_into(TraceBuilder& tb, const Call& call, const Operand& out);

// a[key] = value by NumPy's own call on a copy of `a` (into_fresh.cpp).
bool store_into_fresh(TraceBuilder& tb, const Operand& a, const Operand& key, const Operand& value);

// --- arrays that only the host reads (host_arrays.cpp) ---
ShadowRef lower_host_in_place(TraceBuilder& tb, const Ufunc& u, const Operand& a, const Operand& b);
bool lower_host_store(TraceBuilder& tb, const Operand& a, const Operand& key, const Operand& value);
ShadowRef lower_host_attr(TraceBuilder& tb, const Operand& a, std::string_view name, PyObject* result);

ShadowRef lower_ufunc_call(TraceBuilder& tb, const Call& call);

// --- operators (operators.cpp) ---
ShadowRef lower_binary(TraceBuilder& tb, int nb_op, const Operand& a, const Operand& b, PyObject* result);
// Whether NumPy computes `array ** exponent` by a ufunc of one operand (square).
bool power_is_unary(PyObject* array, PyObject* exponent);
ShadowRef lower_compare(TraceBuilder& tb, int py_op, const Operand& a, const Operand& b, PyObject* result);
ShadowRef lower_unary(TraceBuilder& tb, Host::Unary op, const Operand& a, PyObject* result);

// --- scalars (scalars.cpp) ---
ShadowRef lower_scalar_binary(TraceBuilder& tb, int nb_op, const Operand& a, const Operand& b,
                              PyObject* result);
ShadowRef lower_scalar_compare(TraceBuilder& tb, int py_op, const Operand& a, const Operand& b,
                               PyObject* result);
ShadowRef lower_scalar_unary(TraceBuilder& tb, Host::Unary op, const Operand& a, PyObject* result);
ShadowRef lower_truth(TraceBuilder& tb, const Operand& a);
bool guard_scalar(TraceBuilder& tb, Id cond,
                  bool expected);        // leaves the trace at this instruction otherwise
PyObject* operator_function(int nb_op);  // operator.add, ...; borrowed

// --- indexing (indexing.cpp) ---
struct IndexItem {
    enum Kind : uint8_t { Integer, Range, NewAxis, Ellipsis } kind;
    Sym start, stop, step;  // Integer: start; Range: each may be absent
    bool has_start = false, has_stop = false;
    int64_t stride = 1;
};
// A step that keeps axis order and selects everything; callers then narrow single axes.
ViewStep whole(const Shape& shape, TraceBuilder& tb);
ViewStep permuted(TraceBuilder& tb, const Shape& shape,
                  const std::vector<int>& axes);  // result axis i = axes[i]
// Elements [start, start + length) of one axis, step 1.
void narrow(ViewStep& step, int axis, Sym start, Sym length);
Sym fixed_extent(TraceBuilder& tb, Sym length);  // 0 and 1 specialize; 2 and more is guarded
ShadowRef lower_subscript(TraceBuilder& tb, const Operand& a, const Operand& key, PyObject* result);
bool lower_store(TraceBuilder& tb, const Operand& a, const Operand& key, const Operand& value);
// The view that a key of ints, slices, None and Ellipsis selects; false for other keys.
bool basic_view(TraceBuilder& tb, const Shape& shape, const Operand& key, ViewStep* out);
// `x[key] op= v` ends with storing the view x[key], already updated in place, into x[key].
bool stores_itself(TraceBuilder& tb, const Operand& a, const ViewStep& step, const Operand& value);
// The extents of a reshape to `items`, one of which may be -1 (shape_ops.cpp).
bool reshaped(TraceBuilder& tb, const Shape& from, std::span<const Operand> items, Shape* out);
// Whether the key consists of what a later call can be given again: ints, slices, arrays.
bool fixed_index(TraceBuilder& tb, const Operand& key);
// Whether NumPy reads all indices before `i[i] = x` changes them. Before NumPy 2.3 it does not.
bool copies_indices();
// Stores `value` (cast and broadcast here) into the part of dst that step selects.
bool store_value(TraceBuilder& tb, const ShadowRef& dst, const ViewStep* step, const Arg& value);

// --- results (promotion.cpp) ---
// The shadow of what NumPy returned, holding `v`: a fresh array or a scalar, dtype checked against the
// object.
ShadowRef finish(TraceBuilder& tb, Id v, PyObject* result);
// Also when `v` is a view, or the value of another array (a node older than `nodes_before`): copies then,
// because two array objects never share one node.
ShadowRef finish_copy(TraceBuilder& tb, Id v, size_t nodes_before, PyObject* result);
// A call NumPy itself makes on whole operands; the result must not share memory with an argument.
ShadowRef lower_library(TraceBuilder& tb, const Call& call);
// The same where elements of the arguments decide about the result's extents.
ShadowRef lower_by_values(TraceBuilder& tb, const Call& call);
// operator.getitem(array, key), of which the result is no view.
ShadowRef lower_getitem(TraceBuilder& tb, const Call& call);
// The same where the result may share memory with arguments.
ShadowRef lower_shared(TraceBuilder& tb, const Call& call);
// np.round: before NumPy 2.4 ints are given back as they are.
ShadowRef lower_rounded(TraceBuilder& tb, const Call& call);
ShadowRef lower_where_whole(TraceBuilder& tb, const Call& call);
// The same where the result is a list or bytes.
ShadowRef lower_object(TraceBuilder& tb, const Call& call);
ShadowRef library_of(TraceBuilder& tb, PyObject* callable, std::initializer_list<Operand> args,
                     PyObject* result);

// np.asarray and its like (creation.cpp).
ShadowRef lower_as_array(TraceBuilder& tb, const Call& call);

bool has_complex(PyObject* o);  // a complex number, or an array or a sequence of such (library.cpp)

// --- call tables (adapter.cpp) ---
struct Function;
using Lowering = ShadowRef (*)(TraceBuilder&, const Call&);
// Each family adds its rows once at start-up. `where`: attribute path under numpy ("roll", "linalg.norm"),
// method of ndarray (".sum"), or builtin or module function ("builtins:abs", "math:sqrt"). Missing attributes
// are skipped: which functions exist depends on NumPy's version.
struct CallRow {
    const char* where;
    Lowering lower;
    bool pure =
        false;  // a fresh result and no effect: where the lowering fails, NumPy's own call is recorded
    bool writes = false;                 // into its first argument
    bool shares = false;                 // like `pure`, but the result may be a view of an argument, or be it
    const Function* function = nullptr;  // of the table of functions that are taught once
};
void add_rows(std::span<const CallRow> rows);
void register_ufuncs();
// From here on loops that other modules put into NumPy's ufuncs are noticed (replaced_loops.cpp).
void watch_loops();
void register_scalars();
void register_closeness();
void register_creation();
void register_pad();
void register_compounds();
void register_shape_ops();
void register_library();
void register_facts();
void register_in_place();
void register_error_state();
bool known_callable(PyObject* callable);
// Its row in the table of functions that are written once (functions/table.h); nullptr for others.
const Function* function_of(PyObject* callable);
// Whether a call reads its arguments, makes a fresh result and does nothing else (library.cpp says what rows
// promise). `quiet`: it does not warn about operands without elements in its own ways.
bool is_pure(PyObject* callable, bool* quiet);
// The argument with which a function that is pure otherwise changes its first one; nullptr for most.
struct InPlaceFlag {
    const char* keyword;
    size_t position;
};
const InPlaceFlag* in_place_flag(PyObject* callable);
// Whether a row with this lowering promises a fresh result, of whatever values (library.cpp).
bool is_always_fresh(Lowering lower);
bool quiet_about_nothing(PyObject* callable);

// --- calls that change their first argument (in_place.cpp) ---
// NumPy's call on a copy, which is then stored: of one that gives None.
ShadowRef lower_change(TraceBuilder& tb, const Call& call);
// a[key] = value, with index arrays in the key.
bool store_at_indices(TraceBuilder& tb, const Operand& a, const Operand& key, const Operand& value);
ShadowRef lower_matmul_in_place(TraceBuilder& tb, const Operand& a, const Operand& b);
// a.real = value and a.imag = value, of complex arrays.
bool lower_set_part(TraceBuilder& tb, const Operand& a, PyObject* name, const Operand& value);

// --- facts (facts.cpp) ---
// An attribute of a dtype, or of what np.finfo or np.iinfo say of one; nullptr without a reason for other
// objects.
ShadowRef fact_attr(TraceBuilder& tb, const Operand& a, PyObject* result);

// --- attributes (attributes.cpp) ---
ShadowRef lower_attr(TraceBuilder& tb, const Operand& a, PyObject* name, PyObject* result);
// a.name = value.
bool lower_set_attr(TraceBuilder& tb, const Operand& a, PyObject* name, const Operand& value, bool sole);
bool lower_set_shape(TraceBuilder& tb, const Operand& a, const Operand& value, bool sole);  // shape_ops.cpp

// Binds a call's arguments to parameter names, positional ones first; absent ones stay nullptr. False with a
// reason when a keyword is not in the list.
bool bind(TraceBuilder& tb, const Call& call, std::initializer_list<const char*> names, const Operand** out);
bool bind(TraceBuilder& tb, const Call& call, std::span<const char* const> names, const Operand** out);

}  // namespace stator::frontend::numpy
