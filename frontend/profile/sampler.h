// Where a program's time goes, by the lines of its source: stator.profile(), `python -m stator run --report`.
//
// A thread without the GIL wakes about once a millisecond and looks at each thread of Python's. One that is
// running gets a signal, whose handler notes down where it is: what of stator it is in (doing.h), the Python
// frames, and the machine's stack, from which follows whether NumPy or the interpreter is at work. One that
// waits is read from outside. The program must not notice:
//
// * The signal is SIGURG: nearly nobody uses it, and it is ignored by default, so that one which is on its
// way
//   when the program calls exec does not end what comes next. A handler that was there first is called for
//   signals that are not ours; where the program sets one later, no more are sent.
// * Only threads that are using their CPU get one, so that system calls which wait are not interrupted.
// * The handler takes no lock, asks for no memory, and reads all memory through the kernel: a frame that is
//   just being given back, or a stack that a library swapped away, reads as nothing.
// * Weights are what the thread's CPU clock says since the last sample: other processes do not count.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frontend/profile/doing.h"
#include "frontend/profile/images.h"

namespace stator::frontend {

// What a thread was doing, as a report tells it.
enum class Spent : uint8_t {
    Generated,  // in code that stator made, or that stands in for it
    Library,    // in NumPy's functions, called by replays and native loops
    Answered,   // answering NumPy's calls by Python code
    Compared,   // as plain Python, of which it is to be known how much slower it is
    Overhead,   // guards, launches, entering and leaving loops
    Recording,  // recording, and building what was recorded
    Stepped,    // Python in functions that stator drives: what traces leave out
    Plain,      // Python
    Import,     // of modules
    Waiting,    // for the disk, for others, for the GIL
};

struct SampleRow {
    SourceLine line;             // without a file: no line of the program's
    int first_line = 0;          // of the function
    const void* code = nullptr;  // of the function, which may be gone
    int flags = 0;               // of the code
    Spent spent = Spent::Plain;
    Native native = Native::Unknown;  // who did the work
    bool early = false;               // before the function had any generated code or library nodes
    int64_t ns = 0, samples = 0;
    int64_t first_ns = 0;  // when it was first seen, since sampling began
};

struct SampledProgram {
    std::vector<SampleRow> rows;
    int64_t wall_ns = 0, cpu_ns = 0;  // cpu: of all threads, stator's included
    int threads = 0;                  // of Python's
    bool interrupted = false;         // the program took the signal for itself
};

// Whose Python code is told as the line that called it: files that begin with one of `internal`, unless they
// begin with one of `external`. Importing those of `external` is importing.
struct SourceRules {
    std::vector<std::string> internal, external;
    std::string numpy;  // where NumPy's Python is
};

// Under the GIL. False with a reason.
bool start_sampling(SourceRules rules, std::string* why);
bool sampling();
SampledProgram stop_sampling();

}  // namespace stator::frontend
