// From bytecode to a region, without running anything.
//
// At a loop's header the frame holds real objects, whose kinds are the types of the region's inputs. From
// there the builder runs ahead over the bytecode with Values instead of objects, following both sides of
// every branch, and writes down what each instruction would do. Nothing is executed; an instruction whose
// meaning it does not know ends the attempt with a reason.
//
// **Versions.** The code at an instruction is made once for each signature of the frame (the kinds of all
// slots) with which it is reached. So a variable that is an int in the first iteration and a float later
// simply gives two versions of the loop's header, of which the second is the loop and the first its peeled
// iteration. Where versions of a place multiply (variables that branches bind to different things), it is
// treated like a header: variables become ones that may hold either. A place that would need more than
// place_versions (policy.def) is refused.
//
// **Budget.** All of this happens on the thread of a caller who waits, so all attempts together look at a
// bounded number of instructions.
//
// **Exits.** Where the region cannot do what Python would (an index out of range, overflow, a floating-point
// flag), Python does it. It is resumed not at the very instruction but at the last *resume point*: an
// instruction behind all visible effects so far where the stack holds iterators only, in practice the
// beginning of the statement. What lies between is pure, so Python may do it again, and a statement needs one
// exit however many checks it makes.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontend/cpython/code.h"
#include "frontend/cpython/frame.h"
#include "frontend/policy.h"
#include "frontend/regions/build/aliasing.h"
#include "frontend/regions/build/built_region.h"
#include "frontend/regions/build/did.h"
#include "frontend/regions/build/findings.h"
#include "frontend/regions/routines/library.h"
#include "frontend/regions/sequence.h"
#include "frontend/regions/value.h"
#include "frontend/trace_builder/trace_builder.h"
#include "graph/region/region.h"
#include "guards/check/check.h"

namespace stator::frontend::regions {

// A frame of the region: the loop's own, or that of a function which it calls, whose code is followed in
// place.
struct Level {
    const CodeInfo* code = nullptr;
    PyObject* function = nullptr;
    int base = 0;            // its first slot in State::slots
    int return_pc = 0;       // in the level below
    int path = 0;            // numbers the calls that lead here
    int function_slot = -1;  // where the function is at entry; -1: it is always `function`
};

// A loop around a place, and the version of its header that it was entered through.
struct LoopAround {
    int path, header, version;
    bool operator==(const LoopAround&) const = default;
};

struct State {
    std::vector<Value> slots;  // of all levels: localsplus, then the stack
    std::vector<Level> levels;
    // A peeled iteration is not mixed with the loop: that would have two entries.
    std::vector<LoopAround> context;
    ResumeRef resume;  // nullptr: none since the last effect
};

// What building a region may take. Work decides, so that a program gets the same answer in each process: one
// for each instruction looked at, and for what a state's copies and NumPy's answers take as much as it is in
// instructions. Time is for what no count foresees. The largest loops of NPBench take 5,000 and 10 ms.
struct BuildBudget {
    int64_t work = policy().build_work;
    int64_t ns = policy().build_time;  // of the thread's own time
};

class Builder {
  public:
    Builder(Frame& f, const CodeInfo& code, int header, BuildBudget budget = {});
    // nullptr with a reason when the loop cannot be a region (as it is now).
    std::unique_ptr<BuiltRegion> build();
    Reason reason() const { return reason_; }
    const std::string& detail() const { return detail_; }
    const CodeInfo& failed_code() const { return *failed_code_; }
    int failed_pc() const { return pc_; }
    int64_t work() const { return work_; }  // done so far, in the measure of BuildBudget

  private:
    struct Version {
        int pc;
        State state;
        graph::BlockId block;
    };

