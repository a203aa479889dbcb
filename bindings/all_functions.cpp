// STATOR=all, the plain way: a frame hook is installed, and each frame that begins, and that no scope of
// a recorded or served call takes, is looked at.
//
// A code object becomes a candidate when it has been called a few times, at once when it has a loop, and is
// given arrays or names NumPy. From then on its frames are driven as those of a decorated function are,
// except that they exist already. Everything else goes on untouched: generators, frames that are traced or
// recorded, recursive calls, NumPy's and stator's own functions.
//
// The hook makes calls between Python functions slower (docs/design/all-functions.md). So it has to pay:
// where calls are so frequent that it takes more than a small share of the time, and hardly any of them is
// served, it is taken off for a while, for longer each time. Functions that come to be called meanwhile are
// found when it is back.
#include "bindings/all_functions.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/candidates.h"
#include "bindings/core_library.h"
#include "bindings/departures.h"
#include "bindings/later.h"
#include "frontend/clock.h"
#include "frontend/cpython/frame.h"
#include "frontend/cpython/recall.h"
#include "frontend/cpython/walk.h"
#include "frontend/drive/driver.h"
#include "frontend/host_calls/host_calls.h"
#include "frontend/hosts/host.h"
#include "frontend/hosts/numpy/names.h"
#include "frontend/policy.h"
#include "guards/check/names.h"

namespace stator::bindings {
namespace {

using frontend::Frame;
using frontend::FunctionState;
using frontend::policy;

bool is_array(PyObject* o) {
    return frontend::numpy_host().is_array(o) || frontend::torch_host().is_array(o) ||
           frontend::cupy_host().is_array(o);
}

// An attribute that an object has in its dict or in a slot of its class, and its class's where it has none;
// null for what a descriptor would compute. No code of the program runs.
frontend::PyRef own_attribute(PyObject* o, PyObject* name) {
    PyObject* of_class = _PyType_Lookup(Py_TYPE(o), name);
    const bool in_slot = of_class && Py_TYPE(of_class) == &PyMemberDescr_Type;
    const bool computed = of_class && (Py_TYPE(of_class)->tp_descr_get || Py_TYPE(of_class)->tp_descr_set);
    if (computed && !in_slot) return {};
    auto value = frontend::PyRef::steal(PyObject_GetAttr(o, name));
    PyErr_Clear();
    return value;
}

// Whether it is an array, or leads to one: through attributes that the code names, or as one of the first
// items of a tuple, list or dict.
bool leads_to_array(PyObject* o, PyCodeObject* code, int steps) {
    constexpr Py_ssize_t kItems = 4;
    if (is_array(o)) return true;
    if (steps == 0) return false;
    if (PyTuple_Check(o) || PyList_Check(o)) {
        for (Py_ssize_t i = 0; i < std::min(kItems, Py_SIZE(o)); ++i)
            if (leads_to_array(PySequence_Fast_GET_ITEM(o, i), code, steps - 1)) return true;
        if (PyTuple_CheckExact(o) || PyList_Check(o)) return false;  // named tuples have attributes
    }
    if (PyDict_CheckExact(o)) {
        PyObject *key, *value;
        Py_ssize_t at = 0;
        for (Py_ssize_t i = 0; i < kItems && PyDict_Next(o, &at, &key, &value); ++i)
            if (leads_to_array(value, code, steps - 1)) return true;
        return false;
    }
    PyTypeObject* type = Py_TYPE(o);
    if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || type->tp_getattro != PyObject_GenericGetAttr)
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_names); ++i) {
        const auto value = own_attribute(o, PyTuple_GET_ITEM(code->co_names, i));
        if (value && leads_to_array(value.get(), code, steps - 1)) return true;
    }
    return false;
}

bool given_arrays(const Frame& frame, PyCodeObject* code) {
    constexpr int kSteps = 3;  // self.mesh.fields[0]
    const int parameters = code->co_argcount + code->co_kwonlyargcount;
    for (int i = 0; i < parameters; ++i) {
        PyObject* o = frame.slot(i);
        if (o && leads_to_array(o, code, kSteps)) return true;
    }
    return false;
}

bool is_of(std::string_view module, std::initializer_list<std::string_view> packages) {
    for (const std::string_view p : packages)
        if (module.starts_with(p) && (module.size() == p.size() || module[p.size()] == '.')) return true;
    return false;
}

bool is_array_library(std::string_view module) { return is_of(module, {"numpy", "cupy", "torch"}); }

// The libraries' own tests are programs like any other.
bool is_left_alone(std::string_view module) {
    return (is_array_library(module) || is_of(module, {"stator", "importlib"})) &&
           module.find(".tests.") == std::string_view::npos;
}

std::string module_of(PyObject* globals) { return guards::utf8(PyDict_GetItemString(globals, "__name__")); }

