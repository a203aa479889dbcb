// What code is known to change no array: by it variables that a trace has lost can be computed with certainty
// (frontend/replay/lost.h).
#pragma once

#include "frontend/cpython/code.h"
#include "frontend/cpython/frame.h"

namespace stator::frontend {

// Of an instruction that is about to be executed: it moves what there is, or computes with numbers and arrays
// of NumPy's.
bool changes_nothing(const Frame& f, const Insn& insn);
// Of all that lies ahead of a place, by the instructions alone.
bool changes_nothing_ahead(const CodeInfo& code, int pc);

}  // namespace stator::frontend
