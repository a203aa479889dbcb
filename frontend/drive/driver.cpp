// See driver.h. The one loop here is where the three ways of executing meet; each iteration is at an
// instruction boundary of a linked frame, so recording may begin or stop, and the default evaluator may take
// over, at any of them.

#include "frontend/drive/driver.h"

#include <algorithm>

#include "frontend/clock.h"
#include "frontend/cpython/c_stack.h"
#include "frontend/cpython/kept_error.h"
#include "frontend/cpython/operators.h"
#include "frontend/cpython/pending.h"
#include "frontend/drive/coming_back.h"
#include "frontend/drive/headers.h"
#include "frontend/drive/unseen_changes.h"
#include "frontend/hosts/numpy/temporaries.h"
#include "frontend/policy.h"
#include "frontend/replay/on_device.h"
#include "guards/check/functions.h"
#include "guards/check/names.h"

#include <fmt/format.h>

namespace stator::frontend {

namespace {

[[gnu::tls_model("initial-exec")]] thread_local constinit Recorder* active_recorder = nullptr;
// Drivers of this thread that are inside each other.
[[gnu::tls_model("initial-exec")]] thread_local constinit int driven_frames = 0;

// What is recorded from here to the end of the block is an investment. It takes microseconds; more means that
// the thread was interrupted.
class Invested {
  public:
    explicit Invested(FunctionState::Impl& fs) : fs_(fs), begun_(now_ns()) {}
    ~Invested() { fs_.invest(std::min<int64_t>(now_ns() - begun_, policy().most_recording_time)); }
    Invested(const Invested&) = delete;

  private:
    FunctionState::Impl& fs_;
    int64_t begun_;
};

Recorder::Verdict note_done(FunctionState::Impl& fs, Recorder& recorder, const Insn& insn,
                            const numpy::TemporaryReuse& reuse) {
    const Invested recording(fs);
    return recorder.after(insn, reuse);
}

// The driver of one frame.
class FrameDriver {
  public:
    FrameDriver(FunctionState::Impl& fs, Frame& f, const CodeInfo& code, int pc, Recorder* recorder)
        : fs_(fs),
          f_(f),
          code_(code),
          pc_(pc),
          recorder_(recorder),
          places_(fs.places(code)),
          timed_(recorder ? Activity::Recording : Activity::Stepping, kFramesLine, f.raw()) {
        ++driven_frames;
        if (fs.driving++ == 0)
            fs.settled_at = now_ns(), fs.invested_before = purse().invested(), fs.recalled = 0, fs.waited = 0,
            fs.left_to_others = false;
    }
    ~FrameDriver() {
        fs_.settle(cost_);
        --driven_frames;
        if (--fs_.driving == 0) fs_.left_loop = nullptr;
    }
    FrameDriver(const FrameDriver&) = delete;

    PyObject* run(bool skip_place);
    // Sets the frame up as frames[k] says, lets deeper frames run to their end, and goes on here.
    PyObject* resume(std::vector<ResumeFrame>& frames, size_t k, bool hot) {
        PyObject* result = nullptr;
        if (settle(frames, k, hot, &result) == Flow::Done) return result;
        return run(skip_next_);
    }

  private:
    enum class Flow : uint8_t { On, Done };
    bool at_header(Flow* flow, PyObject** result);
    Flow at_place(PyObject** result);
    Flow replay_here(Place* place, PyObject** result, bool* entered);
    Flow take_outcome(Outcome&& out, PyObject** result);
    void start_recording(Place* place);
    void finish_recording(graph::EndKind end);
    Flow step_once(PyObject** result);
    Step step_with_loops(const Insn& insn);
    Flow settle(std::vector<ResumeFrame>& frames, size_t k, bool hot, PyObject** result);
    Flow descend(std::vector<ResumeFrame>& frames, size_t k, bool hot, PyObject** result);
    Flow raised(PyObject** result);
    PyObject* call_inner(std::vector<ResumeFrame>& frames, size_t k, bool hot);
    PyObject* call_clone(PyObject* clone, std::vector<ResumeFrame>& frames, size_t k, bool hot,
                         std::optional<ResumeFrame>* again);
    PyObject* constructed(PyObject* steal);
    PyObject* operated(int nb_op, PyObject* steal);
    void fill(ResumeFrame& rf, bool in_call);
    void keep_lost(std::shared_ptr<LostVariables> lost);
    void find_lost();
    void note_bound(int header);
    bool refused(CallLimits::What what);
    PyObject* hand_over(int unit);
    bool may_come_back() const;
    bool waits_long() const;
    PyObject* hand_over_for_now(int unit);
    bool is_between_loops() const;
    bool anything_ahead() const { return places_.last_ahead >= code_.first_ahead[static_cast<size_t>(pc_)]; }

