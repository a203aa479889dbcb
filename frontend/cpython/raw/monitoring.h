// Whether sys.monitoring (3.12+) or a trace function wants to see frames; stator's own tool does not count.
#pragma once

namespace stator::frontend::raw {

inline bool any_tool(const uint8_t* tools, size_t n) {
    constexpr uint8_t kOptimizer = 1 << 5;  // sys.monitoring.OPTIMIZER_ID
    for (size_t i = 0; i < n; i++) {
        if (tools[i] & ~kOptimizer) return true;
    }
    return false;
}

// sys.monitoring.set_local_events
inline bool watched(PyCodeObject* co) {
    if (!co->_co_monitoring) return false;
    const auto& local = co->_co_monitoring->local_monitors.tools;
    return any_tool(local, sizeof local);
}

inline bool traced(PyThreadState* ts, PyCodeObject* co) {
    if (ts->c_tracefunc || ts->c_profilefunc) return true;
    const auto& global = ts->interp->monitors.tools;
    return any_tool(global, sizeof global) || (co && watched(co));
}

}  // namespace stator::frontend::raw
