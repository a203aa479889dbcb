// See duel.h.
#include "frontend/drive/duel.h"

#include <algorithm>

namespace stator::frontend {

bool Duel::undecided(int64_t now) const {
    const bool compares = state_ == State::Recording || state_ == State::Waiting || state_ == State::Timing ||
                          (state_ == State::Region && count_ > 0);
    return compares && now - since_ < policy().duel_patience;
}

void Duel::ran(int64_t ns, int64_t iterations, int64_t now, int64_t steps) {
    if (iterations < 1) return;
    const int64_t each = ns / iterations;
    if (state_ == State::Region && steps * policy().duel_instruction > ns) {
        region_ = std::min(region_, each);
        return begin(State::Won, now);
    }
    if (state_ == State::Won && each / policy().duel_growth > region_ && reopened_ < policy().duel_reopened) {
        ++reopened_;
        region_ = traces_ = quickest_ = kNever;
        stepwise_ = true;
        begin(State::Region, now);
    }
    const bool stepped = stepwise_ && iterations == 1;
    if (each < policy().duel_stepwise_from) stepwise_ = false;
    if (state_ != State::Region) return;
    if (count_ == 0) since_ = now;
    if (stepped && !stepwise_) return;  // what entering and leaving takes would count for it
    region_ = std::min(region_, each);
    if (++count_ < policy().duel_runs) return;
    // Entering a trace takes longer than that.
    begin(region_ < policy().duel_least ? State::Won : State::Recording, now);
}

Duel::Turn Duel::at_arrival(const Arrival& a) {
    if (a.left < 1) return state_ == State::Traces || state_ == State::Timing ? time(a) : Turn::Region;
    const bool steps = stepwise_ && a.left > policy().duel_iterations;
    switch (state_) {
        case State::Region: return steps ? Turn::OneIteration : Turn::Region;
        case State::Recording:
            if (count_ == 0) since_ = a.now;
            if (a.nested && a.now - since_ > policy().duel_patience) break;
            // Loops inside would be stepped until they have code.
            if (a.nested && count_ > 0 && !a.code_is_there) return steps ? Turn::OneIteration : Turn::Region;
            // An iteration after which nothing was recorded is one that traces serve as a whole, as far as
            // they can.
            if (count_ > 0 && a.recordings == before_.recordings && !a.undecided) {
                begin(State::Waiting, a.now);
                return steps ? Turn::OneIteration : Turn::Region;
            }
            if (++count_ > (a.nested ? policy().duel_nested_recordings : policy().duel_recordings)) break;
            before_ = a;
            return Turn::Traces;
        case State::Waiting:
            if (a.code_is_there) {
                begin(State::Timing, a.now);
                return time(a);
            }
            if (a.now - since_ > policy().duel_patience) break;
            return steps ? Turn::OneIteration : Turn::Region;
        case State::Timing:
        case State::Traces: return time(a);
        default: return Turn::Region;
    }
    begin(State::Won, a.now);
    return Turn::Region;
}

// An iteration ended where the range has one less left than at the arrival before.
Duel::Turn Duel::time(const Arrival& a) {
    if (state_ == State::Traces) return look(a);
    const bool followed = before_.now > 0 && a.left == before_.left - 1;
    if (!followed) {
        end_window();
    } else if (a.recordings == before_.recordings) {
        const int64_t took = a.now - before_.now;
        quickest_ = std::min(quickest_, took);
        window_ns_ += took;
        ++count_;
        if (++window_ == policy().duel_window || a.left < 1) end_window();
    } else {
        window_ns_ = window_ = 0;
    }
    before_ = a;
    // None of a few iterations came near.
    if (count_ >= policy().duel_few && quickest_ / 2 > region_) return decide(a.now);
    if (windows_ >= policy().duel_windows || count_ >= policy().duel_iterations ||
        a.now - since_ > policy().duel_patience) {
        end_window();
        return decide(a.now);
    }
    return Turn::Traces;
}

void Duel::end_window() {
    if (window_ > 0) traces_ = std::min(traces_, window_ns_ / window_), ++windows_;
    window_ns_ = window_ = 0;
}

Duel::Turn Duel::decide(int64_t now) {
    const bool traces = traces_ != kNever && traces_ + traces_ / policy().duel_lead < region_;
    windows_ = 0;
    begin(traces ? State::Traces : State::Won, now);
    return traces ? Turn::Traces : Turn::Region;
}

// Traces serve. One iteration in a while is timed: with arrays that are much smaller the region may be
// faster.
Duel::Turn Duel::look(const Arrival& a) {
    if (before_.now > 0 && a.left == before_.left - 1 &&
        (a.now - before_.now) * policy().duel_growth < traces_ && reopened_ < policy().duel_reopened) {
        ++reopened_;
        region_ = traces_ = quickest_ = kNever;
        stepwise_ = true;
        begin(State::Region, a.now);
        return Turn::Region;
    }
    before_ = a;
    return Turn::Traces;
}

}  // namespace stator::frontend
