// Something to be done on the main thread after a while.
#pragma once

#include <cstdint>

namespace stator::bindings {

// `what` is called on the main thread, with the GIL, between two instructions of the program, `ns` from now
// or somewhat later; a wish for the same that waits is replaced. It gives 0, or -1 with an error set, which
// the program's next instruction raises. Forks do not change that: the thread that waits is gone while the
// process forks, and begins anew in both.
void do_later(int64_t ns, int (*what)());
// Nothing is done any more; the thread that waits is gone when this returns.
void end_later();

}  // namespace stator::bindings
