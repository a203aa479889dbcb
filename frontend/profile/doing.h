// What each thread is doing, published while somebody wants to know: stator.explain adds up the time of one
// call's replays, the sampler (sampler.h) looks in from outside. Otherwise a replay loads one word for it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace stator::frontend {

enum class Activity : uint8_t {
    Guards,     // checks at entry, also those that fail
    Launch,     // the rest of a replay: finding memory, making results, going back to Python
    Kernels,    // compiled nests, or tier 0
    Library,    // a call left to the host's own function
    Region,     // entering and leaving a loop in native code
    Loop,       // its code
    Stepping,   // Python, one instruction after the other
    Recording,  // the same, and writing down what it does
    Building,   // a trace or a region
    Answering,  // a call of NumPy's by code that is not compiled (host_calls/host_calls.h)
    Comparing,  // a call as plain Python, of a function that is served otherwise
    Plain,      // the interpreter's
};
inline constexpr size_t kActivities = 12;

// What a level and those inside it are done for.
enum class Purpose : uint8_t { Program, Answer, Comparison };

// A line of a program.
struct SourceLine {
    std::string file, function;
    int line = 0;
    auto operator<=>(const SourceLine&) const = default;
};
// Each is made once and lives as long as the process: who looks in from outside need not ask whether what he
// found is still there. Under the GIL.
const SourceLine* source_line(const SourceLine& line);

// One level of what a thread is doing; lies on its stack. `magic` tells it from other memory, because a
// library that swaps stacks may have taken it away.
struct Doing {
    static constexpr uint64_t kMagic = 0x73'74'61'74'6f'72'64'6f;
    uint64_t magic = kMagic;
    Activity what = Activity::Plain;
    const SourceLine* line = nullptr;  // nullptr: that of the Python frame
    const void* frame = nullptr;       // Stepping, Recording: whose instructions
    const Doing* outer = nullptr;
    Purpose purpose = Purpose::Program;
};
// The innermost level of this thread.
extern thread_local constinit const Doing* now_doing [[gnu::tls_model("initial-exec")]];

// Nanoseconds of this thread's replays while it is installed.
struct Profile {
    int64_t replays = 0;
    std::array<int64_t, kActivities> ns{};  // levels inside included
    int64_t operator[](Activity a) const { return ns[static_cast<size_t>(a)]; }
};
// nullptr: nobody asks. Of each thread: a replay in another one may outlive the measurement.
extern thread_local constinit Profile* active_profile [[gnu::tls_model("initial-exec")]];

// How many want to know, kSampler for one who wants lines. The GIL guards it.
inline constexpr int kSampler = 1 << 16;
extern int watching [[gnu::visibility("hidden")]];

// A level from here to the end of the block. `line` is a function, called when somebody wants lines.
class Timed {
  public:
    template <class Line>
    Timed(Activity what, const Line& line, const void* frame = nullptr) : watched_(watching > 0) {
        if (watched_) [[unlikely]]
            begin(what, watching >= kSampler ? line() : nullptr, frame);
    }
    ~Timed() {
        if (watched_) [[unlikely]]
            end();
    }
    void change(Activity what) {
        if (watched_) [[unlikely]]
            doing_.what = what;
    }
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;

  private:
    void begin(Activity what, const SourceLine* line, const void* frame);
    void end();
    const bool watched_;
    Profile* profile_;
    int64_t since_;
    union {  // made by begin()
        Doing doing_;
    };
};

inline constexpr auto kFramesLine = []() -> const SourceLine* { return nullptr; };

}  // namespace stator::frontend
