// A cost that is measured again and again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "frontend/policy.h"

namespace stator::frontend {

// What something costs that is measured again and again, ns: on a machine that others use as well the same
// takes twice as long for seconds. No measurement counts for much more than the least of those before; the
// least is that of the last `cost_window` at least, so that what has become dearer is noticed.
class LeastCost {
  public:
    int64_t note(int64_t ns) {
        if (ns <= 0) return ns;  // it was less than what is taken off: of larger arrays than others
        if (++count_ % policy().cost_window == 0) old_ = std::exchange(new_, kNever);
        new_ = std::min(new_, ns);
        const int64_t least = std::min(old_, new_);
        return std::min(ns, least + least / policy().cost_noise_share);
    }

  private:
    static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
    int64_t old_ = kNever, new_ = kNever;
    int64_t count_ = 0;
};

}  // namespace stator::frontend
