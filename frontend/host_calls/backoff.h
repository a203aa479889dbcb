// What is begun in vain time after time is tried less often: calls that report a floating-point fault, and so
// are made again by NumPy.
#pragma once

#include <algorithm>

#include "frontend/policy.h"

namespace stator::frontend {

class Backoff {
  public:
    // Whether this call is left to NumPy.
    bool skips() { return left_ > 0 && left_-- > 0; }
    void note(bool good) {
        if (!good) left_ = wait_ = std::min(2 * wait_ + 1, policy().host_call_backoff);
        if (good) wait_ = 0;
    }

  private:
    int left_ = 0, wait_ = 0;
};

}  // namespace stator::frontend