// Whether a global that the code names is a library of arrays or a function of NumPy's: methods have their
// arrays in attributes, and what makes arrays is given none.
bool names_arrays(PyCodeObject* code, PyObject* globals) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_names); ++i) {
        PyObject* value = PyDict_GetItemWithError(globals, PyTuple_GET_ITEM(code->co_names, i));
        PyErr_Clear();
        if (!value) continue;
        if (PyModule_Check(value) ? is_array_library(module_of(PyModule_GetDict(value)))
                                  : frontend::numpy::is_numpys_own(value))
            return true;
    }
    return false;
}

bool wanted(PyObject* function) {
    const std::string module = module_of(PyFunction_GET_GLOBALS(function));
    if (is_left_alone(module)) return false;
    return selected(module, guards::utf8(reinterpret_cast<PyFunctionObject*>(function)->func_qualname));
}

// Whether the frame is the program's own at module level: a script or a notebook's cell. Modules that are
// imported go on as they are, and so does what is executed in a namespace that may go away afterwards.
bool is_program(const Frame& frame) {
    PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "__main__");
    return module && PyModule_Check(module) && PyModule_GetDict(module) == frame.globals() &&
           selected("__main__", "<module>");
}

// Makes the function a candidate if it is one now.
bool admit(Candidate& c, const Frame& frame, PyCodeObject* code) {
    const bool module = frame.is_at_module_level();
    if (++c.calls == 1 && !(module ? is_program(frame) : wanted(frame.function()))) {
        c.refused = true;
        c.why = frontend::Reason::Excluded;
        return false;
    }
    const int64_t more = c.calls - options().all_after;
    const bool late = more > 0;
    if (!late && c.calls > 1) return false;  // one with loops was a candidate in its first call
    // To look at what code names and is given takes longer than many a call: seldom, the more often it was.
    if (late && !std::has_single_bit(static_cast<uint64_t>(more))) return false;
    // What a module is going to import nobody knows when it begins.
    if (!module && !given_arrays(frame, code) && !names_arrays(code, frame.globals())) {
        c.refused = more >= policy().all_calls_without_arrays;
        c.why = frontend::Reason::NoArrayArguments;
        return false;
    }
    if (frontend::text_of(code).waits(c.calls)) return false;
    const frontend::CodeInfo* decoded = frontend::CodeInfo::of_frame(code);
    PyErr_Clear();
    if (!late && !(decoded && decoded->has_loops)) return false;
    if (module && !(decoded && frontend::can_be_recalled(frame, *decoded))) return false;
    frontend::FunctionOptions o;
    o.async = options().async;
    c.state = FunctionState::create(frame.function(), o);
    PyErr_Clear();
    if (c.state) note_state(c);
    c.refused = !c.state || c.state->impl()->given_up;
    if (c.refused) return false;
    c.state->impl()->has_to_earn = true;
    c.state->impl()->has_loops = decoded && decoded->has_loops;
    return true;
}

// What the hook itself takes, measured in one call of so many: hot code takes a few ns, and a large program
// finds none of its code in the processor's caches.
class HookSample {
  public:
    HookSample() {
        if (++hooked < policy().hook_sampled_each) return;
        hooked = 0;
        begun_ = frontend::now_ns();
    }
    ~HookSample() { end(); }
    HookSample(const HookSample&) = delete;
    void end() {
        if (begun_ == 0) return;
        const int64_t took = frontend::now_ns() - begun_ - policy().hook_clock_cost;
        sampled += policy().hook_sampled_each * std::clamp<int64_t>(took, 0, policy().hook_most_sampled);
        begun_ = 0;
    }
    // What all calls since the last time took, ns.
    static int64_t take() { return std::exchange(sampled, 0); }

  private:
    static inline int64_t hooked = 0, sampled = 0;  // calls since the last one that was timed; ns
    int64_t begun_ = 0;
};

// Since the hook was last looked at: what calls that were served have saved as far as that was measured, ns,
// and how many that came to a candidate were not served. Nothing is counted twice: neither what calls inside
// of one that was served have saved, nor what loops have, which is in the purse.
int64_t saved_ns = 0, unserved = 0;
int64_t by_loops_before = 0;  // as of then
int64_t runs_begun = 0;       // of candidates

bool handle(void*, Frame& frame, PyObject** result) {
    HookSample sample;
    PyCodeObject* code = frame.code();
    Candidate& c = candidate_of(code);
    if (c.refused) return false;
    if (c.running || frontend::recording_on_this_thread()) return false;
    if (frontend::stance() == frontend::Stance::Eager || frontend::is_traced(frame.ts(), code)) return false;
    if (!c.state && !admit(c, frame, code)) return false;
    if (frame.globals() != c.state->impl()->globals.get()) return false;  // the same code in another module
    if (c.state->passes(frame)) return false;
    sample.end();
    c.running = true;
    const int64_t served = c.state->counters().served, saved_before = saved_ns, begun = ++runs_begun;
    *result = c.state->run(frame);
    if (c.state->counters().served > served) {
        // A call as it is measured saves what calls inside save, unless it is long.
        const frontend::Verdicts& verdicts = c.state->impl()->verdicts;
        const int64_t before = std::min(saved_before, saved_ns);  // it may have been looked at meanwhile
        const int64_t inside = saved_ns - before;
        if (verdicts.saving_includes_calls())
            saved_ns = before + std::max(inside, verdicts.saving());
        else if (runs_begun == begun)
            saved_ns += verdicts.saving();
        if (!c.state->impl()->is_judged()) saved_ns += policy().unjudged_call_saving;
    } else {
        ++unserved;
    }
    c.running = false;
    return true;
}

