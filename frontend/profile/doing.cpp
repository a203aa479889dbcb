// See doing.h.
#include "frontend/profile/doing.h"

#include <atomic>
#include <new>
#include <set>

#include "frontend/clock.h"

namespace stator::frontend {

thread_local constinit const Doing* now_doing = nullptr;
thread_local constinit Profile* active_profile = nullptr;
int watching = 0;

const SourceLine* source_line(const SourceLine& line) {
    static auto* const all = new std::set<SourceLine>;
    return &*all->insert(line).first;
}

void Timed::begin(Activity what, const SourceLine* line, const void* frame) {
    Purpose purpose = now_doing ? now_doing->purpose : Purpose::Program;
    if (purpose == Purpose::Program && what == Activity::Answering) purpose = Purpose::Answer;
    if (what == Activity::Comparing) purpose = Purpose::Comparison;
    new (&doing_) Doing{Doing::kMagic, what, line, frame, now_doing, purpose};
    profile_ = active_profile;
    since_ = profile_ ? now_ns() : 0;
    std::atomic_signal_fence(std::memory_order_release);
    now_doing = &doing_;
}

void Timed::end() {
    now_doing = doing_.outer;
    std::atomic_signal_fence(std::memory_order_release);
    doing_.magic = 0;
    if (profile_) profile_->ns[static_cast<size_t>(doing_.what)] += now_ns() - since_;
}

}  // namespace stator::frontend
