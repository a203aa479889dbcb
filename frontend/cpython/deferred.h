// Signals and pending calls wait while a library's function runs on behalf of code that no frame stands for:
// their handlers would see variables as they were, and what they raise would be taken for the function's.
#pragma once

namespace stator::frontend {

// While alive, the calling thread serves none; what has come then is served where Python next looks. Other
// threads are as ever. Without effect where the running CPython's layout is not the one this was built for.
class DeferredSignals {
  public:
    DeferredSignals();
    ~DeferredSignals();
    DeferredSignals(const DeferredSignals&) = delete;

  private:
    unsigned long thread_ = 0;  // the main thread's, when it is this one; else 0
};

}  // namespace stator::frontend
