// See departures.h.
#include "bindings/departures.h"

#include <memory>
#include <utility>
#include <vector>

#include "bindings/candidates.h"
#include "frontend/cpython/kept_alive.h"
#include "frontend/drive/driver.h"
#include "frontend/drive/parts.h"
#include "frontend/policy.h"
#include "frontend/pyref.h"

namespace stator::bindings {
namespace {

using frontend::FunctionState;
using frontend::KeptAlive;
using frontend::policy;
using frontend::PyRef;

constexpr int kOldest = 2;  // generation of the collector

std::vector<Candidate*> taken;  // those with a state
int since_sweep = 0;            // taken since
int young = 0;                  // of all, those that were not looked at twice
bool ended = false;

// Whether the state is one that may have to go: the globals of most functions are an imported module's, and
// stay as their functions do.
bool is_in_question(const FunctionState::Impl& fs) {
    // Its own references to the code are the state's and those of its places.
    constexpr Py_ssize_t kOwn = 2;
    return Py_REFCNT(fs.code_object.get()) <= kOwn || !frontend::is_of_imported_module(fs.globals.get());
}

struct Gone {
    frontend::DroppedParts parts;
    std::vector<std::unique_ptr<FunctionState>> states;
};

// States that may have to go, of this generation. What was looked at when one generation was collected is
// looked at again when the next older one is, where the objects that it keeps are by then, too.
std::vector<Candidate*> in_question(int generation) {
    std::vector<Candidate*> all;
    for (Candidate* c : taken) {
        if (c->running || c->age > generation) continue;
        if (c->age < kOldest && ++c->age == kOldest) --young;
        if (is_in_question(*c->state->impl())) all.push_back(c);
    }
    return all;
}

KeptAlive::Keeper keeper(const FunctionState& state, bool parts_apart) {
    return {[&state, parts_apart](visitproc visit, void* arg) {
                return parts_apart ? state.traverse_own(visit, arg) : state.traverse(visit, arg);
            },
            {state.impl()->code_object.get(), state.impl()->globals.get()}};
}

void let_go(Candidate* c, Gone* gone) {
    young -= c->age < kOldest;
    gone->states.push_back(std::move(c->state));
}

void sweep_states(const std::vector<Candidate*>& candidates, Gone* gone) {
    std::vector<KeptAlive::Keeper> keepers;
    for (const Candidate* c : candidates) keepers.push_back(keeper(*c->state, false));
    if (keepers.empty()) return;
    for (const size_t i : KeptAlive::useless(keepers, policy().most_swept).value_or(std::vector<size_t>()))
        let_go(candidates[i], gone);
}

// The same, and parts of all states. False where that would take too long.
bool sweep_parts(const std::vector<Candidate*>& candidates, Gone* gone) {
    std::vector<frontend::Part> parts;
    for (FunctionState* state : frontend::function_states())
        if (state->impl()->in_use == 0) frontend::add_parts(*state, &parts);
    std::vector<KeptAlive::Keeper> keepers;
    for (const Candidate* c : candidates) keepers.push_back(keeper(*c->state, true));
    for (const frontend::Part& part : parts) keepers.push_back(part.keeper);
    if (keepers.empty()) return true;
    const frontend::PartsApart apart;
    const auto useless = KeptAlive::useless(keepers, policy().most_swept);
    if (!useless) return false;
    for (const size_t i : *useless)
        if (i < candidates.size())
            let_go(candidates[i], gone);
        else
            frontend::drop(parts[i - candidates.size()], &gone->parts);
    return true;
}

void sweep(int generation) {
    static bool sweeping = false;
    if (ended || (generation < kOldest && young == 0) || std::exchange(sweeping, true)) return;
    if (generation == kOldest) since_sweep = 0;
    const std::vector<Candidate*> candidates = in_question(generation);
    // Destroyed at the end: finalizers may call functions, and take some.
    Gone gone;
    if (generation < kOldest || !sweep_parts(candidates, &gone)) sweep_states(candidates, &gone);
    std::erase_if(taken, [](const Candidate* c) { return !c->state; });
    sweeping = false;
}

// CPython calls it with "start" or "stop", and a dict that tells the generation.
PyObject* collector_calls(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (count == 2 && PyUnicode_Check(args[0]) && PyDict_Check(args[1]) &&
        PyUnicode_CompareWithASCIIString(args[0], "start") == 0) {
        PyObject* generation = PyDict_GetItemString(args[1], "generation");
        sweep(generation && PyLong_Check(generation) ? static_cast<int>(PyLong_AsLong(generation)) : kOldest);
    }
    Py_RETURN_NONE;
}

void ask_collector() {
    static PyMethodDef method = {"_stator",
                                 reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(collector_calls)),
                                 METH_FASTCALL, "Lets go of functions that only stator refers to."};
    const auto collector = frontend::module_named("gc");
    const auto callbacks =
        PyRef::steal(collector ? PyObject_GetAttrString(collector.get(), "callbacks") : nullptr);
    const auto callback = PyRef::steal(PyCFunction_New(&method, nullptr));
    if (callbacks && callback && PyList_CheckExact(callbacks.get()))
        PyList_Append(callbacks.get(), callback.get());
    PyErr_Clear();
}

}  // namespace

void prepare_departures() {
    frontend::module_named("gc");
    PyErr_Clear();
}

void begin_departures() {
    static bool asked = false;
    if (!std::exchange(asked, true)) ask_collector();
}

void note_state(Candidate& c) {
    begin_departures();
    c.age = 0;
    ++young;
    taken.push_back(&c);
    // The program may have switched the collector off, or taken our callback away.
    if (++since_sweep >= policy().swept_each) sweep(kOldest);
}

void end_departures() {
    ended = true;
    taken.clear();
}

}  // namespace stator::bindings
