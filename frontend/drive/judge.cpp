// See judge.h.
#include "frontend/drive/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace stator::frontend {

namespace {
// Whether calls with so many elements in all arrays are compared with each other.
bool are_alike(int64_t a, int64_t b) {
    const int64_t times = policy().judge_same_size;
    return a >= b / times && a / times <= b;
}
}  // namespace

Judge::Way Judge::choose(int64_t size) {
    if (lost_ >= 0 && !trial_ && size < won_ && size > policy().judge_growth * lost_) begin_trial(size);
    const bool serve = lost_ < 0 || size >= won_;
    if (trial_) {
        if (size_ < 0) size_ = size;
        if (are_alike(size, size_)) return next_sample();
        if (++others_ > policy().judge_others) {
            if (++restarts_ > policy().judge_restarts) {  // never twice alike: nothing can be compared
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
    // A second long one may take many times as long as a plain one.
    const bool is_long = floor_ == 0 && served_.count > 0 && served_.best >= policy().judge_one_call_from;
    const int first = is_long ? 1 : floor_ > 0 ? policy().judge_replays_first : policy().judge_served_first;
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
    if (!sample.steady || !are_alike(size, size_)) return false;
    if (served_.count + plain_.count == 0) raises_ = sample.raised;
    if (raises_ != sample.raised) {
        if (++others_ <= policy().judge_others) return false;
        if (++restarts_ > policy().judge_restarts) return win(), false;
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
    const Policy& p = policy();
    if (served_.count >= p.judge_served_first && floor_ > 0 && served_.best <= floor_) return win(), false;
    if (plain_.count == 0) return false;
    const auto ahead_of = [](const Times& a, const Times& b, int64_t part) {
        return a.best + a.best / part < b.best;
    };
    const bool is_short = plain_.best < p.judge_short_call,
               close = is_short && !ahead_of(served_, plain_, p.judge_close_share) &&
                       !ahead_of(plain_, served_, p.judge_close_share);
    const bool few = plain_.best >= p.judge_few_calls_from, one = plain_.best >= p.judge_one_call_from,
               behind = served_.best >= plain_.best;
    const int pairs = plain_.best < p.judge_very_short_call ? p.judge_calls_cold
                      : close                               ? p.judge_calls_close
                      : few || behind                       ? p.judge_calls
                                                            : p.judge_calls_short;
    // One plain call that took a few times as long as usual may have been interrupted, a short one many
    // times. What has won before is only looked at once more.
    const int64_t ahead = plain_.best / std::max<int64_t>(served_.best, 1);
    const bool again = wins_ > 0 && !is_short,
               clear = served_.best / p.judge_clear >= plain_.best ||
                       ((one || again) && ahead >= p.judge_far_ahead) ||
                       ((few || again) && ahead >= p.judge_clear && plain_.count >= p.judge_few_calls);
    if (!clear && plain_.count < pairs) return false;
    if (served_.best + served_.best / p.judge_lead <= plain_.best) return win(), false;
    lose();
    return true;
}

std::string Judge::in_words() const {
    return fmt::format("{} served calls took {:.1f} us at least, {} plain ones {:.1f} us", served_.count,
                       1e-3 * served_.best, plain_.count, 1e-3 * plain_.best);
}

void Judge::note_comparison() {
    if (served_.count > 0 && plain_.count > 0) compared_ = {served_.best, plain_.best};
}

void Judge::win() {
    note_comparison();
    trial_ = gave_up_ = false;
    restarts_ = 0;
    if (wins_ > 0) losses_ = 0;  // what wins its trials and is lost in between goes on waiting longer
    if (served_.count > 0) {
        served_best_ = served_.best;
        saving_ = std::max<int64_t>(0, (plain_.count > 0 ? plain_.best : floor_) - served_.best);
    }
    won_ = std::min(won_, std::max<int64_t>(size_, 0));
    if (lost_ >= won_) lost_ = won_ - 1;
    countdown_ = policy().judge_first_review << std::min(wins_++, policy().judge_most_doublings);
    // A plain call may take as long as hundreds of served ones.
    if (plain_.count > 0)
        countdown_ = std::max(countdown_, policy().judge_per_plain * std::max(1, plain_.count / 2) *
                                              (plain_.best / std::max<int64_t>(served_.best, 1)));
}

void Judge::lose() {
    note_comparison();
    trial_ = gave_up_ = false;
    wins_ = 0;
    lost_ = std::max(lost_, size_);
    if (won_ <= lost_) won_ = kNever;
    plain_ns_ = plain_.best;
    grown_ = false;
    const int64_t ratio =
        std::clamp<int64_t>(served_.best / std::max<int64_t>(plain_.best, 1), 1, policy().judge_most_ratio);
    wait(policy().judge_wait_for_trial * served_.count *
         (ratio * plain_ns_ + 2 * policy().judge_timing_cost));
    saving_ = 0;
    look_after(plain_ns_);
}

// A plain call is timed when what is waited for could be over, and now and then.
void Judge::look_after(int64_t ns) {
    look_each_ = ns > 0 ? std::clamp<int64_t>(wait_ns_ / ns, 1, policy().judge_look_each) : 1;
    countdown_ = look_each_;
}

// Until it is tried again, twice as long after each further loss.
void Judge::wait(int64_t ns) {
    wait_ns_ = ns << std::min(losses_++, policy().judge_most_doublings);
    unseen_at_ = unseen;
}

void Judge::overdraw(int64_t size, int64_t cost, bool early) {
    trial_ = gave_up_ = false;
    wins_ = 0;
    lost_ = std::max(lost_, size);
    if (won_ <= lost_) won_ = kNever;
    plain_ns_ = 0;
    grown_ = false;
    wait((early ? policy().judge_wait_for_code : policy().judge_wait_for_debt) * cost);
    saving_ = 0;
    look_after(0);
}

// A plain call of a retired function was timed.
void Judge::look(int64_t ns) {
    if (plain_ns_ == 0 || ns < plain_ns_) plain_ns_ = ns;
    wait_ns_ -= unseen - std::exchange(unseen_at_, unseen);
    wait_ns_ -= look_each_ * std::min(ns, policy().judge_growth * plain_ns_);  // more is what interrupted it
    if (ns > policy().judge_growth * plain_ns_) {
        if (grown_) return begin_trial(-1);
        grown_ = true;  // once may be chance
        countdown_ = look_each_ = 1;
        return;
    }
    grown_ = false;
    look_after(plain_ns_);
    if (wait_ns_ <= 0) begin_trial(-1);
}

void Judge::miss(int64_t calls, int64_t ns) {
    if (trial_ || gave_up_ || lost_ < 0) return;
    wait_ns_ -= plain_ns_ > 0 && calls > ns / plain_ns_ ? ns : calls * plain_ns_;
    countdown_ = look_each_ = 1;
}

void Judge::give_up(int64_t size) {
    trial_ = false;
    gave_up_ = true;
    lost_ = std::max(lost_, size);
    won_ = kNever;
    countdown_ = kNever;
}

}  // namespace stator::frontend
