// The eval-frame hook (PEP 523): who gets a frame that CPython has just pushed.
//
// An active hook slows every Python call of the interpreter and keeps CPython from specializing them (3.15:
// from specializing anything, unless asked to go on), so it is installed only while some thread has a
// HookScope. A foreign hook that was there first is chained: frames that nobody here takes go to it. If a
// foreign hook is put on top of ours, ours stays below it, passes everything on, and is not removed (we
// cannot tell who else holds it).
//
// A hooked call needs C stack, an unhooked one none, and 3.12 and later limit C recursion to far less than
// the recursion limit. So beyond hook_depth hooked calls (policy.def), or where the stack is small, the hook
// is taken off for as long as the deepest of them runs: what it calls is not offered to anyone and recurses
// as deep as it would without us.
//
// call_with_frame needs the very next frame of one function object, and must not let its code run should the
// hook not see it: it puts the hook on top for as long as the frame takes to appear. The frame is recognised
// by its function, not its code, because pushing it may run a finalizer that calls the same code.
#include "frontend/cpython/raw/raw.h"
// raw.h must come first.
#include <utility>

#include "frontend/cpython/c_stack.h"
#include "frontend/cpython/frame.h"
#include "frontend/cpython/recursion.h"
#include "frontend/policy.h"

namespace stator::frontend {

namespace {

constexpr int kSuspending = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;

struct PendingCall {
    PyObject* clone;
    FrameBody body;
    void* ctx;
    // Set when the hook was put on top for this call: what to put back once the frame has come.
    _PyFrameEvalFunction restore, restore_foreign;
};

struct PerThread {
    FrameHandler handler = nullptr;
    void* ctx = nullptr;
    FrameHandler watcher = nullptr;
    PendingCall* pending = nullptr;
    int depth = 0;   // hook calls of this thread that are on the C stack since its innermost scope
    int scopes = 0;  // scopes of this thread
};
[[gnu::tls_model("initial-exec")]] thread_local constinit PerThread thread;

// Guarded by the GIL.
PyInterpreterState* g_interp = nullptr;  // the interpreter whose hook is ours
int g_scopes = 0;
_PyFrameEvalFunction g_foreign = nullptr;  // what is chained behind ours; NULL = the default evaluator
bool g_buried = false;                     // a foreign hook was put on top of ours and may call it
int g_suspended = 0;                       // calls that run without the hook because they are deep
// Of the thread whose frames are watched.
bool g_watching = false;
unsigned g_often = 0, g_calls_left = 0;  // hooked calls until `g_stays` is asked
bool (*g_stays)() = nullptr;

PyObject* hook(PyThreadState* ts, raw::IFrame* frame, int throwflag);

PyObject* pass_on(PyThreadState* ts, raw::IFrame* frame, int throwflag) {
    CRecursionCredit credit(ts);
    if (g_foreign) return g_foreign(ts, frame, throwflag);
    return _PyEval_EvalFrameDefault(ts, frame, throwflag);
}

// Calls go to `evaluator` from now on. From 3.15 on CPython forgets, whenever the evaluator changes, whether
// it may specialize instructions under it: that is said anew each time.
void set_evaluator(PyInterpreterState* interp, _PyFrameEvalFunction evaluator) {
#if PY_VERSION_HEX >= 0x030F0000
    // A foreign hook may read instructions itself and not know specialized ones: what it asked for holds.
    static int allowed_behind = 0;
    const bool ours = evaluator == hook;
    if (ours && _PyInterpreterState_GetEvalFrameFunc(interp) != hook)
        allowed_behind = interp->eval_frame_allow_specialization;
    _PyInterpreterState_SetEvalFrameFunc(interp, evaluator);
    _PyInterpreterState_SetEvalFrameAllowSpecialization(interp, allowed_behind || (ours && !g_foreign));
#else
    _PyInterpreterState_SetEvalFrameFunc(interp, evaluator);
#endif
}

_PyFrameEvalFunction behind() { return g_foreign ? g_foreign : _PyEval_EvalFrameDefault; }

// Takes the hook off while alive.
class Suspension {
  public:
    explicit Suspension(PyInterpreterState* interp)
        : interp_(interp), active_(_PyInterpreterState_GetEvalFrameFunc(interp) == hook) {
        if (!active_) return;
        g_suspended++;
        set_evaluator(interp_, behind());
    }
    ~Suspension() {
        if (!active_) return;
        g_suspended--;
        if (_PyInterpreterState_GetEvalFrameFunc(interp_) == behind()) {
            set_evaluator(interp_, hook);
        }
    }
    Suspension(const Suspension&) = delete;

