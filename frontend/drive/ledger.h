// What stator costs and what it saves: the bound that "never slower" stands on.
//
// There are two kinds of cost, and each has a bound of its own.
//
// *Running cost* recurs: instructions that are stepped, guards that fail, loops that are entered and left,
// replays that take longer than what they replace. A function and each of its loops have an Account of it.
// Cost is a debt; what native code saves pays it, and so does a small share of the time that the program
// itself takes. When the debt passes the allowance, the account is overdrawn: frames at hand go on in
// CPython's evaluator, in the middle of a call or of a loop. So for each account, at any moment, over all
// calls that it stood open,
//
//     cost <= savings + program time / account_time_share + account_allowance.
//
// *Investments* (recording, building) are paid once and serve all later calls. *Trials* are running cost of
// functions for which serving has not won yet: a program of a thousand functions must not lose an allowance
// on each of them. The process has a purse with a fund for either: it begins with an endowment, a small share
// of the time that the program's threads compute is added (a program that waits, or that other processes keep
// from the cores, has not become longer), and a part of what was saved. No more than so much is kept, so that
// what is begun with after an hour loses no more in its first call than what a process begins with. Where
// nothing is left to invest nothing new is recorded or built, and where trials have used up theirs Python
// serves what has not won; both are asked for again later.
//
// Costs that are too short to be measured are counted and multiplied by what one of them takes here
// (nanoseconds below): steps, guards, entries. Counts are the same in each process, so that what is decided
// by them is, too. Replays of functions that have not won are timed, because what an interpreted one takes
// depends on the operations in it: what is decided by those may differ between processes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "frontend/policy.h"

namespace stator::frontend {

class Account {
  public:
    // All of these in ns.
    void pay(int64_t cost) { debt_ += cost; }
    void earn(int64_t saved) { debt_ = std::max(debt_ - saved, -policy().account_most_credit); }
    // The program itself took so long.
    void ran(int64_t time) { earn(time / policy().account_time_share); }
    bool overdrawn() const { return debt_ > policy().account_allowance; }
    int64_t debt() const { return debt_; }
    // The account begins anew: what it stands for is tried once more.
    void open() { debt_ = 0; }

  private:
    int64_t debt_ = 0;
};

// Time of the process that may be lost on one purpose, ns.
class Fund {
  public:
    constexpr Fund(int64_t endowment, int64_t share, int64_t most)
        : kept_(endowment), share_(share), most_(most) {}
    // What was spent earns nothing: it is no time of the program's own.
    void spend(int64_t ns) { spent_ += ns + ns / share_; }
    void add(int64_t ns) { kept_ += std::clamp<int64_t>(most_ - balance(), 0, ns); }
    // So much was computed since the last time, most of which may have been before anything was spent.
    void computed(int64_t ns) {
        kept_ = std::max(kept_, std::min(kept_ + ns / share_, most_)) - spent_;
        spent_ = 0;
    }
    int64_t balance() const { return kept_ - spent_; }
    // What there may be once so much computed time is added.
    int64_t balance_after(int64_t ns) const { return balance() + ns / share_; }

  private:
    int64_t kept_, spent_ = 0;
    int64_t share_, most_;
};

// The process's purse.
class Purse {
  public:
    // Whether something new may be recorded or built now.
    bool open() { return has(investments_); }
    // Nothing is left for waiting either.
    bool exhausted() { return !has(investments_, -policy().investments_overdraft); }
    void invest(int64_t ns) { invested_ += ns, investments_.spend(ns); }
    void save_by_calls(int64_t ns) { investments_.add(ns / policy().investments_savings_share); }
    void save_by_loops(int64_t ns) {
        by_loops_ += ns, investments_.add(ns / policy().investments_savings_share);
    }
    int64_t invested() const { return invested_; }
    int64_t saved_by_loops() const { return by_loops_; }
    const Fund& investments() const { return investments_; }
    const Fund& trials() const { return trials_; }
    // Whether functions may be served that have not won.
    bool may_try() { return has(trials_); }
    void try_out(int64_t ns) { trials_.spend(ns); }
    // What was spent so has won after all.
    void give_back(int64_t ns) { trials_.add(ns); }

  private:
    bool has(const Fund& fund, int64_t more_than = 0);
    void look();

    Fund investments_{policy().investments_begin, policy().investments_time_share,
                      policy().investments_most_kept};
    Fund trials_{policy().trials_begin, policy().trials_time_share, policy().trials_most_kept};
    // The thread's clock is a system call, and time by the wall at least what threads have computed while one
    // of them at a time runs Python: an empty fund looks at the clock when that could have filled it.
    int64_t looked_at_ = 0;
    int64_t invested_ = 0, by_loops_ = 0;
};
Purse& purse();  // under the GIL

}  // namespace stator::frontend
