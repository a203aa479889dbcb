// See shared_states.h. Nothing here owns a function: the last one that a state was asked for is remembered by
// a weak reference, because compiling the very same function twice makes two states, each with counters of
// its own.
#include "bindings/shared_states.h"

#include <list>
#include <memory>
#include <unordered_map>
#include <utility>

#include "bindings/departures.h"
#include "bindings/giving_back.h"
#include "frontend/drive/driver.h"
#include "frontend/policy.h"
#include "frontend/pyref.h"
#include "guards/check/functions.h"

namespace stator::bindings {
namespace {

using frontend::FunctionOptions;
using frontend::PyRef;

struct OfCode {
    SharedState* latest = nullptr;
    PyRef function;  // a weak reference to whom it was made for last
    int compiled = 0;
};

// Entries without a state are counts only: one that outlives its code lends its count to the next code at
// that address.
std::unordered_map<PyObject*, OfCode>& codes() {
    static auto* table = new std::unordered_map<PyObject*, OfCode>;  // lives as long as the process
    return *table;
}
std::list<SharedState*>& kept() {
    static auto* list =
        new std::list<SharedState*>;  // the last one that was given up by its owners comes first
    return *list;
}

PyObject* code_of(const SharedState& s) { return s.state->impl()->code_object.get(); }

// What a weak reference leads to, for comparing it only.
PyObject* referent(PyObject* weak) {
    if (!weak) return nullptr;
#if PY_VERSION_HEX >= 0x030D0000
    PyObject* object = nullptr;
    if (PyWeakref_GetRef(weak, &object) < 0) PyErr_Clear();
    Py_XDECREF(object);
    return object;
#else
    return PyWeakref_GetObject(weak);
#endif
}

bool same(const FunctionOptions& a, const FunctionOptions& b) {
    return a.fullgraph == b.fullgraph && a.fastmath == b.fastmath && a.async == b.async && a.cuda == b.cuda &&
           a.on_device == b.on_device;
}

bool serves(const OfCode& of, PyObject* function, const FunctionOptions& options) {
    if (!of.latest) return false;
    const auto& fs = *of.latest->state->impl();
    return referent(of.function.get()) != function && fs.code_object.get() == PyFunction_GET_CODE(function) &&
           fs.globals.get() == PyFunction_GET_GLOBALS(function) && same(fs.wanted, options);
}

bool is_nested(PyObject* code) { return reinterpret_cast<PyCodeObject*>(code)->co_flags & CO_NESTED; }

void destroy(SharedState* s) {
    const auto of = codes().find(code_of(*s));
    forget_given_back(s);
    if (of != codes().end() && of->second.latest == s) {
        of->second.latest = nullptr;
        // How often it was compiled is of no use: a program that makes code all the time would fill the
        // table.
        if (!is_nested(of->first)) codes().erase(of);
    }
    delete s;  // finalizers run, which may come here
}

}  // namespace

SharedState* acquire_state(PyObject* function, const FunctionOptions& options) {
    if (!guards::is_function(function)) {
        PyErr_Format(PyExc_TypeError, "stator.compile needs a Python function, found %s",
                     Py_TYPE(function)->tp_name);
        return nullptr;
    }
    OfCode& of = codes()[PyFunction_GET_CODE(function)];
    ++of.compiled;
    SharedState* shared = of.latest;
    if (serves(of, function, options)) {
        if (std::exchange(shared->kept, false)) kept().remove(shared);
    } else {
        auto state = frontend::FunctionState::create(function, options);
        if (!state) return nullptr;
        shared = new SharedState{std::move(state)};
        begin_departures();
        of.latest = shared;
    }
    of.function = PyRef::steal(PyWeakref_NewRef(function, nullptr));
    if (!of.function) PyErr_Clear();
    ++shared->owners;
    return shared;
}

void release_state(SharedState* shared) {
    if (--shared->owners == 0 && shared->running == 0) drop_unowned(shared);
}

static bool is_worth_keeping(const SharedState& s) {
    PyObject* code = code_of(s);
    const OfCode& of = codes()[code];
    return is_nested(code) && of.latest == &s && of.compiled >= frontend::policy().compiled_before_kept &&
           s.running == 0;
}

static void let_go(SharedState* s) {
    s->kept = false;
    if (!s->kept_entries) return destroy(s);
    // Who owns it goes with them, unless somebody else refers to that.
    OfCode& of = codes()[code_of(*s)];
    if (of.latest == s) of.latest = nullptr;
    s->entries = nullptr;
    Py_CLEAR(s->kept_entries);
}

static void keep(SharedState* s) {
    s->kept = true;
    kept().push_front(s);
    if (kept().size() <= frontend::policy().kept_states) return;
    SharedState* oldest = kept().back();
    kept().pop_back();
    let_go(oldest);
}

void drop_unowned(SharedState* shared) {
    if (is_worth_keeping(*shared))
        keep(shared);
    else
        destroy(shared);
}

bool keep_entries(SharedState* shared, PyObject* entries) {
    if (!is_worth_keeping(*shared)) return false;
    shared->kept_entries = entries;
    keep(shared);
    return true;
}

void forget_kept_states() {
    std::list<SharedState*> gone;
    gone.swap(kept());
    for (SharedState* s : gone) let_go(s);
    for (auto& [code, of] : codes()) of.compiled = 0;
}

}  // namespace stator::bindings
