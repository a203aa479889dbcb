// Access to CPython's private interpreter frames: the only interface through which the rest of the frontend
// touches them. Implemented once per minor version (v311 ... v315).
//
// Rules that keep this correct are in docs/design/frames.md; in short: a frame is *linked* (visible to
// sys._getframe, tracebacks) while anything runs on its behalf, its instruction pointer is AT the executing
// instruction, every slot below the stack pointer is valid, and it is unlinked before the default evaluator
// gets it.
#pragma once

#include <cstdint>

#include "frontend/cpython/code.h"
#include "frontend/pyref.h"

struct _PyInterpreterFrame;

namespace stator::frontend {

class Frame {
  public:
    Frame(PyThreadState* ts, _PyInterpreterFrame* raw) : ts_(ts), raw_(raw) {}
    PyCodeObject* code() const;
    PyObject* function() const;  // borrowed PyFunctionObject
    PyObject* globals() const;   // borrowed
    PyObject* builtins() const;  // borrowed
    // Whether its names are those of its globals: a module, a notebook's cell, `exec` in one namespace.
    bool is_at_module_level() const;
    int unit() const;               // the next code unit to execute, for a frame that is not executing
    int depth() const;              // valid slots: localsplus, then stack
    PyObject* slot(int i) const;    // borrowed; NULL for an empty slot
    bool is_borrowed(int i) const;  // the slot has no reference of its own
    bool slot_is_object(
        int i) const;        // false for 3.14's tagged integers (the lasti slot): never read those as objects
    int lasti(int i) const;  // the unit in a lasti slot (pushed for handlers with Handler::push_lasti)
    void init_lasti(int i, int unit);        // makes slot i one, without releasing
    void set_slot(int i, PyObject* steal);   // releases the old value after the write
    void init_slot(int i, PyObject* steal);  // overwrites without releasing
    void push(PyObject* steal);
    PyObject* pop();  // owned; NULL for an empty slot; not for a lasti slot
    PyObject* peek(int from_top) const { return slot(depth() - 1 - from_top); }  // 0 = top
    void drop(int n);
    void clear_slots();          // releases everything and sets depth to 0 (entry of a resumed frame)
    void set_depth(int n);       // slots below n must be valid
    void set_unit_at(int unit);  // instruction pointer AT the executing instruction (op_unit)
    int unit_at() const;         // what set_unit_at set
    void link();
    void unlink();  // no effect on a frame that is not linked
    bool is_linked() const;
    // For a frame that was rebuilt before the instruction at `pc`, or, `in_call`, inside of the call there:
    // what LOAD_FAST_BORROW of 3.14 and later had pushed has no reference of its own, as C code that counts
    // references (ndarray.resize) can tell. Nothing to do on older versions.
    void borrow_loads(const CodeInfo& code, int pc, bool in_call);
    // How many slots of the calling frame's stack hold the object, while its call is executed step by step:
    // they are released when the call returns. 0 where CPython hands arguments over.
    int held_by_caller(const PyObject* o) const;
    // Whether somebody has its frame object, and may look at its line and its variables when it has ended.
    bool is_held() const;
    PyThreadState* ts() const { return ts_; }
    _PyInterpreterFrame* raw() const { return raw_; }

