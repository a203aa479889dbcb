// A function's judges: one for each combination of kinds of arguments that it was called with. What was given
// up for ints stays open for floats.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "frontend/drive/judge.h"

namespace stator::frontend {

class Verdicts {
  public:
    // Nothing to time and nothing known against serving, for the only kinds there were so far: the one thing
    // that every call asks. Calls with other kinds that no trace is entered for go through `of` in the end.
    bool serves() { return count_ == 1 && judges_[0].judge.serves(); }
    // Calls of the only kinds there were so far were compared, and serving them won: nothing that one of them
    // costs needs to be entered into an account.
    bool won() const { return count_ == 1 && judges_[0].judge.won(); }
    // The judge of these kinds (a number that is equal for equal ones); `*fresh` when there was none.
    Judge& of(uint64_t kinds, bool* fresh) {
        for (size_t i = 0; i < count_; ++i)
            if (judges_[i].kinds == kinds) return *fresh = false, judges_[i].judge;
        *fresh = count_ < policy().judge_kinds;
        if (*fresh) judges_[count_++].kinds = kinds;
        return judges_[count_ - 1].judge;  // the last one serves all others
    }
    // Whether plain Python serves calls of all kinds, at least up to `*size` elements.
    bool all_retired(int64_t* size) const {
        *size = judges_[0].judge.lost();
        for (size_t i = 1; i < count_; ++i) *size = std::min(*size, judges_[i].judge.lost());
        return count_ > 0 && *size >= 0;
    }
    // Serving calls of some kind has won.
    bool any_won() const {
        bool won = false;
        for (size_t i = 0; i < count_; ++i) won |= judges_[i].judge.has_won();
        return won;
    }
    bool any_retired() const {
        bool retired = false;
        for (size_t i = 0; i < count_; ++i) retired |= judges_[i].judge.retired();
        return retired;
    }
    // Of the kinds whose plain calls take longest; see Judge::compared.
    Judge::Comparison compared() const {
        Judge::Comparison longest;
        for (size_t i = 0; i < count_; ++i)
            if (judges_[i].judge.compared().plain > longest.plain) longest = judges_[i].judge.compared();
        return longest;
    }
    void compare() {
        for (size_t i = 0; i < count_; ++i) judges_[i].judge.compare();
    }
    // What calls have saved that were not asked about one by one, ns.
    int64_t saving() const {
        int64_t all = 0;
        for (size_t i = 0; i < count_; ++i) all += judges_[i].judge.saving();
        return count_ ? all / static_cast<int64_t>(count_) : 0;
    }

    // Whether these are savings of calls inside, too.
    bool saving_includes_calls() const {
        bool all = true;
        for (size_t i = 0; i < count_; ++i) all &= judges_[i].judge.saving_includes_calls();
        return all;
    }

  private:
    struct OfKinds {
        uint64_t kinds = 0;
        Judge judge;
    };
    std::array<OfKinds, 6> judges_;  // as many as policy().judge_kinds may be
    size_t count_ = 0;
};

}  // namespace stator::frontend
