// Log lines on their way to Python's logging (STATOR_LOG_TO=logging).
//
// A line may come from the compile thread, and on a thread of the program from the middle of a call that is
// being recorded or served, where no Python code of others may run: handlers are such code. So lines are
// kept, and the interpreter is asked for a pending call, which hands them over on the main thread between two
// instructions.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace stator::bindings {

// Keeps a line; takes no GIL. What handlers of such records cause themselves is dropped: each record would
// make another.
void keep_log_record(const std::string& line);
// (seconds since the epoch, the thread's native number, line) of each that is kept, which are then forgotten.
pybind11::list take_log_records();
// Hands what is kept to stator._log_records. Needs the GIL. What a handler raises is reported as unraisable.
void hand_over_log_records();

}  // namespace stator::bindings
