// What may yet be executed: behind a loop its header is not, however large the function is.
//
// From an instruction on that is at most everything from the lowest target on which a jump or a handler there
// leads to, and from those further ones. Only jumps that close loops and some handlers lead back.
#include "frontend/cpython/raw/raw.h"

#include <algorithm>
// raw.h must come first.
#include "frontend/cpython/code.h"

namespace stator::frontend {

void CodeInfo::compute_first_ahead() {
    const auto n = static_cast<int32_t>(insns.size());
    first_ahead.resize(insns.size());
    int32_t lowest = n;  // of all instructions so far, and of where they lead directly
    for (int32_t i = n - 1; i >= 0; --i) {
        lowest = std::min(lowest, i);
        if (insns[i].target >= 0) lowest = std::min(lowest, insns[i].target);
        if (Handler h; find_handler(i, &h)) lowest = std::min(lowest, h.target);
        first_ahead[i] = lowest;
    }
    // Forwards: those that are led back to know already where they lead in the end.
    for (int32_t i = 0; i < n; ++i) first_ahead[i] = std::min(first_ahead[i], first_ahead[first_ahead[i]]);
}

}  // namespace stator::frontend
