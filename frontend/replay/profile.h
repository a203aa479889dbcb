// Where the time of replays goes, measured only while somebody asks (stator.explain): otherwise a replay
// loads one pointer for it.
#pragma once

#include <chrono>
#include <cstdint>

namespace stator::frontend {

// Nanoseconds of this thread's replays while it is installed. What is left of `total` is the launch: finding
// memory, allocating results, filling in arguments and building what is returned.
struct Profile {
    int64_t replays = 0, total = 0;
    int64_t guards = 0;   // checks at entry, also those that failed
    int64_t kernels = 0;  // in compiled nests, or in tier 0
    int64_t host = 0;     // in calls left to the host's own functions
    int64_t loops = 0;    // in regions, which no replay is part of: not in `total`
};

// nullptr: nobody asks. Of each thread: a replay in another one may outlive the measurement.
extern thread_local constinit Profile* active_profile [[gnu::tls_model("initial-exec")]];

// Adds the time from here to the end of the block.
class Timed {
  public:
    explicit Timed(int64_t Profile::* field) : profile_(active_profile), field_(field) {
        if (profile_) [[unlikely]]
            since_ = now();
    }
    ~Timed() {
        if (profile_) [[unlikely]]
            profile_->*field_ += now() - since_;
    }
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;

  private:
    static int64_t now() {
        return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
    }
    Profile* profile_;
    int64_t Profile::* field_;
    int64_t since_ = 0;
};

}  // namespace stator::frontend