  private:
    PyInterpreterState* interp_;
    bool active_;
};

// While the window is open our hook is on top; frames of other functions (finalizers) still reach what was
// there.
void open_window(PyInterpreterState* interp, PendingCall* call) {
    _PyFrameEvalFunction now = _PyInterpreterState_GetEvalFrameFunc(interp);
    if (now == hook) return;
    call->restore = now;
    call->restore_foreign = g_foreign;
    g_foreign = now == _PyEval_EvalFrameDefault || g_buried ? nullptr : now;
    set_evaluator(interp, hook);
}

void close_window(PyInterpreterState* interp, PendingCall* call) {
    // A HookScope of another thread may have begun in between and relies on the hook.
    if (!call->restore || (g_scopes > 0 && !g_buried)) return;
    set_evaluator(interp, call->restore);
    g_foreign = call->restore_foreign;
    call->restore = nullptr;
}

PyObject* run_pending(PyThreadState* ts, raw::IFrame* frame, PendingCall* call) {
    close_window(ts->interp, call);
    thread.pending = nullptr;
    Frame f(ts, frame);
    RecursionLevel level(ts);
    f.clear_slots();
    return call->body(call->ctx, f);
}

PyObject* offer(PyThreadState* ts, raw::IFrame* frame, int throwflag) {
    const int flags = raw::code(frame)->co_flags;
    const bool function = flags & CO_OPTIMIZED;
    const FrameHandler handler = function ? thread.handler : nullptr;
    const FrameHandler watcher = function || raw::is_at_module_level(frame) ? thread.watcher : nullptr;
    if ((handler || watcher) && !throwflag && !(flags & kSuspending)) {
        RecursionLevel level(ts);
        Frame f(ts, frame);
        PyObject* result = nullptr;
        if (level.within_limit() &&
            ((handler && handler(thread.ctx, f, &result)) || (watcher && watcher(nullptr, f, &result))))
            return result;
    }
    return pass_on(ts, frame, throwflag);
}

void ask_whether_it_stays();

PyObject* hook(PyThreadState* ts, raw::IFrame* frame, int throwflag) {
    // A generator that something is thrown into begins with an exception: not the moment to run anything
    // else.
    if (!throwflag && --g_calls_left == 0) [[unlikely]]
        ask_whether_it_stays();
    PendingCall* pending = thread.pending;
    if (pending && raw::function(frame) == pending->clone) return run_pending(ts, frame, pending);
    PyObject* result;
    if (++thread.depth <= policy().hook_depth && !c_stack_is_scarce()) {
        result = offer(ts, frame, throwflag);
    } else {
        Suspension suspension(ts->interp);
        result = pass_on(ts, frame, throwflag);
    }
    thread.depth--;
    return result;
}

void install() {
    PyInterpreterState* interp = PyInterpreterState_Get();
    if (!g_interp) g_interp = interp;
    if (interp != g_interp || (g_scopes++ > 0 && !g_suspended)) return;
    _PyFrameEvalFunction now = _PyInterpreterState_GetEvalFrameFunc(interp);
    if (now == hook) return;
    if (g_suspended && now == behind()) {
        // This scope is deeper than the hook goes; it gets its own depth.
    } else if (now == _PyEval_EvalFrameDefault) {
        g_foreign = nullptr;
        g_buried = false;
    } else if (g_buried) {
        return;  // a foreign hook that may chain to ours: putting ours on top could make a cycle
    } else {
        g_foreign = now;
    }
    set_evaluator(interp, hook);
}

void remove() {
    PyInterpreterState* interp = PyInterpreterState_Get();
    if (interp != g_interp || --g_scopes > 0) return;
    if (_PyInterpreterState_GetEvalFrameFunc(interp) != hook) {
        g_buried = true;
        return;
    }
    set_evaluator(interp, behind());
    g_foreign = nullptr;
}

// While a call is on its way through the hook: it takes the hook off for the calls after it only.
void ask_whether_it_stays() {
    g_calls_left = g_often;
    if (!g_watching || g_scopes != 1 || g_suspended || g_foreign || g_buried || g_stays()) return;
    g_watching = false;
    remove();
}

PyObject* nones(Py_ssize_t n) {
    PyObject* t = PyTuple_New(n);
    if (!t) return nullptr;
    for (Py_ssize_t i = 0; i < n; i++) PyTuple_SET_ITEM(t, i, Py_NewRef(Py_None));
    return t;
}

}  // namespace

HookScope::HookScope(FrameHandler handler, void* ctx)
    : saved_handler_(thread.handler), saved_ctx_(thread.ctx), saved_depth_(thread.depth) {
    if (thread.scopes++ < 4) thread.depth = 0;
    install();
    thread.handler = handler;
    thread.ctx = ctx;
}

HookScope::~HookScope() {
    end();
    thread.depth = saved_depth_;
}

void HookScope::end() {
    if (std::exchange(ended_, true)) return;
    thread.handler = saved_handler_;
    thread.ctx = saved_ctx_;
    thread.scopes--;
    remove();
}

void watch_frames(FrameHandler watcher, int often, bool (*stays)()) {
    ++thread.scopes;
    g_often = g_calls_left = static_cast<unsigned>(often);
    g_stays = stays;
    g_watching = true;
    install();
    thread.watcher = watcher;
}

void watch_again() {
    if (std::exchange(g_watching, true)) return;
    g_calls_left = g_often;
    install();
}

HookPause::HookPause()
    : saved_handler_(std::exchange(thread.handler, nullptr)),
      saved_watcher_(std::exchange(thread.watcher, nullptr)) {}
HookPause::~HookPause() {
    thread.handler = saved_handler_;
    thread.watcher = saved_watcher_;
}

UnwatchedCall::UnwatchedCall(bool wanted)
    : watcher_(wanted ? std::exchange(thread.watcher, nullptr) : nullptr) {
    PyInterpreterState* interp = PyInterpreterState_Get();
    if (!watcher_ || _PyInterpreterState_GetEvalFrameFunc(interp) != hook) return;
    off_ = true;
    g_suspended++;
    set_evaluator(interp, behind());
}
UnwatchedCall::~UnwatchedCall() {
    if (!watcher_) return;
    thread.watcher = watcher_;
    if (!off_) return;
    g_suspended--;
    PyInterpreterState* interp = PyInterpreterState_Get();
    if (_PyInterpreterState_GetEvalFrameFunc(interp) == behind()) set_evaluator(interp, hook);
}

bool foreign_hook_present() {
    _PyFrameEvalFunction now = _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get());
    return now == hook ? g_foreign != nullptr : now != _PyEval_EvalFrameDefault;
}

