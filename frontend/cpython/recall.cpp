// See recall.h.
#include "frontend/cpython/raw/raw.h"
// raw.h must come first.
#include "internal/pycore_runtime.h"

#include <algorithm>
#include <vector>

#include "frontend/clock.h"
#include "frontend/cpython/generator_list.h"
#include "frontend/cpython/iterators.h"
#include "frontend/cpython/recall.h"
#include "frontend/cpython/recursion.h"

namespace stator::frontend {

namespace {

DoLater do_later = nullptr;

// A frame that the evaluator has, of the main thread.
struct Evaluated {
    raw::IFrame* frame;
    const CodeInfo& code;
    Recall& decides;
    std::optional<ResumeFrame>* recalled;
    PyRef raised = {};  // what the pending call has raised: never seen by the program
};
// The innermost one is the last one, unless greenlets take turns.
std::vector<Evaluated*>& evaluated() {
    static std::vector<Evaluated*> all;
    return all;
}

// The loops around the instruction at `pc`, outermost first, and in `depth` how many slots of the frame are
// in use there. False where something else than what loops go through lies on the stack.
bool find_loops(const Evaluated& e, int pc, std::vector<Recall::Loop>* loops, int* depth) {
    const CodeLoops& all = e.code.loops();
    const auto at = [](int k) { return static_cast<size_t>(k); };
    *depth = e.code.nlocalsplus;
    std::vector<int> headers;
    for (int k = all.innermost[at(pc)]; k >= 0; k = all.loops[at(k)].around)
        headers.push_back(all.loops[at(k)].header);
    for (auto header = headers.rbegin(); header != headers.rend(); ++header) {
        Recall::Loop loop{*header, -1};
        if (e.code.insns[at(*header)].op == Opcode::ForIter) {
            const int slot = *depth;
            *depth += 1 + kAboveIterator;
            if (e.code.nlocalsplus + all.depth[at(*header)] != *depth) return false;
            const raw::slot_t iterator = e.frame->localsplus[slot];
            if (!raw::slot_is_object(iterator)) return false;
            PyObject* const o = raw::slot_object(iterator);
            if (!o || !PyIter_Check(o)) return false;
            for (int k = 1; k <= kAboveIterator; ++k) {
                const raw::slot_t above = e.frame->localsplus[*depth - k];
                if (!raw::slot_is_object(above) || raw::slot_object(above)) return false;
            }
            loop.left = items_left(o);
        }
        loops->push_back(loop);
    }
    return !loops->empty() && e.code.nlocalsplus + all.depth[at(pc)] == *depth;
}

// The jump backwards that the frame is at, or -1.
int jump_at(const CodeInfo& code, raw::IFrame* frame) {
    const int unit = raw::at(frame);
    for (size_t k = 0; k < code.insns.size(); ++k)
        if (const Insn& insn = code.insns[k];
            insn.op_unit == unit && insn.target >= 0 && (insn.flags & Insn::kBackward))
            return static_cast<int>(k);
    return -1;
}

// Whether somebody has the frame's object, or may have set something in it: that has to stay the frame's.
bool is_seen(raw::IFrame* f) {
    const PyFrameObject* o = f->frame_obj;
    if (raw::locals_dict(f) && !raw::is_at_module_level(f)) return true;
    return o && (Py_REFCNT(o) > 1 || o->f_trace || !o->f_trace_lines || o->f_trace_opcodes);
}

bool recall(Evaluated& e, PyThreadState* ts) {
    const int jump = jump_at(e.code, e.frame);
    Handler handler;
    if (jump < 0 || e.code.find_handler(jump, &handler) || is_traced(ts, e.code.code)) return false;
    // A function that was given other code since would be called with that.
    if (PyFunction_GET_CODE(raw::function(e.frame)) != reinterpret_cast<PyObject*>(e.code.code)) return false;
    if (is_seen(e.frame)) return false;
    const int header = e.code.insns[static_cast<size_t>(jump)].target;
    std::vector<Recall::Loop> loops;
    int depth = 0;
    if (!find_loops(e, header, &loops, &depth) || loops.back().header != header) return false;
    if (!e.decides.wanted(loops) || !(e.raised = PyRef::steal(PyObject_CallNoArgs(PyExc_RuntimeError))))
        return PyErr_Clear(), false;
    ResumeFrame& copy = e.recalled->emplace();
    copy.unit = e.code.insns[static_cast<size_t>(header)].unit;
    for (int i = 0; i < depth; ++i)
        copy.slots.push_back(Py_XNewRef(raw::slot_object(e.frame->localsplus[i])));
    return true;
}

// What stands for a frame that was recalled on its way to who goes on with it.
PyObject* passed_on() {
    static PyObject* const exception = PyObject_CallNoArgs(PyExc_RuntimeError);
    return exception;
}

// Not as `raise` does, which would have it refer to an exception that is being handled.
void set(PyObject* exception) {
    PyErr_Restore(Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(exception))), Py_NewRef(exception), nullptr);
}

// Whether this exception is set.
bool is_set(PyObject* exception) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    const bool is = value == exception;
    PyErr_Restore(type, value, traceback);
    return is;
}

int look();

int64_t due = 0;  // when the next look is, ns; 0: none was asked for

void look_later() {
    if (evaluated().empty()) return;
    const int64_t ns = evaluated().back()->decides.next_look(), at = now_ns() + ns;
    if (ns <= 0 || (due != 0 && due <= at)) return;
    due = at;
    do_later(ns, look);
}

int look() {
    due = 0;
    PyThreadState* const ts = PyThreadState_Get();
    const auto at = std::ranges::find(evaluated(), raw::current(ts), &Evaluated::frame);
    if (at != evaluated().end() && recall(**at, ts)) {
        set((*at)->raised.get());
        return -1;
    }
    look_later();
    return 0;
}

}  // namespace

void set_do_later(DoLater how) { do_later = how; }

bool can_be_recalled(const Frame& f, const CodeInfo& code) {
    return do_later && code.has_loops && _PyRuntime.main_thread == PyThread_get_thread_ident() &&
           f.ts()->interp == PyInterpreterState_Main() && passed_on() && !collects_generator(code.code);
}

PyObject* evaluate_until_recalled(Frame& f, int unit, const CodeInfo& code, Recall& decides,
                                  std::optional<ResumeFrame>* recalled) {
    Evaluated here{f.raw(), code, decides, recalled};
    evaluated().push_back(&here);
    look_later();
    PyObject* const result = finish_default(f, unit);
    std::erase(evaluated(), &here);
    look_later();
    if (!here.raised) return result;
    if (result || !is_set(here.raised.get())) {
        recalled->reset();
        return result;
    }
    PyErr_Clear();
#if PY_VERSION_HEX < 0x030C0000
    f.clear_slots();  // who called the eval-frame function clears the frame when that returns
#endif
    return nullptr;
}

PyObject* unwind_recalled() {
    set(passed_on());
    return nullptr;
}

PyObject* in_its_place(PyThreadState* ts, const std::function<PyObject*()>& goes_on) {
    const RecursionPause pause(ts);
    PyObject* const result = goes_on();
    if (!result && is_set(passed_on())) PyErr_Clear();
    return result;
}

}  // namespace stator::frontend