    FunctionState::Impl& fs_;
    Frame& f_;
    const CodeInfo& code_;
    int pc_;
    Recorder* recorder_;             // recording in which this frame is the innermost level, or nullptr
    std::unique_ptr<Recorder> own_;  // when the recording began in this frame
    CodePlaces& places_;
    bool skip_header_ = false;  // a region has left right here: Python goes on
    bool skip_next_ = false;    // the current instruction must be stepped before a place is considered again
    bool wants_place_ = false;  // the instruction just stepped over was opaque or entered a loop body
    struct Lost {
        std::shared_ptr<LostVariables> variables;
        bool unseen = false;          // something ran since then that may have changed arrays
        std::vector<int> bound = {};  // slots that a region has bound since: it may have left them empty
    };
    std::vector<Lost> lost_;  // of this frame, those of the last exit last
    // For one in the place of a frame that was recalled: where it is put when it is recalled once more.
    std::optional<ResumeFrame>* again_ = nullptr;
    // Since the accounts were settled, beyond what the evaluator would take, ns.
    int64_t cost_ = policy().frame_cost;
    Timed timed_;
};

std::string location(const CodeInfo& code, int pc) {
    return guards::utf8(code.code->co_filename) + ":" + std::to_string(code.insns[pc].line);
}

double milliseconds(std::chrono::steady_clock::duration d) {
    return std::chrono::duration<double, std::milli>(d).count();
}

struct InlineContext {
    FunctionState::Impl* fs;
    Recorder* recorder;
    LoopsAround around;  // the call
    HookScope* scope = nullptr;
};

bool inline_handler(void* ctx, Frame& frame, PyObject** result) {
    auto* c = static_cast<InlineContext*>(ctx);
    Recorder* r = c->recorder;
    if (!r || !r->pending_function() || frame.function() != r->pending_function()) return false;
    const CodeInfo* code = CodeInfo::get(frame.code());
    if (!code) return false;
    c->scope->end();
    frame.link();
    r->enter_inlined(frame, *code);
    const LoopsAround outside = std::exchange(c->fs->around, c->around);
    *result = FrameDriver(*c->fs, frame, *code, 0, r).run(true);
    c->fs->around = outside;
    return true;
}

void FrameDriver::start_recording(Place* place) {
    const Invested recording(fs_);
    own_ = std::make_unique<Recorder>(f_, code_, pc_);
    if (!own_->ok()) {
        own_.reset();
        fs_.kill(place);
        return;
    }
    if (log_enabled(LogTopic::Recompiles) && !place->traces.empty())
        log(LogTopic::Recompiles, fs_.name + ": recorded again at " + location(code_, pc_) +
                                      ", where none of " + std::to_string(place->traces.size()) +
                                      " traces is admitted");
    if (std::string why; fs_.options.on_device && !device_available(&why)) {
        // As without device="cuda".
        fs_.options.on_device = fs_.options.cuda = false;
        fs_.remark(Reason::NoDevice, why, code_, code_.insns[pc_]);
    }
    own_->builder().for_gpu = fs_.options.cuda;
    own_->builder().any_order = fs_.options.cuda || fs_.options.fastmath;
    own_->served = [&fs = fs_](const CodeInfo& code, int header) {
        return region_begins(fs, fs.places(code), header);
    };
    place->recording_since = std::chrono::steady_clock::now();
    ++place->recordings;
    ++fs_.counters.recordings;
    own_->owner = place;
    recorder_ = own_.get();
    timed_.change(Activity::Recording);
}

// Called by the frame in which the recording began, or by an inlined frame in which it ends.
void finish(FunctionState::Impl& fs, Recorder& r, graph::EndKind end) {
    auto* place = static_cast<Place*>(r.owner);
    const bool before_loop = r.reason() == Reason::LoopHeader, little_work = r.reason() == Reason::LittleWork;
    r.close(end);
    if (!r.ok()) {
        ++place->fruitless;
        if (place->fruitless >= policy().place_fruitless) fs.kill(place);
        return;
    }
    if (r.builder().kernel_nodes() == 0) {
        ++place->fruitless;
        if (place->fruitless >= policy().place_fruitless || little_work) fs.kill(place);
        return;
    }
    std::string why;
    const auto recorded = std::chrono::steady_clock::now();
    const Timed timed(Activity::Building, [&] { return line_of(*place->code, place->pc); });
    std::string name = fs.name + "#" + std::to_string(++fs.trace_count);
    Reason reason;
    auto* postponed = before_loop || fs.makes_host_call ? &fs.postponed : nullptr;
    auto trace = make_trace(std::move(r.builder()), name, fs.options, postponed, &reason, &why);
    if (!trace && reason != Reason::None) {
        fs.remark(reason, why, *place->code, place->code->insns[place->pc]);
        fs.kill(place);
        return;
    }
    if (!trace) {
        log(LogTopic::Errors, "stator: internal error in " + name + ", its place stays eager: " + why);
        fs.kill(place, true);
        return;
    }
    trace->place = place;
    trace->recorded_ms = milliseconds(recorded - place->recording_since);
    trace->prepared_ms = milliseconds(std::chrono::steady_clock::now() - recorded);
    ++fs.counters.traces;
    if (place != fs.entry && place->exits_seen > 0) ++fs.counters.bridges;
    if (log_enabled(LogTopic::Traces))
        log(LogTopic::Traces, "recorded " + name + " at " + location(*place->code, place->pc));
    if (log_enabled(LogTopic::Timings))
        log(LogTopic::Timings, fmt::format("{}: recorded in {:.2f} ms, made ready in {:.2f} ms", name,
                                           trace->recorded_ms, trace->prepared_ms));
    place->traces.insert(place->traces.begin(), std::move(trace));
}

void FrameDriver::finish_recording(graph::EndKind end) {
    struct Building {
        FunctionState::Impl& fs;
        const int64_t begun = thread_ns();
        ~Building() { fs.invest(thread_ns() - begun); }
    } const building{fs_};
    Recorder* r = recorder_;
    recorder_ = nullptr;
    finish(fs_, *r, end);
    timed_.change(Activity::Stepping);
    if (own_.get() == r)
        own_.reset();
    else
        r->let_go();
}

// Whether the handler that begins here is a `finally`: what it does is done before the exception goes on. Of
// an `except` the first thing is to look at the type or to take the exception off the stack.
bool begins_finally(const CodeInfo& code, int pc) {
    if (code.insns[static_cast<size_t>(pc)].op != Opcode::PushExcInfo) return false;
    for (int i = pc + 1;; ++i) {
        const Insn& insn = code.insns[static_cast<size_t>(i)];
        if (insn.op == Opcode::PopTop && i == pc + 1) return false;
        if (insn.op == Opcode::CheckExcMatch || insn.op == Opcode::WithExceptStart) return false;
        if (insn.op == Opcode::Reraise) return true;
        if (insn.target >= 0 || insn.op == Opcode::ReturnValue ||
            i + 1 == static_cast<int>(code.insns.size()))
            return true;
    }
}

FrameDriver::Flow FrameDriver::raised(PyObject** result) {
    if (unwind(f_, code_, &pc_)) {
        if (begins_finally(code_, pc_)) find_lost();
        return Flow::On;
    }
    find_lost();
    *result = finish_unwound(f_);
    return Flow::Done;
}

// The variables that traces have lost, by slot: what the last exit says counts.
template <class All>
std::vector<LostVariables::Variable> computed(const All& lost, bool unseen,
                                              const std::function<bool(PyObject*)>& holds) {
    std::vector<LostVariables::Variable> out;
    std::vector<int> known;
    for (auto it = lost.rbegin(); it != lost.rend(); ++it) {
        known.insert(known.end(), it->bound.begin(), it->bound.end());
        for (LostVariables::Variable& v : it->variables->compute(unseen || it->unseen, holds))
            if (std::ranges::find(known, v.slot) == known.end()) out.push_back(std::move(v));
        const std::vector<int>& slots = it->variables->slots();
        known.insert(known.end(), slots.begin(), slots.end());
    }
    return out;
}

// An exception leaves the frame, now or when a `finally` has run: its variables are all there.
void FrameDriver::find_lost() {
    if (lost_.empty()) return;
    const KeptError error;
    const auto holds = [&](PyObject* o) {
        for (int i = 0; i < code_.nlocalsplus; ++i)
            if (f_.slot(i) == o) return true;
        return is_variable_of_frames(f_.ts(), o);
    };
    for (LostVariables::Variable& v : computed(lost_, false, holds))
        if (!f_.slot(v.slot)) f_.set_slot(v.slot, v.value.release());
    lost_.clear();
}

// Whether the evaluator may have the frame for a while: asked at each step of what waits.
bool FrameDriver::may_come_back() const {
    return lost_.empty() && can_be_recalled(f_, code_) && fs_.recalled < policy().recalls &&
           (fs_.is_judged() || code_.is_module) && ComingBack::is_possible(fs_, places_);
}

// What is at module level runs once: nothing but its loops is worth stepping.
bool FrameDriver::is_between_loops() const {
    return code_.is_module && fs_.is_judged() && code_.loops().innermost[static_cast<size_t>(pc_)] < 0;
}

// Whether what the frame waits for takes long enough that the evaluator should have it meanwhile.
bool FrameDriver::waits_long() const {
    Handler handler;
    return fs_.waited > policy().stepped_while_waiting && !code_.find_handler(pc_, &handler) &&
           may_come_back();
}

// The evaluator has the frame until it ends or is recalled. Who made the frame in the place of one that was
// recalled before goes on with it.
PyObject* FrameDriver::hand_over_for_now(int unit) {
    const PyRef function = PyRef::borrow(f_.function());
    std::optional<ResumeFrame> recalled;
    PyObject* result = nullptr;
    {
        ComingBack decides(fs_, places_);
        result = evaluate_until_recalled(f_, unit, code_, decides, &recalled);
        if (!recalled) return result;
        fs_.coming_back = decides.target();
        fs_.coming_back_in = &places_;
    }
    ++fs_.recalled;
    ++fs_.counters.recalls;
    fs_.handing_over = false;
    fs_.waited = 0;
    if (log_enabled(LogTopic::Traces))
        log(LogTopic::Traces,
            fs_.name + ": recalled from the evaluator at " + location(code_, code_.index_at(recalled->unit)));
    if (again_) {
        *again_ = std::move(recalled);
        return unwind_recalled();
    }
    timed_.change(Activity::Stepping);
    const PyRef clone = fs_.clone_of(function.get());  // once: the function may be given other code later
    while (clone && recalled) {
        std::vector<ResumeFrame> frames;
        frames.push_back(std::move(*recalled));
        recalled.reset();
        result = in_its_place(f_.ts(), [&] { return call_clone(clone.get(), frames, 0, false, &recalled); });
    }
    fs_.coming_back = nullptr;
    return result;
}

// The rest of the frame is the default evaluator's.
PyObject* FrameDriver::hand_over(int unit) {
    timed_.change(Activity::Plain);
    if ((fs_.handing_over || code_.is_module) && may_come_back()) return hand_over_for_now(unit);
    const PyRef code = PyRef::borrow(reinterpret_cast<PyObject*>(code_.code));
    const bool unseen = !lost_.empty() && !changes_nothing_ahead(code_, code_.index_at(unit));
    PyObject* result = finish_default(f_, unit);
    if (!result && !lost_.empty()) {
        const KeptError error;
        if (PyFrameObject* ended = error.outermost_frame(code.get())) {
            const auto holds = [&](PyObject* o) {
                return is_variable_of(ended, o) || is_variable_of_frames(f_.ts(), o);
            };
            for (LostVariables::Variable& v : computed(lost_, unseen, holds))
                fill_ended(ended, v.slot, std::move(v.value));
        }
    }
    return result;
}

void FrameDriver::keep_lost(std::shared_ptr<LostVariables> lost) {
    std::erase_if(lost_, [&](const Lost& before) {
        return std::ranges::includes(lost->slots(), before.variables->slots());
    });
    lost_.push_back({std::move(lost)});
}

// A trace that ends before an instruction which is not part of a loop's machinery ends in an opaque step.
void meet_opaque(FunctionState::Impl& fs, const CodeInfo& base, const Outcome& out) {
    const ResumeFrame& inner = out.frames.back();
    PyObject* func = inner.func ? inner.func.get() : nullptr;
    const CodeInfo* code =
        func ? CodeInfo::get(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(func))) : &base;
    if (!code) return;
    const int pc = code->index_at(inner.unit);
    const Insn& insn = code->insns[pc];
    if (insn.op == Opcode::ForIter || (insn.flags & Insn::kBackward) || code->is_header[pc]) return;
    ++fs.counters.opaque_steps;
    fs.at_opaque_step = true;
}

bool FrameDriver::refused(CallLimits::What what) {
    if (!fs_.limits || !(fs_.limits->forbidden & what)) return false;
    f_.set_unit_at(code_.insns[pc_].op_unit);
    fs_.limits->refuse(fs_.limits->ctx, what);
    return true;
}

FrameDriver::Flow FrameDriver::take_outcome(Outcome&& out, PyObject** result) {
    switch (out.kind) {
        case Outcome::Returned: *result = finish_return(f_, code_, out.value); return Flow::Done;
        case Outcome::Failed: return raised(result);
        case Outcome::Redo:
            ++fs_.counters.redone;
            if (out.frames.empty()) {  // at the place itself
                skip_next_ = true;
                return Flow::On;
            }
            break;
        default: break;
    }
    if (out.exit)
        ++fs_.counters.exits;
    else if (out.kind == Outcome::Left)
        meet_opaque(fs_, code_, out);
    return settle(out.frames, 0, out.exit, result);
}

FrameDriver::Flow FrameDriver::replay_here(Place* place, PyObject** result, bool* entered) {
    *entered = false;
    int depth = f_.depth();
    auto** slots = static_cast<PyObject**>(alloca(sizeof(PyObject*) * (depth + 1)));
    for (int i = 0; i < depth; ++i) slots[i] = f_.slot_is_object(i) ? f_.slot(i) : nullptr;
    if (pc_ == 0 && depth == code_.function_slot()) slots[depth++] = f_.function();
    for (size_t i = 0; i < place->traces.size(); ++i) {
        Trace& t = *place->traces[i];
        bool fits = true;
        for (int s : t.slot_indices) fits &= s < depth;
        if (!fits) continue;
        const int64_t begun = fs_.time_of_replay(t);
        Outcome out = replay(t, slots, fs_.counters);
        if (!t.device_error.empty()) [[unlikely]]
            note_lost_device(fs_, t);
        if (out.kind == Outcome::NotEntered || (out.kind == Outcome::Left && out.frames.empty())) {
            cost_ += policy().refused_entry_cost;
            continue;
        }
        *entered = true;
        for (Lost& l : lost_) l.unseen = true;
        // Of calls that are nothing but a replay the judge knows more.
        if (place == fs_.entry && out.kind == Outcome::Returned && fs_.verdicts.won())
            cost_ = 0;
        else
            fs_.note_replay(place, t, fs_.time_since(begun));
        ++fs_.entered;
        if (place == fs_.entry) ++fs_.counters.replays;
        if (i > 0) std::swap(place->traces[i], place->traces[0]);
        return take_outcome(std::move(out), result);
    }
    return Flow::On;
}

FrameDriver::Flow FrameDriver::at_place(PyObject** result) {
    if (code_.is_module) return wants_place_ = false, Flow::On;  // its names are no variables to a trace
    Place* place = places_.place_at[static_cast<size_t>(pc_)];
    if (!place && wants_place_) place = fs_.place(code_, pc_, true);
    wants_place_ = false;
    if (!place || place->dead || stance() == Stance::Eager) return Flow::On;
    // A trace that runs to the return changes neither the frame's variables nor its line: whoever keeps the
    // frame object would see those of the trace's beginning.
    if (f_.is_held()) return Flow::On;
    bool entered;
    Flow flow = replay_here(place, result, &entered);
    if (flow == Flow::Done || entered || place->awaits_kernels()) return flow;
    if (static_cast<int>(place->traces.size()) >= policy().place_traces ||
        place->recordings >= policy().place_recordings) {
        if (place->recordings < policy().place_recordings + 1) {
            ++place->recordings;
            fs_.remark(Reason::TooManyTraces, std::to_string(place->traces.size()), code_, code_.insns[pc_]);
        }
        return Flow::On;
    }
    if (recording_on_this_thread() || is_traced(f_.ts()) || region_serves(fs_, places_, pc_)) return Flow::On;
    if (!fs_.may_invest()) return Flow::On;
    // What would be recorded now is not wanted any more when nobody watches.
    if (std::ranges::any_of(place->traces, [](const auto& t) { return is_watched(*t); })) {
        fs_.remark(Reason::Traced, "", code_, code_.insns[pc_]);
        return Flow::On;
    }
    if (refused(CallLimits::Recording)) return raised(result);
    start_recording(place);
    return Flow::On;
}

namespace {

struct CalleeContext {
    FunctionState::Impl* fs;
    PyObject* function;
    LoopsAround around;  // the call
    HookScope* scope = nullptr;
};

bool callee_handler(void* ctx, Frame& frame, PyObject** result) {
    auto* c = static_cast<CalleeContext*>(ctx);
    if (!c->function || frame.function() != std::exchange(c->function, nullptr)) return false;
    const CodeInfo* code = CodeInfo::get(frame.code());
    if (!code) return false;
    c->scope->end();
    frame.link();
    const LoopsAround outside = std::exchange(c->fs->around, c->around);
    *result = FrameDriver(*c->fs, frame, *code, 0, nullptr).run(true);
    c->fs->around = outside;
    return true;
}

}  // namespace

// A call of a Python function with loops that may be regions: its frame is driven, too.
Step FrameDriver::step_with_loops(const Insn& insn) {
    const bool room = driven_frames < policy().driven_frames && !c_stack_is_scarce();
    if (insn.op == Opcode::Call && room && regions_on() && fs_.options.has_regions()) {
        PyObject* callable = call_operands(f_, insn).callable;
        if (callable && guards::is_function(callable)) {
            const CodeInfo* code =
                CodeInfo::get(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(callable)));
            if (code && code->has_loops && fs_.places(*code).open_headers > 0 &&
                !is_traced(f_.ts(), code->code)) {
                CalleeContext ctx{&fs_, callable, loops_around(fs_, places_, pc_)};
                HookScope scope(callee_handler, &ctx);
                ctx.scope = &scope;
                return step(f_, code_, &pc_);
            }
            if (code && code->has_loops) return step(f_, code_, &pc_);
        }
        uint8_t& others = places_.other_calls[static_cast<size_t>(pc_)];
        if (others < policy().other_calls && ++others == policy().other_calls) places_.find_last_ahead();
    }
    return step(f_, code_, &pc_);
}

