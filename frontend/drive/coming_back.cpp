// See coming_back.h.
#include "frontend/drive/coming_back.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "frontend/clock.h"
#include "frontend/policy.h"

namespace stator::frontend {

namespace {

// Nobody knows what serving the loop is worth: it was never tried, or the code was never entered.
bool is_untried(const LoopHeader& h) {
    if (h.dead) return false;
    return h.attempts == 0 || std::ranges::any_of(h.regions, [](const auto& r) {
               return !r->failed() && !r->retired && r->entries == 0 && r->refused == 0;
           });
}

// Code that has refused each frame so far, because arrays overlap, say, is nothing to come back for.
bool has_code(const LoopHeader& h) {
    return !h.dead && std::ranges::any_of(h.regions, [](const auto& r) {
        return r->ready() && !r->failed() && !r->retired && (r->entries > 0 || r->refused == 0);
    });
}

bool may_get_code(const LoopHeader& h) {
    return !h.dead && h.regions.empty() && h.attempts < policy().header_attempts;
}

constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();

}  // namespace

ComingBack::ComingBack(FunctionState::Impl& fs, CodePlaces& places)
    : fs_(fs), places_(places), since_(now_ns()), nearest_(kUnknown) {}

bool ComingBack::is_possible(const FunctionState::Impl& fs, const CodePlaces& places) {
    if (places.open_headers == 0) return false;
    return !fs.account.overdrawn() ||
           std::ranges::any_of(places.headers, [](const auto& h) { return is_untried(h.second); });
}

// How long it takes until the loop at `k` comes round, ns, by what loops did since the last look. The last
// one is about to.
int64_t ComingBack::until_round(const std::vector<Loop>& loops, size_t k, int64_t now) const {
    if (k + 1 == loops.size()) return 0;
    if (k >= before_.size() || before_[k].header != loops[k].header) return kUnknown;
    const int64_t since = now - looked_at_;
    if (loops[k].left >= 0 && before_[k].left > loops[k].left)
        return since / (before_[k].left - loops[k].left);
    if (k + 1 >= before_.size() || before_[k + 1].header != loops[k + 1].header || loops[k + 1].left < 0)
        return kUnknown;
    const int64_t done = before_[k + 1].left - loops[k + 1].left;
    if (done > 0) return loops[k + 1].left * (since / done);
    // Nobody counts the rounds of a `while`, but a loop inside that has begun anew tells of one.
    return done < 0 && loops[k].left < 0 ? since : kUnknown;
}

LoopHeader* ComingBack::find(const std::vector<Loop>& loops, bool ready, int64_t now) {
    for (size_t k = 0; k < loops.size(); ++k) {
        LoopHeader* const h = places_.header_at[static_cast<size_t>(loops[k].header)];
        if (!h || !(ready ? has_code(*h) : may_get_code(*h))) continue;
        if (fs_.account.overdrawn() && !is_untried(*h)) continue;
        const int64_t until = until_round(loops, k, now);
        if (until <= policy().recall_near) return h;
        if (ready) nearest_ = std::min(nearest_, until);
    }
    return nullptr;
}

bool ComingBack::wanted(const std::vector<Loop>& loops) {
    const int64_t now = now_ns();
    nearest_ = kUnknown;
    target_ = find(loops, true, now);
    // Of a nest the outermost loop that comes round often enough: which one that is shows at the second look.
    const bool compared = loops.size() == 1 || (!before_.empty() && before_[0].header == loops[0].header);
    if (!target_ && compared && !fs_.awaits_code() && fs_.may_invest()) target_ = find(loops, false, now);
    before_ = loops;
    looked_at_ = now;
    return target_;
}

int64_t ComingBack::next_look() {
    if (!is_possible(fs_, places_)) return 0;
    const int64_t usual = std::clamp((now_ns() - since_) / policy().recall_look_share,
                                     policy().recall_first_look, policy().recall_last_look);
    return std::clamp(std::exchange(nearest_, kUnknown) - policy().recall_near / 2,
                      policy().recall_first_look / 8, usual);
}

}  // namespace stator::frontend