    // ---- builder.cpp: control flow ----
    bool spend(int64_t work);
    bool is_small_enough();
    void find_loop();
    bool find_exposed(int local) const;
    int loop_end(const CodeInfo& code, int header);
    const std::vector<char>& leaders(const CodeInfo& code);
    bool read_entry();
    std::unique_ptr<BuiltRegion> attempt();
    bool goes_round() const;
    std::optional<Value> entry_value(PyObject* o, int slot);
    Value entry_items(PyObject* o, int slot);
    Value entry_slice(PyObject* o, int slot);
    ValueId constant_at_entry(int64_t v);
    Py_ssize_t holders(int slot) const;
    std::optional<Value> entry_iterator(PyObject* o, int slot);
    bool is_iterator_at_entry(PyObject* o) const;
    bool run(Version&& v);
    bool step(const Insn& insn);
    bool jump_to(int pc);
    bool branch_to(ValueId cond, int pc_true, State on_true, int pc_false, State on_false);
    void write_to(graph::BlockId block);
    void end_block(graph::Terminator t);
    void finish_inputs(BuiltRegion& out);

    // ---- sources.cpp: objects that are reached from the frame ----
    PyObject* object_at(int slot) const;
    int source_slot(EntrySource s, PyObject* now);
    Value source_value(EntrySource s, PyObject* now);
    Value looked_into(const Value& v);
    void extents_at_entry(const EntryInput& in);
    bool attribute(const Value& owner, PyObject* name, Value* out, bool* is_method);
    bool on_load_deref(const Insn& insn);
    bool on_copy_free_variables(const Insn& insn);

    // ---- build/stored_places.cpp: attributes and globals that are stored to ----
    bool read_stored_places();
    Value* stored_place(PyObject* object, PyObject* name);
    Value* stored_attribute(const Value& owner, PyObject* name);
    bool found_store(StoredPlace p);
    bool becomes_stored(Value* v, const std::string& text);
    bool on_store_attr(const Insn& insn);
    bool on_store_global(const Insn& insn);
    size_t place_of(const Level& level, int local) const;

    // ---- build/versions.cpp: how paths meet ----
    graph::Edge edge_to(int pc, State from, bool* ok);
    int version_at(int pc, State& s);  // -1: too many
    void predict(int pc, const State& s);
    void normalize(int pc, State* s);  // variants where the loop's header has them
    bool is_crowded(const Level& level, int pc) const { return found_.crowded.contains({level.path, pc}); }
    bool is_widened(int pc, const std::string& where, const State& s, int* other);
    Value as_variant(const Value& v, const Value& like);
    Value as_held(const Value& v, const Value& like);
    bool widen(int pc, const State& a, const State& b);
    bool bound(Value* v);  // a Variant that is read becomes what it is
    bool carries(size_t slot) const;
    void name_anew(State* s, graph::Block* block);

    // ---- resume.cpp: where Python goes on ----
    bool between_statements(const State& s) const;
    static int place_of(const State& s, size_t level, int pc);
    bool locals_seen(const State& s) const;
    void forget_dead(State* s, int pc) const;
    void forget_dead(const Level& level, int pc, Value* locals) const;
    ResumeRef resume_at(int pc, const State& s) const;
    bool can_resume() const;
    bool wants_resume(int pc, const State& s, bool header) const;
    int exit_for(const ResumeRef& r, const char* label);
    int exit_here();  // -1 with a reason when Python could not go on
    bool leave_at(int pc, const State& s, graph::Edge* edge);
    bool leave_for_python();

    // ---- build/numpy/ops.cpp: instructions ----
    bool constant(PyObject* o, Value* out);
    PyObject* globals_of(const Level& level) const;
    bool on_load_global(const Insn& insn);
    bool on_load_attr(const Insn& insn, bool method);
    bool on_binary(const Insn& insn);
    bool on_compare(const Insn& insn);
    bool on_unary(const Insn& insn);
    bool on_subscript(const Insn& insn);
    bool on_store_subscript(const Insn& insn);
    bool on_build_slice(const Insn& insn);
    bool on_call(const Insn& insn);
    bool becomes_list_item(Value* v);
    bool on_build_list(const Insn& insn);
    bool on_list_extend(const Insn& insn);
    bool on_unpack(const Insn& insn);
    graph::Inst poll_before(int target) const;  // of the loop whose header that is
    bool on_branch(const Insn& insn);
    bool on_return();
    bool call_function(const Value& callable, std::vector<Value>& args, PyObject* names);
    bool finish_expressions();
    bool call_python(PyObject* callable, std::vector<Value>& args, Value* out);
    Did call_selecting(PyObject* callable, std::vector<Value>& args, Value* out);
    bool call_ufunc_into(const std::string& name, std::vector<Value>& args, Value* out);
    bool call_numpy(PyObject* callable, std::vector<Value>& args, Value* out);
    bool call_outer(const std::vector<Value>& args, Value* out);
    bool is_dense(const Value& v) const;
    bool compare_arrays(int py_op, const Value& a, const Value& b, Value* out);
    bool copy_of(const Value& array, Value* out);
    bool call_range(std::vector<Value>& args, Value* out);
    bool call_slice(const std::vector<Value>& args, Value* out);

