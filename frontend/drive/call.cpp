// What happens at a call of a compiled function, from the cheapest way to the most expensive: replay from the
// bound arguments without a frame; drive the function's real frame; call the function as it is. Which of
// them, the judge says where it has something to say or to find out.

#include <alloca.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "frontend/clock.h"
#include "frontend/cpython/functions.h"
#include "frontend/drive/driver.h"
#include "frontend/drive/headers.h"
#include "frontend/drive/verify_region.h"
#include "frontend/function.h"
#include "frontend/hosts/host.h"
#include "frontend/policy.h"
#include "frontend/profile/doing.h"
#include "frontend/profile/sampler.h"
#include "frontend/regions/routines/library.h"
#include "frontend/replay/host_arrays.h"
#include "frontend/services.h"

namespace stator::frontend {

namespace {

struct DriveContext {
    FunctionState::Impl* fs;
    PyObject* func;
    HookScope* scope;
};

// Takes the first frame of the decorated function that the call pushes.
bool entry_handler(void* ctx, Frame& frame, PyObject** result) {
    auto* c = static_cast<DriveContext*>(ctx);
    if (frame.function() != c->func) return false;
    if (frame.code() != c->fs->code->code) return false;
    c->scope->end();
    frame.link();
    *result = drive(*c->fs, frame, *c->fs->code, 0, nullptr, false);
    return true;
}

// The function as CPython runs it.
PyObject* call_plainly(PyObject* func, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    return python_vectorcall()(func, args, nargsf, kwnames);
}

}  // namespace

PyObject* call_driven(FunctionState::Impl& fs, PyObject* func, PyObject* const* args, size_t nargsf,
                      PyObject* kwnames) {
    DriveContext ctx{&fs, func, nullptr};
    HookScope scope(entry_handler, &ctx);
    ctx.scope = &scope;
    return call_plainly(func, args, nargsf, kwnames);
}

namespace {

// STATOR_VERIFY: the call, as stator._verify.Call keeps it before it is served.
PyObject* begin_verified(PyObject* func, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    Py_ssize_t npos = PyVectorcall_NARGS(nargsf), nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    PyRef positional = PyRef::steal(PyTuple_New(npos)), keywords = PyRef::steal(PyDict_New());
    if (!positional || !keywords) return nullptr;
    for (Py_ssize_t i = 0; i < npos; ++i) PyTuple_SET_ITEM(positional.get(), i, Py_NewRef(args[i]));
    for (Py_ssize_t i = 0; i < nkw; ++i)
        if (PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(kwnames, i), args[npos + i]) < 0) return nullptr;
    PyRef module = module_named("stator._verify");
    PyRef plain = PyRef::steal(module ? copy_of_function(func) : nullptr);  // whose calls are CPython's
    if (!plain) return nullptr;
    return PyObject_CallMethod(module.get(), "Call", "OOO", plain.get(), positional.get(), keywords.get());
}

// The sources of the arrays that the trace stores to.
std::vector<std::string> written_sources(const Trace& t) {
    std::vector<std::string> sources;
    for (const graph::Input& in : t.graph.inputs)
        if (in.written) sources.push_back(in.source);
    for (const graph::Node& n : t.graph.nodes) {
        if (n.op == graph::Op::Library && n.ints[3] == graph::kGivesDrawn)
            sources.push_back("a generator of random numbers");
        if (n.op != graph::Op::Library || n.ints[3] != graph::kGivesNothing) continue;
        const graph::Recipe& array = t.graph.recipes[t.graph.recipes[n.ints[1]].items[0]];
        bool argument = array.kind == graph::RecipeKind::Slot;
        sources.push_back(argument ? t.guards.source(array.index).text
                                   : "a part of an array that only NumPy reads");
    }
    for (const graph::CellContents& c : t.graph.end_cells) {
        const graph::Recipe& place = t.graph.recipes[c.cell];
        if (place.kind == graph::RecipeKind::Slot)
            sources.push_back("a variable of an enclosing function");
        else if (place.kind == graph::RecipeKind::Attr &&
                 t.graph.recipes[place.items[0]].kind == graph::RecipeKind::Slot)
            sources.push_back("an attribute of an object");
        else if (place.kind == graph::RecipeKind::ListEnd)
            sources.push_back("the end of a list");
    }
    return sources;
}

// Runs the function eagerly and answers with what the caller gets.
PyObject* end_verified(PyObject* call, const Trace& t, PyObject* steal_value) {
    PyRef value = PyRef::steal(steal_value), written = PyRef::steal(PyList_New(0));
    if (!written) return nullptr;
    for (const std::string& text : written_sources(t)) {
        PyRef source = PyRef::steal(PyUnicode_FromString(text.c_str()));
        if (!source || PyList_Append(written.get(), source.get()) < 0) return nullptr;
    }
    return PyObject_CallMethod(call, "check", "OsO", value.get(), t.name.c_str(), written.get());
}

}  // namespace

