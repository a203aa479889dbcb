// When a frame that was handed to the evaluator comes back.
//
// While a loop's code is being made the loop is stepped, as long as the purse allows; then the frame is the
// evaluator's. It is recalled when there is something to come back for: a loop around the place where it is
// comes round soon and has code that was not there before, or could be made native and there are funds again.
// A loop comes round soon when the jump is its own, or when it did several rounds since the last look.
#pragma once

#include <cstdint>
#include <vector>

#include "frontend/cpython/recall.h"
#include "frontend/drive/driver.h"

namespace stator::frontend {

class ComingBack final : public Recall {
  public:
    ComingBack(FunctionState::Impl& fs, CodePlaces& places);
    // Whether there may be something to come back for. An overdrawn account does not speak against code that
    // nobody tried yet.
    static bool is_possible(const FunctionState::Impl& fs, const CodePlaces& places);
    bool wanted(const std::vector<Loop>& loops) override;
    int64_t next_look() override;
    // The loop that it came back for, or nullptr.
    LoopHeader* target() const { return target_; }

  private:
    int64_t until_round(const std::vector<Loop>& loops, size_t k, int64_t now) const;
    LoopHeader* find(const std::vector<Loop>& loops, bool ready, int64_t now);

    FunctionState::Impl& fs_;
    CodePlaces& places_;
    const int64_t since_;
    std::vector<Loop> before_ = {};  // at the last look
    int64_t looked_at_ = 0;          // when that was, ns
    int64_t nearest_ = 0;  // until a loop with code comes round, as far as the last look could tell, ns
    LoopHeader* target_ = nullptr;
};

}  // namespace stator::frontend
