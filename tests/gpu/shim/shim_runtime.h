// Executes kernel modules: blocks one after the other, the threads of a block as fibers. See run() in
// shim_runtime.cpp for what is checked.
#pragma once

#include <string>

#include "shim_abi.h"

namespace shim {

// Which fiber goes on when several can. Depth first: the one that is earliest in the order runs until it has
// to wait. Random orders are drawn anew whenever all threads of a block have met.
enum class Order : int { Forward, Reverse, Random };

struct Launch {
    unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
    size_t shared_bytes = 0;  // dynamic
    int cluster = 1;          // blocks along x that run at the same time and see each other's shared memory
    Order order = Order::Forward;
    uint64_t seed = 0;
    double seconds = 30;  // processor time after which the kernel counts as hanging
};

// A module stays open until it is closed. Null with the reason in `error`.
struct Loaded;
Loaded* open_module(const char* path, std::string* error);
void close_module(Loaded* loaded);
const Module& module_of(const Loaded* loaded);
const Kernel* find_kernel(const Loaded* loaded, const char* name);

// "" or what went wrong: the launch itself, or a fault of the kernel.
std::string run(Loaded* loaded, const Kernel& kernel, const Launch& launch, void** parameters);
// How often the last launch read or wrote device memory 16 bytes at once.
uint64_t wide_accesses(bool writes);

}  // namespace shim