FrameDriver::Flow FrameDriver::step_once(PyObject** result) {
    const Insn& insn = code_.insns[pc_];
    if (!lost_.empty() && !changes_nothing(f_, insn))
        for (Lost& l : lost_) l.unseen = true;
    if (!recorder_) cost_ += policy().step_cost;
    if (recorder_) {
        const auto v = [&] {
            const Invested recording(fs_);
            return recorder_->before(insn);
        }();
        if (v == Recorder::Verdict::Return) {
            finish_recording(graph::EndKind::Return);
        } else if (v == Recorder::Verdict::Close) {
            fs_.remark(recorder_->reason(), recorder_->detail(), code_, insn);
            bool loop = recorder_->reason() == Reason::LoopHeader;
            wants_place_ = !loop && recorder_->reason() != Reason::CountsReferences &&
                           recorder_->reason() != Reason::LittleWork;
            finish_recording(graph::EndKind::Leave);
            if (loop) return Flow::On;  // a region may be entered right here
            if (refused(CallLimits::LeavingToPython)) return raised(result);
        }
    }
    Recorder* recording = recorder_;
    if (recording) fs_.invest(policy().recorded_step_cost);
    numpy::TemporaryReuse reuse(f_, insn,
                                recording ? recording->references() : numpy::TemporaryReuse::Held{});
    Step s;
    if (recording && recording->pending_function()) {
        InlineContext ctx{&fs_, recording, loops_around(fs_, places_, pc_)};
        Recorder* outer = std::exchange(active_recorder, recording);
        HookScope scope(inline_handler, &ctx);
        ctx.scope = &scope;
        s = step(f_, code_, &pc_);
        active_recorder = outer;
    } else {
        Recorder* outer = active_recorder;
        if (recording) active_recorder = recording;
        s = recording ? step(f_, code_, &pc_) : step_with_loops(insn);
        active_recorder = outer;
    }
    if (!recording) {
        if (insn.op == Opcode::ForIter && s == Step::Next && pc_ != insn.target) wants_place_ = true;
        if ((insn.flags & Insn::kBackward) && s == Step::Next && code_.insns[pc_].op != Opcode::ForIter)
            wants_place_ = true;
    }
    if (recording && recording->closed()) {  // it ended inside the callee
        recorder_ = nullptr;
        timed_.change(Activity::Stepping);
        if (own_.get() == recording) own_.reset();
        wants_place_ = true;
        recording = nullptr;
    }
    switch (s) {
        case Step::Next:
            reuse.settle(f_);
            if (recording && note_done(fs_, *recording, insn, reuse) == Recorder::Verdict::Close) {
                fs_.remark(recording->reason(), recording->detail(), code_, insn);
                wants_place_ = true;
                finish_recording(graph::EndKind::Leave);
            }
            return Flow::On;
        case Step::Return: {
            if (recording) recording->leave_inlined();
            PyObject* value = f_.pop();
            *result = finish_return(f_, code_, value);
            return Flow::Done;
        }
        case Step::Raised:
            if (recording) {
                // Finishing a trace runs through the C API; the program's exception must not meet it.
                PyObject *type, *value, *traceback;
                PyErr_Fetch(&type, &value, &traceback);
                fs_.remark(Reason::Exception, "", code_, insn);
                recording->raised();
                finish_recording(graph::EndKind::Leave);
                PyErr_Restore(type, value, traceback);
            }
            wants_place_ = false;
            return raised(result);
        case Step::Cannot:
            if (recording) {
                fs_.remark(Reason::UnknownOp, name(insn.op), code_, insn);
                finish_recording(graph::EndKind::Leave);
            }
            *result = hand_over(insn.unit);
            return Flow::Done;
    }
    return Flow::On;
}

