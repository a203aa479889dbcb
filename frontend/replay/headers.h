// What happens when a frame arrives at a loop's header: run a region that admits it, or try to build one.
#pragma once

#include "frontend/replay/driver.h"

namespace stator::frontend {

enum class AtHeader : uint8_t {
    Nothing,  // go on as without regions
    Left,     // the loop is behind us: *pc is where Python goes on
    Step,     // Python has to execute at least the instruction at *pc
    Again,    // consider *pc anew
    Inside,   // *pc is a call; Python goes on in the frames of what it called, `inner`, and then behind it
    Raised,   // a Python error is set; *pc is the instruction to blame
};
AtHeader arrive_at_header(FunctionState::Impl& fs, CodePlaces& places, Frame& f, const CodeInfo& code,
                          int* pc, std::vector<ResumeFrame>* inner);

// Whether a loop around instruction `pc` is a region, or is about to be one: then its body needs no traces.
bool region_serves(const CodePlaces& places, int pc);

bool regions_on();

}  // namespace stator::frontend
