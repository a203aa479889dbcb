// See headers.h.
//
// A region is built where its loop is first arrived at: the builder needs objects of the kinds that the loop
// begins with, and no iteration that ran, which in a nest of loops may take as long as compiling it. What is
// refused then has other chances in the next iterations, when the variables that the loop makes have values.
// When the frame is of another kind than those before, another region is built. Loops inside of one that
// could not be built yet are left alone for a while: they may become parts of its region.

#include "frontend/drive/headers.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <optional>

#include "frontend/clock.h"
#include "frontend/cpython/deferred.h"
#include "frontend/cpython/iterators.h"
#include "frontend/cpython/pending.h"
#include "frontend/drive/verify_region.h"
#include "frontend/hosts/numpy/runtime.h"
#include "frontend/policy.h"
#include "frontend/profile/doing.h"
#include "frontend/regions/build/builder.h"
#include "frontend/replay/on_device.h"
#include "guards/check/names.h"

namespace stator::frontend {

namespace {

bool enabled = true;

bool forbidden(const FunctionState::Impl& fs) {
    return fs.limits && (fs.limits->forbidden & CallLimits::Recording);
}

// The last region that was asked for, when its code is not there yet.
bool waits_for_code(const LoopHeader& h) {
    return !h.regions.empty() && !h.regions.back()->ready() && !h.regions.back()->failed();
}

// It left an iteration of its loop, perhaps at an inner header, for its better code to be entered.
bool comes_back(const LoopHeader& h) { return !h.regions.empty() && h.regions.front()->was_replaced; }

// Its code is there and was not entered so far. The next iteration is going to, unless its variables do not
// fit.
bool is_about_to_enter(LoopHeader& h, int64_t now) {
    if (h.dead || h.regions.empty()) return false;
    const regions::CompiledRegion& region = *h.regions.back();
    if (!region.ready() || region.failed() || region.retired || region.entries > 0) return false;
    if (h.ready_since == 0) h.ready_since = now;
    return now - h.ready_since < policy().until_back;
}

// The region's code for the GPU. Null without: where there is no GPU the function goes on without the option,
// else the loop stays with Python.
std::unique_ptr<regions::DeviceRegion> on_device(FunctionState::Impl& fs,
                                                 const std::shared_ptr<graph::Region>& region,
                                                 const std::string& name, const CodeInfo& code, int pc) {
    const Insn& insn = code.insns[static_cast<size_t>(pc)];
    std::string why;
    if (!device_available(&why)) {
        fs.options.on_device = fs.options.cuda = false;
        fs.remark(Reason::NoDevice, why, code, insn);
        return nullptr;
    }
    auto device = std::make_unique<regions::DeviceRegion>(region, name);
    if (device->load(&why)) return device;
    fs.remark(device->code().error.empty() ? Reason::DeviceFailed : Reason::RegionKernel, why, code, insn);
    return nullptr;
}

// What is left of what the attempts at one loop may take together. Where a loop took all of it, its inner
// loops and its neighbours are likely to: they get half as much each time.
regions::BuildBudget budget_for(const FunctionState::Impl& fs, const LoopHeader& h) {
    regions::BuildBudget budget;
    const int halvings = std::min(fs.loops_too_large, policy().too_large_halvings);
    budget.work = std::max<int64_t>((budget.work >> halvings) - h.build_work, 0);
    budget.ns >>= halvings;
    if (!fs.is_judged())
        budget.ns = std::numeric_limits<int64_t>::max();  // work alone is the same on each machine
    return budget;
}

// Whether traces of its iterations may serve the loop better: where it works on whole arrays, and has no
// loops inside that are left to Python.
bool may_be_compared(const FunctionState::Impl& fs, const CodePlaces& places, const LoopHeader& h,
                     const graph::Region& region) {
    if (!fs.is_judged() || fs.options.on_device || !graph::works_on_arrays(region)) return false;
    return region.loops.size() > 1 || std::ranges::none_of(places.headers, [&](const auto& other) {
               return &other.second != &h && h.first <= other.second.first && other.second.last <= h.last;
           });
}

// Calls `visit(header)` for each loop inside of `h`, those of functions that are called among them,
// as far as anybody has arrived at them.
template <class Visit>
void for_loops_inside(const FunctionState::Impl& fs, const CodePlaces& places, const LoopHeader& h,
                      Visit visit) {
    for (const auto& [code, all] : fs.codes)
        for (const auto& [pc, other] : all->headers)
            if (other.arrivals > 0 && &other != &h &&
                (all.get() != &places || (h.first <= other.first && other.last <= h.last)))
                visit(other);
}

// Whether the code of all traces in the loop is there, and that of loops inside.
bool code_is_there(const FunctionState::Impl& fs, const CodePlaces& places, const LoopHeader& h) {
    bool there = true;
    for (const auto& [code, all] : fs.codes)
        for (const auto& [pc, at] : all->by_pc)
            there &= (all.get() == &places && !h.has(pc)) ||
                     std::ranges::none_of(at->traces, [](const auto& t) { return t->awaits_code(); });
    for_loops_inside(fs, places, h, [&](const LoopHeader& inner) { there &= !waits_for_code(inner); });
    return there;
}

// Whether loops inside are still finding out who serves them.
bool inside_is_undecided(const FunctionState::Impl& fs, const CodePlaces& places, const LoopHeader& h) {
    bool undecided = false;
    const int64_t now = now_ns();
    for_loops_inside(fs, places, h,
                     [&](const LoopHeader& inner) { undecided |= inner.duels.undecided(now); });
    return undecided;
}

// Iterations to come, of a loop over a range, list, tuple or array; -1: nobody knows.
int64_t iterations_left(const Frame& f) {
    const int top = f.depth() - 1 - kAboveIterator;
    PyObject* o = top >= 0 && f.slot_is_object(top) ? f.slot(top) : nullptr;
    if (!o) return -1;
    if (!is_array_iter(o)) return items_left(o);
    PyObject* array = array_iter_state(o).array;
    if (!array || !numpy::array_kind(array)) return -1;  // of others, asking for the length runs their code
    const Py_ssize_t left = PyObject_LengthHint(o, -1);
    if (left < 0) PyErr_Clear();
    return left;
}

// Bytes of NumPy's arrays in the frame's variables.
int64_t array_bytes(const Frame& f, const CodeInfo& code) {
    int64_t bytes = 0;
    for (int i = 0; i < code.code->co_nlocalsplus; ++i)
        if (PyObject* o = f.slot(i))
            if (const int64_t n = numpy::array_size(o)) bytes += n;
    return bytes;
}

// A loop's arrival, as far as comparing its region with traces goes.
struct Comparison {
    Duel* duel = nullptr;  // nullptr: nothing is compared
    int64_t left = -1;     // iterations to come; -1: nobody knows
    Duel::Turn turn = Duel::Turn::Region;
};

Comparison compare(const FunctionState::Impl& fs, const CodePlaces& places, LoopHeader& h, const Frame& f,
                   const CodeInfo& code) {
    if (h.regions.empty() || h.serves || forbidden(fs) || !h.regions.front()->is_compared) return {};
    if (!h.regions.front()->is_final()) return {};  // what code for now takes says nothing
    Comparison c;
    c.left = iterations_left(f);
    const int64_t left = c.left < 0 ? h.duels.count_down() : c.left;
    c.duel = &h.duels.at(h.regions.front().get(), left, [&] { return array_bytes(f, code); });
    const bool had_won = c.duel->traces_won();
    if (c.duel->passes()) return c.turn = Duel::Turn::Traces, c;
    // Of a nest nobody knows how many of its iterations a run did.
    const bool counted = c.left >= 0 || (c.duel->is_stepwise() && !h.regions.front()->counts());
    if (!counted && c.duel->measures()) c.duel->close();
    const bool waits = c.duel->waits(), nested = h.regions.front()->counts();
    const bool there = waits && code_is_there(fs, places, h),
               undecided = waits && nested && inside_is_undecided(fs, places, h);
    c.turn = c.duel->at_arrival({now_ns(), left, fs.counters.recordings, there, nested, undecided});
    if (had_won != c.duel->traces_won())
        log(LogTopic::Traces,
            fmt::format("region {}: {} ns an iteration, traces {} ns: {}", h.regions.front()->name(),
                        c.duel->region_ns(), c.duel->traces_ns(),
                        c.duel->traces_won() ? "traces serve the loop" : "looked at again"));
    return c;
}

// A run of the region is over: what it took counts when it is known for how many iterations.
void note_run(const Comparison& c, const Frame& f, bool at_header, const regions::CompiledRegion& region,
              regions::Left left, int64_t took) {
    if (left == regions::Left::End && c.left >= 0) return c.duel->ran(took, c.left, now_ns(), region.steps);
    if (left != regions::Left::Poll) return;
    const int64_t done = !at_header   ? 0
                         : c.left < 0 ? (c.turn == Duel::Turn::OneIteration)
                                      : c.left - iterations_left(f);
    if (done < 1) return c.duel->is_one_piece();
    c.duel->ran(took, done, now_ns(), region.steps);
}

void build(FunctionState::Impl& fs, CodePlaces& places, LoopHeader& h, Frame& f, const CodeInfo& code,
           int pc) {
    ++h.attempts;
    std::string name = fmt::format("{}@{}", fs.name, code.insns[static_cast<size_t>(pc)].line);
    if (!h.regions.empty()) name += fmt::format("/{}", h.regions.size() + 1);
    const auto internal_error = [&](const std::string& what) {
        log(LogTopic::Errors,
            "stator: internal error in region " + name + ", its loop stays with Python: " + what);
        fs.kill(places, h, true);
    };
    const Timed timed(Activity::Building, [&] { return line_of(code, pc); });
    struct Built {
        FunctionState::Impl& fs;
        const int64_t begun = thread_ns();
        ~Built() { fs.invest(thread_ns() - begun); }
    } const built_for{fs};
    const bool logged = log_enabled(LogTopic::Traces);
    const int64_t begun = logged ? thread_ns() : 0;
    regions::Builder builder(f, code, pc, budget_for(fs, h));
    std::unique_ptr<regions::BuiltRegion> built;
    try {
        // The builder asks Python and goes another way where that fails: a handler's exception would be lost.
        const DeferredSignals deferred;
        built = builder.build();
    } catch (const std::exception& e) {
        return internal_error(e.what());
    }
    h.build_work += builder.work();
    if (logged)
        log(LogTopic::Traces, fmt::format("{} region {}: {} steps, {:.2f} ms", built ? "built" : "refused",
                                          name, builder.work(), 1e-6 * (thread_ns() - begun)));
    if (!built) {
        const CodeInfo& where = builder.failed_code();
        const bool alone = code.is_module && builder.reason() == Reason::RegionOp;  // no traces are there
        fs.remark(alone ? Reason::RegionInModule : builder.reason(), builder.detail(), where,
                  where.insns[static_cast<size_t>(std::max(builder.failed_pc(), 0))]);
        // A loop that has run natively may end with variables that no region can have.
        const bool has_run = std::any_of(h.regions.begin(), h.regions.end(),
                                         [](const auto& r) { return !r->retired && r->entries > 0; });
        const bool too_large = builder.reason() == Reason::RegionBudget;
        fs.loops_too_large += too_large;
        if ((++h.refusals >= policy().header_refusals || too_large) && !has_run) fs.kill(places, h);
        return;
    }
    apply_mutation(*built->graph);
    if (const std::string wrong = graph::verify(*built->graph); !wrong.empty()) return internal_error(wrong);
    for (const auto& part : built->left_out)
        fs.remark(Reason::RegionPart, part.detail, *part.code,
                  part.code->insns[static_cast<size_t>(part.pc)]);
    std::unique_ptr<regions::DeviceRegion> device;
    if (fs.options.on_device && regions::is_for_device(*built->graph) &&
        !(device = on_device(fs, built->graph, name, code, pc)) && fs.options.on_device)
        return fs.kill(places, h);
    for (auto& [inner, other] : places.headers)
        if (h.has(inner) && !std::exchange(other.in_region, true)) ++fs.counters.regions;
    const bool compared = may_be_compared(fs, places, h, *built->graph);
    h.regions.push_back(std::make_shared<regions::CompiledRegion>(std::move(built), name, fs.options.fastmath,
                                                                  fs.options.async, std::move(device)));
    h.regions.back()->is_compared = compared;
    fs.last_region = now_ns();
    fs.awaited.push_back({h.regions.back()});
    ++fs.regions_built;
}

// Whether it is worth making something of: a loop of a few short iterations, in a function that is called
// once, is not. Time counts, too, since an instruction may be an operation on a large array.
bool is_hot(const FunctionState::Impl& fs, LoopHeader& h, const Frame& f) {
    if (!fs.is_judged()) return true;
    const int top = f.depth() - 1 - kAboveIterator;
    PyObject* o = top >= 0 && f.slot_is_object(top) ? f.slot(top) : nullptr;
    // Of a range that was just begun all iterations are to come; else this one is.
    const bool begun_here = o && is_range_iter(o) && !h.cold;
    if (std::exchange(h.in_call, fs.counters.calls) != fs.counters.calls) h.since_call = now_ns();
    h.seen +=
        h.weight * (begun_here ? std::clamp<int64_t>(range_iter_state(o).left, 1, policy().hot_work) : 1);
    h.cold = h.seen < policy().hot_work && now_ns() - h.since_call < policy().hot_time;
    return !h.cold;
}

// Not when its header is hardly ever reached a second time, nor for the one round of `for k in range(1)`.
bool is_to_come(const LoopHeader& h) {
    return !h.dead && h.attempts == 0 && !h.one_round && h.spared < policy().spared_recordings;
}

// Whether the loop comes round: for a last number of a range nothing is built.
bool comes_round(const Frame& f) {
    const int top = f.depth() - 1 - kAboveIterator;
    PyObject* o = top >= 0 && f.slot_is_object(top) ? f.slot(top) : nullptr;
    return !o || !is_range_iter(o) || range_iter_state(o).left > 1;
}

// Whether the loop of `header` leaves it to those around it to become a region.
bool leaves_it_to_others(const FunctionState::Impl& fs, CodePlaces& places, int header, const LoopHeader& h) {
    // The frame was recalled for one of them, which may have waited for others long enough.
    if (fs.coming_back && fs.coming_back_in == &places && fs.coming_back->has(header))
        return fs.coming_back != &h;
    const LoopsAround around = loops_around(fs, places, header, header);
    const int64_t now = now_ns(), waited = now - std::max(h.since, fs.last_region);
    for (auto& [other_header, other] : places.headers)
        if (other_header != header && other.has(header) && is_about_to_enter(other, now)) return true;
    const int64_t until_tried = policy().until_tried
                                << std::min(fs.regions_built, policy().until_tried_doublings);
    const bool back = fs.around.waiting > 0 ||
                      std::any_of(places.headers.begin(), places.headers.end(), [&](const auto& other) {
                          return !other.second.dead && other.second.has(header) && comes_back(other.second);
                      });
    return (around.untried > 0 && waited < until_tried) ||
           (around.waiting > 0 && waited < (back ? policy().until_back : policy().until_code));
}

}  // namespace

void set_regions(bool on) { enabled = on; }
bool regions_on() { return enabled; }

LoopsAround loops_around(const FunctionState::Impl& fs, const CodePlaces& places, int pc, int apart_from) {
    LoopsAround around = fs.around;
    if (!enabled || forbidden(fs)) return {};
    for (const auto& [header, h] : places.headers) {
        if (header == apart_from || h.dead || !h.has(pc)) continue;
        around.untried += is_to_come(h);
        around.waiting += waits_for_code(h) || comes_back(h);
    }
    return around;
}

bool region_serves(const FunctionState::Impl& fs, CodePlaces& places, int pc) {
    for (const auto& [header, h] : places.headers)
        if (!h.dead && (h.serves || h.cold) && h.has(pc)) return true;
    if (loops_around(fs, places, pc).untried == 0) return false;
    for (auto& [header, h] : places.headers) h.spared += is_to_come(h) && h.has(pc);
    return true;
}

bool region_begins(const FunctionState::Impl& fs, const CodePlaces& places, int pc) {
    const LoopHeader* header = places.header_at[static_cast<size_t>(pc)];
    if (!header || header->dead || !enabled || forbidden(fs)) return false;
    const LoopHeader& h = *header;
    return is_to_come(h) || std::any_of(h.regions.begin(), h.regions.end(),
                                        [](const auto& r) { return !r->retired && !r->failed(); });
}

std::vector<RegionInfo> FunctionState::regions() const {
    std::vector<RegionInfo> all;
    for (const auto& [code_object, places] : impl_->codes)
        for (auto& [pc, h] : places->headers)
            for (const auto& r : h.regions) {
                RegionInfo info;
                info.name = r->name();
                info.place = fmt::format("{}:{}", guards::utf8(code_object->co_filename),
                                         places->code->insns[static_cast<size_t>(pc)].line);
                info.graph = r->text();
                info.entries = r->entries;
                info.checks = r->checks;
                info.refused = r->refused;
                info.why_refused = r->why_refused;
                info.python_calls = r->python_calls;
                info.allocations = r->allocations;
                for (const auto& part : r->built().left_out)
                    info.left_out.push_back({guards::utf8(part.code->code->co_filename),
                                             guards::utf8(part.code->code->co_name), part.detail,
                                             part.code->insns[static_cast<size_t>(part.pc)].line});
                const graph::Region& g = *r->built().graph;
                for (size_t x = 0; x < g.exits.size(); ++x) {
                    const auto& stop = r->built().exits[x]->frames.back();
                    info.exits.push_back({guards::utf8(stop.code->code->co_filename), g.exits[x].label,
                                          g.exits[x].line, x < r->taken.size() ? r->taken[x] : 0});
                }
                info.ready = r->ready();
                if (r->failed())
                    info.error = r->request()->slot->error;
                else if (const Duel* d = r == h.regions.front() ? h.duels.now() : nullptr;
                         d && d->traces_won())
                    info.error =
                        fmt::format("traces of its iterations take {} ns each, it took {} ns: they serve",
                                    d->traces_ns(), d->region_ns());
                info.on_device = r->device() != nullptr;
                info.request = r->request();
                all.push_back(std::move(info));
            }
    std::sort(all.begin(), all.end(),
              [](const RegionInfo& a, const RegionInfo& b) { return a.name < b.name; });
    return all;
}

AtHeader arrive_at_header(FunctionState::Impl& fs, CodePlaces& places, Frame& f, const CodeInfo& code,
                          int* pc, std::vector<ResumeFrame>* inner) {
    LoopHeader* header_here = places.header_at[static_cast<size_t>(*pc)];
    if (!header_here || header_here->dead || !enabled || !fs.options.has_regions() ||
        stance() == Stance::Eager) {
        fs.compile_postponed();
        return AtHeader::Nothing;
    }
    LoopHeader& h = *header_here;
    if (++h.arrivals == 1) h.since = now_ns();
    h.one_round = !comes_round(f);
    const bool came_back = fs.coming_back == &h;
    const size_t before = h.regions.size();
    const auto here = [&, pc = *pc] { return line_of(code, pc); };
    const bool builds =
        h.regions.empty() && !h.one_round && !forbidden(fs) && (came_back || is_hot(fs, h, f));
    fs.left_to_others = builds && leaves_it_to_others(fs, places, *pc, h);
    if (builds && !fs.left_to_others && fs.may_invest()) build(fs, places, h, f, code, *pc);
    fs.compile_postponed();
    if (came_back) fs.coming_back = nullptr;
    h.serves = waits_for_code(h);
    const Comparison compared = compare(fs, places, h, f, code);
    if (compared.turn == Duel::Turn::Traces) return AtHeader::Nothing;
    for (int round = 0; round < 2 && !h.dead; ++round) {
        for (size_t i = 0; i < h.regions.size(); ++i) {
            regions::CompiledRegion* const region = h.regions[i].get();  // none is dropped while calls last
            const int header = *pc;
            if (!region->ready()) continue;  // to ask costs nothing to speak of
            if (!region->copies_pay()) {
                fs.remark(Reason::RegionCopies, "", code, code.insns[static_cast<size_t>(header)]);
                fs.kill(places, h);
                return AtHeader::Nothing;
            }
            // To ask for the time takes as long as much of what there is to do.
            const bool each =
                fs.judging || region->checks > 0 || region->entries < policy().runs_timed_first ||
                (compared.duel && compared.duel->measures()) || compared.turn == Duel::Turn::OneIteration;
            region->metered = fs.is_judged() && !region->device() &&
                              (each || region->entries % policy().runs_timed_each == 0);
            const int64_t begun = region->metered || fs.judging ? now_ns() : 0;
            std::optional<RegionCheck> check;
            if (verifying_calls() && !region->device() && !region->built().draws)
                check.emplace(fs, code, header);
            const regions::Left left = [&] {
                const Timed timed(Activity::Region, here);
                return region->run(f, pc, inner, check ? &*check : nullptr,
                                   compared.turn == Duel::Turn::OneIteration);
            }();
            // What another thread has sent would be raised, and lost, while the check runs.
            if (check && left != regions::Left::NotEntered && left != regions::Left::Failed &&
                !async_exception_waits(f.ts()) && !check->agrees(*region, f, pc, inner)) {
                fs.kill(places, h);
                return AtHeader::Nothing;
            }
            if (left == regions::Left::NotEntered) {
                if (region->device() && !region->device()->error().empty()) {
                    fs.remark(Reason::DeviceFailed, region->device()->error(), code,
                              code.insns[static_cast<size_t>(header)]);
                    fs.kill(places, h);
                    break;
                }
                if (!region->retired) {
                    fs.pay(policy().refused_entry_cost);
                    if (!waits_for_code(h)) h.account.pay(policy().refused_entry_cost);
                }
                continue;
            }
            h.serves = true;
            fs.left_loop = nullptr;
            if (region->was_replaced) fs.last_region = now_ns();
            if (i > 0) std::swap(h.regions[i], h.regions[0]);
            ++fs.counters.kernels_launched;
            // Entering and leaving take a microsecond or so.
            if (begun) {
                const int64_t took = now_ns() - begun;
                if (fs.judging && took >= policy().native_run_from) fs.in_regions += took;
                if (compared.duel)
                    note_run(compared, f, inner->empty() && *pc == header, *region, left, took);
                if (region->metered)
                    fs.note_run(places, h, *region, took, each ? 1 : policy().runs_timed_each);
            }
            switch (left) {
                case regions::Left::End: return AtHeader::Left;
                case regions::Left::Failed: return AtHeader::Raised;
                case regions::Left::Poll:
                    if (!inner->empty()) {
                        inner->back().pending = true;
                        return AtHeader::Inside;
                    }
                    f.set_unit_at(code.insns[static_cast<size_t>(*pc)].op_unit);
                    return serve_pending(f.ts()) ? AtHeader::Again : AtHeader::Raised;
                default: break;
            }
            ++fs.counters.exits;
            if (!h.dead) fs.left_places = &places, fs.left_loop = &h;
            return inner->empty() ? AtHeader::Step : AtHeader::Inside;
        }
        // Variables of other kinds than those so far.
        if (before == 0 || round > 0 || h.regions.size() >= policy().header_regions ||
            h.attempts >= policy().header_attempts || waits_for_code(h) || h.one_round || forbidden(fs) ||
            !fs.may_invest())
            break;
        if (std::ranges::any_of(h.regions, [](const auto& r) { return r->is_watched(); })) {
            fs.remark(Reason::Traced, "", code, code.insns[static_cast<size_t>(*pc)]);
            break;
        }
        // It is not a matter of kinds where one that was given up would be entered.
        for (const auto& region : h.regions)
            if (region->retired && region->would_admit(f)) {
                fs.kill(places, h);
                return AtHeader::Nothing;
            }
        build(fs, places, h, f, code, *pc);
        if (h.regions.size() == before) break;
    }
    h.serves |= waits_for_code(h);  // nothing else is made of its body then
    return AtHeader::Nothing;
}

}  // namespace stator::frontend
