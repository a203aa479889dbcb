// Whether serving a function's calls pays: a few of them are timed, a few run as plain Python are timed too,
// and the function is retired (runs as plain Python) at the input sizes at which that is faster.
//
// "Size" is the number of elements of all arrays among the arguments. Larger inputs favour us, so that two
// sizes hold what was learnt: `lost_`, up to which plain Python won, and `won_`, from which serving did. A
// call between them is tried anew when it is several times larger than what lost. Growth that arguments do
// not show (arrays in attributes) is noticed by timing a plain call now and then; and every loss is tried
// again after so much time in plain calls that the trials cost about a percent, twice as much after each
// further loss.
//
// Calls that record, or that are served by tier 0 while code is being compiled, say nothing about what comes
// later. A replay from entry to return that takes less than its operations must cost NumPy
// (Sample::floor_ns), and a long call that is spent in native loops, have won without a call being given to
// plain Python.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "frontend/policy.h"

namespace stator::frontend {

class Judge {
  public:
    enum class Way : uint8_t {
        Serve,
        Plain,
        TimedServe,
        TimedPlain,  // the caller reports to `note`
    };
    struct Sample {
        int64_t ns;
        bool steady;       // neither recorded nor served by what compiled code is going to replace
        int64_t floor_ns;  // 0, or the least that plain Python can have taken (a replay from entry to return)
        bool native = false;  // a long call, most of it in loops of native code
        bool raised = false;  // compared with others that raised
    };

    // Nothing to time and nothing known against serving: the one thing that every call asks.
    bool serves() { return --countdown_ > 0 && lost_ < 0; }
    Way choose(int64_t size);
    // True: this was the call after which the function is retired.
    bool note(Way way, int64_t size, const Sample& sample);
    // Nothing in the function works on arrays: plain Python until larger ones come.
    void give_up(int64_t size);
    // In the middle of a call that was served it has cost so much beyond what plain Python takes, ns, that it
    // went on as that (ledger.h). `early`: before the code was there that is to serve it, which says little.
    void overdraw(int64_t size, int64_t cost, bool early = false);
    // What the calls that were served in a trial that was lost took beyond plain ones, ns.
    int64_t lost_by_trial() const {
        return served_.count * std::clamp<int64_t>(served_.best - plain_.best, 0, policy().judge_most_lost);
    }
    // What the last trial measured.
    std::string in_words() const;
    // What a call took at least when serving it was compared with plain Python the last time, ns; 0: that was
    // never done.
    struct Comparison {
        int64_t served = 0, plain = 0;
    };
    const Comparison& compared() const { return compared_; }
    // Somebody wants to know: serving has won without a plain call, and is compared with the next ones.
    void compare() {
        if (won() && compared_.plain == 0) countdown_ = 0;
    }
    // What serving a call saves, as far as that was measured, ns.
    int64_t saving() const { return saving_; }
    // Serving won, and nothing is being tried.
    bool won() const { return !trial_ && lost_ < 0; }
    // The same, or what has won is being looked at once more.
    bool has_won() const { return wins_ > 0 && lost_ < 0; }
    // After give_up, a call with larger arrays is being tried.
    bool gave_up() const { return gave_up_; }
    bool retired() const { return lost_ >= 0; }
    // Up to how many elements plain Python serves while nothing is tried; -1: it does not.
    int64_t lost() const { return trial_ ? -1 : lost_; }
    // Whether what is timed is to be compared: else it is one of the looks at what plain calls take.
    bool compares() const { return trial_; }
    // A plain call is next that is so short that nothing inside of it needs to be served meanwhile.
    bool compares_alone() const { return trial_ && served_.best < policy().judge_shared_call; }
    // What serving saves includes what serving calls inside saves.
    bool saving_includes_calls() const { return served_best_ < policy().judge_shared_call; }
    // So many plain calls were not shown to it.
    void pass(int64_t calls) { countdown_ -= std::min(calls, countdown_ - 1); }
    // So many more were not, in `ns` altogether at most; the next one is timed.
    void miss(int64_t calls, int64_t ns);
    // The program ran for so long while calls were shown to nobody (the hook of STATOR=all was off), ns. What
    // waits to be tried again waits no longer for that.
    static void let_pass(int64_t ns) { unseen += ns; }

  private:
    static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
    struct Times {
        int count = 0;
        int64_t best = kNever;
        void add(int64_t ns) {
            ++count;
            if (ns < best) best = ns;
        }
    };
    void begin_trial(int64_t size);
    Way next_sample() const;
    bool judge();
    void win();
    void lose();
    void note_comparison();
    void look(int64_t ns);
    void wait(int64_t ns);
    void look_after(int64_t ns);  // of a plain call; 0: nobody knows

    static inline int64_t unseen = 0;  // under the GIL
    int64_t countdown_ = 1;            // calls until one is timed
    int64_t look_each_ = 1;            // plain calls for which one that is timed stands
    int64_t lost_ = -1, won_ = kNever;
    bool trial_ = true, gave_up_ = false;
    int64_t size_ = -1;  // of the calls that count in this trial, -1: the first one decides
    Times served_, plain_;
    int64_t floor_ = 0;  // of this trial's replays; 0: compare with plain calls
    int others_ = 0;     // calls of other sizes during the trial
    int restarts_ = 0;
    int wins_ = 0, losses_ = 0;
    int64_t wait_ns_ = 0;    // time in plain calls until serving is tried again
    int64_t unseen_at_ = 0;  // as far as `unseen` is taken off that
    int64_t plain_ns_ = 0;   // the best plain call of the trial that was lost; 0: the next one is
    Comparison compared_;
    int64_t saving_ = 0, served_best_ = 0;  // as of the last trial that was won
    bool raises_ = false;                   // the calls of this trial
    bool grown_ = false;                    // the last look found calls to take much longer than that
};

}  // namespace stator::frontend
