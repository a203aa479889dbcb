// Which of two ways serves a loop that works on whole arrays: its region, or traces of its iterations.
//
// A region enters once and has no cost between iterations; a trace's kernels are fused, blocked and shared
// among threads, but each iteration enters one. Which is faster depends on the sizes of arrays, so it is
// measured: first some runs of the region, then, when one iteration was recorded and its code is there, a few
// iterations that traces serve. They cost at most `duel_iterations` iterations, in the middle of a run of the
// loop if need be. What won is looked at again when iterations take much longer, or much less, than they did.
//
// Where there are loops inside, these have regions of their own beside the traces of what is around them, and
// may be compared themselves first. Until their code is there they are stepped; so a loop is not compared if
// the interpreter alone would need longer for its instructions than the region takes: then nothing beats it.
// Nor are loops of which nobody knows how many iterations a run has (`while`, `zip`), if these are short.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "frontend/policy.h"

namespace stator::frontend {

class Duel {
  public:
    enum class Turn : uint8_t {
        Region,        // all iterations that are left
        OneIteration,  // of the region, which is left then
        Traces         // of the next iteration
    };
    // What an arrival at the header knows.
    struct Arrival {
        int64_t now;             // ns
        int64_t left;            // iterations to come
        int64_t recordings;      // of the function so far
        bool code_is_there;      // of all traces and loops in the loop; asked for while `waits()` only
        bool nested = false;     // it has loops inside
        bool undecided = false;  // who serves those; asked for while `waits()` only
    };

    void close() { state_ = State::Won; }  // it cannot be compared
    // The region is to be timed in its next run.
    bool measures() const { return state_ == State::Region; }
    bool waits() const { return state_ == State::Waiting || state_ == State::Recording; }
    // Something is being found out; calls meanwhile say little about later ones.
    bool undecided(int64_t now) const;
    bool traces_won() const { return state_ == State::Traces; }
    // The same, and this arrival is none of the few that are timed.
    bool passes() { return state_ == State::Traces && ++count_ % policy().duel_look_each > 1; }
    int64_t region_ns() const { return region_; }  // per iteration
    int64_t traces_ns() const { return traces_; }

    // Who serves the next iteration.
    Turn at_arrival(const Arrival& a);
    // A run of the region did so many iterations in `ns`, entering and leaving included. `steps`: of the
    // interpreter for them, where they were counted.
    void ran(int64_t ns, int64_t iterations, int64_t now, int64_t steps = 0);
    // It could not be left after one iteration.
    void is_one_piece() { stepwise_ = false; }
    bool is_stepwise() const { return stepwise_; }

  private:
    enum class State : uint8_t {
        Region,     // the region's first runs are timed
        Recording,  // iterations are given to the recorder, and to loops inside
        Waiting,    // the region serves until the traces' code is there
        Timing,     // iterations are given to the traces
        Won,        // the region serves
        Traces      // traces do
    };
    static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
    void begin(State s, int64_t now) { state_ = s, since_ = now, count_ = 0, before_ = {}; }
    Turn time(const Arrival& a);
    void end_window();
    Turn decide(int64_t now);
    Turn look(const Arrival& a);

    State state_ = State::Region;
    int count_ = 0;  // runs, declined arrivals or iterations in this state
    int reopened_ = 0;
    bool stepwise_ = true;  // iterations are so long that to leave the region after each of them costs little
    int64_t since_ = 0;     // when this state began, ns
    int64_t region_ = kNever, traces_ = kNever, quickest_ = kNever;
    Arrival before_{};              // the last one, while iterations are timed
    int64_t window_ns_ = 0;         // of the iterations that are averaged
    int window_ = 0, windows_ = 0;  // how many these are, and how many averages there were
};

// The duels of one loop: for each of its regions, by the size of the arrays at hand, and apart for runs of
// few iterations, where entering counts. Of alternating sizes each has its own answer.
class Duels {
  public:
    // The one for a run of the loop that begins, or goes on. `size`: bytes in all arrays of the frame, asked
    // for where a run begins.
    template <class Size>
    Duel& at(const void* region, int64_t left, Size size) {
        if (!now_ || region != region_ || left != left_ - 1) {
            region_ = region;
            now_ = &all_[{region, 2 * class_of(size()) + (left < policy().duel_few_left)}];
        }
        left_ = left;
        return *now_;
    }
    Duel* now() { return now_; }  // the one that was asked for last; nullptr: none was
    // Of a loop whose iterator does not tell how many iterations are left: arrivals are counted down from far
    // away.
    int64_t count_down() { return --unknown_; }
    bool undecided(int64_t now) const {
        return std::ranges::any_of(all_, [&](const auto& d) { return d.second.undecided(now); });
    }

  private:
    // Sizes within a factor of four, more or less, are alike.
    static int class_of(int64_t bytes) { return std::bit_width(static_cast<uint64_t>(bytes)) / 2; }
    std::map<std::pair<const void*, int>, Duel> all_;
    Duel* now_ = nullptr;
    const void* region_ = nullptr;
    int64_t left_ = 0, unknown_ = int64_t{1} << 40;
};

}  // namespace stator::frontend
