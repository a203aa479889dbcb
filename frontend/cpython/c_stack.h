// How much of the thread's C stack is left. What stator does for a frame takes a kilobyte or two of it, where
// CPython takes none for a call of a Python function, and neither knows how large it is: 8 MiB in most main
// threads, what threading.stack_size() says in others.
#pragma once

namespace stator::frontend {

// Whether less than half of it, or less than 128 KiB, is left: then frames are the evaluator's. Always so in
// threads with less than that, never on a stack of which the system does not know.
bool c_stack_is_scarce();

}  // namespace stator::frontend
