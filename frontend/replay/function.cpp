// FunctionState: what happens at a call of a decorated function, from the cheapest way to the most expensive:
// replay from the bound arguments without a frame; drive the function's real frame; call the function as it
// is.

#include "frontend/replay/function.h"

#include <alloca.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "frontend/clock.h"
#include "frontend/cpython/functions.h"
#include "frontend/hosts/host.h"
#include "frontend/hosts/runtime.h"
#include "frontend/regions/library.h"
#include "frontend/replay/driver.h"
#include "frontend/replay/headers.h"
#include "guards/check_functions.h"
#include "guards/check_names.h"

namespace stator::frontend {

namespace {
// Every live function, and what functions that are gone had counted.
std::vector<const FunctionState*> registry;
Counters departed;
Stance current_stance = Stance::Default;
bool verifying = false, retiring = true;
const kernels::CompilerApi* (*compiler_loader)(std::string*) = nullptr;
void (*log_sink)(LogTopic, const std::string&) = nullptr;
uint32_t log_topics = 0;
std::string (*remark_text)(const Remark&) = nullptr;

constexpr int kMaxPlaces = 64;
constexpr int kFruitlessCalls = 3;
constexpr int kUnlooked = 31;        // calls of what is given up
constexpr int kUnwanted = 8;         // times that so many went unlooked before none come here any more
constexpr int kLook = 8;             // calls that are looked at after such an absence
constexpr int kManyRecordings = 32;  // a function that goes on recording after so many always will
}  // namespace

void accumulate(Counters& sum, const Counters& c) {
#define X(n) sum.n += c.n;
    STATOR_COUNTERS(X)
#undef X
    sum.compile_s += c.compile_s;
}

Counters global_counters() {
    Counters sum = departed;
    for (const FunctionState* f : registry) accumulate(sum, f->counters());
    return sum;
}
void reset_global_counters() {
    departed = {};
    purse() = {};
    forget_texts();
}
void set_verify(bool on) { verifying = on; }
bool verifying_calls() { return verifying; }
void set_retirement(bool on) {
    // What was spent while nothing was judged is owed by nobody.
    if (on && !retiring) purse() = {};
    retiring = on;
}
void set_stance(Stance s) { current_stance = s; }
Stance stance() { return current_stance; }
void set_compiler_loader(const kernels::CompilerApi* (*loader)(std::string*)) { compiler_loader = loader; }
void set_log_sink(void (*sink)(LogTopic, const std::string&), uint32_t topics) {
    log_sink = sink;
    log_topics = topics;
}
bool log_enabled(LogTopic t) {
    return log_sink && (log_topics & (1u << static_cast<int>(t)) || t == LogTopic::Errors);
}
void log(LogTopic t, const std::string& line) {
    if (log_enabled(t)) log_sink(t, line);
}

void set_remark_text(std::string (*text)(const Remark&)) { remark_text = text; }

const kernels::CompilerApi* compiler() {
    static const kernels::CompilerApi* api = [] {
        std::string error;
        const kernels::CompilerApi* a = compiler_loader ? compiler_loader(&error) : nullptr;
        if (!a && !error.empty()) log(LogTopic::Errors, "stator: no machine code, tier 0 serves: " + error);
        return a;
    }();
    return api;
}

CodePlaces& FunctionState::Impl::places(const CodeInfo& c) {
    if (latest && latest->code_object.get() == reinterpret_cast<PyObject*>(c.code)) return *latest;
    auto& slot = codes[c.code];
    if (!slot) {
        slot = std::make_unique<CodePlaces>();
        slot->code = &c;
        for (size_t i = 0; regions_on() && options.has_regions() && i < c.insns.size(); ++i)
            if (c.is_header[i]) slot->headers[static_cast<int>(i)].first = static_cast<int>(i);
        // Python lays a loop's body out in one piece: from the header to its last back edge.
        for (size_t i = 0; i < c.insns.size(); ++i)
            if (const auto h = slot->headers.find(c.insns[i].target);
                h != slot->headers.end() && (c.insns[i].flags & Insn::kBackward))
                h->second.last = static_cast<int>(i);
        for (auto& [pc, h] : slot->headers) h.weight = slot->weight_of(h);
        slot->open_headers = static_cast<int>(slot->headers.size());
        slot->place_at.resize(c.insns.size());
        slot->header_at.resize(c.insns.size());
        slot->other_calls.resize(c.insns.size());
        for (auto& [pc, h] : slot->headers) slot->header_at[static_cast<size_t>(pc)] = &h;
        slot->find_last_ahead();
        slot->code_object = PyRef::borrow(reinterpret_cast<PyObject*>(c.code));
    }
    latest = slot.get();
    return *slot;
}

void CodePlaces::find_last_ahead() {
    last_ahead = -1;
    for (const auto& [pc, place] : by_pc)
        if (!place->dead) last_ahead = std::max(last_ahead, pc);
    // Iterations of a loop that is no region may become traces.
    for (size_t i = 0; i < code->insns.size(); ++i)
        if (code->is_header[i] && (live > 0 || (header_at[i] && !header_at[i]->dead)))
            last_ahead = std::max(last_ahead, static_cast<int>(i));
    if (open_headers == 0 && (live == 0 || !code->has_loops)) return;
    for (size_t i = 0; i < code->insns.size(); ++i)
        if (code->insns[i].op == Opcode::Call && other_calls[i] < kOtherCalls)
            last_ahead = std::max(last_ahead, static_cast<int>(i));
}

Place* FunctionState::Impl::place(const CodeInfo& c, int pc, bool create) {
    CodePlaces& cp = places(c);
    if (Place* known = cp.place_at[static_cast<size_t>(pc)]) return known;
    if (!create || cp.by_pc.size() >= kMaxPlaces) return nullptr;
    auto p = std::make_unique<Place>();
    p->code = &c;
    p->pc = pc;
    ++cp.live;
    Place* const made = cp.place_at[static_cast<size_t>(pc)] = p.get();
    cp.by_pc[pc] = std::move(p);
    cp.find_last_ahead();
    return made;
}

void FunctionState::Impl::kill(Place* p, bool for_good) {
    p->for_good |= for_good;
    if (p->dead) return;
    p->dead = true;
    CodePlaces& cp = places(*p->code);
    --cp.live;
    cp.find_last_ahead();
}

void FunctionState::Impl::kill(CodePlaces& cp, LoopHeader& header, bool for_good) {
    header.for_good |= for_good;
    if (header.dead) return;
    header.dead = true;
    --cp.open_headers;
    cp.find_last_ahead();
}

void FunctionState::Impl::compile_postponed() {
    if (postponed.empty()) return;
    const kernels::CompilerApi* api = compiler();
    for (kernels::CompileRequest& r : postponed) api->compile(std::move(r));
    postponed.clear();
}

// What was given up for want of arrays is looked at once more.
void FunctionState::Impl::revive_entry() {
    eager_rounds = 0;
    if (!entry->dead) return;
    entry->dead = false;
    entry->fruitless = 0;
    CodePlaces& cp = places(*entry->code);
    ++cp.live;
    cp.find_last_ahead();
}

void FunctionState::Impl::remark(Reason reason, const std::string& detail, const CodeInfo& c,
                                 const Insn& insn) {
    for (Remark& r : remarks)
        if (r.line == insn.line && r.reason == reason && r.detail == detail) {
            ++r.count;
            return;
        }
    if (remarks.size() >= 200) return;
    remarks.push_back(
        {reason, detail, guards::utf8(c.code->co_filename), guards::utf8(c.code->co_qualname), insn.line, 1});
    if (!log_enabled(LogTopic::Opaque) || !remark_text) return;
    if (std::string line = remark_text(remarks.back()); !line.empty()) log(LogTopic::Opaque, line);
}

PyRef FunctionState::Impl::clone_of(PyObject* function) {
    // A closure is not kept: it would keep what it captured alive.
    if (PyFunction_GET_CLOSURE(function)) return PyRef::steal(make_clone(function));
    auto& [original, clone] = clones[PyFunction_GET_CODE(function)];
    if (original.get() != function) {
        clone = PyRef::steal(make_clone(function));
        original = PyRef::borrow(function);
    }
    return clone;
}

// Whole calls that were served are not asked one by one what they saved: it is counted up when it is needed.
static void collect_savings() {
    static int64_t looked_at = 0;
    constexpr int64_t kOften = 2'000'000;  // ns
    const int64_t now = now_ns();
    if (now - looked_at < kOften) return;
    looked_at = now;
    for (const FunctionState* state : registry) {
        FunctionState::Impl& fs = *state->impl();
        const int64_t calls = fs.counters.served - fs.credited;
        if (calls <= 0) continue;
        purse().save_by_calls(calls * fs.verdicts.saving());
        if (fs.verdicts.saving() > 0) fs.credited = fs.counters.served;
    }
}

bool FunctionState::Impl::may_invest() const {
    if (!is_judged() || purse().open()) return true;
    collect_savings();
    return purse().open();
}

void FunctionState::Impl::note_unwanted(Judge& judge) {
    Absence& a = absence;
    if (a.looking == 0) {
        unlooked = kUnlooked;
        judge.pass(kUnlooked);
        a.wanted = a.possible && ++a.unwanted >= kUnwanted;
        if (a.wanted) a.since = now_ns();
        return;
    }
    if (a.looking == kLook) a.look_began = now_ns();
    if (--a.looking > 0) return;
    // Calls are taken to have come as often before the look as they did in it.
    a.since = now_ns();
    const int64_t each = std::max<int64_t>(1, (a.since - a.look_began) / (kLook - 1));
    judge.miss(a.lasted / each, a.lasted);
    a.wanted = true;
}

void FunctionState::Impl::note_passed() {
    if (!absence.possible || ++absence.passed < kUnwanted * kUnlooked) return;
    absence.passed = 0;
    absence.looking = 0;
    absence.wanted = true;
    absence.since = now_ns();
}

bool FunctionState::Impl::is_left_unread() const {
    if (code || !is_judged()) return false;
    return !may_invest() || text_of(reinterpret_cast<PyCodeObject*>(code_object.get())).waits(counters.calls);
}

bool FunctionState::Impl::is_judged() const { return !options.fullgraph && !verifying && retiring; }

namespace {

std::vector<FunctionReport> departed_reports;

FunctionReport report_of(const FunctionState& state) {
    const FunctionState::Impl& fs = *state.impl();
    auto* code = reinterpret_cast<PyCodeObject*>(fs.code_object.get());
    FunctionReport r;
    r.file = guards::utf8(code->co_filename);
    r.function = guards::utf8(code->co_qualname);
    r.line = code->co_firstlineno;
    r.counters = fs.counters;
    r.retired = fs.verdicts.any_retired();
    r.remarks = fs.remarks;
    r.regions = state.regions();
    std::map<SourceLine, bool> lines;
    for (const Trace* t : state.traces()) {
        for (const graph::Node& n : t->graph.nodes) {
            const graph::OpClass what = graph::info(n.op).cls;
            const bool works = what == graph::OpClass::Pointwise || what == graph::OpClass::Reduction ||
                               what == graph::OpClass::Effect || what == graph::OpClass::Library;
            if (n.loc < 0 || !works) continue;
            const graph::Location& at = t->graph.locations[static_cast<size_t>(n.loc)];
            const bool library = n.op == graph::Op::Library;
            const auto [it, fresh] = lines.try_emplace({at.file, at.function, at.line}, library);
            it->second &= library;
        }
        // Of some lines the passes left nothing: zeros that the next store covers, views.
        for (const graph::Location& at : t->graph.locations)
            lines.try_emplace({at.file, at.function, at.line}, false);
    }
    for (const auto& [at, library] : lines) r.lines.emplace_back(at.file, at.function, at.line, library);
    return r;
}

}  // namespace

std::vector<FunctionReport> function_reports() {
    std::vector<FunctionReport> all = departed_reports;
    for (const FunctionState* state : registry) all.push_back(report_of(*state));
    return all;
}

FunctionState::FunctionState() = default;

FunctionState::~FunctionState() {
    if (!impl_) return;
    accumulate(departed, impl_->counters);
    if (watching) departed_reports.push_back(report_of(*this));
    std::erase(registry, this);
}

std::unique_ptr<FunctionState> FunctionState::create(PyObject* func, const FunctionOptions& options) {
    if (!guards::is_function(func)) {
        PyErr_Format(PyExc_TypeError, "stator.compile needs a Python function, found %s",
                     Py_TYPE(func)->tp_name);
        return nullptr;
    }
    auto state = std::make_unique<FunctionState>();
    state->impl_ = std::make_unique<Impl>(func);
    Impl& fs = *state->impl_;
    registry.push_back(state.get());
    fs.code_object = PyRef::borrow(PyFunction_GET_CODE(func));
    fs.globals = PyRef::borrow(PyFunction_GET_GLOBALS(func));
    fs.wanted = fs.options = options;
    fs.name = guards::utf8(reinterpret_cast<PyFunctionObject*>(func)->func_qualname);
    constexpr int kGenerators = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
    if (reinterpret_cast<PyCodeObject*>(fs.code_object.get())->co_flags & kGenerators) fs.decode();
    return state;
}

bool FunctionState::Impl::decode() {
    auto* object = reinterpret_cast<PyCodeObject*>(code_object.get());
    const char* why = nullptr;
    code = CodeInfo::get(object, &why);
    text_of(object).begin();
    if (code) {
        entry = place(*code, 0, true);
        return true;
    }
    if (PyErr_Occurred()) PyErr_Clear();
    given_up = true;
    absence.wanted = absence.possible;
    constexpr int kGenerators = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
    const Reason reason = object->co_flags & kGenerators ? Reason::Generator : Reason::CannotDecode;
    remarks.push_back(
        {reason, why ? why : "", guards::utf8(object->co_filename), name, object->co_firstlineno, 1});
    return false;
}

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

PyObject* call_driven(FunctionState::Impl& fs, PyObject* func, PyObject* const* args, size_t nargsf,
                      PyObject* kwnames) {
    DriveContext ctx{&fs, func, nullptr};
    HookScope scope(entry_handler, &ctx);
    ctx.scope = &scope;
    return call_plainly(func, args, nargsf, kwnames);
}

}  // namespace