// Whatever the loop binds is no longer what traces have lost.
void FrameDriver::note_bound(int header) {
    std::vector<int> seen, bound;
    for (size_t pc = static_cast<size_t>(header); pc < code_.insns.size(); ++pc) {
        const Insn& insn = code_.insns[pc];
        if (insn.op == Opcode::StoreFast || insn.op == Opcode::DeleteFast) seen.push_back(insn.arg);
        if (insn.target == header && (insn.flags & Insn::kBackward)) bound = seen;
    }
    for (Lost& l : lost_) l.bound.insert(l.bound.end(), bound.begin(), bound.end());
}

// Whether a region took the frame on: then it is somewhere else.
bool FrameDriver::at_header(Flow* flow, PyObject** result) {
    std::vector<ResumeFrame> inner;
    for (Lost& l : lost_) l.unseen = true;
    const int header = pc_;
    const AtHeader at = arrive_at_header(fs_, places_, f_, code_, &pc_, &inner);
    if (at == AtHeader::Nothing) return false;
    if (!lost_.empty()) note_bound(header);
    switch (at) {
        case AtHeader::Nothing: break;
        case AtHeader::Left: wants_place_ = true; break;
        case AtHeader::Step: skip_header_ = code_.is_header[pc_]; break;
        case AtHeader::Again: break;
        case AtHeader::Inside: *flow = descend(inner, 0, false, result); break;
        case AtHeader::Raised: *flow = raised(result); break;
    }
    return true;
}

