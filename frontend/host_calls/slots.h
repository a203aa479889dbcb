// What start_host_calls puts into NumPy's objects: each piece knows what was there, and asks it for whatever
// is not its own.
#pragma once

namespace stator::frontend {

// Whether calls may be answered now: they are wanted, and nothing has asked for plain Python.
bool host_calls_are_on();

void take_operators();   // of ndarray (operators.cpp)
void take_ufuncs();      // ufuncs.cpp
void take_functions();   // that look for __array_function__ (functions.cpp)
void take_new_arrays();  // np.array, np.asarray (new_arrays.cpp)
void take_methods();     // of ndarray (methods.cpp)

}  // namespace stator::frontend