namespace {

// STATOR_VERIFY: the call, as stator._verify.Call keeps it before it is served.
PyObject* begin_verified(PyObject* func, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    Py_ssize_t npos = PyVectorcall_NARGS(nargsf), nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    PyRef positional = PyRef::steal(PyTuple_New(npos)), keywords = PyRef::steal(PyDict_New());
    if (!positional || !keywords) return nullptr;
    for (Py_ssize_t i = 0; i < npos; ++i) PyTuple_SET_ITEM(positional.get(), i, Py_NewRef(args[i]));
    for (Py_ssize_t i = 0; i < nkw; ++i)
        if (PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(kwnames, i), args[npos + i]) < 0) return nullptr;
    PyRef module = PyRef::steal(PyImport_ImportModule("stator._verify"));
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

// Whether all code that was asked for is there, or will never be.
bool code_settled(const FunctionState::Impl& fs) {
    for (auto& [code, cp] : fs.codes)
        for (auto& [pc, header] : cp->headers)
            for (auto& r : header.regions)
                if (!r->ready() && !r->failed()) return false;
    for (auto& [code, cp] : fs.codes)
        for (auto& [pc, place] : cp->by_pc)
            for (auto& t : place->traces)
                for (const Segment& s : t->segments)
                    if (!s.code->ready.load(std::memory_order_acquire) && !s.code->failed.load())
                        return false;
    return true;
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
    judge_of(fs, given).overdraw(given.size, fs.account.debt(), !code_settled(fs));
    fs.account.open();
    ++fs.counters.retired;
    fs.remark(Reason::Unprofitable, "", *fs.code, fs.code->insns[0]);
}

// Calls that neither record nor run a kernel are plain overhead, unless code is being made for the next ones.
void count_fruitless(FunctionState::Impl& fs, const Given& given) {
    ++fs.counters.eager_calls;
    if (!fs.entry->traces.empty()) return;  // calls of another kind are served
    const CodePlaces& places = fs.places(*fs.code);
    if (++fs.eager_rounds < kFruitlessCalls && (places.live > 0 || places.open_headers > 0)) return;
    judge_of(fs, given).give_up(given.size);
    fs.remark(Reason::NoArrays, "", *fs.code, fs.code->insns[0]);
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
    const bool postponed = fs.trace_count == 0 && fs.regions_built == 0 && !fs.may_invest();
    if (postponed) return ++fs.counters.eager_calls, plain();
    PyObject* result = hopeless ? plain() : drive();
    if (fs.handing_over || fs.account.overdrawn()) close_accounts(fs, given);
    const bool served =
        fs.counters.kernels_launched != std::get<1>(before) || fs.entered != std::get<2>(before);
    fs.counters.served += served;
    if (done() == before && code_settled(fs))
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
    if (bound && verifying) {
        call = PyRef::steal(begin_verified(func, args, nargsf, kwnames));
        if (!call) return nullptr;
    }
    if (bound) {
        for (size_t i = 0; i < entry->traces.size(); ++i) {
            Trace& t = *entry->traces[i];
            Outcome out = replay(t, slots, fs.counters);
            if (!t.device_error.empty()) [[unlikely]]
                note_lost_device(fs, t);
            if (out.kind == Outcome::NotEntered) {
                ++fs.counters.guard_failures;
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
                    fs.note_replay(entry, t);
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
    return stepped(
        fs, given(args, nargsf, kwnames), [&] { return call_plainly(func, args, nargsf, kwnames); },
        [&] { return call_driven(fs, func, args, nargsf, kwnames); });
}

// What NumPy hardly does the operations of the trace in less than, with `size` elements in all arrays. One or
// two operations on many elements are no faster fused than they are one by one: nothing is said about those.
int64_t eager_floor(const Trace& t, int64_t size) {
    constexpr int64_t kArrayOp = 200, kScalarOp = 20;
    const int64_t each = t.array_ops > 2 ? size / std::max(t.array_inputs, 1) : 0;
    return t.array_ops * (kArrayOp + each) + t.scalar_ops * kScalarOp;
}

// Measures one call. The clock of the thread's time is a system call, which may take as long as the call
// itself and not always as long; nothing interrupts a call so short, or not each time. Longer ones are
// measured by it.
class CallTimer {
  public:
    explicit CallTimer(bool by_thread) : thread_(by_thread ? thread_ns() : -1), begun_(now_ns()) {}
    int64_t elapsed() const {
        const int64_t wall = now_ns() - begun_;
        const int64_t ns = wall < kShort || thread_ < 0 ? wall : thread_ns() - thread_;
        return std::max<int64_t>(1, ns - kClockCost);
    }

  private:
    static constexpr int64_t kShort = 20'000, kClockCost = 30;  // ns
    int64_t thread_, begun_;
};

// From here on a call is worth an estimate: in plain Python it may take hundreds of times as long.
constexpr int64_t kLongCall = 1'000'000;  // ns
// The part of a call, one in so many, that may have been spent on recording and building for it to be
// compared.
constexpr int64_t kMostInvested = 16;

// A call that the judge wants to know about, or has something to say about: `plain` runs it as Python does,
// `serve(&trace)` as we do, and says which trace took it from entry to return, if one did.
template <class Plain, class Serve>
PyObject* judged(FunctionState::Impl& fs, const Given& given, Plain plain, Serve serve) {
    const Trace* replayed = nullptr;
    const int64_t size = given.size;
    Judge& judge = judge_of(fs, given);
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
    PyObject* result = timed_plain ? plain() : serve(&replayed);
    fs.judging = fs.timing_plain = false;
    const int64_t ns = timer.elapsed();
    const bool records = fs.counters.recordings != recordings,
               recorded = records && fs.counters.recordings <= kManyRecordings;
    // Functions inside may have been begun with meanwhile, which the next call will not do again.
    const bool begun = !records && kMostInvested * (purse().invested() - invested) > ns;
    const bool steady = !begun && (timed_plain || (!recorded && code_settled(fs)));
    // Loops in native code that nothing leaves are not slower than Python's, unless they spend their time in
    // calls through Python.
    const bool calls_out = regions::kCallThroughPython * (regions::calls_through_python() - called) > ns / 4;
    const bool native =
        ns >= kLongCall && fs.in_regions - in_regions >= ns / 2 && fs.counters.exits == exits && !calls_out;
    const int64_t floor = replayed ? eager_floor(*replayed, size) : 0;
    if (judge.note(way, size, {ns, steady, floor, native, !result})) {
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
    ++fs.counters.calls;
    if (current_stance == Stance::Eager || PyFunction_GET_CODE(func) != fs.code_object.get()) {
        ++fs.counters.eager_calls;
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
    // Whatever ends the frame takes the arguments with it.
    const Given all = given(fs, frame);
    const auto plain = [&] { return finish_default(frame, frame.unit()); };
    const auto driven = [&] {
        frame.link();
        return drive(fs, frame, *fs.code, 0, nullptr, false);
    };
    ++fs.counters.calls;
    if (!fs.code && (fs.is_left_unread() || !fs.decode())) return ++fs.counters.eager_calls, plain();
    const auto served = [&](const Trace**) { return stepped(fs, all, plain, driven); };
    if (fs.handing_over || fs.timing_plain) return ++fs.counters.eager_calls, plain();
    if (fs.verdicts.serves() || fs.judging || !fs.is_judged()) return served(nullptr);
    return judged(fs, all, plain, served);
}

const Counters& FunctionState::counters() const { return impl_->counters; }

std::vector<const Trace*> FunctionState::traces() const {
    std::vector<const Trace*> all;
    for (auto& [code, cp] : impl_->codes)
        for (auto& [pc, place] : cp->by_pc)
            for (auto& t : place->traces) all.push_back(t.get());
    auto number = [](const Trace* t) { return std::stoi(t->name.substr(t->name.rfind('#') + 1)); };
    std::sort(all.begin(), all.end(), [&](const Trace* a, const Trace* b) { return number(a) < number(b); });
    return all;
}

std::vector<Remark> FunctionState::remarks() const { return impl_->remarks; }

const CallLimits* FunctionState::limit(const CallLimits* limits) {
    return std::exchange(impl_->limits, limits);
}

void FunctionState::reset() {
    Impl& fs = *impl_;
    fs.codes.clear();
    fs.latest = nullptr;
    fs.remarks.clear();
    fs.counters = {};
    fs.trace_count = 0;
    fs.eager_rounds = 0;
    fs.verdicts = {};
    fs.unlooked = 0;
    fs.absence = {.possible = fs.absence.possible, .wanted = fs.given_up && fs.absence.possible};
    fs.credited = 0;
    fs.account.open();
    fs.awaited.clear();
    fs.entry = fs.code ? fs.place(*fs.code, 0, true) : nullptr;
}

void FunctionState::let_python_serve() {
    Impl::Absence& a = impl_->absence;
    if (a.possible) return;
    a.possible = !impl_->options.fullgraph;  // whose calls are checked
    a.wanted = a.possible && impl_->given_up;
}

bool FunctionState::wants_python() const { return impl_->absence.wanted; }
bool FunctionState::ever_looks_again() const { return !impl_->given_up; }
bool FunctionState::looked_in_vain() const {
    return impl_->absence.lasted > 0 && impl_->counters.calls - impl_->absence.calls_before <= 2 * kLook;
}

void FunctionState::look_again() {
    Impl& fs = *impl_;
    Impl::Absence& a = fs.absence;
    a.wanted = false;
    a.lasted = std::max<int64_t>(1, now_ns() - a.since);
    a.looking = kLook;
    a.calls_before = fs.counters.calls;
    fs.unlooked = 0;
}

bool FunctionState::wants_attention() const { return impl_->absence.wanted || wants_sweep(); }

bool FunctionState::wants_sweep() const {
    return std::max(impl_->codes.size(), impl_->clones.size()) >= impl_->sweep_at;
}

void FunctionState::sweep() {
    Impl& fs = *impl_;
    const auto only_here = [](const PyRef& object) { return Py_REFCNT(object.get()) == 1; };
    // Destroyed at the end: finalizers may call this very function.
    std::vector<std::pair<PyRef, PyRef>> functions;
    std::vector<std::unique_ptr<CodePlaces>> gone;
    for (auto it = fs.clones.begin(); it != fs.clones.end();) {
        auto& [original, clone] = it->second;
        const bool drop = only_here(original);
        if (drop) functions.push_back(std::move(it->second));
        it = drop ? fs.clones.erase(it) : std::next(it);
    }
    functions.clear();  // they hold code
    for (auto it = fs.codes.begin(); it != fs.codes.end();) {
        const bool drop = only_here(it->second->code_object);
        if (drop) gone.push_back(std::move(it->second));
        it = drop ? fs.codes.erase(it) : std::next(it);
    }
    fs.latest = nullptr;
    fs.sweep_at = 2 * std::max({fs.codes.size(), fs.clones.size(), size_t{32}});
}

int FunctionState::traverse(visitproc visit, void* arg) const {
    Py_VISIT(impl_->globals.get());
    for (auto& [code, pair] : impl_->clones) {
        Py_VISIT(pair.first.get());
        Py_VISIT(pair.second.get());
    }
    // Guards hold the globals they read, which hold the compiled function: a cycle only the collector can
    // free.
    for (auto& [code, cp] : impl_->codes) {
        Py_VISIT(cp->code_object.get());
        for (auto& [pc, h] : cp->headers)
            for (auto& r : h.regions)
                if (int stop = r->traverse(visit, arg)) return stop;
        for (auto& [pc, place] : cp->by_pc)
            for (auto& t : place->traces) {
                if (int stop = t->guards.traverse(visit, arg)) return stop;
                for (auto& o : t->objects) Py_VISIT(o.get());
            }
    }
    return 0;
}

}  // namespace stator::frontend
