// Recalling a frame from CPython's evaluator in the middle of one of its loops: on-stack replacement at a
// loop's header.
//
// A frame that is handed over runs in the evaluator until it ends. What it waits for may come meanwhile, so
// the main thread looks now and then, in a pending call. The evaluator makes such calls at jumps backwards,
// among other places. There the frame's variables and stack are copied, and the pending call raises; nothing
// in the frame handles that, so that the evaluator unwinds the frame and returns to whom it had it from, who
// drops the exception and goes on with the copy in another frame of the same function. Nobody can tell, as
// long as nobody had the frame's object, and nothing traces.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "frontend/cpython/frame.h"
#include "frontend/cpython/resume_frame.h"

namespace stator::frontend {

// What decides about a frame that the evaluator has.
class Recall {
  public:
    // How many iterations of each loop around the jump are still to come, outermost first; -1: nobody knows.
    struct Loop {
        int header = 0;  // index into CodeInfo::insns
        int64_t left = -1;
    };
    virtual ~Recall() = default;
    // The evaluator is at a jump backwards of the frame, to the last of these loops: whether the frame is
    // recalled.
    virtual bool wanted(const std::vector<Loop>& loops) = 0;
    // In how many ns to look again; 0: not any more.
    virtual int64_t next_look() = 0;
};

// Whether a frame of this code, run by this thread, can be recalled at all.
bool can_be_recalled(const Frame& f, const CodeInfo& code);
// As finish_default. When the frame was recalled the result is NULL without an error, and `recalled` is the
// frame as it was before the header of the loop.
PyObject* evaluate_until_recalled(Frame& f, int unit, const CodeInfo& code, Recall& decides,
                                  std::optional<ResumeFrame>* recalled);

// Goes on with a frame that was recalled, in another frame which `goes_on` makes: its level of the recursion
// limit is that of the frame before.
PyObject* in_its_place(PyThreadState* ts, const std::function<PyObject*()>& goes_on);
// The result of a frame that was recalled once more and that `in_its_place` has made: whoever called that
// goes on, with no error set, and the machine's stack is no deeper than before.
PyObject* unwind_recalled();

// How the main thread is asked to call `what` after a while (bindings/later.h): its result, when not 0, is
// that of a pending call that has raised.
using DoLater = void (*)(int64_t ns, int (*what)());
void set_do_later(DoLater how);

}  // namespace stator::frontend
