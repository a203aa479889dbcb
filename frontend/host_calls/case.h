// One of NumPy's functions, called in one way with arguments of some kinds: the traces of such a call, and
// whether they are quicker than NumPy.
//
// A case begins cold: NumPy serves it, and some calls are timed. When NumPy has spent policy().host_call_hot
// on it, a call is recorded; then NumPy and the trace take turns until it is known who is quicker. Tier 0
// serves what it is quicker for at once; code is made when that has run for a while, or when tier 0 is not
// quicker.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "frontend/function.h"
#include "frontend/host_calls/at_once.h"
#include "frontend/host_calls/tally.h"
#include "frontend/pyref.h"

namespace stator::frontend {

// One of NumPy's functions whose calls come here.
struct HostFunction {
    PyObject* callable;  // of a method the descriptor
    void (*give_back)(HostFunction&);
    void* place;  // for whoever has taken it
    Tally* tally;
    AtOnce at_once = nullptr;
    bool reads_lists = false;  // what it does to a list is what it does to the array of it
    bool served = false;
    bool has_cases = true;  // false: only what is answered at once is looked at
    int passed = 0;         // calls of cases that are NumPy's for good

    // Most of what it is called for is NumPy's: finding that out takes time in each call.
    void note_passed();
};

// A call of NumPy's function as it was made.
struct HostCall {
    HostFunction* function;
    PyObject* const* args;  // of a method the array first
    size_t nargsf;
    PyObject* names;                    // of the last arguments, or nullptr
    PyObject* (*ask)(const HostCall&);  // what has stood where the call came in
    const HostCall* as_made = nullptr;  // where an array stands here for a list

    size_t count() const {  // of all arguments
        return static_cast<size_t>(PyVectorcall_NARGS(nargsf)) +
               (names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0);
    }
    PyObject* by_numpy() const { return ask(as_made ? *as_made : *this); }
};
// The call's result: a case's, or NumPy's.
PyObject* serve(const HostCall& call);

// The arguments of a call as the wrapper gets them: lists and tuples are taken apart, because traces know
// what is in those that they make themselves.
class FlatArguments {
  public:
    static constexpr size_t kMost = 64;

    explicit FlatArguments(const HostCall& call);
    ~FlatArguments();
    FlatArguments(const FlatArguments&) = delete;
    bool fit() const { return fit_; }
    size_t count() const { return count_; }
    PyObject* const* values() const { return values_; }

  private:
    void add(PyObject* o);

    PyObject* values_[kMost];  // held: another thread may change a list
    size_t count_ = 0;
    bool fit_ = true;
};

class HostCase {
  public:
    // Holds what the call has, but for the arguments. May leave the case to NumPy for good.
    explicit HostCase(const HostCall& call);

    // Whether a call of this function with such a number and such names of arguments is one of this case's,
    // provided that the kinds of arguments are.
    bool is_called_like(const HostCall& call) const;
    // The call's result, or NULL with its exception.
    PyObject* serve(const HostCall& call);

    bool serves() const { return stage_ == Stage::Serves; }
    int64_t served() const { return served_; }

  private:
    enum class Stage : uint8_t {
        Cold,        // NumPy serves it, and is timed
        Hot,         // the next call is recorded
        Recording,   // in one thread: NumPy serves the others
        Compared,    // NumPy and the trace take turns
        AwaitsCode,  // tier 0 is not quicker
        Serves,
        NumPys,  // for good
    };
    PyObject* cold(const HostCall& call);
    PyObject* recorded(const HostCall& call);
    PyObject* compared(const HostCall& call);
    PyObject* missed(const HostCall& call);
    PyObject* timed(const HostCall& call);  // by NumPy
    PyObject* replayed(const HostCall& call);
    bool make_state(const HostCall& call);
    bool is_pure() const;
    bool is_detour() const;
    void conclude();
    void compare();

    HostFunction* function_;
    PyRef names_;
    size_t count_, flat_count_ = 0;
    PyRef wrapper_;  // a Python function that makes the call, from positional arguments
    std::unique_ptr<FunctionState> state_;
    Stage stage_ = Stage::Cold;
    bool has_code_ = false;  // was asked for
    int calls_ = 0, trials_ = 0, misses_ = 0, left_ = 0, recordings_ = 0;
    int64_t served_ = 0;
    static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();
    int64_t least_numpy_ = kUnknown, least_trace_ = kUnknown;  // of one call, ns
    int64_t spent_ = 0;                                        // by whoever serves it, ns
};

// Whether a case is at work in this thread: what it calls is NumPy's own.
bool in_host_case();

}  // namespace stator::frontend
