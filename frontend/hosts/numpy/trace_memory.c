/* Tells tracemalloc about memory of result arrays that did not come through NumPy's allocator. In C, because
 * CPython 3.11 declares PyTraceMalloc_Track without C linkage for C++. NumPy's handler does the untracking.
 */
#include <Python.h>

void stator_trace_memory(void* p, size_t bytes) {
    enum { kNumpyDataDomain = 389047 }; /* NPY_TRACE_DOMAIN */
    PyTraceMalloc_Track(kNumpyDataDomain, (uintptr_t)p, bytes);
}
