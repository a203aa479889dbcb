// libfakecuda.so: events. The fake executes at once, so an event's time is the host's when it was recorded.
#include <algorithm>
#include <chrono>

#include "fake_state.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

using namespace fake;

namespace {

Event* event_of(void* handle, const char* function) {
    State& s = state();
    const auto it = s.events.find(handle);
    if (it == s.events.end()) return s.violate(std::string(function) + ": not an event"), nullptr;
    if (!it->second->live) return s.violate(std::string(function) + ": the event was destroyed"), nullptr;
    return it->second.get();
}

}  // namespace

EXPORT int cuEventCreate(void** out, unsigned) {
    Entry e("cuEventCreate", true, true);
    if (e.early) return e.early;
    auto event = std::make_unique<Event>(Event{e.device});
    *out = event.get();
    state().events[event.get()] = std::move(event);
    return kSuccess;
}
EXPORT int cuEventRecord(void* handle, void* stream) {
    Entry e("cuEventRecord", true, true);
    if (e.early) return e.early;
    Event* event = event_of(handle, "cuEventRecord");
    Stream* on = event ? state().stream(stream, *e.device, "cuEventRecord") : nullptr;
    if (!on) return kInvalidHandle;
    event->stream = on;
    event->recorded = ++state().clock;
    event->waited = false;
    event->nanoseconds = std::chrono::steady_clock::now().time_since_epoch().count();
    return kSuccess;
}
EXPORT int cuEventSynchronize(void* handle) {
    Entry e("cuEventSynchronize", true, true);
    if (e.early) return e.early;
    Event* event = event_of(handle, "cuEventSynchronize");
    if (!event) return kInvalidHandle;
    event->waited = true;
    if (event->stream) event->stream->synchronized = std::max(event->stream->synchronized, event->recorded);
    return kSuccess;
}
EXPORT int cuEventElapsedTime(float* milliseconds, void* first, void* second) {
    Entry e("cuEventElapsedTime", true, true);
    if (e.early) return e.early;
    Event *a = event_of(first, "cuEventElapsedTime"), *b = event_of(second, "cuEventElapsedTime");
    if (!a || !b || !a->stream || !b->stream) return kInvalidHandle;
    // What was waited for includes what came before it in the same stream.
    if (!b->waited || (!a->waited && a->stream != b->stream)) return kNotReady;
    *milliseconds = static_cast<float>(1e-6 * static_cast<double>(b->nanoseconds - a->nanoseconds));
    return kSuccess;
}
EXPORT int cuEventDestroy_v2(void* handle) {
    Entry e("cuEventDestroy", true, true);
    if (e.early) return e.early;
    Event* event = event_of(handle, "cuEventDestroy");
    if (!event) return kInvalidHandle;
    event->live = false;
    return kSuccess;
}