    // ---- build/numpy/region_steps.cpp: functions that traces and regions share ----
    friend class RegionSteps;
    Did call_taught(PyObject* callable, const std::vector<Value>& args, Value* out);

    // ---- build/numpy/vectors.cpp: routines of whole vectors ----
    bool contiguous_vector(const Value& a, Value* out);
    bool position(bool greatest, const Value& a, Value* out);
    bool place(const Value& sorted, const Value& key, bool after, Value* out);
    bool interpolated(const Value& x, const Value& xp, const Value& fp, Value* out);
    bool running_sum(const Value& a, Value* out);
    // ---- build/builtins.cpp ----
    Did call_builtin(PyObject* callable, std::vector<Value>& args, Value* out);
    bool call_minmax(bool greatest, std::vector<Value> args, Value* out);
    bool call_abs(const Value& a, Value* out);
    bool call_divmod(const Value& a, const Value& b, Value* out);
    bool call_round(const Value& a, Value* out);
    bool call_sum(const std::vector<Value>& items, Value* total);
    bool go_on_with(const Value& result, graph::BlockId from);
    bool on_contains(const Insn& insn);
    bool contains(const Value& item, const Value& in, Value* out);
    Did compare_small(int py_op, const Value& a, const Value& b, Value* out);

    // ---- build/numpy/draws.cpp ----
    Did call_draw(PyObject* callable, std::vector<Value>& args, PyObject* names, Value* out);

    // ---- build/numpy/math.cpp ----
    bool as_double(const Value& v, ValueId* out);
    bool c_function(const std::string& name, std::vector<ValueId> in, Value* out);
    Did call_math(PyObject* callable, const std::vector<Value>& args, Value* out);
    Did call_scalar_type(PyObject* callable, const std::vector<Value>& args, Value* out);

    // ---- build/numpy/literals.cpp ----
    Did call_array(PyObject* callable, const std::vector<Value>& args, Value* out);

    // ---- build/sequences.cpp: items of what was there at entry ----
    std::optional<DType> dtype_of_items(PyObject* sequence);
    Did sequence_array(const Value& v, Value* out);
    bool shows_sequence(const Value& array) const;
    Value python_item(const Value& item);
    Did item_of_sequence(const Value& sequence, const Value& key, Value* out);
    Did becomes_table(PyObject* list);
    Did store_in_sequence(const Value& list, const Value& key, const Value& value);
    Did compare_characters(int py_op, const Value& a, const Value& b, Value* out);
    bool one_of(const std::vector<Value>& items, const Value& key, Value* out);
    bool character_in(const Value& character, PyObject* string, Value* out);

    // ---- build/rows.cpp: rows of lists of lists ----
    struct Table {
        Value items;          // of two axes, or of one with
        ValueId starts = -1;  // where each row begins
        bool lists = false;
    };
    Did becomes_rows(PyObject* o);
    bool settle_rows();
    ValueId copy_at_entry(EntryInput::Kind kind, int slot, DType dtype, std::vector<int64_t> extents);
    Did table_of(const Value& v, const Table** out);
    ValueId rows_in(const Table& t);
    Value row_at(const Table& t, ValueId number) const;
    ValueId row_length(const Value& row);
    ValueId items_of_iterated(const Value& over);
    Value item_of_row(const Value& row, ValueId position);
    std::vector<ValueId> place_in_table(const Value& row, ValueId position);
    bool index_into(const Value& key, ValueId extent, ValueId* out);
    Did subscript_rows(const Value& from, const Value& key, Value* out);
    Did store_in_row(const Value& row, const Value& key, const Value& value);
    Did unpack_row(const Value& row, int count);
    Did rows_iterated(const Value& over, Value* out);

