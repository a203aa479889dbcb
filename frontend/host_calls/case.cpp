#include "frontend/host_calls/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "frontend/clock.h"
#include "frontend/cpython/deferred.h"
#include "frontend/cpython/frame.h"
#include "frontend/drive/driver.h"
#include "frontend/host_calls/tally.h"
#include "frontend/host_calls/verified.h"
#include "frontend/hosts/call_pure.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/policy.h"
#include "frontend/profile/doing.h"
#include "frontend/services.h"
#include "frontend/stance.h"
#include "guards/check/names.h"

namespace stator::frontend {

namespace {

thread_local bool t_in_case = false;

class InCase {
  public:
    InCase() : outer_(std::exchange(t_in_case, true)) {}
    ~InCase() { t_in_case = outer_; }
    InCase(const InCase&) = delete;

  private:
    bool outer_;
};

bool is_taken_apart(PyObject* o) { return PyList_CheckExact(o) || PyTuple_CheckExact(o); }

// An argument in the wrapper: "a3", or "[a3, a4]" of a list.
void spell(PyObject* o, size_t* next, std::string* text) {
    if (!is_taken_apart(o)) {
        *text += "a" + std::to_string((*next)++);
        return;
    }
    *text += PyList_CheckExact(o) ? "[" : "(";
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
        spell(PySequence_Fast_GET_ITEM(o, i), next, text);
        *text += ",";
    }
    *text += PyList_CheckExact(o) ? "]" : ")";
}

// `keepdims=np._NoValue`, which NumPy's functions pass on where they were given nothing.
bool is_left_out(const HostCall& call, size_t i) {
    return i >= static_cast<size_t>(PyVectorcall_NARGS(call.nargsf)) && numpy::is_no_value(call.args[i]);
}

// "def wrapper(a0, a1, a2): return f([a0, a1,], axis=a2)"
std::string wrapper_text(const HostCall& call) {
    const size_t named = call.names ? static_cast<size_t>(PyTuple_GET_SIZE(call.names)) : 0;
    const size_t positional = call.count() - named;
    std::string parameters, arguments;
    size_t next = 0;
    for (size_t i = 0; i < call.count(); ++i) {
        if (is_left_out(call, i)) continue;
        if (i >= positional)
            arguments +=
                guards::utf8(PyTuple_GET_ITEM(call.names, static_cast<Py_ssize_t>(i - positional))) + "=";
        spell(call.args[i], &next, &arguments);
        arguments += ", ";
    }
    for (size_t i = 0; i < next; ++i) parameters += "a" + std::to_string(i) + ", ";
    return "def wrapper(" + parameters + "):\n return f(" + arguments + ")\n";
}

// The code of the one function that the code of a module defines.
PyObject* defined_code(PyObject* module_code) {
    PyObject* constants = reinterpret_cast<PyCodeObject*>(module_code)->co_consts;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants); ++i)
        if (PyCode_Check(PyTuple_GET_ITEM(constants, i))) return PyTuple_GET_ITEM(constants, i);
    return nullptr;
}

// The wrapper, named as the function is; null without an error where it cannot be made: with keywords that
// are no names, for one. No Python code runs meanwhile in which a signal's handler could raise, but a hook
// that audits compilation.
PyRef make_wrapper(const HostCall& call) {
    const DeferredSignals deferred;
    PyObject* function = call.function->callable;
    const std::string& name = call.function->tally->name;
    const PyRef code =
        PyRef::steal(Py_CompileString(wrapper_text(call).c_str(), ("<" + name + ">").c_str(), Py_file_input));
    PyObject* defined = code ? defined_code(code.get()) : nullptr;
    const PyRef globals = PyRef::steal(defined ? PyDict_New() : nullptr);
    const PyRef text = PyRef::steal(globals ? PyUnicode_FromString(name.c_str()) : nullptr);
    if (text && PyDict_SetItemString(globals.get(), "f", function) == 0 &&
        PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins()) == 0) {
        PyRef wrapper = PyRef::steal(PyFunction_NewWithQualName(defined, globals.get(), text.get()));
        if (wrapper) return wrapper;
    }
    PyErr_Clear();
    return {};
}

}  // namespace

bool in_host_case() { return t_in_case; }

void HostFunction::note_passed() {
    if (!served && ++passed == policy().host_call_given_back)
        at_once ? void(has_cases = false) : give_back(*this);
}

FlatArguments::FlatArguments(const HostCall& call) {
    for (size_t i = 0; i < call.count(); ++i)
        if (!is_left_out(call, i)) add(call.args[i]);
}

FlatArguments::~FlatArguments() {
    for (size_t i = 0; i < count_; ++i) Py_DECREF(values_[i]);
}

