// The recorder: watches instructions that the driver executes for real, keeps a shadow beside every slot of
// the frames it looks at, and builds the trace's graph through a TraceBuilder.
//
// For each instruction the driver calls `before`, executes it, and calls `after`. Either may answer Close:
// the trace then ends with a snapshot *before* that instruction (whose shadows are still untouched), and the
// instruction is an ordinary Python step between two traces. Nothing the recorder does can change what the
// program observes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "frontend/cpython/code.h"
#include "frontend/cpython/frame.h"
#include "frontend/cpython/stepper.h"
#include "frontend/hosts/host.h"
#include "frontend/hosts/numpy/temporaries.h"
#include "frontend/trace_builder/trace_builder.h"

namespace stator::frontend {

// One frame under recording. `slots` parallels the frame's localsplus and stack.
struct Level {
    Frame* frame = nullptr;
    const CodeInfo* code = nullptr;
    int pc = 0;
    std::vector<ShadowRef> slots;
    ShadowRef func;           // inlined frames: the function
    int call_insn = -1;       // while an inlined call is in progress: its instruction
    bool constructs = false;  // ... which is of a class
    int kept = 0;             // ... how many slots on top of the stack are kept for when it has returned
};

// An ndarray, also one that only the host's own functions can read.
bool is_ndarray(const Operand& o);
// Whether calls of this builtin use up what they are given: sum, any, all.
bool consumes_items(PyObject* callable);
// Whether this is a function of np.random or random that draws numbers, a method bound to a hidden generator
// (draws.cpp); or a method that is called with this generator as its first argument.
bool is_draw(PyObject* callable);
bool is_draw_of(PyObject* generator, PyObject* callable);
// items[key] = value of a dict's items, key, value, ...
void set_item(std::vector<ShadowRef>& items, const ShadowRef& key, const ShadowRef& value);
// Whether `s` is, or holds, what may hold it: then they could not be told apart from what they were.
bool may_hold(const Shadow& s, const Shadow& holder);
// d.items(), d.keys() or d.values().
bool is_dict_view(const Shadow& s);
// A slice object of these parts; those not given are `none`.
ShadowRef slice_shadow(std::span<const Operand> parts, ShadowRef none);
// Whether calls of this builtin make what a loop runs over: range, enumerate, zip, reversed, iter.
bool makes_iterable(PyObject* callable);

class Recorder {
  public:
    // Starts at instruction `pc` of `frame`. `ok()` is false when this frame cannot be recorded from here.
    Recorder(Frame& frame, const CodeInfo& code, int pc);
    ~Recorder() { b_.forget_cells(); }
    bool ok() const { return ok_; }
    void* owner = nullptr;  // the place that the finished trace goes to
    // Whether something else than this trace serves the loop with that header.
    std::function<bool(const CodeInfo& code, int header)> served = nullptr;

    enum class Verdict : uint8_t { Go, Close, Return };
    Verdict before(const Insn& insn);  // Return: the trace ends with this ReturnValue (base frame)
    numpy::TemporaryReuse::Held references() const;  // in between, to the topmost operands
    Verdict after(const Insn& insn, const numpy::TemporaryReuse& reuse);
    void raised();  // the instruction raised: what `before` recorded of it did not happen

    // Inlining: set by `before` when the next call should be followed into its frame.
    PyObject* pending_function() const { return pending_function_; }
    void enter_inlined(Frame& frame, const CodeInfo& code);
    void leave_inlined();  // the callee is about to return the value on top of its stack
    bool is_top(const Frame& f) const { return !levels_.empty() && levels_.back()->frame->raw() == f.raw(); }
    size_t depth() const { return levels_.size(); }

    // Ends the trace before the current instruction (Leave) or with the value on top (Return).
    void close(graph::EndKind kind);
    bool closed() const { return closed_; }
    // Of all objects: an inlined frame that ends a recording goes on while the recorder exists.
    void let_go();
    TraceBuilder& builder() { return b_; }
    // Why the trace was closed before the current instruction.
    Reason reason() const { return reason_; }
    const std::string& detail() const { return detail_; }

  private:
    using Handler = bool (Recorder::*)(const Insn&);
    struct Entry;
    static const Entry* table();

