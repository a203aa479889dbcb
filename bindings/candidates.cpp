// See candidates.h.
#include "bindings/candidates.h"

#include <unordered_map>

namespace stator::bindings {

namespace {

#if PY_VERSION_HEX >= 0x030c0000
constexpr auto get_extra = PyUnstable_Code_GetExtra;
constexpr auto set_extra = PyUnstable_Code_SetExtra;
constexpr auto request_index = PyUnstable_Eval_RequestCodeExtraIndex;
#else
constexpr auto get_extra = _PyCode_GetExtra;
constexpr auto set_extra = _PyCode_SetExtra;
constexpr auto request_index = _PyEval_RequestCodeExtraIndex;
#endif

// Nodes stay where they are. Lives as long as the process: code objects go after everything else.
std::unordered_map<const void*, Candidate>& table() {
    static auto* candidates = new std::unordered_map<const void*, Candidate>;
    return *candidates;
}

// A code object goes. One that a state keeps does not (departures.h).
void forget(void* extra) {
    if (!extra) return;
    const void* code = static_cast<Candidate*>(extra)->code;
    table().erase(code);
}

Py_ssize_t index_of_extra() {
    static const Py_ssize_t index = request_index(forget);
    return index;
}

}  // namespace

Candidate& candidate_of(PyCodeObject* code) {
    auto* object = reinterpret_cast<PyObject*>(code);
    void* extra = nullptr;
    if (get_extra(object, index_of_extra(), &extra) < 0) PyErr_Clear();
    if (extra) return *static_cast<Candidate*>(extra);
    Candidate& c = table()[code];
    c.code = code;
    // Without it the table is asked each time.
    if (set_extra(object, index_of_extra(), &c) < 0) PyErr_Clear();
    return c;
}

const Candidate* known_candidate(const void* code) {
    const auto found = table().find(code);
    return found == table().end() ? nullptr : &found->second;
}

void for_each_candidate(const std::function<void(Candidate&)>& visit) {
    for (auto& [code, c] : table()) visit(c);
}

}  // namespace stator::bindings