    // ---- build/append.cpp ----
    bool apart_from(int slot, const std::set<int>& others);
    bool read_apart(int slot);
    ValueId address_of(int slot, EntryInput::Kind kind);
    bool append_item(Value* v);
    Did call_append(PyObject* callable, std::vector<Value>& args, Value* out);
    bool on_list_append(const Insn& insn);
    bool append_to(const Value& list, Value item);

    // ---- build/iterate.cpp: iterators ----
    bool on_for_iter(const Insn& insn);
    bool on_get_iter(const Insn& insn);
    PyObject* rollable(const Value& over) const;
    bool roll_loops(const State& s);
    bool iterator_of(const Value& v, Value* out);
    ValueId has_next(const Value& it, bool* known);
    bool advance(Value* it, Value* item);
    bool call_enumerate(std::vector<Value>& args, Value* out);
    bool call_zip(std::vector<Value>& args, Value* out);
    bool call_reversed(std::vector<Value>& args, Value* out);
    bool store_item(const Value& list, const Value& key, const Value& value);
    int names_of(const Value& list) const;

    // ---- build/bind.cpp: arguments and parameters ----
    bool bind_known(PyObject* callable, std::vector<Value>* args, PyObject* names);
    bool bind_python(PyObject* function, const std::vector<Value>& args, PyObject* names,
                     std::vector<Value>* slots);
    bool dtype_argument(const Value& v, DType standard, DType* out);

    // ---- build/scalars.cpp: numbers ----
    bool binary(int nb_op, bool in_place, const Value& a, const Value& b, Value* out);
    bool binary_python(int nb_op, const Value& a, const Value& b, Value* out);
    bool binary_ints(int nb_op, const Value& a, const Value& b, Value* out);
    bool binary_floats(int nb_op, ValueId a, ValueId b, Value* out);
    bool binary_scalars(int nb_op, const Value& a, const Value& b, Value* out);
    static bool mixes_signs(const Value& a, const Value& b);
    bool compare(int py_op, const Value& a, const Value& b, Value* out);
    bool truth(const Value& v, ValueId* out);
    bool negate(const Value& v, Value* out);
    bool to_int(const Value& v, ValueId* out);  // an index or a count: i64
    bool promote(const Value& a, const Value& b, bool divide, DType* out);
    bool convert(const Value& v, DType to,
                 ValueId* out);  // as a NumPy operation on `to` converts this operand
    bool unary_ufunc(const std::string& name, const Value& a, Value* out);
    bool binary_ufunc(const std::string& name, const Value& a, const Value& b, Value* out);
    ValueId int_to_float(ValueId i);  // exact or leaves
    void guard_range(ValueId i, int64_t low, int64_t high);