  private:
    PyThreadState* ts_;
    _PyInterpreterFrame* raw_;
};

// How a frame that stator drives ends. Each consumes the frame, linked or not; the result is what the
// eval-frame function returns.
PyObject* finish_return(Frame& f, const CodeInfo& code, PyObject* steal_value);  // as RETURN_VALUE would
PyObject* finish_default(Frame& f, int unit);  // unlinked; the default evaluator continues at `unit`
// The variable in slot `i` of a frame that has ended and whose object is still there, if it has none.
void fill_ended(PyFrameObject* frame, int i, PyRef value);
// Whether a variable of a frame, or of one of the innermost 64 that are running, is this object. It may have
// died.
bool is_variable_of(PyFrameObject* frame, const PyObject* o);
bool is_variable_of_frames(PyThreadState* ts, const PyObject* o);
PyObject* finish_raise(Frame& f, const CodeInfo& code,
                       int insn_index);  // a Python error is set; raised at the
                                         // instruction: traceback, handlers and `__context__` as eager's

// The eval-frame hook. A handler receives frames of the calling thread while a HookScope is alive (scopes
// nest); frames of other threads, generators, and frames the handler declines go on as without a hook. If a
// foreign hook is installed it is chained: frames that no handler takes reach it.
using FrameHandler = bool (*)(void* ctx, Frame& frame,
                              PyObject** result);  // true = taken, *result is the outcome
class HookScope {
  public:
    HookScope(FrameHandler handler, void* ctx);
    ~HookScope();
    HookScope(const HookScope&) = delete;
    // The handler has what it waited for, and is in the middle of it: frames from now on are not offered to
    // it, and do not go through the hook on its account.
    void end();

  private:
    FrameHandler saved_handler_;
    void* saved_ctx_;
    int saved_depth_;
    bool ended_ = false;
};
// From now on the calling thread's frames that no scope's handler takes are offered to `watcher`. After every
// `often` hooked calls `stays` is asked; when it says no the hook goes, unless somebody else needs it, until
// `watch_again`, which takes the GIL for granted and does nothing while frames are watched.
void watch_frames(FrameHandler watcher, int often, bool (*stays)());
void watch_again();
bool foreign_hook_present();

// While alive, frames of the calling thread are not offered to its handler and watcher (HookScopes begun
// meanwhile work).
class HookPause {
  public:
    HookPause();
    ~HookPause();
    HookPause(const HookPause&) = delete;

  private:
    FrameHandler saved_handler_, saved_watcher_;
};

// While alive, if it is wanted and the calling thread's frames are watched, they are not, and are pushed as
// if there were no hook.
class UnwatchedCall {
  public:
    explicit UnwatchedCall(bool wanted);
    ~UnwatchedCall();
    UnwatchedCall(const UnwatchedCall&) = delete;

  private:
    FrameHandler watcher_;
    bool off_ = false;
};

// A call that pushes a real frame of `func`'s code and hands it, empty, to `body` before anything in it runs.
// `clone` is make_clone(func): same code, globals and closure, all parameters defaulted, so it can be called
// without arguments.
PyObject* make_clone(PyObject* func);
using FrameBody = PyObject* (*)(void* ctx, Frame& frame);
// The body must end the frame with a finish_* function and return its result, and runs even when the
// recursion limit is reached (the default evaluator then raises). Works with and without a HookScope and
// under a foreign hook. NULL with the body not called (an error is set) only when CPython could not push the
// frame.
PyObject* call_with_frame(PyObject* clone, FrameBody body, void* ctx);

// Calls a program from its outermost frame: what it calls sees no frame of ours around it, by
// `sys._getframe`, in stacks that are printed, and in how deep it may recurse.
PyObject* call_as_program(PyObject* callable, PyObject* args);

// Whether tracing, profiling or monitoring (of everything or of `code`) is active so that frames must be left
// alone.
bool is_traced(PyThreadState* ts, PyCodeObject* code = nullptr);
// Whether monitoring of this code alone is active (3.12 on): what it is a part of must not run without it.
bool is_watched(PyCodeObject* code);
bool eval_breaker_set(PyThreadState* ts);
int recursion_left(PyThreadState* ts);  // calls of Python functions until RecursionError
// How often one thread has followed another in running Python; more than one thread could.
unsigned long thread_switches(PyThreadState* ts);
bool has_other_threads(PyThreadState* ts);
// eval_breaker_set as a word in memory: set when any bit of *mask is.
const volatile int32_t* breaker_word(PyThreadState* ts, int32_t* mask);

}  // namespace stator::frontend