PyObject* FrameDriver::run(bool skip_place) {
    PyObject* result = nullptr;
    // The evaluator raises RecursionError where the limit is reached, and needs no C stack for calls of
    // functions.
    const bool deep =
        recursion_left(f_.ts()) <= 0 || driven_frames > policy().driven_frames || c_stack_is_scarce();
    for (;;) {
        if (!recorder_) {
            const Insn& insn = code_.insns[pc_];
            if (deep && insn.boundary) return hand_over(insn.unit);
            if (insn.boundary && is_traced(f_.ts(), code_.code)) {  // since an instruction stepped over
                fs_.remark(Reason::Traced, "", code_, insn);
                return hand_over(insn.unit);
            }
            if (insn.boundary && code_.is_header[pc_] && !std::exchange(skip_header_, false)) {
                Flow flow = Flow::On;
                if (at_header(&flow, &result)) {
                    if (flow == Flow::Done) return result;
                    skip_place = false;
                    continue;
                }
            }
            // The result of an opaque call that nobody wants goes away before a trace begins, which would
            // hold it.
            const bool leftover = wants_place_ && insn.op == Opcode::PopTop;
            if (!skip_place && insn.boundary && !leftover) {
                skip_next_ = false;
                int before = pc_;
                if (at_place(&result) == Flow::Done) return result;
                if (!recorder_ && pc_ != before && !skip_next_) continue;
            }
            if (cost_ >= policy().settled_each) fs_.settle(std::exchange(cost_, 0));
            if (!recorder_ && code_.insns[pc_].boundary &&
                ((!wants_place_ && !anything_ahead()) || fs_.handing_over || is_between_loops()))
                return hand_over(code_.insns[pc_].unit);
            if (!recorder_ && code_.insns[pc_].boundary && waits_long()) {
                timed_.change(Activity::Plain);
                return hand_over_for_now(code_.insns[pc_].unit);
            }
        }
        skip_place = false;
        if (step_once(&result) == Flow::Done) return result;
    }
}