    // ---- build/arrays.cpp, build/keys.cpp, build/expressions.cpp: arrays ----
    struct KeyPart {
        enum Kind : uint8_t { Index, Slice, New, All } kind;
        ValueId a = -1, count = -1, step = -1;  // Index: a. Slice: start, count, step
        int64_t const_step = 1;
    };
    bool parse_key(const Value& array, const Value& key, std::vector<KeyPart>* parts,
                   std::vector<ValueId>* ids);
    bool slice_part(const Value& slice, ValueId extent, KeyPart* out);
    bool settle_strides(Value* v);
    bool load_element(const Value& array, const std::vector<ValueId>& at, Value* out);
    Did known_part(ValueId start, ValueId stop, ValueId extent, KeyPart* out);
    bool is_next(ValueId v, ValueId next) const;
    bool lies_across(const Value& v) const;  // an expression of it may not be in the order of C
    bool item_at(const Value& array, ValueId position, Value* out);
    bool subscript(const Value& array, const Value& key, Value* out);
    bool store(const Value& array, const Value& key, const Value& value);
    bool element_of(const Value& v, DType to, ValueId* out);  // as assigning v to an element converts
    bool view(const Value& array, const std::vector<KeyPart>& parts, Value* out);
    Value part_of(const Value& array);
    bool lazy_of(const Value& v, ExprRef* out);
    bool binary_arrays(int nb_op, bool in_place, const Value& a, const Value& b, Value* out);
    bool binary_real(int nb_op, const Value& a, const Value& b, Value* out);
    static bool fits_in_place(DType from, DType to);
    bool elementwise(graph::Op op, DType operand, DType result, const std::vector<Value>& in, Value* out);
    std::vector<ValueId> extents_of(const Value& v);
    bool assign(const Value& dest, const Value& value);  // dest[...] = value
    void store_element(const Value& array, const std::vector<ValueId>& at, const ExprRef& value);
    bool assign_items(const Value& dest, const std::vector<Value>& items);
    bool fill(ValueId dest, const std::vector<ValueId>& extents, const ExprRef& value, bool checked);
    bool scratch_of(const ExprRef& value, const std::vector<ValueId>& extents, Value* out,
                    bool fresh = false);
    bool fresh_array(Value* v);
    bool copied_array(Value* v);
    ValueId has_gaps(const Value& array);       // a Lazy one that a variable is going to hold
    bool as_array(const Value& v, Value* out);  // a Lazy one is computed into scratch memory
    bool align(const Value& v, const std::vector<ValueId>& extents, Value* out);
    bool align(const ExprRef& e, const std::vector<ValueId>& own, const std::vector<ValueId>& extents,
               ExprRef* out);
    bool spreads(const std::vector<ValueId>& own, const std::vector<ValueId>& extents) const;
    bool join_extents(const std::vector<ValueId>& a, const std::vector<ValueId>& b,
                      std::vector<ValueId>* out);
    bool cast_expr(ExprRef* e, DType to);
    void mark_written(int slot);
    void written(const Value& array);  // what is stored to
    bool no_lazy_left();
    bool drop(const Value& v);  // nobody needs the value: what computing it would show remains
    bool copy_moving(ExprRef* e, const Value& dest, const std::vector<ValueId>& extents,
                     std::map<const Expr*, ExprRef>& done);
    bool is_matrix_product(const Value& a, const Value& b);
    bool dot(const Value& a, const Value& b, bool operator_, Value* out);
    bool reduce(const std::string& ufunc, const Value& a, Value* out);
    // ---- build/numpy/functions.cpp ----
    std::optional<double> known_float(const Value& v) const;
    bool elementwise_call(const std::string& ufunc, DType t, const std::vector<Value>& in, Value* out);
    bool power_by_constant(DType t, const Value& a, const Value& b, Value* out);

    // ---- build/numpy/reductions.cpp ----
    struct Reduction {
        std::vector<int> axes;  // ascending
        bool keepdims = false;
    };
    // The reduction that the call at hand is, also where NumPy does it; no array in other calls.
    struct {
        Value array;
        Reduction reduction;
    } reducing_;
    std::optional<bool> known_bool(const Value& v) const;
    bool reduce_along(const std::string& ufunc, const Reduction& r, const Value& a, Value* out);
    bool accumulate(graph::Op op, const Reduction& r, const Value& a, Value* out);
    bool keep_reduced_axes(const Reduction& r, Value* v);
    std::vector<ValueId> reduced_extents(const Value& a, const Reduction& r);
    void note_extents(PyObject* callable, const std::vector<Value>& args, const Value& made);

    // ---- build/numpy/shapes.cpp ----
    bool permute(const Value& a, const std::vector<int>& axes, Value* out);
    bool reshape(const Value& a, const std::vector<Value>& items, Value* out, bool ravels = false);

