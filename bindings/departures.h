// What was learnt goes when what it was learnt of does.
//
// Under STATOR=all a state goes when nobody but stator has its function any more. A state keeps its
// function's code and globals, as a function does. A decorated function owns its state, so CPython's
// collector sees these references. Nobody owns the state of a candidate: what it keeps would stay for ever,
// and globals that exec was given with it.
//
// Of all states, traces and regions go that can never be entered again, because a class, a function or
// another object that they were made for is gone but for them.
//
// So the collector, before it begins, has us look for what nothing else refers to, or only what is to go,
// too.
#pragma once

namespace stator::bindings {

struct Candidate;

// Imports what begin_departures needs: later, audit hooks of the program would hear of it.
void prepare_departures();
// From now on the collector asks.
void begin_departures();
// The candidate has been given a state.
void note_state(Candidate& c);
// Nothing goes any more because of that.
void end_departures();

}  // namespace stator::bindings