namespace {

// Whether there is something to serve calls with, or will be.
bool has_anything(const FunctionState::Impl& fs) {
    if (fs.trace_count == 0 && fs.regions_built == 0) return false;
    for (auto& [code, cp] : fs.codes) {
        for (auto& [pc, place] : cp->by_pc)
            if (!place->dead && !place->traces.empty()) return true;
        for (auto& [pc, header] : cp->headers)
            if (!header.dead && !header.regions.empty()) return true;
    }
    return false;
}

// What a call is given, as far as judging it goes. Asked for when somebody needs it, before the call takes it
// away.
struct Given {
    uint64_t kinds = 0;  // of the arguments: equal for equal ones
    int64_t size = 0;    // elements of all arrays among them

    void add(PyObject* o) {
        if (!o) return;
        size += host_array_size(o);
        mix(reinterpret_cast<uintptr_t>(Py_TYPE(o)));
        if (const uint32_t array = numpy::array_kind(o)) return mix(array);
        if ((PyList_CheckExact(o) || PyTuple_CheckExact(o)) && Py_SIZE(o) > 0)
            mix(reinterpret_cast<uintptr_t>(Py_TYPE(PySequence_Fast_GET_ITEM(o, 0))));
    }

  private:
    void mix(uint64_t x) { kinds = (kinds ^ x) * 0x9E3779B97F4A7C15u + 1; }
};

// The judge of calls like this one. What was given up for other kinds is open to new ones.
Judge& judge_of(FunctionState::Impl& fs, const Given& given) {
    bool fresh = false;
    Judge& judge = fs.verdicts.of(given.kinds, &fresh);
    if (fresh) fs.revive_all();
    return judge;
}

// A call that was served is over: has it cost so much that plain Python went on with it?
void close_accounts(FunctionState::Impl& fs, const Given& given) {
    if (fs.driving > 0) return;
    fs.handing_over = false;
    if (!fs.account.overdrawn()) return;
    const bool early = !fs.code_settled();
    judge_of(fs, given).overdraw(given.size, fs.account.debt(), early);
    log(LogTopic::Opaque,
        fmt::format("{}: serving it has cost {:.1f} ms more than it saved{}: plain Python for a while",
                    fs.name, 1e-6 * fs.account.debt(), early ? ", before all code was there" : ""));
    fs.account.open();
    ++fs.counters.retired;
    fs.remark(Reason::Unprofitable, "", *fs.code, fs.code->insns[0]);
}

// Calls that neither record nor run a kernel are plain overhead, unless code is being made for the next ones.
void count_fruitless(FunctionState::Impl& fs, const Given& given) {
    ++fs.counters.eager_calls;
    if (!fs.entry->traces.empty()) return;  // calls of another kind are served
    const CodePlaces& places = fs.places(*fs.code);
    if (++fs.eager_rounds < policy().fruitless_calls && (places.live > 0 || places.open_headers > 0)) return;
    judge_of(fs, given).give_up(given.size);
    // What was recorded after its beginning has reasons of its own.
    if (fs.counters.recordings == 0) fs.remark(Reason::NoArrays, "", *fs.code, fs.code->insns[0]);
}

// The call frame by frame with `drive`, or as plain Python where nothing in the function is worth it.
template <class Plain, class Drive>
PyObject* stepped(FunctionState::Impl& fs, const Given& given, Plain plain, Drive drive) {
    if (fs.is_judged()) judge_of(fs, given);
    const auto done = [&] {
        return std::tuple(fs.counters.recordings, fs.counters.kernels_launched, fs.entered);
    };
    const auto before = done();
    const CodePlaces& places = fs.places(*fs.code);
    const bool hopeless = places.live == 0 && places.open_headers == 0;
    // Nothing is there yet, and there is nothing to make it with.
    const bool postponed = !fs.may_begin() && !has_anything(fs);
    if (postponed) return fs.passed_over = true, ++fs.counters.eager_calls, plain();
    PyObject* result = hopeless ? plain() : drive();
    if (fs.handing_over || fs.account.overdrawn()) close_accounts(fs, given);
    const bool served =
        fs.counters.kernels_launched != std::get<1>(before) || fs.entered != std::get<2>(before);
    fs.counters.served += served;
    if (done() == before && fs.code_settled())
        count_fruitless(fs, given);
    else
        fs.eager_rounds = 0;
    return result;
}

Given given(PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    const Py_ssize_t count = PyVectorcall_NARGS(nargsf) + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    Given all;
    for (Py_ssize_t i = 0; i < count; ++i) all.add(args[i]);
    return all;
}

// Serves the call in whatever way is cheapest. `replayed` becomes the trace that took it from entry to
// return, if one did.
PyObject* serve(FunctionState::Impl& fs, PyObject* func, PyObject* const* args, size_t nargsf,
                PyObject* kwnames, const Trace** replayed) {
    PyObject* const* slots = args;
    std::vector<PyRef> owned;
    Place* entry = fs.entry;
    bool bound = !entry->traces.empty();
    const bool closure = PyFunction_GET_CLOSURE(func) != nullptr;
    if (bound && (closure || !fs.binder.direct(nargsf, kwnames))) {
        const int place = fs.code->function_slot();  // parameters are variables, too
        auto** own = static_cast<PyObject**>(alloca(sizeof(PyObject*) * (static_cast<size_t>(place) + 1)));
        bound = fs.binder.bind(func, args, nargsf, kwnames, own, owned);
        own[place] = func;
        slots = own;
    }
    PyRef call;
    if (bound && verifying_calls()) {
        call = PyRef::steal(begin_verified(func, args, nargsf, kwnames));
        if (!call) return nullptr;
    }
    if (bound) {
        for (size_t i = 0; i < entry->traces.size(); ++i) {
            Trace& t = *entry->traces[i];
            const int64_t begun = fs.time_of_replay(t);
            Outcome out = replay(t, slots, fs.counters);
            if (!t.device_error.empty()) [[unlikely]]
                note_lost_device(fs, t);
            if (out.kind == Outcome::NotEntered) {
                if (!t.device_slot) ++fs.counters.guard_failures;
                if (log_enabled(LogTopic::Guards) && out.failed_guard >= 0)
                    log(LogTopic::Guards, t.name + ": " + t.guards.explain(out.failed_guard, slots));
                continue;
            }
            if (i > 0) std::swap(entry->traces[i], entry->traces[0]);
            ++fs.counters.served;
            if (out.kind == Outcome::Returned) {
                ++fs.counters.replays;
                *replayed = &t;
                if (!fs.verdicts.won()) [[unlikely]] {
                    fs.note_replay(entry, t, fs.time_since(begun));
                    if (fs.account.overdrawn()) close_accounts(fs, given(args, nargsf, kwnames));
                }
                return call ? end_verified(call.get(), t, out.value) : out.value;
            }
            if (out.kind == Outcome::Failed) return nullptr;
            if (out.kind == Outcome::Redo) {
                ++fs.counters.redone;
                if (out.frames.empty()) return call_plainly(func, args, nargsf, kwnames);
            } else {
                ++fs.counters.replays;
                if (out.exit) ++fs.counters.exits;
            }
            PyObject* result = drive_outcome(fs, func, std::move(out));
            if (fs.handing_over || fs.account.overdrawn()) close_accounts(fs, given(args, nargsf, kwnames));
            return result;
        }
    }
    if (bound && entry->awaits_kernels()) {
        fs.passed_over = true;
        return ++fs.counters.eager_calls, call_plainly(func, args, nargsf, kwnames);
    }
    return stepped(
        fs, given(args, nargsf, kwnames), [&] { return call_plainly(func, args, nargsf, kwnames); },
        [&] { return call_driven(fs, func, args, nargsf, kwnames); });
}

// What NumPy hardly does the operations of the trace in less than, with `size` elements in all arrays. One or
// two operations on many elements are no faster fused than they are one by one: nothing is said about those.
int64_t eager_floor(const Trace& t, int64_t size) {
    // On a GPU it is the launches that are waited for, whatever the size.
    if (t.gpu >= 0) return t.array_ops * policy().floor_gpu_op;
    const int64_t each = t.array_ops > policy().floor_few_ops ? size / std::max(t.array_inputs, 1) : 0;
    return t.array_ops * (policy().floor_array_op + each) + t.scalar_ops * policy().floor_scalar_op;
}

// Measures one call. The clock of the thread's time is a system call, which may take as long as the call
// itself and not always as long; nothing interrupts a call so short, or not each time. Longer ones are
// measured by it.
class CallTimer {
  public:
    explicit CallTimer(bool by_thread) : thread_(by_thread ? thread_ns() : -1), begun_(now_ns()) {}
    int64_t elapsed() const {
        const int64_t wall = now_ns() - begun_;
        const int64_t ns =
            wall < policy().judge_thread_clock_from || thread_ < 0 ? wall : thread_ns() - thread_;
        return std::max<int64_t>(1, ns - policy().judge_clock_cost);
    }

