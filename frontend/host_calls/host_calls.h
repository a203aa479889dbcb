// Calls of NumPy's functions on small arrays by code that is not compiled.
//
// Of np.cross of two vectors of three numbers, 27 us, hardly 100 ns are arithmetic: the rest is NumPy's own
// Python, and what each of its ten operations does before and after its loop. Traces have such a call as a
// few instructions. This folder lets code profit that is in no trace: functions that were given back, that
// nobody decorated, or that run once.
//
// NumPy's functions that look for __array_function__ are objects with a vectorcall slot of their own. From
// `start_host_calls` on the slot is ours. What is called often with arguments of the same kinds is recorded,
// as if the program had decorated `lambda a, b: np.cross(a, b)`, and from then on answered by that trace, if
// it is measured to be quicker. Whatever the trace does not admit, or leaves, is called as always: the
// functions that are served change nothing but what they give, so a call may be begun and dropped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stator::frontend {

// From now on, once. Nothing where this NumPy has no such slots.
void start_host_calls();

// Off: every call is NumPy's.
void set_host_calls(bool on);
// Whether NumPy makes each call as well, and has to give the same (STATOR_VERIFY).
void set_host_calls_verified(bool on);

// What was answered since start or reset: NumPy's function, method or an operator, and how many calls.
struct HostCallCount {
    std::string name;
    int64_t calls;
};
std::vector<HostCallCount> host_call_counts();
void reset_host_call_counts();

}  // namespace stator::frontend
