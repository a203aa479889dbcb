// STATOR=all: functions that nobody decorated. See all_functions.cpp.
#pragma once

namespace stator::bindings {

// From now on functions of the calling thread that are called often and are given arrays are recorded and
// replayed as if they were decorated. Calling it again does nothing.
void start_all();

}  // namespace stator::bindings
