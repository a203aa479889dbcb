// See giving_back.h.
#include "bindings/giving_back.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "bindings/function_object.h"
#include "bindings/later.h"
#include "frontend/clock.h"
#include "frontend/policy.h"

namespace stator::bindings {
namespace {

// Those whose functions are given back for a while.
std::vector<SharedState*>& waiting() {
    static auto* list = new std::vector<SharedState*>;  // lives as long as the process
    return *list;
}

int begin_looks();

int64_t armed_for = 0;  // when `begin_looks` is called, ns; 0: it is not going to be

void arm() {
    if (waiting().empty()) return;
    int64_t first = waiting().front()->look_at;
    for (const SharedState* s : waiting()) first = std::min(first, s->look_at);
    if (armed_for != 0 && armed_for <= first) return;
    armed_for = first;
    do_later(std::max<int64_t>(0, first - frontend::now_ns()), begin_looks);
}

int begin_looks() {
    armed_for = 0;
    const int64_t now = frontend::now_ns() + frontend::policy().looks_together;
    std::vector<SharedState*> due;
    for (SharedState* s : waiting())
        if (s->look_at <= now) due.push_back(s);
    for (SharedState* s : due) take_back(s);
    arm();
    return 0;
}

}  // namespace

void give_back(SharedState* shared) {
    if (std::exchange(shared->given_back, true)) return;
    choose_vectorcalls(shared);
    if (!shared->state->ever_looks_again()) return;
    shared->pause = shared->state->looked_in_vain()
                        ? std::min(2 * shared->pause, frontend::policy().longest_pause)
                        : frontend::policy().first_pause;
    shared->look_at = frontend::now_ns() + shared->pause;
    waiting().push_back(shared);
    arm();
}

void take_back(SharedState* shared) {
    if (!std::exchange(shared->given_back, false)) return;
    std::erase(waiting(), shared);
    shared->state->look_again();
    choose_vectorcalls(shared);
}

void take_back_all() {
    const std::vector<SharedState*> all = waiting();
    for (SharedState* s : all) take_back(s);
}

void reset_state(SharedState* shared) {
    shared->state->reset();
    if (shared->state->wants_python() || !shared->given_back) return;
    take_back(shared);
    shared->state->reset();  // no look: all is new
}

void reset_soon(SharedState* shared) {
    if (shared->running > 0)
        shared->reset_wanted = true;
    else
        reset_state(shared);
}

void forget_given_back(SharedState* shared) { std::erase(waiting(), shared); }

}  // namespace stator::bindings
