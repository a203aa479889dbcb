#include "frontend/host_calls/tally.h"

#include <deque>
#include <utility>

#include "frontend/host_calls/host_calls.h"
#include "frontend/pyref.h"
#include "guards/check/names.h"

namespace stator::frontend {

namespace {

// References to its elements stay valid while it grows.
std::deque<Tally>& tallies() {
    static auto* all = new std::deque<Tally>;
    return *all;
}

}  // namespace

Tally& new_tally(std::string name) { return tallies().emplace_back(Tally{std::move(name)}); }
Tally& new_tally_of(PyObject* function) { return new_tally(full_name(function)); }

std::string full_name(PyObject* function) {
    const auto text = [&](const char* attribute) {
        const PyRef value = PyRef::steal(PyObject_GetAttrString(function, attribute));
        PyErr_Clear();
        return value && PyUnicode_Check(value.get()) ? guards::utf8(value.get()) : std::string();
    };
    if (Py_IS_TYPE(function, &PyMethodDescr_Type)) return text("__qualname__");
    const std::string module = text("__module__");
    return (module.empty() ? "numpy" : module) + "." + text("__name__");
}

std::vector<HostCallCount> host_call_counts() {
    std::vector<HostCallCount> counts;
    for (const Tally& t : tallies())
        if (t.answered > 0) counts.push_back({t.name, t.answered});
    return counts;
}

void reset_host_call_counts() {
    for (Tally& t : tallies()) t.answered = 0;
}

}  // namespace stator::frontend