  private:
    int64_t thread_, begun_;
};

// A call that the judge wants to know about, or has something to say about: `plain` runs it as Python does,
// `serve(&trace)` as we do, and says which trace took it from entry to return, if one did.
template <class Plain, class Serve>
PyObject* judged(FunctionState::Impl& fs, const Given& given, Plain plain, Serve serve) {
    const Trace* replayed = nullptr;
    const int64_t size = given.size;
    Judge& judge = judge_of(fs, given);
    // Nothing is left for finding out whether serving pays, or for waiting until the code is there.
    if (judge.compares() && (fs.waits_for_trial() || (purse().exhausted() && !fs.code_settled()))) {
        fs.unlooked = policy().judge_paused_calls;
        fs.unlooked_size = std::numeric_limits<int64_t>::max();
        return ++fs.counters.eager_calls, plain();
    }
    const bool gave_up = judge.gave_up();
    const Judge::Way way = judge.choose(size);
    if (way == Judge::Way::Plain) {
        ++fs.counters.eager_calls;
        if (fs.verdicts.all_retired(&fs.unlooked_size)) fs.note_unwanted(judge);
        return plain();
    }
    if (way == Judge::Way::Serve) return serve(&replayed);
    const bool timed_plain = way == Judge::Way::TimedPlain;
    const int64_t recordings = fs.counters.recordings;
    if (gave_up && !timed_plain) fs.revive_entry();
    if (timed_plain) ++fs.counters.eager_calls;
    const int64_t in_regions = fs.in_regions, exits = fs.counters.exits, invested = purse().invested(),
                  called = regions::calls_through_python();
    // What calls inside cost under the hook of STATOR=all is a cost of being served, too.
    const UnwatchedCall alone(timed_plain && judge.compares_alone());
    const CallTimer timer(judge.compares());
    (timed_plain ? fs.timing_plain : fs.judging) = true;
    fs.passed_over = false;
    PyObject* result;
    if (timed_plain && judge.compares()) {
        const Timed timed(Activity::Comparing, kFramesLine);
        result = plain();
    } else {
        result = timed_plain ? plain() : serve(&replayed);
    }
    fs.judging = fs.timing_plain = false;
    const int64_t ns = timer.elapsed();
    fs.seen += ns;
    const bool records = fs.counters.recordings != recordings,
               recorded = records && fs.counters.recordings <= policy().judge_recordings;
    // Functions inside may have been begun with meanwhile, which the next call will not do again.
    const bool begun = !records && policy().judge_invested_share * (purse().invested() - invested) > ns;
    const bool steady = !begun && (timed_plain || (!recorded && !fs.passed_over && fs.code_settled()));
    // Loops in native code that nothing leaves are not slower than Python's, unless they spend their time in
    // calls through Python.
    const bool calls_out = policy().call_through_python * (regions::calls_through_python() - called) >
                           ns / policy().native_call_calls_share;
    const bool native = ns >= policy().native_call_from &&
                        fs.in_regions - in_regions >= ns / policy().native_call_share &&
                        fs.counters.exits == exits && !calls_out;
    // Whoever makes a profile wants to know by how much it is faster.
    const int64_t floor = replayed && !sampling() ? eager_floor(*replayed, size) : 0;
    fs.pay(policy().judge_cost);
    if (judge.note(way, size, {ns, steady, floor, native, !result})) {
        purse().try_out(judge.lost_by_trial());
        log(LogTopic::Opaque, fmt::format("{}: {}: plain Python for a while", fs.name, judge.in_words()));
        ++fs.counters.retired;
        fs.remark(Reason::Unprofitable, "", *fs.code, fs.code->insns[0]);
    }
    if (judge.won()) fs.won();
    return result;
}

Given given(const FunctionState::Impl& fs, const Frame& frame) {
    const auto* code = reinterpret_cast<PyCodeObject*>(fs.code_object.get());
    const int parameters = code->co_argcount + code->co_kwonlyargcount;
    Given all;
    for (int i = 0; i < parameters; ++i) all.add(frame.slot(i));
    return all;
}

}  // namespace

