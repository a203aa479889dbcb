// What came of functions that have the same text.
//
// A program that makes a function by `exec` each time it needs one, as templates and class factories do, has
// other code each time, and nothing that was recorded of one function serves the next. What can be carried
// over is whether it pays: so many functions in a row of one text as were begun with (decoded, recorded)
// without serving them ever having won, so many times the next one has to be called before it is begun with.
//
// A text is known by what the code object says of it. Two that are taken for one share a verdict, never a
// trace.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "frontend/policy.h"

namespace stator::frontend {

class Text {
  public:
    // Whether a function that was called so often has to wait.
    bool waits(int64_t calls) const { return in_vain_ >= policy().texts_in_vain && calls <= in_vain_; }
    void begin() { ++in_vain_; }
    void win() { in_vain_ = 0; }

  private:
    int64_t in_vain_ = 0;  // functions begun with since one of them won
};

// Lives as long as the process. Under the GIL.
Text& text_of(PyCodeObject* code);
void forget_texts();

}  // namespace stator::frontend
