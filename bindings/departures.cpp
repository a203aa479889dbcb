// See departures.h.
#include "bindings/departures.h"

#include <memory>
#include <utility>
#include <vector>

#include "bindings/candidates.h"
#include "frontend/cpython/kept_alive.h"
#include "frontend/drive/driver.h"
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

// Whether the state is one that may have to go: the globals of most functions are an imported module's, and
// stay as their functions do.
bool is_in_question(const FunctionState::Impl& fs) {
    // Its own references to the code are the state's and those of its places.
    constexpr Py_ssize_t kOwn = 2;
    return Py_REFCNT(fs.code_object.get()) <= kOwn || !frontend::is_of_imported_module(fs.globals.get());
}

// What was looked at when one generation was collected is looked at again when the next older one is, where
// the objects that it keeps are by then, too.
void sweep(int generation) {
    static bool sweeping = false;
    if ((generation < kOldest && young == 0) || std::exchange(sweeping, true)) return;
    if (generation == kOldest) since_sweep = 0;
    std::vector<Candidate*> candidates;
    std::vector<KeptAlive::Keeper> keepers;
    for (Candidate* c : taken) {
        if (c->running || c->age > generation) continue;
        if (c->age < kOldest && ++c->age == kOldest) --young;
        const FunctionState* state = c->state.get();
        if (!is_in_question(*state->impl())) continue;
        candidates.push_back(c);
        keepers.push_back({[state](visitproc visit, void* arg) { return state->traverse(visit, arg); },
                           {state->impl()->code_object.get(), state->impl()->globals.get()}});
    }
    // Destroyed at the end: finalizers may call functions, and take some.
    std::vector<std::unique_ptr<FunctionState>> gone;
    if (!keepers.empty())
        for (const size_t i : KeptAlive::useless(keepers, policy().most_swept)) {
            young -= candidates[i]->age < kOldest;
            gone.push_back(std::move(candidates[i]->state));
        }
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
    const auto collector = PyRef::steal(PyImport_ImportModule("gc"));
    const auto callbacks =
        PyRef::steal(collector ? PyObject_GetAttrString(collector.get(), "callbacks") : nullptr);
    const auto callback = PyRef::steal(PyCFunction_New(&method, nullptr));
    if (callbacks && callback && PyList_CheckExact(callbacks.get()))
        PyList_Append(callbacks.get(), callback.get());
    PyErr_Clear();
}

}  // namespace

void note_state(Candidate& c) {
    static bool asked = false;
    if (!std::exchange(asked, true)) ask_collector();
    c.age = 0;
    ++young;
    taken.push_back(&c);
    // The program may have switched the collector off, or taken our callback away.
    if (++since_sweep >= policy().swept_each) sweep(kOldest);
}

void end_departures() {
    taken.clear();
    young = 0;
}

}  // namespace stator::bindings
