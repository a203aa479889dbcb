// CPython's collector does nothing while its flag `collecting` is set. 3.12 looks at the flag when it
// schedules a collection, and no more when it does what was scheduled: that is put off, too.
#include "frontend/cpython/raw/raw.h"
// raw.h must come first.
#include "frontend/cpython/collection.h"

namespace stator::frontend {

namespace {

#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000
bool put_off(PyInterpreterState* interp) {
    return __atomic_exchange_n(&interp->ceval.gc_scheduled._value, 0, __ATOMIC_RELAXED) != 0;
}
void schedule(PyInterpreterState* interp) {
    __atomic_store_n(&interp->ceval.gc_scheduled._value, 1, __ATOMIC_RELAXED);
    raw::set_eval_breaker(interp);
}
#else
bool put_off(PyInterpreterState*) { return false; }
void schedule(PyInterpreterState*) {}
#endif

}  // namespace

NoCollection::NoCollection() {
    PyInterpreterState* interp = PyInterpreterState_Get();
    // The GIL is held: no exchange is needed, which would cost more than the rest.
    outermost_ = __atomic_load_n(&interp->gc.collecting, __ATOMIC_RELAXED) == 0;
    __atomic_store_n(&interp->gc.collecting, 1, __ATOMIC_RELAXED);
    scheduled_ = put_off(interp);
}

NoCollection::~NoCollection() {
    PyInterpreterState* interp = PyInterpreterState_Get();
    if (outermost_) __atomic_store_n(&interp->gc.collecting, 0, __ATOMIC_RELAXED);
    if (scheduled_) schedule(interp);
}

}  // namespace stator::frontend
