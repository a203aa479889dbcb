// Why a region was not entered: what it expected of the frame, and what it found.
//
// Entering tests one fact after the other (region.cpp) and keeps which one failed, no more. The sentence is
// made while the frame is still as it was, seldom: a loop may be refused each time that it is arrived at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frontend/cpython/code.h"
#include "frontend/regions/build/built_region.h"

namespace stator::frontend::regions {

struct Refusal {
    enum Why : uint8_t {
        None,
        OtherStack,  // the frame holds more, or fewer, unfinished values
        Watched,     // a debugger or profiler wants to see a function that is a part of it
        Threads,     // there are others, to which late stores could be seen
        Lost,        // `index`: the source that leads nowhere
        OtherObject,
        OtherFunction,
        NotSame,   // `index`, `other`: slots of what was one object
        NotApart,  // ... and of what was two
        NotEmpty,
        OtherLength,    // `index` into BuiltRegion::lengths
        Rebound,        // ... pinned
        OtherCode,      // ... functions
        NotStorable,    // ... cells
        TooDeep,        // too few calls are left until RecursionError
        Underflow,      // NumPy was asked to tell of it
        OtherInput,     // ... inputs
        OtherGuarded,   // ... guarded
        Overlap,        // arrays of which one is written lie in the same memory
        RowsAreShared,  // of a list whose rows change
    };
    Why why = None;
    int index = -1;  // an entry slot, if nothing else is said
    int other = -1;
    friend bool operator==(const Refusal&, const Refusal&) = default;
};

// `slots`: what find_objects found so far. No exception is raised.
std::string in_words(const Refusal& r, const BuiltRegion& b, const CodeInfo& code,
                     const std::vector<PyObject*>& slots);

}  // namespace stator::frontend::regions
