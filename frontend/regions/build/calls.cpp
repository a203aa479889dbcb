// Python functions that a loop calls, followed in place. See builder.h.

#include <algorithm>

#include "frontend/policy.h"
#include "frontend/regions/build/builder.h"
#include "guards/check/names.h"

namespace stator::frontend::regions {

namespace {

// Whether Python may have to go on inside it.
bool changes_something(const CodeInfo& code) {
    return code.has_loops || std::any_of(code.insns.begin(), code.insns.end(), [](const Insn& i) {
               return i.op == Opcode::StoreSubscr || i.op == Opcode::StoreSlice ||
                      i.op == Opcode::StoreGlobal || i.op == Opcode::Call;
           });
}

}  // namespace

// Expressions of the caller's that are not finished become arrays, so that Python can go on in the function.
bool Builder::finish_expressions() {
    for (size_t i = static_cast<size_t>(stack_base()); i < s_.slots.size(); ++i) {
        if (s_.slots[i].kind != Kind::Lazy) continue;
        Value v = s_.slots[i];
        if (!fresh_array(&v)) return false;
        s_.slots[i] = std::move(v);
    }
    return true;
}

// Follows a plain Python function in place.
bool Builder::call_function(const Value& callable, std::vector<Value>& args, PyObject* names) {
    PyObject* function = callable.obj;
    auto* co = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
    const char* why = nullptr;
    const CodeInfo* callee = CodeInfo::get(co, &why);
    const std::string named = std::string("a call of ") + guards::utf8(co->co_name);
    if (!callee || s_.levels.size() >= policy().region_levels) return unknown(named);
    for (const Level& l : s_.levels)
        if (l.code == callee) return unknown(named + ", which calls itself");
    if (is_watched(co)) return unknown(named + ", which is monitored");
    if (co->co_ncellvars) return unknown(named + ", whose variables others share");
    for (Value& v : args) {
        if (v.kind == Kind::Empty || has_iterator(v) || (v.kind == Kind::List && !v.whole && names_of(v) > 0))
            return unknown(named + " with " + describe(v));
        if (v.kind == Kind::Lazy && !fresh_array(&v)) return false;
    }
    if (changes_something(*callee) && !finish_expressions()) return false;
    std::vector<Value> slots(static_cast<size_t>(callee->nlocalsplus));
    if (!bind_python(function, args, names, &slots)) return false;
    out_->functions.push_back({PyRef::borrow(function), PyRef::borrow(reinterpret_cast<PyObject*>(co)),
                               PyRef::borrow(PyFunction_GET_DEFAULTS(function)),
                               PyRef::borrow(PyFunction_GET_KW_DEFAULTS(function))});
    const int path =
        found_.paths
            .try_emplace({s_.levels.back().path, callee, pc_ + 1}, static_cast<int>(found_.paths.size()) + 1)
            .first->second;
    const int slot = callable.whole ? callable.slot : -1;
    s_.levels.push_back({callee, function, static_cast<int>(s_.slots.size()), pc_ + 1, path, slot});
    out_->deepest = std::max(out_->deepest, static_cast<int>(s_.levels.size()) - 1);
    for (Value& v : slots) push(std::move(v));
    // A parameter that is rebound is like what it is rebound to.
    for (const Insn& insn : callee->insns)
        if (insn.op == Opcode::StoreFast && local(insn.arg).is_number())
            local(insn.arg).whole = false, local(insn.arg).slot = -1;
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
