// STATOR=all: functions that nobody decorated. See all_functions.cpp.
#pragma once

#include "frontend/function.h"

namespace stator::bindings {

// From now on functions of the calling thread that are called often and are given arrays are recorded and
// replayed as if they were decorated. Calling it again does nothing.
void start_all();

// A piece of the program begins now that will run for as long as it does, such as a notebook's cell: the hook
// is there for it, whatever what came before has cost. Nothing where all functions are not watched.
void expect_program();

// Lets go of the functions: what they lead to, modules' globals with open files among it, goes with the
// interpreter only if nobody holds it. To be called when the stance is Eager for good; calls that other
// threads are in keep theirs.
void end_all();

// Why the function with this code, which may be gone, is not recorded; None when it has been looked into.
frontend::Reason why_not_taken(const void* code);

}  // namespace stator::bindings