void FlatArguments::add(PyObject* o) {
    if (is_taken_apart(o)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) add(PySequence_Fast_GET_ITEM(o, i));
    } else if (count_ < kMost) {
        values_[count_++] = Py_NewRef(o);
    } else {
        fit_ = false;
    }
}

HostCase::HostCase(const HostCall& call)
    : function_(call.function), names_(PyRef::borrow(call.names)), count_(call.count()) {
    // An array that the function writes to is no argument like others.
    for (Py_ssize_t i = 0; call.names && i < PyTuple_GET_SIZE(call.names); ++i)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(call.names, i), "out") == 0 &&
            call.args[PyVectorcall_NARGS(call.nargsf) + i] != Py_None)
            stage_ = Stage::NumPys;
}

bool HostCase::is_called_like(const HostCall& call) const {
    if (call.function != function_ || call.count() != count_) return false;
    PyObject* names = names_.get();
    if (call.names == names) return true;
    if (!names || !call.names || PyTuple_GET_SIZE(names) != PyTuple_GET_SIZE(call.names)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i)  // interned, but for few
        if (PyTuple_GET_ITEM(names, i) != PyTuple_GET_ITEM(call.names, i)) return false;
    return true;
}

PyObject* HostCase::serve(const HostCall& call) {
    switch (stage_) {
        case Stage::Serves:
            if (PyObject* result = replayed(call)) return result;
            return missed(call);
        case Stage::Cold: return cold(call);
        case Stage::Hot:
            // A call that a trace serves has nothing to record.
            if (state_)
                if (PyObject* result = replayed(call)) return result;
            return recorded(call);
        case Stage::AwaitsCode:
            if (++calls_ % policy().host_call_timed_each == 0 && state_->impl()->code_settled()) compare();
            return call.by_numpy();
        case Stage::Compared: return compared(call);
        case Stage::Recording: break;
        case Stage::NumPys: function_->note_passed(); break;
    }
    return call.by_numpy();
}

PyObject* HostCase::timed(const HostCall& call) {
    const int64_t begun = now_ns();
    PyObject* result = call.by_numpy();
    if (result) least_numpy_ = std::min(least_numpy_, now_ns() - begun);
    return result;
}

PyObject* HostCase::cold(const HostCall& call) {
    ++calls_;
    const bool wanted =
        calls_ <= policy().host_call_timed_first || calls_ % policy().host_call_timed_each == 0;
    PyObject* result = wanted ? timed(call) : call.by_numpy();
    if (least_numpy_ != kUnknown) spent_ += least_numpy_;
    // What NumPy has spent on it pays for the recording by itself, after a while.
    const bool paid = spent_ >= policy().host_call_paid;
    if (wanted && spent_ >= policy().host_call_hot && (paid || purse().open())) stage_ = Stage::Hot;
    return result;
}

bool HostCase::make_state(const HostCall& call) {
    wrapper_ = make_wrapper(call);
    if (wrapper_) state_ = FunctionState::create(wrapper_.get(), {});
    PyErr_Clear();
    if (!state_) return false;
    state_->impl()->makes_host_call = true;
    return state_->impl()->decode();
}

// Nothing but what it gives comes of the traces.
bool HostCase::is_pure() const {
    const auto& traces = state_->impl()->entry->traces;
    return std::ranges::none_of(traces, [](const auto& t) {
        return !t->graph.end_cells.empty() ||
               std::ranges::any_of(t->graph.inputs, [](const auto& in) { return in.written; });
    });
}

// Whether the traces do nothing but call a function of NumPy's as a whole.
bool HostCase::is_detour() const {
    const auto& traces = state_->impl()->entry->traces;
    return std::ranges::all_of(traces, [](const auto& t) {
        return t->segments.empty() && std::ranges::any_of(t->steps, [](const TraceStep& step) {
                   return step.kind == StepKind::Library;
               });
    });
}

// The call's own result comes from the recording, unless that warns or raises: what NumPy says of the call
// has to come from where the program makes it.
PyObject* HostCase::recorded(const HostCall& call) {
    stage_ = Stage::Recording;
    const FlatArguments flat(call);
    if (!flat.fit() || (!state_ && !make_state(call))) {
        stage_ = Stage::NumPys;
        return call.by_numpy();
    }
    struct Context {
        HostCase* self;
        const FlatArguments* flat;
    } context{this, &flat};
    flat_count_ = flat.count();
    const auto body = [](void* at) {
        const auto& c = *static_cast<Context*>(at);
        return call_driven(*c.self->state_->impl(), c.self->wrapper_.get(), c.flat->values(), c.flat->count(),
                           nullptr);
    };
    FunctionState::Impl& fs = *state_->impl();
    const size_t known = fs.entry->traces.size();
    bool warned = false;
    PyObject* result;
    {
        const InCase in_case;
        const FunctionState::InUse in_use(*state_);
        result = run_pure(body, &context, &warned);
    }
    ++recordings_;
    if (log_enabled(LogTopic::Traces) && fs.entry->traces.size() == known)
        log(LogTopic::Traces,
            fmt::format("{}: recording {} of a call has given no trace", fs.name, recordings_));
    if (fs.entry->traces.size() > known && is_detour())
        stage_ = Stage::NumPys;
    else if (fs.entry->traces.size() > known && is_pure())
        has_code_ = false, compare();
    else if (known > 0)
        stage_ = Stage::Serves;  // other calls
    else
        stage_ = recordings_ < 2 ? Stage::Cold : Stage::NumPys;
    spent_ = 0;
    if (result) return result;
    // What another thread has sent here does not come again, and is not lost.
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    const PyRef sent = PyRef::steal(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    result = call.by_numpy();
    if (!warned && (result || PyErr_Occurred() != sent.get()))
        PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), sent.get());
    return result;
}

