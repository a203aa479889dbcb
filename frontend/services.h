// What the frontend is given from outside, by bindings: the compiler, a log, and what stands behind a
// compiled function's object. Every part of the frontend may ask for these, so they know none of it.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>

#include "kernels/api/compiler.h"

namespace stator::frontend {

// bindings/ sets this once; called when code is first wanted (it loads the jit library). nullptr = no jit:
// tier 0 only.
void set_compiler_loader(const kernels::CompilerApi* (*loader)(std::string* error));
const kernels::CompilerApi* compiler();

// Called with one line for each log artifact that is switched on (STATOR_LOG).
enum class LogTopic : uint8_t { Traces, Guards, Exits, Recompiles, Kernels, Cache, Opaque, Timings, Errors };
void set_log_sink(void (*sink)(LogTopic, const std::string&), uint32_t topics);
bool log_enabled(LogTopic t);
void log(LogTopic t, const std::string& line);

// The plain function behind a CompiledFunction object (borrowed), or nullptr; lets the recorder follow calls
// of other decorated functions. Set once by bindings.
void set_compiled_unwrapper(PyObject* (*unwrap)(PyObject*));
PyObject* unwrap_compiled(PyObject* object);

}  // namespace stator::frontend
