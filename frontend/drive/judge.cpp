// See judge.h.
#include "frontend/drive/judge.h"

#include <algorithm>
#include <utility>

namespace stator::frontend {

namespace {
constexpr int kPairs = 3;  // served and plain calls of a full trial
// The same of short calls where neither is a fourth ahead of the other, ns: one in three is hit by something.
constexpr int kClosePairs = 8;
// The same of what is ahead in calls that are not long: a process's first ones of a library are slow, two in
// a row.
constexpr int kShortPairs = 5;
constexpr int64_t kShortCall = 100'000;
// The same of calls so short that it matters whether CPython has specialized their code, which it does after
// eight of them, ns.
constexpr int kWarmPairs = 12;
constexpr int64_t kWarmedUpCall = 10'000;
// What is served has to be ahead by so much: that is noise, and plain Python has no risks.
constexpr int64_t kLead = 32;
constexpr int kServedFirst = 2;   // served calls before the first plain one
constexpr int kReplaysFirst = 6;  // the same for replays from entry to return, which seldom lose
constexpr int kGrowth = 4;        // factor in size or time that makes a new trial worth it
constexpr int64_t kFarAhead = 16;
// Calls that long are hit by little that makes a difference (a collection, a library's first call), and many
// of them would take long: two plain ones, or a single one, are enough where what is served is far ahead, ns.
constexpr int64_t kFewPlainCalls = 500'000, kOnePlainCall = 10'000'000;
constexpr int kOthers = 4, kRestarts = 8;
constexpr int64_t kLookEvery = 64;  // plain calls of a retired function between two that are timed
// Time in plain calls until what was lost is tried again, for each ns of the calls that were served and of
// their timing, of what was spent in vain, and of what was before the code was there.
constexpr int64_t kWaitForServed = 100, kWaitForSpent = 64, kWaitForCode = 16;
constexpr int64_t kTiming = 1000;  // of one call, ns
constexpr int64_t kFirstReview = 1024;
constexpr int64_t kPerPlain = 100;  // served time for each plain call of a review
constexpr int kMaxDoublings = 10;
}  // namespace

Judge::Way Judge::choose(int64_t size) {
    if (lost_ >= 0 && !trial_ && size < won_ && size > kGrowth * lost_) begin_trial(size);
    const bool serve = lost_ < 0 || size >= won_;
    if (trial_) {
        if (size_ < 0) size_ = size;
        const bool counts = size >= size_ / 2 && size / 2 <= size_;
        if (counts) return next_sample();
        if (++others_ > kOthers) {
            if (++restarts_ > kRestarts) {  // never twice alike: nothing can be compared
                win();
                return Way::Serve;
            }
            begin_trial(size);
            return next_sample();
        }
        return serve ? Way::Serve : Way::Plain;
    }
    if (countdown_ > 0) return serve ? Way::Serve : Way::Plain;
    if (!serve) return Way::TimedPlain;
    begin_trial(size);
    return next_sample();
}

void Judge::begin_trial(int64_t size) {
    trial_ = true;
    size_ = size;
    served_ = plain_ = {};
    floor_ = 0;
    others_ = 0;
    countdown_ = 0;
}

Judge::Way Judge::next_sample() const {
    const int first = floor_ > 0 ? kReplaysFirst : kServedFirst;
    if (served_.count < first) return Way::TimedServe;
    return served_.count - first < plain_.count ? Way::TimedServe : Way::TimedPlain;
}

bool Judge::note(Way way, int64_t size, const Sample& sample) {
    if (!trial_) {
        if (way == Way::TimedPlain) look(sample.ns);
        return false;
    }
    // A plain call may take hundreds of times as long.
    if (sample.native && !sample.raised) return win(), false;
    if (!sample.steady || size < size_ / 2 || size / 2 > size_) return false;
    if (served_.count + plain_.count == 0) raises_ = sample.raised;
    if (raises_ != sample.raised) {
        if (++others_ <= kOthers) return false;
        if (++restarts_ > kRestarts) return win(), false;
        begin_trial(size);
        raises_ = sample.raised;
    }
    if (way == Way::TimedPlain) {
        plain_.add(sample.ns);
    } else {
        // One call that was not replayed whole makes the others incomparable with the floor.
        floor_ = served_.count == 0 || floor_ > 0 ? sample.floor_ns : 0;
        served_.add(sample.ns);
    }
    return judge();
}

bool Judge::judge() {
    if (served_.count >= kServedFirst && floor_ > 0 && served_.best <= floor_) return win(), false;
    if (plain_.count == 0) return false;
    const auto ahead_of = [](const Times& a, const Times& b, int64_t part) {
        return a.best + a.best / part < b.best;
    };
    const bool is_short = plain_.best < kShortCall,
               close = is_short && !ahead_of(served_, plain_, 4) && !ahead_of(plain_, served_, 4);
    const bool few = plain_.best >= kFewPlainCalls, one = plain_.best >= kOnePlainCall,
               behind = served_.best >= plain_.best;
    const int pairs = plain_.best < kWarmedUpCall ? kWarmPairs
                      : close                     ? kClosePairs
                      : few || behind             ? kPairs
                                                  : kShortPairs;
    // One plain call that took a few times as long as usual may have been interrupted, a short one many
    // times. What has won before is only looked at once more.
    const int64_t ahead = plain_.best / std::max<int64_t>(served_.best, 1);
    const bool again = wins_ > 0 && !is_short, clear = served_.best / 2 >= plain_.best ||
                                                       ((one || again) && ahead >= kFarAhead) ||
                                                       ((few || again) && ahead >= 2 && plain_.count >= 2);
    if (!clear && plain_.count < pairs) return false;
    if (served_.best + served_.best / kLead <= plain_.best) return win(), false;
    lose();
    return true;
}

void Judge::win() {
    trial_ = gave_up_ = false;
    restarts_ = 0;
    if (wins_ > 0) losses_ = 0;  // what wins its trials and is lost in between goes on waiting longer
    if (served_.count > 0) {
        served_best_ = served_.best;
        saving_ = std::max<int64_t>(0, (plain_.count > 0 ? plain_.best : floor_) - served_.best);
    }
    won_ = std::min(won_, std::max<int64_t>(size_, 0));
    if (lost_ >= won_) lost_ = won_ - 1;
    countdown_ = kFirstReview << std::min(wins_++, kMaxDoublings);
    // A plain call may take as long as hundreds of served ones.
    if (plain_.count > 0)
        countdown_ = std::max(countdown_, kPerPlain * std::max(1, plain_.count / 2) *
                                              (plain_.best / std::max<int64_t>(served_.best, 1)));
}

void Judge::lose() {
    trial_ = gave_up_ = false;
    wins_ = 0;
    lost_ = std::max(lost_, size_);
    if (won_ <= lost_) won_ = kNever;
    plain_ns_ = plain_.best;
    grown_ = false;
    const int64_t ratio = std::clamp<int64_t>(served_.best / std::max<int64_t>(plain_.best, 1), 1, 10'000);
    wait(kWaitForServed * served_.count * (ratio * plain_ns_ + 2 * kTiming));
    saving_ = 0;
    countdown_ = kLookEvery;
}

// Until it is tried again, twice as long after each further loss.
void Judge::wait(int64_t ns) {
    wait_ns_ = ns << std::min(losses_++, kMaxDoublings);
    unseen_at_ = unseen;
}

void Judge::overdraw(int64_t size, int64_t cost, bool early) {
    trial_ = gave_up_ = false;
    wins_ = 0;
    lost_ = std::max(lost_, size);
    if (won_ <= lost_) won_ = kNever;
    plain_ns_ = 0;
    grown_ = false;
    wait((early ? kWaitForCode : kWaitForSpent) * cost);
    saving_ = 0;
    countdown_ = kLookEvery;
}

// A plain call of a retired function was timed.
void Judge::look(int64_t ns) {
    if (plain_ns_ == 0) plain_ns_ = ns;
    wait_ns_ -= unseen - std::exchange(unseen_at_, unseen);
    wait_ns_ -= kLookEvery * std::min(ns, kGrowth * plain_ns_);  // more is what interrupted it
    if (ns > kGrowth * plain_ns_) {
        if (grown_) return begin_trial(-1);
        grown_ = true;  // once may be chance
        countdown_ = 1;
        return;
    }
    grown_ = false;
    countdown_ = kLookEvery;
    if (wait_ns_ <= 0) begin_trial(-1);
}

void Judge::miss(int64_t calls, int64_t ns) {
    if (trial_ || gave_up_ || lost_ < 0) return;
    wait_ns_ -= plain_ns_ > 0 && calls > ns / plain_ns_ ? ns : calls * plain_ns_;
    countdown_ = 1;
}

void Judge::give_up(int64_t size) {
    trial_ = false;
    gave_up_ = true;
    lost_ = std::max(lost_, size);
    won_ = kNever;
    countdown_ = kNever;
}

}  // namespace stator::frontend