    // ---- build/numpy/products.cpp, build/numpy/host.cpp: library routines ----
    bool product(const Value& a, const Value& b, Value* out);
    bool library(const std::string& name, LibraryRoutine routine, const Value& dest,
                 const std::vector<ValueId>& operands, const std::vector<int>& axes = {});
    bool operator_arrays(int nb_op, bool in_place, const Value& a, const Value& b, Value* out);
    // The first way that the builder knows: one that is refused for Reason::RegionOp declines, and the next
    // is tried. What is said when there is none is what the first one said.
    template <class First, class... Others>
    bool first_known(First&& first, Others&&... others) {
        const auto ask = [&](auto& way) -> Did {
            if (way()) return Did::Done;
            return reason_ == Reason::RegionOp ? Did::Declined : Did::Failed;
        };
        Did did = ask(first);
        const std::string said = detail_;
        const auto ask_next = [&](auto& way) {
            if (did.handled()) return;
            reason_ = Reason::None;
            detail_.clear();
            did = ask(way);
            if (!did.done()) detail_ = said;
        };
        (ask_next(others), ...);
        return did.done();
    }
    bool call_known(PyObject* callable, const std::vector<Value>& args, PyObject* names, Value* out);
    bool call_host(PyObject* callable, std::vector<Value> args, PyObject* names, Value* out);
    bool operator_by_host(int nb, bool in_place, const Value& a, const Value& b, Value* out);
    bool operand_for_host(Value* v);
    bool probed(const HostFunction& f, const std::vector<std::vector<int64_t>>& extents,
                const std::vector<int64_t>& ints, HostResult* out, std::string* why);
    int routine_index(const std::string& name, DType t, LibraryRoutine routine);

    // The operands of an elementwise operation, brought to one shape.
    struct Operands {
        std::vector<ValueId> extents;
        ExprRef mask;
        int mask_rank = 0;
        bool permuted = false;
        std::vector<ExprRef> in;
    };
    bool operands_of(std::vector<Value> in, Operands* out);
    Value lazy(const Operands& of, ExprRef e);
    static ExprRef number_expr(DType t, ValueId id);
    static ExprRef op_expr(graph::Op op, DType result, std::vector<ExprRef> in);
    bool memory(DType t, const std::vector<ValueId>& extents, bool fresh, Value* out);

    // ---- build/nests.cpp: computing expressions ----
    struct NestOut {
        ValueId dest;
        ExprRef value;
    };
    ValueId nest_value(graph::NestBody& body, const ExprRef& e, std::map<const Expr*, ValueId>& done);
    ValueId nest_take(graph::NestBody& body, const ExprRef& e, std::map<const Expr*, ValueId>& done);
    bool emit_nest(graph::RegionOp op, graph::NestBody body, const std::vector<ValueId>& extents, bool faults,
                   bool indexes, ValueId* count);
    bool put(const std::vector<ValueId>& extents, const ExprRef& mask, ValueId dest, const ExprRef& value,
             bool checks);
    static bool is_cheap(const ExprRef& e);
    bool probe(const std::vector<ValueId>& extents, const ExprRef& mask, const ExprRef& value);
    std::vector<NestOut> components(const NestOut& out);
    ExprRef component(const ExprRef& e, int part);
    ValueId part(ValueId array, int which);

    // ---- build/numpy/masks.cpp: elements that a mask selects ----
    bool one_mask(std::vector<Value>& in, Operands* out);
    bool compress(const Value& array, const Value& mask, Value* out);
    bool pack(const Value& v, bool fresh, Value* out);
    ValueId count(const ExprRef& mask, const std::vector<ValueId>& extents);  // -1: no way out of here
    std::vector<ValueId> packed_extents(const Value& v);
    ExprRef spread(const ExprRef& mask, const std::vector<ValueId>& extents, size_t rank);
    bool store_masked(const Value& dest, const Value& mask, const Value& value);
    bool store_packed(const Value& dest, const Value& mask, const Value& value);
    bool reduce_mask(const std::string& name, const Value& a, Value* out);

