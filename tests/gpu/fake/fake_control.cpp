// What tests ask libfakecuda.so, beside the driver's functions.
#include <cstring>

#include "fake_state.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// Text that stays valid until the thread's next call.
const char* keep(const std::string& text) {
    thread_local std::string kept;
    kept = text;
    return kept.c_str();
}

}  // namespace

// The rules that were broken since the last reset, one a line.
EXPORT const char* fake_cuda_violations() {
    fake::State& s = fake::state();
    std::lock_guard lock(s.mutex);
    std::string text;
    for (const std::string& v : s.violations) text += v + "\n";
    return keep(text);
}

// What is still held: modules, memory, streams, contexts.
EXPORT const char* fake_cuda_leaks() {
    fake::State& s = fake::state();
    std::lock_guard lock(s.mutex);
    std::string text;
    for (const auto& [handle, m] : s.modules)
        if (m->live)
            text += "a module of device " + std::to_string(m->device->ordinal) + " is still loaded\n";
    for (const auto& [address, a] : s.memory)
        if (a.live)
            text += std::to_string(a.size) + " bytes of device " + std::to_string(a.device->ordinal) +
                    " are still allocated\n";
    for (const auto& [handle, stream] : s.streams)
        if (stream->live)
            text += "a stream of device " + std::to_string(stream->device->ordinal) + " still exists\n";
    for (const auto& [handle, event] : s.events)
        if (event->live)
            text += "an event of device " + std::to_string(event->device->ordinal) + " still exists\n";
    for (const auto& device : s.devices)
        if (device->context.retained)
            text +=
                "the primary context of device " + std::to_string(device->ordinal) + " is still retained\n";
    return keep(text);
}

// The nth call of `function` from now on (1 = the next) returns `code`.
EXPORT void fake_cuda_inject(const char* function, int nth, int code) {
    fake::State& s = fake::state();
    std::lock_guard lock(s.mutex);
    s.injections.push_back({function, s.calls[function] + nth, code});
}

EXPORT int fake_cuda_calls(const char* function) {
    fake::State& s = fake::state();
    std::lock_guard lock(s.mutex);
    return s.calls[function];
}

EXPORT void fake_cuda_schedule(int order, uint64_t seed) {
    fake::State& s = fake::state();
    std::lock_guard lock(s.mutex);
    s.order = static_cast<shim::Order>(order);
    s.seed = seed;
}

// Launches do nothing from now on, or are carried out again.
EXPORT void fake_cuda_idle(int idle) { fake::state().idle = idle != 0; }

// A machine as after its start, configured by the environment; handles of before stay invalid.
EXPORT void fake_cuda_reset() {
    fake::State& s = fake::state();
    std::lock_guard lock(s.mutex);
    for (const auto& [handle, m] : s.modules)
        if (m->live) shim::close_module(m->loaded);
    for (const auto& [address, a] : s.memory)
        if (a.live) shim::release(reinterpret_cast<char*>(address));
    s.initialized = false;
    s.modules.clear();
    s.functions.clear();
    s.streams.clear();
    s.events.clear();
    s.memory.clear();
    s.calls.clear();
    s.injections.clear();
    s.violations.clear();
    for (const auto& device :
         s.devices) {  // the objects stay: threads may still have their contexts on the stack
        device->sticky = 0;
        device->context.retained = 0;
        device->used = 0;
    }
    fake::context_stack().clear();
    s.configure();
}
