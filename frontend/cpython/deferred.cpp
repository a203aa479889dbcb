// CPython serves signals in the thread that it has noted as the main one, and asks nothing else: while none
// is noted nobody serves them. The evaluator may put its breaker back meanwhile, because there is nothing it
// could do; so it is set again at the end if anything is left.
#include "frontend/cpython/raw/raw.h"
// raw.h must come first.
#include "internal/pycore_runtime.h"
#if PY_VERSION_HEX >= 0x030D0000
#include "internal/pycore_ceval.h"
#endif

#include "frontend/cpython/deferred.h"

namespace stator::frontend {

namespace {

#if PY_VERSION_HEX < 0x030D0000
void serve_later(PyThreadState* ts) {
    const auto set = [](auto& flag) { return __atomic_load_n(&flag._value, __ATOMIC_RELAXED) != 0; };
    bool waiting = set(_PyRuntime.ceval.signals_pending) || set(ts->interp->ceval.pending.calls_to_do);
#if PY_VERSION_HEX >= 0x030C0000
    waiting |= set(_PyRuntime.ceval.pending_mainthread.calls_to_do);
#endif
    int32_t mask;
    auto* breaker = const_cast<int32_t*>(raw::breaker_word(ts, &mask));
    if (waiting) __atomic_fetch_or(breaker, 1, __ATOMIC_RELAXED);
}
#else
void serve_later(PyThreadState* ts) {
    uintptr_t bits = 0;
    if (__atomic_load_n(&_PyRuntime.signals.is_tripped, __ATOMIC_RELAXED)) bits |= _PY_SIGNALS_PENDING_BIT;
    if (__atomic_load_n(&_PyRuntime.ceval.pending_mainthread.npending, __ATOMIC_RELAXED))
        bits |= _PY_CALLS_TO_DO_BIT;
    if (bits) __atomic_fetch_or(&ts->eval_breaker, bits, __ATOMIC_RELAXED);
}
#endif

}  // namespace

DeferredSignals::DeferredSignals() {
    const unsigned long self = PyThread_get_thread_ident();
    if (_PyRuntime.main_thread != self) return;
    thread_ = self;
    _PyRuntime.main_thread = 0;
}

DeferredSignals::~DeferredSignals() {
    if (!thread_) return;
    _PyRuntime.main_thread = thread_;
    serve_later(PyThreadState_Get());
}

}  // namespace stator::frontend
