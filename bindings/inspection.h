// What compiled functions can be asked for: methods that Python code answers (stator/_inspect.py), which is
// imported when first used.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace stator::bindings {

// Of what was recorded, which functions may share; and of one of them.
#define STATOR_METHODS_OF_STATES(X)                                                                          \
    X(stats, "stats($self, /)\n--\n\nCounters of this function since it was compiled or reset, as a dict.")  \
    X(graph,                                                                                                 \
      "graph($self, /, trace=-1, *, recorded=False)\n--\n\nGraph of one trace, after or before the passes.") \
    X(llvm, "llvm($self, /, trace=-1)\n--\n\nLLVM IR of one trace's kernels.")                               \
    X(asm, "asm($self, /, trace=-1)\n--\n\nAssembly of one trace's kernels.")
#define STATOR_METHODS_OF_FUNCTIONS(X)                                                                     \
    X(cuda,                                                                                                \
      "cuda($self, /, *args, arch='sm_90', **kwargs)\n--\n\n"                                              \
      "The CUDA kernels of a call with these arguments, in launch order, made with NVRTC on any machine. " \
      "The function is run on copies of the arguments, as often as it takes to record it.")                \
    X(explain, "explain($self, /, *args, **kwargs)\n--\n\nCall the function and say what became of it.")
#define STATOR_METHODS(X) STATOR_METHODS_OF_STATES(X) STATOR_METHODS_OF_FUNCTIONS(X)
constexpr const char* kResetDoc = "reset($self, /)\n--\n\nDrop the traces and counters of this function.";

// name(self, *args, **kwargs) of stator._inspect; `args` may be nullptr.
PyObject* inspect(const char* name, PyObject* self, PyObject* args, PyObject* kwargs);

}  // namespace stator::bindings