    Level& top() { return *levels_.back(); }
    PyObject* object_at(int i) { return top().frame->slot(i); }
    ShadowRef pop();
    void push(ShadowRef s);
    bool refuse(Reason r, std::string detail = {});
    void capture(int count);
    int pops(const Insn& insn) const;
    bool counts_references(const Insn& insn) const;
    bool may_be_temporary(const Operand& o) const;
    bool settle_reuse(const numpy::TemporaryReuse& reuse);
    bool settle_size(const Operand& o, int64_t itemsize, bool* large);
    ShadowRef cell_at(int slot);
    bool begins_comprehension(const Insn& get_iter);
    bool unrolls(const Insn& insn);
    int32_t take_snapshot();
    bool same_as_model(const ShadowRef& s, PyObject* result);
    bool push_result(ShadowRef s);  // checks against the real result on the frame's stack
    bool may_be_modelled(PyObject* callable);
    bool emit_guard(const ShadowRef& cond, bool value);
    void needs_bound(const ShadowRef& local);
    bool truth(const Operand& a, bool actual, bool* decided);
    // A call's operands, whatever its form: a bound self comes first, values of keywords last.
    struct CallParts {
        Operand callable;
        std::vector<Operand> args;
        PyRef kwnames;           // tuple, or null
        bool any_order = false;  // keywords come from a dict whose order is not guarded
    };
    bool call_parts(const Insn& insn, CallParts* out);
    static bool is_immutable(PyObject* value);
    bool spread_keywords(const Operand& dict, CallParts* out);
    bool prepare_inline(const Insn& insn, const CallParts& call);
    // record/objects.cpp
    struct Followed {
        PyObject* function = nullptr;
        ShadowRef shadow, first;      // of the function; its first argument
        ShadowRef object;             // calls of classes: what they give
        std::vector<ShadowRef> kept;  // on the caller's stack meanwhile
    };
    bool followed_by(const Operand& callable, Followed* out);
    bool construction(const Operand& callable, Followed* out);
    bool unwrap_partial(CallParts* call);  // record/partials.cpp
    ShadowRef new_partial(const CallParts& call);
    bool follow(const Followed& what, const CallParts& call, int operands);
    std::optional<bool> followed();
    bool may_return();
    bool prepare_property(const Insn& access);
    bool prepare_operator(const Insn& insn);
    guards::SourceId class_source(const Operand& o);
    ShadowRef made_object(const CallParts& call, PyObject* result);
    bool store_own(const ShadowRef& instance, PyObject* obj, PyObject* name, const ShadowRef& value);
    std::optional<std::vector<ShadowRef>> fields_at_entry(const Operand& tuple);
    ShadowRef replaced_fields(const CallParts& call, PyObject* result);
    bool bind_inlined(PyObject* func, const Shadow& known, const std::vector<ShadowRef>& args,
                      const CallParts& call, std::vector<ShadowRef>* locals, int nslots);
    ShadowRef constant_key(const Operand& key);  // record/dicts.cpp
    bool keys_known(const Operand& dict);
    ShadowRef entry_item(const Operand& dict, PyObject* key, PyObject* value);
    std::optional<std::vector<ShadowRef>> pairs_of(const ShadowRef& dict);
    std::optional<std::vector<ShadowRef>> keys_of(const ShadowRef& dict);
    std::optional<std::vector<ShadowRef>> items_of_view(const Shadow& view);
    ShadowRef dict_method(PyObject* callable, std::span<const Operand> args, PyObject* kwnames,
                          std::vector<ShadowRef>* items, bool* changed);
    ShadowRef new_dict(std::span<const Operand> args, PyObject* kwnames);
    bool dict_store_before();
    void dict_store_done();
    ShadowRef consumed(PyObject* callable, std::span<const Operand> args, PyObject* kwnames,
                       PyObject* result);  // record/consumers.cpp
    std::optional<std::vector<ShadowRef>> items_at_hand(const Operand& over);
    ShadowRef summed(std::span<const Operand> args, std::span<const Operand> items, PyObject* result);
    ShadowRef dict_get(std::span<const Operand> args, PyObject* kwnames);
    bool iterable(const Operand& o);  // record/loops.cpp
    std::optional<std::vector<ShadowRef>> known_items(const ShadowRef& iterable);
    // What a list that the trace made holds behind the call or the store.
    bool lets_go_of_finalizer(const Insn& insn);
    bool drawn_shape(std::string_view method, std::span<const Operand> args, PyObject* kwnames,
                     PyObject* result, Shape* out);
    ShadowRef drawn(const CallParts& call, PyObject* result);
    std::optional<std::vector<ShadowRef>> appended(PyObject* callable, std::span<const Operand> args,
                                                   PyObject* kwnames);
    ShadowRef list_method(PyObject* callable, std::span<const Operand> args, PyObject* kwnames,
                          std::vector<ShadowRef>* items);
    bool list_store(std::vector<ShadowRef>* items);
    bool is_walked(const Shadow& list) const;  // record/loops.cpp
    ShadowRef sequence_of(PyObject* type, std::span<const Operand> args, PyObject* kwnames);
    ShadowRef make_iterable(PyObject* callable, std::span<const Operand> args, PyObject* kwnames);
    bool loop_over(const Operand& over);
    bool loop_over_modules(const Operand& over);
    ShadowRef slice_of(std::span<const Operand> args, PyObject* kwnames);
    bool asks(PyObject* callable) const;  // record/queries.cpp
    ShadowRef answer(const CallParts& call, PyObject* result);
    ShadowRef type_of(const Operand& o);
    ShadowRef attribute_asked(const CallParts& call, PyObject* result);
    static bool stands_for_equals(const Operand& o);
    ShadowRef identity(PyObject* result);
    bool class_method(const Operand& base, PyObject* name, ShadowRef* out);
    bool call_isinstance(std::span<const Operand> args, PyObject* result, ShadowRef* out);
    ShadowRef builtin_method(const Host& host, const Operand& base, PyObject* name, PyObject* result);
    bool instance_attr(const Operand& base, PyObject* name, PyObject* result, ShadowRef* out,
                       ShadowRef* method_self);
    bool store_before(const Insn& insn);
    bool store_attr_before(const Insn& insn);  // record/attributes.cpp
    bool is_viewed(const ShadowRef& array);
    bool unpack_array(const Operand& a, int count);
    ShadowRef sequence_binary(int nb_op, PyObject* result);  // record/sequences.cpp
    ShadowRef sequence_slice(const Operand& base, const Operand& key, PyObject* result);
    ShadowRef sequence_compare(int py_op, PyObject* result);