void FrameDriver::fill(ResumeFrame& rf, bool in_call) {
    f_.clear_slots();
    for (size_t i = 0; i < rf.slots.size(); ++i)
        f_.init_slot(static_cast<int>(i), std::exchange(rf.slots[i], nullptr));
    f_.set_depth(static_cast<int>(rf.slots.size()));
    rf.slots.clear();
    if (rf.lost) keep_lost(std::move(rf.lost));
    pc_ = code_.index_at(rf.unit);
    f_.borrow_loads(code_, pc_, in_call);
}

PyObject* FrameDriver::call_inner(std::vector<ResumeFrame>& frames, size_t k, bool hot) {
    const PyRef clone = fs_.clone_of(frames[k].func.get());
    return clone ? call_clone(clone.get(), frames, k, hot, nullptr) : nullptr;
}

PyObject* FrameDriver::call_clone(PyObject* clone, std::vector<ResumeFrame>& frames, size_t k, bool hot,
                                  std::optional<ResumeFrame>* again) {
    struct Context {
        FunctionState::Impl* fs;
        std::vector<ResumeFrame>* frames;
        size_t k;
        bool hot;
        std::optional<ResumeFrame>* again;
    } ctx{&fs_, &frames, k, hot, again};
    return call_with_frame(
        clone,
        [](void* p, Frame& frame) -> PyObject* {
            auto* c = static_cast<Context*>(p);
            const CodeInfo* code = CodeInfo::of_frame(frame.code());
            frame.link();
            FrameDriver driver(*c->fs, frame, *code, 0, nullptr);
            driver.again_ = c->again;
            return driver.resume(*c->frames, c->k, c->hot);
        },
        &ctx);
}

