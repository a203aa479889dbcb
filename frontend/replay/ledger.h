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
//     cost <= savings + program time / kShare + allowance.
//
// *Investments* (recording, building) are paid once and serve all later calls. The process has one purse for
// them: it begins with an endowment, a small share of the time that the program's threads compute is added
// (a program that waits, or that other processes keep from the cores, has not become longer), and a part of
// what was saved. Where it is empty nothing new is recorded or built, which every place is asked for again
// later.
//
// Costs that are too short to be measured are counted and multiplied by what one of them takes here
// (nanoseconds below); counts are the same in each process, so that what is decided by them is, too.
#pragma once

#include <algorithm>
#include <cstdint>

namespace stator::frontend {

// What a stepped instruction takes beyond what it would take in the evaluator.
inline constexpr int64_t kStepCost = 40;
// Guards of a trace or region that is not entered after all.
inline constexpr int64_t kRefusedEntryCost = 200;

class Account {
  public:
    // All of these in ns.
    void pay(int64_t cost) { debt_ += cost; }
    void earn(int64_t saved) { debt_ = std::max(debt_ - saved, -kMostCredit); }
    // The program itself took so long.
    void ran(int64_t time) { earn(time / kShare); }
    bool overdrawn() const { return debt_ > kAllowance; }
    int64_t debt() const { return debt_; }
    // The account begins anew: what it stands for is tried once more.
    void open() { debt_ = 0; }

    static constexpr int64_t kAllowance = 1'000'000;  // ns
    static constexpr int64_t kShare = 64;

  private:
    // What was saved long ago does not pay for what is lost now.
    static constexpr int64_t kMostCredit = 2'000'000;
    int64_t debt_ = 0;
};

// The process's purse for recording and building.
class Purse {
  public:
    // Whether something new may be recorded or built now.
    bool open();
    // Nothing is left for waiting either.
    bool exhausted() { return balance() < -kOverdraft; }
    void invest(int64_t ns) { invested_ += ns; }
    void save_by_calls(int64_t ns) { saved_ += ns; }
    void save_by_loops(int64_t ns) { saved_ += ns, by_loops_ += ns; }
    // What is in it, ns.
    int64_t balance();
    int64_t invested() const { return invested_; }
    int64_t saved_by_loops() const { return by_loops_; }

    static constexpr int64_t kEndowment = 20'000'000, kOverdraft = 10'000'000;  // ns

  private:
    static constexpr int64_t kTimeShare = 40, kSavingsShare = 2;
    int64_t sum() const;
    // The thread's clock is a system call, and time by the wall at least what threads have computed while one
    // of them at a time runs Python: an empty purse looks at the clock when that could have filled it.
    int64_t computed_ = 0, looked_at_ = 0;
    int64_t invested_ = 0, saved_ = 0, by_loops_ = 0;
};
Purse& purse();  // under the GIL

}  // namespace stator::frontend