    bool on_nothing(const Insn&);
    bool on_pop_top(const Insn&);
    bool on_push_null(const Insn&);
    bool on_copy(const Insn&);
    bool on_swap(const Insn&);
    bool on_load_fast(const Insn&);
    bool on_load_fast_and_clear(const Insn&);
    bool on_store_fast(const Insn&);
    bool on_delete_fast(const Insn&);
    bool on_load_const(const Insn&);
    bool on_load_global(const Insn&);
    bool on_make_cell(const Insn&);  // record/closures.cpp
    bool on_load_deref(const Insn&);
    bool on_store_deref(const Insn&);
    bool on_delete_deref(const Insn&);
    bool on_copy_free_vars(const Insn&);
    bool on_make_function(const Insn&);
    bool on_set_function_attribute(const Insn&);
    bool on_get_iter(const Insn&);  // record/loops.cpp
    bool on_for_iter(const Insn&);
    bool on_map_add(const Insn&);
    bool on_load_attr(const Insn&);
    bool on_load_method(const Insn&);
    bool on_binary_op(const Insn&);
    bool on_subscript(const Insn&);
    bool on_slice(const Insn&);
    bool on_store_done(const Insn&);
    bool on_store_attr(const Insn&);
    bool on_compare(const Insn&);
    bool on_is(const Insn&);
    bool is_same_as_equal(const Operand& o);
    static bool answers_for_itself(PyObject* obj);
    bool on_contains(const Insn&);
    bool on_unary(const Insn&);
    bool on_not(const Insn&);
    bool on_build(const Insn&);
    bool on_list_append(const Insn&);
    bool on_list_extend(const Insn&);
    bool on_build_map(const Insn&);
    bool on_dict_merge(const Insn&);
    bool on_list_to_tuple(const Insn&);
    bool on_unpack(const Insn&);
    bool on_before_with(const Insn&);
    bool on_load_special(const Insn&);
    bool on_call(const Insn&);
    bool on_branch(const Insn&);

    TraceBuilder b_;
    std::vector<Level*> levels_;
    std::vector<std::unique_ptr<Level>> owned_;
    std::vector<PyRef> held_;  // operands of the current instruction
    std::vector<Operand> ops_;
    std::function<int32_t()> snapshot_fn_;
    size_t mark_ = 0;
    int walks_ = 0;         // iterators over dicts that loops of the trace are using: a change would end them
    int instructions_ = 0;  // that were looked at
    bool mid_frame_ = false;  // the trace begins where locals may or may not be bound
    bool ok_ = true, begun_ = false, closed_ = false, checkpoint_due_ = false;
    int32_t cached_snapshot_ = -1;
    PyObject* pending_function_ = nullptr;  // borrowed; alive on the frame's stack
    ShadowRef pending_func_shadow_;
    std::vector<ShadowRef> pending_locals_, pending_operands_;
    ShadowRef inline_result_;
    ShadowRef pending_object_;
    std::vector<ShadowRef> pending_kept_;
    bool inlined_ = false;
    Reason reason_ = Reason::None;
    std::string detail_;
};

}  // namespace stator::frontend
