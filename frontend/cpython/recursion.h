// Recursion accounting for frames that stator drives: one Python level each, as the evaluator counts its own.
//
// The hook counts a frame in while a handler or body has it (RecursionLevel); the default evaluator counts
// for itself, so the level is given back around it (RecursionPause). Over the limit a handler's frame goes to
// the evaluator, which raises the RecursionError in the host's own words; a body always runs, it may have
// state to write back, and the evaluator raises when it gets the frame.
#pragma once

#include "frontend/cpython/raw/raw.h"

namespace stator::frontend {

class RecursionLevel {
  public:
    explicit RecursionLevel(PyThreadState* ts) : ts_(ts), within_limit_(raw::recursion(ts)-- > 0) {}
    ~RecursionLevel() { raw::recursion(ts_)++; }
    RecursionLevel(const RecursionLevel&) = delete;
    bool within_limit() const { return within_limit_; }

  private:
    PyThreadState* ts_;
    bool within_limit_;
};

// 3.12 and 3.13 also count C levels, two for each evaluator that is called from C, against a limit that the
// recursion limit does not move. A call that would have needed no C level without the hook gets them back;
// hook.cpp bounds how many.
class CRecursionCredit {
  public:
    explicit CRecursionCredit(PyThreadState* ts) : remaining_(raw::c_recursion(ts)) {
        if (remaining_) *remaining_ += 2;
    }
    ~CRecursionCredit() {
        if (remaining_) *remaining_ -= 2;
    }
    CRecursionCredit(const CRecursionCredit&) = delete;

  private:
    int* remaining_;
};

class RecursionPause {
  public:
    explicit RecursionPause(PyThreadState* ts) : ts_(ts), credit_(ts) { raw::recursion(ts_)++; }
    ~RecursionPause() { raw::recursion(ts_)--; }
    RecursionPause(const RecursionPause&) = delete;

  private:
    PyThreadState* ts_;
    CRecursionCredit credit_;
};

}  // namespace stator::frontend