PyObject* make_clone(PyObject* func) {
    auto* original = reinterpret_cast<PyFunctionObject*>(func);
    auto* co = reinterpret_cast<PyCodeObject*>(original->func_code);
    PyRef clone = PyRef::steal(PyFunction_New(original->func_code, original->func_globals));
    PyRef defaults = PyRef::steal(nones(co->co_argcount));
    PyRef kwdefaults = PyRef::steal(PyDict_New());
    if (!clone || !defaults || !kwdefaults) return nullptr;
    PyRef names = PyRef::steal(PyObject_GetAttrString(original->func_code, "co_varnames"));
    if (!names) return nullptr;
    for (int i = 0; i < co->co_kwonlyargcount; i++) {
        if (PyDict_SetItem(kwdefaults.get(), PyTuple_GET_ITEM(names.get(), co->co_argcount + i), Py_None) < 0)
            return nullptr;
    }
    if (PyFunction_SetDefaults(clone.get(), defaults.get()) < 0) return nullptr;
    if (PyFunction_SetKwDefaults(clone.get(), kwdefaults.get()) < 0) return nullptr;
    if (original->func_closure && PyFunction_SetClosure(clone.get(), original->func_closure) < 0)
        return nullptr;
    // The frame takes its builtins from the function, which may have got them from other globals than it has
    // now.
    auto* f = reinterpret_cast<PyFunctionObject*>(clone.get());
    Py_SETREF(f->func_builtins, Py_NewRef(original->func_builtins));
    return clone.release();
}

PyObject* call_with_frame(PyObject* clone, FrameBody body, void* ctx) {
    PendingCall call{clone, body, ctx, nullptr, nullptr};
    PyInterpreterState* interp = PyInterpreterState_Get();
    open_window(interp, &call);
    PendingCall* outer = std::exchange(thread.pending, &call);
    PyObject* result = PyObject_Vectorcall(clone, nullptr, 0, nullptr);
    if (thread.pending == &call) close_window(interp, &call);  // CPython could not push the frame
    thread.pending = outer;
    return result;
}

}  // namespace stator::frontend
