// Functions that are given back to CPython: while plain Python is known to serve all their calls they have
// CPython's own vectorcall, so that a call costs what one of an undecorated function does.
//
// Nothing is seen of such calls. So after a while the functions get stator's vectorcall again, for the few
// calls of a look: arguments of other kinds or sizes, or time that has passed, may have made serving them
// worth a try. Looks that find nothing come at twice the distance each time, up to a quarter of a second: a
// look and the call sites that CPython specializes once more after it cost some microseconds, the calls
// between two of them nothing. What wakes up is a thread that sleeps (later.h), and the main thread begins
// the looks: while that one waits for others, there are none.
//
// Only functions that are function objects can be given back; the few that are wrappers are not.
#pragma once

#include "bindings/shared_states.h"

namespace stator::bindings {

void give_back(SharedState* shared);
// At once, because what was known is out of date.
void take_back(SharedState* shared);
void take_back_all();
// Drops the traces and counters; no call may be in progress.
void reset_state(SharedState* shared);
// The same, when none is any more.
void reset_soon(SharedState* shared);
// The state goes away.
void forget_given_back(SharedState* shared);

}  // namespace stator::bindings
