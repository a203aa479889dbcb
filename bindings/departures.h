// Under STATOR=all a state goes when nobody but stator has its function any more.
//
// A state keeps its function's code and globals, as a function does. A decorated function owns its state, so
// CPython's collector sees these references. Nobody owns the state of a candidate: what it keeps would stay
// for ever, and globals that exec was given with it. So the collector, before it begins, has us look for
// states whose code or globals nothing else refers to, or only what such states keep.
#pragma once

namespace stator::bindings {

struct Candidate;

// The candidate has been given a state.
void note_state(Candidate& c);
// No state goes any more because of that.
void end_departures();

}  // namespace stator::bindings
