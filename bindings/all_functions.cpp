// STATOR=all, the plain way: the frame hook stays installed, and each frame that begins is looked at.
//
// A code object becomes a candidate when it has been called a few times with an ndarray among its arguments.
// From then on its frames are driven as those of a decorated function are, except that they exist already.
// Everything else goes on untouched: generators, frames that are traced or recorded, recursive calls, NumPy's
// and stator's own functions. The hook makes calls between Python functions slower (see docs/design.md);
// decorating has no such cost.
#include "bindings/all_functions.h"

#include <memory>
#include <string_view>
#include <unordered_map>

#include "bindings/core_library.h"
#include "frontend/cpython/frame.h"
#include "frontend/hosts/host.h"
#include "frontend/replay/driver.h"

namespace stator::bindings {
namespace {

using frontend::Frame;
using frontend::FunctionState;

constexpr int kCallsBefore = 3;  // calls that pass before a function is looked at
constexpr int kCallsWithout =
    64;  // calls without arrays, or of other functions with this code, before it is left alone
constexpr int kFruitlessCalls = 3;  // calls in a row that neither recorded nor ran a kernel

struct Candidate {
    std::unique_ptr<FunctionState> state;
    int calls = 0;
    int fruitless = 0;
    bool running = false;
    bool refused = false;
};

// By code object. Only those with a state keep theirs alive; an entry without one that outlives its code
// object merely lends its count to the next one at that address.
std::unordered_map<PyCodeObject*, Candidate>& candidates() {
    static auto* table = new std::unordered_map<PyCodeObject*, Candidate>;  // lives as long as the process
    return *table;
}

bool given_arrays(const Frame& frame, PyCodeObject* code) {
    const int parameters = code->co_argcount + code->co_kwonlyargcount;
    for (int i = 0; i < parameters; ++i) {
        PyObject* o = frame.slot(i);
        if (o && (frontend::numpy_host().is_array(o) || frontend::torch_host().is_array(o) ||
                  frontend::cupy_host().is_array(o)))
            return true;
    }
    return false;
}

std::string_view text(PyObject* str) {
    const char* s = str && PyUnicode_Check(str) ? PyUnicode_AsUTF8(str) : nullptr;
    if (!s) PyErr_Clear();
    return s ? s : "";
}

bool wanted(PyObject* function) {
    PyObject* name = PyDict_GetItemString(PyFunction_GET_GLOBALS(function), "__name__");
    const std::string module(text(name));
    for (const std::string_view own : {"numpy", "torch", "stator", "importlib"})
        if (module == own || module.starts_with(std::string(own) + ".")) return false;
    return selected(module, std::string(text(reinterpret_cast<PyFunctionObject*>(function)->func_qualname)));
}

// Makes the function a candidate if it is one now.
bool admit(Candidate& c, const Frame& frame, PyCodeObject* code) {
    if (++c.calls < kCallsBefore) return false;
    if (!given_arrays(frame, code)) {
        c.refused = c.calls > kCallsWithout;
        return false;
    }
    if (!wanted(frame.function())) {
        c.refused = true;
        return false;
    }
    frontend::FunctionOptions o;
    o.async = options().async;
    c.state = FunctionState::create(frame.function(), o);
    if (!c.state) PyErr_Clear();
    c.refused = !c.state || c.state->impl()->given_up;
    return !c.refused;
}

bool handle(void*, Frame& frame, PyObject** result) {
    constexpr int kLeftAlone = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
    PyCodeObject* code = frame.code();
    if (code->co_flags & kLeftAlone || !(code->co_flags & CO_OPTIMIZED)) return false;
    Candidate& c = candidates()[code];
    if (c.refused || c.running || frontend::recording_on_this_thread()) return false;
    if (frontend::stance() == frontend::Stance::Eager || frontend::is_traced(frame.ts(), code)) return false;
    if (!c.state && !admit(c, frame, code)) return false;
    FunctionState::Impl& fs = *c.state->impl();
    if (frame.function() != fs.func.get()) {  // a closure made anew: its cells are others
        c.refused = ++c.calls > kCallsWithout;
        return false;
    }
    const int64_t recordings = fs.counters.recordings, launched = fs.counters.kernels_launched;
    ++fs.counters.calls;
    c.running = true;
    frame.link();
    *result = frontend::drive(fs, frame, *fs.code, 0, nullptr, false);
    c.running = false;
    const bool fruitless = fs.counters.recordings == recordings && fs.counters.kernels_launched == launched;
    c.fruitless = fruitless ? c.fruitless + 1 : 0;
    if (fruitless) ++fs.counters.eager_calls;
    c.refused = c.fruitless >= kFruitlessCalls;
    return true;
}

}  // namespace

void start_all() {
    static auto* scope = new frontend::HookScope(handle, nullptr);  // never left
    (void)scope;
}

}  // namespace stator::bindings
