// Whether calls may be compiled and replayed at the moment. Each call, each loop and each place where a trace
// may begin looks at it.
#pragma once

#include <cstdint>

namespace stator::frontend {

// Eager: everything runs as plain Python. FailOnRecompile: a second trace of a place is an error.
enum class Stance : uint8_t { Default, Eager, FailOnRecompile };

extern Stance current_stance;  // what `stance` says

inline Stance stance() { return current_stance; }
// What the program asked for (stator.set_stance, stator.disable).
void set_stance(Stance s);
Stance chosen_stance();
// While a host library computes with other functions than those that compiled code was made to equal, the
// stance is Eager, whatever was chosen.
void set_hosts_changed(bool changed);
bool hosts_are_changed();

}  // namespace stator::frontend