// A call of what is given up, for as many of them as are not looked at. Only larger arrays are.
template <class Argument>
static bool passes_unlooked(FunctionState::Impl& fs, Py_ssize_t count, Argument argument) {
    --fs.unlooked;
    int64_t size = 0;
    for (Py_ssize_t i = 0; i < count; ++i)
        if (PyObject* o = argument(i)) size += numpy::array_size(o);
    if (size > fs.unlooked_size) return false;
    ++fs.counters.calls;
    ++fs.counters.eager_calls;
    return true;
}

bool FunctionState::passes(const Frame& frame) {
    Impl& fs = *impl_;
    if (fs.unlooked <= 0) return false;
    const auto* code = reinterpret_cast<PyCodeObject*>(fs.code_object.get());
    return passes_unlooked(fs, code->co_argcount + code->co_kwonlyargcount,
                           [&](Py_ssize_t i) { return frame.slot(static_cast<int>(i)); });
}

PyObject* FunctionState::call(PyObject* func, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    Impl& fs = *impl_;
    const auto plain = [&] { return call_plainly(func, args, nargsf, kwnames); };
    if (fs.unlooked > 0 &&
        passes_unlooked(fs, PyVectorcall_NARGS(nargsf), [&](Py_ssize_t i) { return args[i]; }))
        return plain();
    if (fs.given_up || recording_on_this_thread()) return plain();
    const InUse in_use(*this);
    ++fs.counters.calls;
    if (stance() == Stance::Eager || PyFunction_GET_CODE(func) != fs.code_object.get()) {
        ++fs.counters.eager_calls;
        if (hosts_are_changed() && fs.code) fs.remark(Reason::ChangedHost, "", *fs.code, fs.code->insns[0]);
        return plain();
    }
    if (fs.handing_over || fs.timing_plain) {
        ++fs.counters.eager_calls;
        fs.note_passed();
        return plain();
    }
    // Nothing is known of it, and there is nothing to find out with.
    if (!fs.code && fs.is_left_unread()) return ++fs.counters.eager_calls, plain();
    if (!fs.code && !fs.decode()) return plain();
    if (is_traced(PyThreadState_Get(), fs.code->code)) [[unlikely]] {
        ++fs.counters.eager_calls;
        fs.remark(Reason::Traced, "", *fs.code, fs.code->insns[0]);
        return plain();
    }
    const Trace* unused = nullptr;
    const auto served = [&](const Trace** t) { return serve(fs, func, args, nargsf, kwnames, t); };
    if (fs.verdicts.serves() || !fs.is_judged()) return served(&unused);
    const Given all = given(args, nargsf, kwnames);
    if (!fs.judging) return judged(fs, all, plain, served);
    // A recursive call is a part of the one that is being timed, which may have given all up since.
    int64_t retired = 0;
    if (!fs.verdicts.all_retired(&retired) || all.size > retired) return served(&unused);
    ++fs.counters.eager_calls;
    fs.note_passed();
    return plain();
}

PyObject* FunctionState::run(Frame& frame) {
    Impl& fs = *impl_;
    const InUse in_use(*this);
    // Whatever ends the frame takes the arguments with it.
    const Given all = given(fs, frame);
    const auto plain = [&] { return finish_default(frame, frame.unit()); };
    const auto driven = [&] {
        frame.link();
        return drive(fs, frame, *fs.code, 0, nullptr, false);
    };
    ++fs.counters.calls;
    if (!fs.code && fs.is_left_unread()) {
        const int64_t begun = now_ns();
        ++fs.counters.eager_calls;
        PyObject* result = plain();
        fs.seen += now_ns() - begun;
        return result;
    }
    if (!fs.code && !fs.decode()) return ++fs.counters.eager_calls, plain();
    const auto served = [&](const Trace**) { return stepped(fs, all, plain, driven); };
    if (fs.handing_over || fs.timing_plain) return ++fs.counters.eager_calls, plain();
    if (fs.verdicts.serves() || fs.judging || !fs.is_judged()) return served(nullptr);
    return judged(fs, all, plain, served);
}

}  // namespace stator::frontend
