// What calls of a function cost and save is entered into its accounts here (ledger.h).
#include <algorithm>

#include "frontend/clock.h"
#include "frontend/drive/driver.h"
#include "frontend/drive/headers.h"
#include "frontend/policy.h"

namespace stator::frontend {

bool FunctionState::Impl::awaits_code() {
    // Code that is there is waited for until its loop comes round: the outermost one of a nest may take its
    // time.
    const int64_t now = awaited.empty() ? 0 : now_ns();
    std::erase_if(awaited, [&](Awaited& a) {
        const regions::CompiledRegion& r = *a.region;
        if (r.failed() || r.retired) return true;
        if (!r.ready()) return false;
        if (a.ready_since == 0) a.ready_since = now;
        return r.entries > 0 || r.refused > 0 || now - a.ready_since > policy().until_back;
    });
    return !awaited.empty();
}

bool FunctionState::Impl::code_settled() const {
    const int64_t now = now_ns();
    for (const auto& [code, cp] : codes) {
        for (const auto& [pc, header] : cp->headers) {
            if (header.duels.undecided(now)) return false;
            for (const auto& r : header.regions)
                if (!r->ready() && !r->failed()) return false;
        }
        for (const auto& [pc, place] : cp->by_pc)
            for (const auto& t : place->traces)
                if (t->awaits_code()) return false;
    }
    return true;
}

void FunctionState::Impl::pay(int64_t cost) {
    // While the code of a loop is being made, what is paid is a part of what the code costs: it says nothing
    // about what serving will be worth.
    if (is_judged() && waits()) return invest(cost);
    account.pay(cost);
    if (!is_judged() || verdicts.any_won()) return;
    tried += cost;
    purse().try_out(cost);
}

void FunctionState::Impl::earn(int64_t saved) {
    account.earn(saved);
    const int64_t back = std::min(saved, tried);
    tried -= back;
    purse().give_back(back);
}

void FunctionState::Impl::invest(int64_t ns) {
    purse().invest(ns);
    invested += ns;
}

// The time of the program itself since frames at hand were settled, beside what they have cost, ns.
int64_t FunctionState::Impl::take_time(int64_t cost) {
    const int64_t now = now_ns(), all = purse().invested(),
                  ran = now - std::exchange(settled_at, now) - (all - std::exchange(invested_before, all));
    // On a quick machine less time passes than is counted, and the program would seem not to have run at all.
    const int64_t least = cost / std::max<int64_t>(1, policy().step_cost) * policy().step_own_time;
    return std::max(ran - cost, std::min(ran, least));
}

bool FunctionState::Impl::is_worth_more() const {
    if (!has_to_earn || !is_judged()) return true;
    const int64_t at_hand = driving > 0 ? now_ns() - settled_at : 0;
    return policy().all_before_investing + policy().all_each_invested * invested <= seen + at_hand;
}

void FunctionState::Impl::settle(int64_t cost) {
    if (!is_judged()) return;
    const int64_t ran = take_time(cost);
    seen += ran;
    if (waits()) {
        waited += cost;
        // Until its code is there, or is reached, a loop goes on step by step, which is a part of what the
        // code costs.
        invest(cost);
        handing_over |= purse().exhausted();
        return;
    }
    waited = 0;
    pay(cost);
    account.ran(ran);
    handing_over |= account.overdrawn() || (account.debt() > policy().trial_allowance && waits_for_trial());
    if (!left_loop) return;
    left_loop->account.pay(cost);
    left_loop->account.ran(ran);
    if (left_loop->account.overdrawn()) give_up_loop(*left_places, *left_loop);
}

void FunctionState::Impl::give_up_loop(CodePlaces& places, LoopHeader& h) {
    const std::string why = h.regions.empty() ? "" : h.regions.front()->why_left();
    for (auto& [pc, header] : places.headers)
        if (&header == &h)
            remark(why.empty() ? Reason::Unprofitable : Reason::Faults, why, *places.code,
                   places.code->insns[static_cast<size_t>(pc)]);
    for (auto& region : h.regions) region->retired = true;
    h.account.open();
    if (left_loop == &h) left_loop = nullptr;
    kill(places, h);
}

void FunctionState::Impl::note_run(CodePlaces& places, LoopHeader& h, const regions::CompiledRegion& region,
                                   int64_t took, int64_t weight) {
    const int64_t entering = std::min(took - region.inside_ns, policy().most_entry_cost),
                  cost = weight * (entering + region.called * policy().call_through_python_cost),
                  saved = weight * policy().loop_gain * region.native_ns;
    pay(cost);
    earn(saved);
    h.account.pay(cost);
    h.account.earn(saved);
    const int64_t net = std::max<int64_t>(0, saved - cost);
    purse().save_by_loops(net);
    in_purse_by_loops += net;
    if ((saved_by_loops += saved - cost) > policy().loop_win) {
        saved_by_loops = 0;
        won();
    }
    if (h.account.overdrawn()) give_up_loop(places, h);
}

void FunctionState::Impl::note_replay(Place* place, Trace& t, int64_t took) {
    if (!is_judged()) return;
    const int64_t each = t.gpu >= 0 ? policy().saved_by_gpu_op : policy().saved_by_array_op;
    const int64_t saved =
        each * std::max(0, t.array_ops - t.library_ops) + policy().saved_by_scalar_op * t.scalar_ops;
    int64_t cost = policy().replay_cost + policy().replay_source_cost * t.source_count +
                   policy().replay_library_cost * t.library_ops;
    if (t.device_code) cost += policy().launch_cost * static_cast<int64_t>(t.cuda->kernels.size());
    // Plain Python needs a ns for each element as well, and the time of a library's routine. What fused
    // kernels do takes NumPy's own loops no less time than them.
    if (took >= 0)
        cost = std::min(took - std::max(t.work, t.kernels_ns) - t.library_ns,
                        policy().replay_most_longer * saved + policy().most_entry_cost);
    // One that is left in its middle costs less than others.
    if (took >= 0 && t.exits == 0) cost = t.least_cost.note(cost);
    if (t.awaits_code() && !verdicts.any_won()) {
        // Until its code is there it is interpreted, which is a part of what the code costs.
        invest(std::max<int64_t>(0, cost - saved));
        handing_over |= driving > 0 && purse().exhausted();
        return;
    }
    pay(cost);
    earn(saved);
    if (t.awaits_code()) return;  // which says nothing about what it is worth with its code
    place->account.pay(cost);
    place->account.earn(saved);
    // A place is given up before its function is. Not while other code of the function is being made: the
    // thread that does that may slow this one down to half.
    if (place->account.debt() < policy().place_allowance) return;
    if (!code_settled()) return place->account.open();
    remark(Reason::Unprofitable, "", *place->code, place->code->insns[static_cast<size_t>(place->pc)]);
    place->account.open();
    kill(place);
}

// What was given up for other kinds of arguments is tried with these.
void FunctionState::Impl::revive_all() {
    for (auto& [code, cp] : codes) cp->revive();
    account.open();
    eager_rounds = 0;
}

// Loops inside run about so often for each iteration of the one around them.
int64_t CodePlaces::weight_of(const LoopHeader& loop) const {
    int64_t weight = 0;
    for (int pc = loop.first; pc <= loop.last; ++pc) {
        int64_t times = 1;
        for (const auto& [other_pc, other] : headers)
            if (other.first > loop.first && other.has(pc)) times *= policy().inner_rounds;
        weight += times;
    }
    return weight;
}

void CodePlaces::revive() {
    for (auto& [pc, place] : by_pc) {
        if (!place->dead || place->for_good) continue;
        place->dead = false;
        place->fruitless = 0;
        ++live;
    }
    for (auto& [pc, h] : headers) {
        if (!h.dead || h.for_good) continue;
        h.dead = false;
        h.refusals = 0;
        ++open_headers;
    }
    find_last_ahead();
}

}  // namespace stator::frontend