    // ---- build/numpy/index_arrays.cpp: elements at computed places ----
    static bool is_index_array(const Value& key);
    bool gather(const Value& array, const Value& key, Value* out);
    std::vector<ValueId> places_in_range(graph::NestBody& body, const Expr& take,
                                         std::map<const Expr*, ValueId>& done);
    bool scatter(const Value& array, const Value& key, const Value& value);
    bool index_exprs(const Value& array, const Value& key, Operands* places, ExprRef* element);
    bool where(const Value& c, const Value& a, const Value& b, Value* out);
    bool into(const Value& dest, const Value& value, Value* out);

    // ---- build/python_complex.cpp ----
    struct Parts {
        ValueId re, im;
    };
    ValueId f64(graph::Op op, ValueId x, ValueId y);
    Parts complex_product(const Parts& x, const Parts& y);
    std::optional<Parts> complex_quotient(const Parts& x, const Parts& y);
    std::optional<Parts> complex_power(const Parts& x, int64_t n);
    Did complex_equal(int py_op, const Value& a, const Value& b, Value* out);
    Did call_complex(PyObject* callable, const std::vector<Value>& args, Value* out);
    bool binary_python_complex(int nb, const Value& a, const Value& b, Value* out);

    // ---- build/complex_scalars.cpp ----
    bool complex_parts(const Value& v, DType t, Parts* out);
    Parts scalar_product(DType t, const Parts& x, const Parts& y);
    Parts scalar_power(DType t, const Parts& x, int64_t n);
    std::optional<Parts> scalar_quotient(DType t, const Parts& x, const Parts& y);
    bool binary_complex_scalars(int nb, const Value& a, const Value& b, Value* out);

    // ---- build/complex.cpp ----
    bool cast_complex(ExprRef* e, DType to);
    bool promote_complex(const Value& a, const Value& b, DType* out);
    bool binary_complex(int nb_op, const Value& a, const Value& b, Value* out);
    bool several(const Value& dest);
    bool keeps_order(int nb_op, const Value& right);
    bool squares_into(const Value& dest);
    bool binary_complex_ufunc(const std::string& name, const Value& a, const Value& b, Value* out);
    bool compare_complex(int py_op, const Value& a, const Value& b, Value* out);
    bool unary_complex(const std::string& name, const Value& a, Value* out);
    bool element_expr(const Value& v, DType to, ExprRef* out);  // as assigning v to an element converts
    bool complex_part(const Value& a, int which, Value* out);
    bool is_lazy_part(const Value& v) const;
    bool part_in_memory(const Value& v, Value* out);
    ExprRef modulus(const ExprRef& z);
    bool complex_operands(const std::vector<Value>& in, DType t, Operands* out);
    static ExprRef pair(DType t, ExprRef re, ExprRef im);

    // ---- sites.cpp: memory of arrays that it makes ----
    static constexpr int kSite = -1;  // in a `scratch`, until number_cells
    int site_here();
    int keep_clear(int site, graph::Inst* inst);
    void number_cells();

    // ---- emission ----
    ValueId emit(graph::Inst inst, graph::RegionType type, bool may_leave = false);
    void emit_effect(graph::Inst inst);  // makes nothing
    ValueId const_int(int64_t v);
    ValueId const_float(double v);
    ValueId const_bool(bool v);
    std::optional<int64_t> known_int(ValueId id) const;
    ValueId pointwise(graph::Op op, DType operand, DType result, std::vector<ValueId> in);
    ValueId cast(ValueId v, DType from, DType to);
    ValueId checked(graph::RegionOp op, DType t, ValueId a, ValueId b);
    ValueId call(const graph::RegionCall& c, DType operand, DType result, std::vector<ValueId> in);
    int call_index(const graph::RegionCall& c);
    ValueId extent(ValueId array, int axis);
    bool guard(ValueId cond, bool expected = true);
    // With `made_of`, the operands of the one operation that made it: infinities and NaNs that these are
    // raise no flag.
    bool finite(ValueId v, DType t, const std::vector<ValueId>& made_of = {});
    void effect() { s_.resume = nullptr; }
    // Of the innermost frame's stack.
    int stack_base(const State& s) const {
        const int cells = s.levels.size() == 1 ? static_cast<int>(found_.stored_places.size()) : 0;
        return s.levels.back().base + s.levels.back().code->nlocalsplus + cells;
    }
    int stack_base() const { return stack_base(s_); }
    const CodeInfo& code() const { return *s_.levels.back().code; }
    Value& local(int i) { return s_.slots[static_cast<size_t>(s_.levels.back().base + i)]; }
    bool inside(int pc) const { return s_.levels.size() > 1 || inside_[static_cast<size_t>(pc)]; }

