// What happens when a frame arrives at a loop's header: run a region that admits it, or try to build one.
#pragma once

#include "frontend/drive/driver.h"

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
bool region_serves(const FunctionState::Impl& fs, CodePlaces& places, int pc);
// The loops around it, those around calls that led here included; less the one of header `apart_from`.
LoopsAround loops_around(const FunctionState::Impl& fs, const CodePlaces& places, int pc,
                         int apart_from = -1);
// Whether `pc` is a loop's header where a region may be entered: a trace ends in front of it.
bool region_begins(const FunctionState::Impl& fs, const CodePlaces& places, int pc);

bool regions_on();

}  // namespace stator::frontend
