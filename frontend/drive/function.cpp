// FunctionState: what is known of a compiled function, beside its calls (call.cpp): places, remarks,
// counters, reports, and what becomes of it when it is reset, swept or given back.

#include "frontend/function.h"

#include <algorithm>
#include <map>

#include "frontend/clock.h"
#include "frontend/drive/driver.h"
#include "frontend/drive/headers.h"
#include "frontend/policy.h"
#include "frontend/profile/doing.h"
#include "guards/check/functions.h"
#include "guards/check/names.h"

namespace stator::frontend {

namespace {
// Every live function, and what functions that are gone had counted.
std::vector<FunctionState*> registry;
Counters departed;
bool verifying = false, retiring = true;
std::string (*remark_text)(const Remark&) = nullptr;

}  // namespace

void accumulate(Counters& sum, const Counters& c) {
#define X(n) sum.n += c.n;
    STATOR_COUNTERS(X)
#undef X
    sum.compile_s += c.compile_s;
}

Counters global_counters() {
    Counters sum = departed;
    for (const FunctionState* f : registry)
        if (!f->impl()->makes_host_call) accumulate(sum, f->counters());
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
void set_remark_text(std::string (*text)(const Remark&)) { remark_text = text; }

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
        if (code->insns[i].op == Opcode::Call && other_calls[i] < policy().other_calls)
            last_ahead = std::max(last_ahead, static_cast<int>(i));
}

Place* FunctionState::Impl::place(const CodeInfo& c, int pc, bool create) {
    CodePlaces& cp = places(c);
    if (Place* known = cp.place_at[static_cast<size_t>(pc)]) return known;
    if (!create || cp.by_pc.size() >= policy().function_places) return nullptr;
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
    const int64_t now = now_ns();
    if (now - looked_at < policy().savings_counted_each) return;
    looked_at = now;
    for (const FunctionState* state : registry) {
        FunctionState::Impl& fs = *state->impl();
        const int64_t calls = fs.counters.served - fs.credited;
        if (calls <= 0) continue;
        const int64_t saved = calls * fs.verdicts.saving();
        if (saved <= 0) continue;
        purse().save_by_calls(std::max<int64_t>(0, saved - std::exchange(fs.in_purse_by_loops, 0)));
        fs.credited = fs.counters.served;
    }
}

// What stator.explain calls is asked for, whatever it costs: without a recording there is nothing to explain.
static bool is_asked_for() { return active_profile != nullptr; }

static bool purse_is_open() {
    if (purse().open() || is_asked_for()) return true;
    collect_savings();
    return purse().open();
}

bool FunctionState::Impl::may_invest() const { return !is_judged() || (is_worth_more() && purse_is_open()); }

bool FunctionState::Impl::may_begin() const {
    return !is_judged() || ((has_loops || is_worth_more()) && purse_is_open());
}

void FunctionState::Impl::note_unwanted(Judge& judge) {
    Absence& a = absence;
    if (a.looking == 0) {
        unlooked = policy().unlooked_calls;
        judge.pass(policy().unlooked_calls);
        a.wanted = a.possible && ++a.unwanted >= policy().unwanted_rounds;
        if (a.wanted) a.since = now_ns();
        return;
    }
    if (a.looking == policy().look_calls) a.look_began = now_ns();
    if (--a.looking > 0) return;
    // Calls are taken to have come as often before the look as they did in it.
    a.since = now_ns();
    const int64_t each = std::max<int64_t>(1, (a.since - a.look_began) / (policy().look_calls - 1));
    judge.miss(a.lasted / each, a.lasted);
    a.wanted = true;
}

void FunctionState::Impl::note_passed() {
    if (!absence.possible || ++absence.passed < policy().unwanted_rounds * policy().unlooked_calls) return;
    absence.passed = 0;
    absence.looking = 0;
    absence.wanted = true;
    absence.since = now_ns();
}

bool FunctionState::Impl::is_left_unread() const {
    if (code || !is_judged()) return false;
    auto* const text = reinterpret_cast<PyCodeObject*>(code_object.get());
    return !may_begin() || (!is_asked_for() && text_of(text).waits(counters.calls));
}

bool FunctionState::Impl::is_judged() const {
    const bool lists_kernels = options.cuda && !options.on_device;  // f.cuda(): nothing is to be quick there
    return !options.fullgraph && !verifying && retiring && !lists_kernels;
}

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
    const Judge::Comparison compared = fs.verdicts.compared();
    r.served_ns = compared.served, r.plain_ns = compared.plain;
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

std::vector<FunctionState*> function_states() { return registry; }

std::vector<FunctionReport> function_reports() {
    std::vector<FunctionReport> all = departed_reports;
    for (const FunctionState* state : registry)
        if (!state->impl()->makes_host_call) all.push_back(report_of(*state));
    return all;
}

void compare_all_functions() {
    for (FunctionState* state : registry) state->impl()->verdicts.compare();
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
    code = CodeInfo::of_frame(object, &why);
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
    return impl_->absence.lasted > 0 &&
           impl_->counters.calls - impl_->absence.calls_before <= 2 * policy().look_calls;
}

void FunctionState::look_again() {
    Impl& fs = *impl_;
    Impl::Absence& a = fs.absence;
    a.wanted = false;
    a.lasted = std::max<int64_t>(1, now_ns() - a.since);
    a.looking = policy().look_calls;
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

FunctionState::InUse::InUse(const FunctionState& state) : state_(state) { ++state.impl_->in_use; }
FunctionState::InUse::~InUse() { --state_.impl_->in_use; }

}  // namespace stator::frontend