// What a call of a class gives whose __init__ has returned `steal`, or nullptr when that has raised.
PyObject* FrameDriver::constructed(PyObject* steal) {
    const PyRef returned = PyRef::steal(steal);
    f_.drop(1);
    PyRef object = PyRef::steal(f_.pop());
    if (!returned) return nullptr;
    if (returned.get() == Py_None) return object.release();
    PyErr_Format(PyExc_TypeError, "__init__() should return None, not '%.200s'",
                 Py_TYPE(returned.get())->tp_name);
    return nullptr;
}

// What `a + b` gives, both of which are on the stack, where a.__add__(b) has returned `steal` or raised.
PyObject* FrameDriver::operated(int nb_op, PyObject* steal) {
    const PyRef b = PyRef::steal(f_.pop()), a = PyRef::steal(f_.pop());
    if (steal != Py_NotImplemented) return steal;
    Py_DECREF(steal);
    return reflected(nb_op, a.get(), b.get());
}

// This frame is at a call: the frames from frames[k] on, which are inside it, run to their end, and it goes
// on behind the call.
FrameDriver::Flow FrameDriver::descend(std::vector<ResumeFrame>& frames, size_t k, bool hot,
                                       PyObject** result) {
    int unit = code_.insns[pc_].unit;
    while (code_.insns[pc_].op != Opcode::Call && code_.insns[pc_ + 1].unit == unit) ++pc_;
    f_.set_unit_at(code_.insns[pc_].op_unit);
    PyObject* value = call_inner(frames, k, hot);
    if (code_.insns[pc_].op == Opcode::BinaryOp)
        value = operated(code_.insns[pc_].arg, value);
    else if (f_.depth() > code_.nlocalsplus && f_.peek(0) == under_construction())
        value = constructed(value);
    if (!value) return raised(result);
    if (code_.insns[pc_].op == Opcode::StoreAttr)
        Py_DECREF(value);  // a setter's
    else
        f_.push(value);
    ++pc_;
    wants_place_ = hot;
    skip_next_ = false;
    return Flow::On;
}

