// Threads that stator serves when the interpreter ends.
//
// A daemon thread that wants the GIL of an interpreter that is going away never gets it. CPython before 3.14
// ends such a thread by pthread_exit, which unwinds its stack: destructors of C++ frames would then drop
// Python objects without the GIL and stop at the first `noexcept`. Here the thread stops where it is instead,
// and its frames stay as they are until the process ends, as from 3.14 on.
//
// The unwinder asks each C++ frame's personality routine what the frame wants to do. The linker puts this
// one in the place of the runtime's for all frames of the extension (--wrap).
#include <Python.h>
#include <unistd.h>
#include <unwind.h>

extern "C" {

_Unwind_Reason_Code __real___gxx_personality_v0(int version, _Unwind_Action actions, uint64_t kind,
                                                _Unwind_Exception* exception, _Unwind_Context* context);

_Unwind_Reason_Code __wrap___gxx_personality_v0(int version, _Unwind_Action actions, uint64_t kind,
                                                _Unwind_Exception* exception, _Unwind_Context* context) {
#if PY_VERSION_HEX < 0x030D0000
    const bool ending = _Py_IsFinalizing();
#else
    const bool ending = Py_IsFinalizing();
#endif
    if ((actions & _UA_FORCE_UNWIND) && ending)
        for (;;) pause();
    return __real___gxx_personality_v0(version, actions, kind, exception, context);
}
}