void HostCase::compare() {
    stage_ = Stage::Compared;
    calls_ = trials_ = 0;
    least_numpy_ = least_trace_ = kUnknown;
}

PyObject* HostCase::compared(const HostCall& call) {
    // Of calls that differ few may be served by the new trace.
    constexpr int kMostCalls = 32;
    if (trials_ == policy().host_call_trials || ++calls_ > kMostCalls * policy().host_call_trials) {
        conclude();
        return serve(call);
    }
    if (calls_ % 2 != 0) return timed(call);
    const int64_t begun = now_ns();
    PyObject* result = replayed(call);
    if (!result) return call.by_numpy();
    ++trials_;
    least_trace_ = std::min(least_trace_, now_ns() - begun);
    return result;
}

void HostCase::conclude() {
    const bool quicker =
        least_trace_ != kUnknown &&
        (least_trace_ < least_numpy_ - least_numpy_ / policy().host_call_gain || host_calls_are_verified());
    FunctionState::Impl& fs = *state_->impl();
    spent_ = calls_ = misses_ = left_ = 0;
    if (quicker) {
        function_->served = true;
        stage_ = Stage::Serves;
    } else if (!has_code_ && least_trace_ != kUnknown) {
        has_code_ = true;
        fs.compile_postponed();
        stage_ = Stage::AwaitsCode;
    } else {
        stage_ = Stage::NumPys;
    }
    if (log_enabled(LogTopic::Traces))
        log(LogTopic::Traces, fmt::format("{}: a call takes NumPy {} ns, the trace {} ns{}", fs.name,
                                          least_numpy_, least_trace_ == kUnknown ? -1 : least_trace_,
                                          quicker                       ? ": the trace serves"
                                          : stage_ == Stage::AwaitsCode ? ": code is made"
                                                                        : ": NumPy serves"));
}

PyObject* HostCase::replayed(const HostCall& call) {
    FunctionState::Impl& fs = *state_->impl();
    const FlatArguments flat(call);
    if (flat.count() != flat_count_ || !flat.fit()) return ++misses_, nullptr;
    const InCase in_case;
    const FunctionState::InUse in_use(*state_);
    const Timed timed(Activity::Answering, kFramesLine);
    auto& traces = fs.entry->traces;
    for (size_t i = 0; i < traces.size(); ++i) {
        Trace& t = *traces[i];
        Outcome out = replay(t, flat.values(), fs.counters);
        if (out.kind == Outcome::NotEntered) continue;
        if (i > 0) std::swap(traces[i], traces[0]);
        if (out.kind == Outcome::Returned) {
            ++served_;
            if (stage_ == Stage::Serves && !has_code_ &&
                (spent_ += least_trace_) > policy().host_call_compiled) {
                has_code_ = true;
                fs.compile_postponed();
            }
            return answered(out.value, *function_->tally, function_->callable, call.args,
                            static_cast<Py_ssize_t>(call.count()), [&] { return call.by_numpy(); });
        }
        // A floating-point fault, or elements that were not like this when it was recorded.
        if (out.kind == Outcome::Failed) PyErr_Clear();
        ++left_;
        return nullptr;
    }
    ++misses_;
    return nullptr;
}

// Other extents of 1, other axes, other states of errors want traces of their own: one is recorded when NumPy
// has spent on such calls what a recording costs.
PyObject* HostCase::missed(const HostCall& call) {
    const bool may_record = recordings_ < policy().host_call_recordings;
    const int vain = left_ + misses_;
    const int64_t vain_time = vain * least_numpy_;
    if (may_record && vain_time >= policy().host_call_hot &&
        (vain_time >= policy().host_call_paid || purse().open())) {
        left_ = misses_ = 0;
        stage_ = Stage::Hot;
    } else if (!may_record && vain > policy().host_call_misses && vain > served_ / 2) {
        stage_ = Stage::NumPys;  // what is begun in vain most of the time costs more than it saves
    }
    return call.by_numpy();
}

}  // namespace stator::frontend