FrameDriver::Flow FrameDriver::settle(std::vector<ResumeFrame>& frames, size_t k, bool hot,
                                      PyObject** result) {
    fill(frames[k], k + 1 < frames.size());
    skip_next_ = true;
    if (k + 1 < frames.size()) return descend(frames, k + 1, hot, result);
    if (frames[k].pending) {
        f_.set_unit_at(code_.insns[pc_].op_unit);
        return serve_pending(f_.ts()) ? Flow::On : raised(result);
    }
    if (std::exchange(fs_.at_opaque_step, false) && refused(CallLimits::LeavingToPython))
        return raised(result);
    if (hot && log_enabled(LogTopic::Exits))
        log(LogTopic::Exits, fs_.name + ": exit at " + location(code_, pc_));
    // A function that has all the places it may have gets no further one.
    if (Place* place = hot ? fs_.place(code_, pc_, true) : nullptr)
        skip_next_ = ++place->exits_seen < policy().hot_exit;
    return Flow::On;
}

}  // namespace

bool recording_on_this_thread() { return active_recorder && !active_recorder->closed(); }

PyObject* drive(FunctionState::Impl& fs, Frame& frame, const CodeInfo& code, int pc, Recorder* recorder,
                bool skip_place) {
    PyObject* result = FrameDriver(fs, frame, code, pc, recorder).run(skip_place);
    if (!fs.makes_host_call) fs.compile_postponed();
    return result;
}

PyObject* drive_outcome(FunctionState::Impl& fs, PyObject* func, Outcome&& out) {
    struct Context {
        FunctionState::Impl* fs;
        Outcome* out;
    } ctx{&fs, &out};
    if (out.kind == Outcome::Left && !out.exit) meet_opaque(fs, *fs.code, out);
    fs.pay(policy().new_frame_cost);
    const PyRef clone = fs.clone_of(func);
    if (!clone) return nullptr;
    PyObject* result = call_with_frame(
        clone.get(),
        [](void* p, Frame& frame) -> PyObject* {
            auto* c = static_cast<Context*>(p);
            frame.link();
            return FrameDriver(*c->fs, frame, *c->fs->code, 0, nullptr)
                .resume(c->out->frames, 0, c->out->exit);
        },
        &ctx);
    fs.compile_postponed();
    return result;
}

void note_lost_device(FunctionState::Impl& fs, Trace& t) {
    fs.remark(t.entries > 0 ? Reason::DeviceFailed : Reason::NoKernels, t.device_error, *t.place->code,
              t.place->code->insns[t.place->pc]);
    fs.kill(t.place);
    t.device_error.clear();
}

}  // namespace stator::frontend