// Whether this thread imports a module.
bool imports() {
    std::array<frontend::FrameMark, 256> frames;
    const auto read = [](const void* from, void* to, size_t bytes) {
        std::memcpy(to, from, bytes);  // under the GIL its frames are there
        return true;
    };
    const int count =
        frontend::walk_frames(frontend::this_thread_state(), frames.data(), frames.size(), read);
    return std::any_of(frames.begin(), frames.begin() + count, [](const frontend::FrameMark& f) {
        auto* code = static_cast<PyObject*>(const_cast<void*>(f.code));
        return code && PyCode_Check(code) &&
               guards::utf8(reinterpret_cast<PyCodeObject*>(code)->co_filename)
                   .starts_with("<frozen importlib");
    });
}

int64_t pause_ns = 0;
int64_t credit_used = 0, imports_used = 0;  // of what the hook may cost beyond its share, ns
// By the clock of the thread's own time: other processes must not make the hook look cheaper.
[[gnu::tls_model("initial-exec")]] thread_local constinit int64_t looked_at = 0;

int64_t taken_off = 0, taken_off_at = 0,
        off_for = 0;  // by the clock of looked_at, by the wall's, as asked for

// The pause is of the program's own time, too: it is longer where others have the cores.
int put_back() {
    const int64_t now = frontend::thread_ns();
    if (looked_at == taken_off) {  // another thread's clock would say nothing
        const int64_t ran = std::max<int64_t>(1, now - taken_off),
                      passed = std::max(ran, frontend::now_ns() - taken_off_at);
        if (ran < off_for) {
            const double share = static_cast<double>(ran) / static_cast<double>(passed);
            const auto rest = static_cast<double>(off_for - ran) / share;
            do_later(static_cast<int64_t>(std::min(rest, 1.0 * policy().hook_longest_idle)), put_back);
            return 0;
        }
        frontend::Judge::let_pass(ran);
    }
    looked_at = now;
    frontend::watch_again();
    return 0;
}

bool stays() {
    const int64_t now = frontend::thread_ns(), passed = now - std::exchange(looked_at, now),
                  cost = policy().hook_calls * policy().hooked_call_cost + HookSample::take() +
                         policy().unserved_call_cost * std::exchange(unserved, 0),
                  by_loops = frontend::purse().saved_by_loops(),
                  saved = std::exchange(saved_ns, 0) + by_loops - std::exchange(by_loops_before, by_loops);
    if (cost * policy().hook_share <= passed || cost <= saved) {
        pause_ns = std::max(pause_ns / 2,
                            policy().hook_first_rest);  // phases in which it pays alternate with others
        return true;
    }
    // What comes after is the program's own, and may be one long call. Imports have ten times as much: a
    // program that runs as a whole while it is imported must not pay for ever.
    const int64_t beyond = cost - passed / policy().hook_share;
    if (imports_used < 10 * policy().hook_credit && imports()) return imports_used += beyond, true;
    if (credit_used < policy().hook_credit) return credit_used += beyond, true;
    taken_off = now;
    taken_off_at = frontend::now_ns();
    off_for = pause_ns;
    do_later(pause_ns, put_back);
    pause_ns = std::min(2 * pause_ns, policy().hook_longest_rest);
    return false;
}

bool started = false;

}  // namespace

void start_all() {
    if (std::exchange(started, true)) return;
    frontend::start_host_calls();
    looked_at = frontend::thread_ns();
    pause_ns = policy().hook_first_rest;
    frontend::watch_frames(handle, policy().hook_calls, stays);
}

void expect_program() {
    if (!started) return;
    // Who starts a program through stator wants its one long function seen, after whatever it does first:
    // argparse of Python 3.15 alone takes more than four times the credit of a process.
    constexpr int64_t kCredits = 16;
    credit_used = -(kCredits - 1) * policy().hook_credit;
    pause_ns = policy().hook_first_rest;
    looked_at = frontend::thread_ns();
    frontend::watch_again();
}

void end_all() {
    end_later();
    end_departures();
    // Finalizers run when they go, and may call functions: the table is whole by then.
    std::vector<std::unique_ptr<FunctionState>> gone;
    for_each_candidate([&](Candidate& c) {
        if (c.running) return;
        c.refused = true;
        if (c.state) gone.push_back(std::move(c.state));
    });
}

frontend::Reason why_not_taken(const void* code) {
    if (!started) return frontend::Reason::NotDecorated;
    const Candidate* c = known_candidate(code);
    if (!c) return frontend::Reason::FewCalls;
    return c->state ? frontend::Reason::None : c->why;
}

}  // namespace stator::bindings
