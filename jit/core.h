// What the parts of libstator_core.so share: the options in force, and the log.
#pragma once

#include <string>

#include "jit/options.h"

namespace stator::jit {

// The options of this process: those given to configure(), else those of the environment. The reference stays
// valid.
const Options& options();
void configure(const Options& options);

// Lines go to the sink the bindings have set, else to standard error with "stator: " in front.
using LogSink = void (*)(const char* line);
void set_log_sink(LogSink sink);
void log_warning(const std::string& line);
void log_line(LogArtifact artifact, const std::string& line);  // when STATOR_LOG asks for it

}  // namespace stator::jit
