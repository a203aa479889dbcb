// libstator_core.so, which holds the compile queue and the object cache and knows no Python: opened beside
// the program when a function is first decorated, so that a program that compiles nothing never pays for it.
// Without it everything still runs: tier 0 serves.
#pragma once

#include <string>
#include <vector>

#include "jit/options.h"
#include "kernels/api/compiler.h"

namespace stator::bindings {

// The library's table, opened on the first call. nullptr with one line in `error` when it cannot be used; the
// answer stays the same for the life of the process.
const kernels::CompilerApi* load_core(std::string* error);
// Begins to open it on a thread of its own, once: opening takes longer than recording a function does.
// Nothing is reported until load_core is called.
void preload_core();
// The table if load_core has succeeded before, else nullptr. Opens nothing.
const kernels::CompilerApi* loaded_core();
std::string core_path();  // where it is looked for: beside the extension

// Options in force. They start as the environment has them; the frontend and the core follow every change.
// The thresholds that STATOR_TUNE sets do not change any more.
const jit::Options& options();
bool change_option(std::string_view field, std::string_view text, std::string& error);
// Whether STATOR_ONLY and STATOR_SKIP leave this function to be compiled. Patterns match the qualified name,
// with or without the module in front.
bool selected(const std::string& module, const std::string& qualname);
// Reads the environment and connects the log; one line on standard error for each thing wrong with it.
void start_options();
const std::vector<std::string>& option_problems();  // of the environment, as they were told of
void write_line(const std::string& line);           // "stator: " and the line on standard error; takes no GIL

}  // namespace stator::bindings