    // ---- stack ----
    Value pop();
    void push(Value v) {
        if (const auto in = input_of_.find(v.id); in != input_of_.end())
            asked_.insert(out_->inputs[static_cast<size_t>(in->second)].slot);
        s_.slots.push_back(std::move(v));
    }
    Value& top(int from_top = 0) { return s_.slots[s_.slots.size() - 1 - static_cast<size_t>(from_top)]; }
    bool refuse(Reason reason, std::string detail);
    Did restart() {
        learnt_ = true;
        return Did::Restart;
    }
    bool unknown(std::string what) { return refuse(Reason::RegionOp, std::move(what)); }
    PyObject* keep(PyObject* o);  // borrowed, kept alive with the region

    Frame& f_;
    const CodeInfo& code_;
    const int header_;
    int nlocals_;
    std::vector<char> inside_;   // per instruction: in the loop
    std::vector<char> stored_;   // per local: the loop rebinds it
    std::vector<char> exposed_;  // per local: the loop may read it before it has bound it
    std::map<const CodeInfo*, std::map<int, int>> loop_ends_;  // of a header: its last back edge
    const CodeInfo* failed_code_ = nullptr;
    std::map<const CodeInfo*, std::vector<char>> leaders_;
    Findings found_;  // kept between attempts
    Aliasing aliasing_{found_};
    std::unique_ptr<BuiltRegion> out_;
    graph::Region* r_ = nullptr;
    std::unordered_map<ValueId, int> input_of_;
    std::set<int> asked_;  // entry slots that something may have been decided by
    std::map<std::pair<int, std::string>, int> version_index_;
    std::map<std::pair<int, int>, int> versions_per_pc_;                       // of path and instruction
    std::map<std::pair<int, std::string>, std::vector<int>> header_versions_;  // of a header in its context
    std::vector<PyRef> source_objects_;  // what BuiltRegion::sources lead to now
    std::map<int, Value> source_values_, list_values_;
    std::map<int, Value> sequences_;  // by entry slot: its items as an array
    std::map<int, Table> rows_;       // by entry slot: its rows
    std::set<int> stored_lists_;      // entry slots of lists that are stored to
    std::set<int> appended_;          // entry slots of lists that are appended to
    int nesting_ = 0;                 // of tuples and lists that are looked into
    std::set<ValueId> dense_;         // arrays in the region's own memory, in one piece
    // This attempt has found out something, with which all is built again should it fail; `stale_`: and even
    // should it not.
    bool learnt_ = false, stale_ = false;
    const BuildBudget budget_;
    int64_t work_ = 0, begun_ = 0, looked_at_clock_ = 0;
    std::map<std::string, int> sites_;
    int cells_ = 0;
    int site_ordinal_ = 0;  // within the instruction
    std::deque<Version> versions_;
    std::vector<int> todo_;
    State s_;
    graph::BlockId block_ = -1;
    bool ended_ = false;
    int pc_ = 0;
    std::unordered_map<ValueId, int64_t> consts_;
    std::unordered_map<std::string, ValueId> same_;  // pure instructions of this block: equal ones are one
    std::map<std::pair<ValueId, int>, ValueId> extents_;  // of arrays that are inputs or made in this block
    // Extents of inputs that are 2 or more: what they are while the region is built.
    std::map<ValueId, int64_t> plural_;
    Reason reason_ = Reason::None;
    std::string detail_;
};

}  // namespace stator::frontend::regions
