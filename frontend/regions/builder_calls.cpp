// Python functions that a loop calls, followed in place. See builder.h.

#include "frontend/regions/builder.h"

namespace stator::frontend::regions {

// Follows a plain Python function in place. Whatever it cannot do, Python does from the caller's statement
// on: so what it stores must come last (exit_here sees to it).
bool Builder::call_function(PyObject* function, std::vector<Value>& args, PyObject* names) {
    constexpr size_t kMostLevels = 4;
    auto* co = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
    const char* why = nullptr;
    const CodeInfo* callee = CodeInfo::get(co, &why);
    const std::string named = std::string("a call of ") + PyUnicode_AsUTF8(co->co_name);
    if (!callee || s_.levels.size() >= kMostLevels) return unknown(named);
    for (const Level& l : s_.levels)
        if (l.code == callee) return unknown(named + ", which calls itself");
    if (co->co_nfreevars || co->co_ncellvars) return unknown(named + ", which has cells");
    for (Value& v : args) {
        if (v.kind == Kind::Empty || v.kind == Kind::Passed) return unknown(named + " with " + describe(v));
        if (v.kind == Kind::Lazy && !as_array(Value(v), &v)) return false;
    }
    std::vector<Value> slots(static_cast<size_t>(callee->nlocalsplus));
    if (!bind_python(function, args, names, &slots)) return false;
    out_->functions.push_back({PyRef::borrow(function), PyRef::borrow(reinterpret_cast<PyObject*>(co)),
                               PyRef::borrow(PyFunction_GET_DEFAULTS(function)),
                               PyRef::borrow(PyFunction_GET_KW_DEFAULTS(function))});
    s_.levels.push_back({callee, function, static_cast<int>(s_.slots.size()), pc_ + 1});
    for (Value& v : slots) push(std::move(v));
    pc_ = -1;  // the next instruction is its first
    return true;
}

bool Builder::on_return() {
    const Value v = pop();
    if (s_.levels.size() == 1) return unknown("a return");
    const Level level = s_.levels.back();
    s_.slots.resize(static_cast<size_t>(level.base));
    s_.levels.pop_back();
    push(v);
    return jump_to(level.return_pc);
}

}  // namespace stator::frontend::regions
