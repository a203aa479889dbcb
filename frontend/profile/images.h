// Which library code belongs to, by address.
#pragma once

#include <cstdint>
#include <vector>

namespace stator::frontend {

enum class Native : uint8_t {
    Unknown,    // the C library and others that everybody calls: look at who called them
    Evaluator,  // CPython's, where it runs bytecode
    Python,     // the rest of CPython, which everybody calls, too
    NumPy,
    // Routines of NumPy's that compiled code calls, too: it is they that take the time.
    LinearAlgebra,  // BLAS and LAPACK
    RandomNumbers,
    Fourier,
    Other,  // extensions
    Generated,
    Stator,
};

inline bool is_numpy(Native n) { return n >= Native::NumPy && n <= Native::Fourier; }

class Images {
  public:
    Images();
    Native of(const void* address);
    // Of code at `stack[0]`, called through the words behind it: who does the work. Words that are no return
    // addresses any more may lead astray, seldom.
    Native worker(const void* const* stack, int words);

  private:
    struct Range {
        uintptr_t begin, end;
        Native what;
    };
    const Range* find(uintptr_t address) const;
    void read_maps();
    std::vector<Range> ranges_;  // ascending
    uintptr_t evaluator_[2] = {0, 0};
    bool tail_calls_ = false;  // where the evaluator ends is not known: the rest of CPython counts as it
    int64_t read_at_ = 0;
};

}  // namespace stator::frontend
