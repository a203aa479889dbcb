// The Python frames of a thread as they lie in memory, for whoever looks without the GIL: from a signal
// handler, or from another thread. Nothing is trusted: all memory is read through a function that fails where
// there is none.
#pragma once

#include <cstddef>
#include <string>

namespace stator::frontend {

using SafeRead = bool (*)(const void* from, void* to, size_t bytes);

struct FrameMark {
    const void* frame;
    const void* code;
    int unit;  // of the instruction that it is at
};
// Innermost first; how many there are, at most `most`. Safe in a signal handler when `read` is.
int walk_frames(const void* thread_state, FrameMark* marks, int most, SafeRead read);
// The function that runs bytecode.
const void* evaluator_function();
// Of the calling thread, or nullptr; safe in a signal handler.
const void* this_thread_state();
// Of another thread, by its number in the kernel; nullptr when it has none.
const void* find_thread_state(int tid, SafeRead read);

// What is known of a code object without touching its reference count.
struct CodeText {
    std::string file, function;
    int first_line = 0, flags = 0;
    std::string lines;  // the location table
    const void* identity[3] = {};
    int line_of(int unit) const;
};
// What tells whether the code object at an address is the one that was read before. False: there is none.
bool identify_code(const void* code, const void* (&identity)[3], SafeRead read);
bool read_code(const void* code, CodeText* text, SafeRead read);

}  // namespace stator::frontend
