// Frame: reading, filling, linking and finishing CPython's interpreter frames.
//
// Only the instruction pointer, the stack pointer and localsplus below it are ever written; everything else
// in a frame stays as CPython made it. A value leaves its slot before it is released, because releasing can
// run a finalizer that looks at the frame.
#include "frontend/cpython/raw/raw.h"
// raw.h must come first.
#include "frontend/cpython/frame.h"
#include "frontend/cpython/generator_list.h"
#include "frontend/cpython/kept_error.h"
#include "frontend/cpython/recursion.h"
#include "frontend/cpython/stepper.h"

namespace stator::frontend {

PyCodeObject* Frame::code() const { return raw::code(raw_); }
PyObject* Frame::function() const { return raw::function(raw_); }
PyObject* Frame::globals() const { return raw_->f_globals; }
PyObject* Frame::builtins() const { return raw_->f_builtins; }
bool Frame::is_at_module_level() const { return raw::is_at_module_level(raw_); }
int Frame::unit() const { return raw::next(raw_); }
int Frame::depth() const { return static_cast<int>(raw::sp(raw_) - raw_->localsplus); }
PyObject* Frame::slot(int i) const { return raw::slot_object(raw_->localsplus[i]); }
bool Frame::is_borrowed(int i) const { return raw::slot_is_borrowed(raw_->localsplus[i]); }
bool Frame::slot_is_object(int i) const { return raw::slot_is_object(raw_->localsplus[i]); }

void Frame::set_slot(int i, PyObject* steal) {
    raw::slot_t old = raw_->localsplus[i];
    raw_->localsplus[i] = raw::slot_steal(steal);
    raw::slot_close(old);
}

void Frame::init_slot(int i, PyObject* steal) { raw_->localsplus[i] = raw::slot_steal(steal); }

void Frame::init_lasti(int i, int unit) { raw_->localsplus[i] = raw::slot_of_lasti(unit); }

int Frame::lasti(int i) const { return raw::lasti_of_slot(raw_->localsplus[i]); }

void Frame::push(PyObject* steal) {
    raw::slot_t* sp = raw::sp(raw_);
    *sp = raw::slot_steal(steal);
    raw::set_sp(raw_, sp + 1);
}

PyObject* Frame::pop() {
    raw::slot_t* sp = raw::sp(raw_) - 1;
    raw::set_sp(raw_, sp);
    return raw::slot_take(*sp);
}

void Frame::drop(int n) {
    for (; n > 0; n--) {
        raw::slot_t* sp = raw::sp(raw_) - 1;
        raw::set_sp(raw_, sp);
        raw::slot_close(*sp);
    }
}

int Frame::held_by_caller(const PyObject* o) const {
    int n = 0;
#if PY_VERSION_HEX < 0x030C0000
    const raw::IFrame* caller = is_linked() ? raw_->previous : nullptr;
    for (int i = caller ? caller->f_code->co_nlocalsplus : 0; caller && i < caller->stacktop; ++i)
        n += caller->localsplus[i] == o;
#else
    (void)o;
#endif
    return n;
}

void Frame::clear_slots() { drop(depth()); }

void Frame::set_depth(int n) { raw::set_sp(raw_, raw_->localsplus + n); }
void Frame::set_unit_at(int unit) { raw::set_at(raw_, unit); }
int Frame::unit_at() const { return raw::at(raw_); }
void Frame::link() { raw::link(ts_, raw_); }
void Frame::unlink() { raw::unlink(ts_, raw_); }
bool Frame::is_linked() const { return raw::is_linked(ts_, raw_); }

PyObject* finish_return(Frame& f, const CodeInfo& code, PyObject* steal_value) {
    f.unlink();
    f.drop(f.depth() - code.nlocalsplus);
    raw::clear_and_pop(f.ts(), f.raw());
    return steal_value;
}

namespace {

// A function of generator_list.h that has been made and not yet been called, or its code: the default
// evaluator would call it before it comes to the consumer.
void make_generators_again(Frame& f) {
    const auto collects = [](PyObject* o) {
        return o && PyCode_Check(o) && collects_generator(reinterpret_cast<PyCodeObject*>(o));
    };
    for (int i = raw::code(f.raw())->co_nlocalsplus; i < f.depth(); ++i) {
        PyObject* o = f.slot_is_object(i) ? f.slot(i) : nullptr;
        if (collects(o)) {
            f.set_slot(i, Py_NewRef(generator_of(o)));
        } else if (o && PyFunction_Check(o) && collects(PyFunction_GET_CODE(o))) {
            auto* function = reinterpret_cast<PyFunctionObject*>(o);
            const PyRef list = PyRef::steal(function->func_code);
            function->func_code = Py_NewRef(generator_of(list.get()));
            raw::set_function_version(function, reinterpret_cast<PyCodeObject*>(function->func_code));
        }
    }
}

}  // namespace

PyObject* finish_default(Frame& f, int unit) {
    make_generators_again(f);
    f.unlink();
    raw::set_next(f.raw(), unit);
    RecursionPause pause(f.ts());
    return _PyEval_EvalFrameDefault(f.ts(), f.raw(), 0);
}

PyObject* finish_unwound(Frame& f) {
    f.drop(f.depth() - raw::code(f.raw())->co_nlocalsplus);
    f.unlink();
    const bool generator = collects_generator(raw::code(f.raw()));
    raw::clear_and_pop(f.ts(), f.raw());
    if (generator) stop_iteration_is_error();
    return nullptr;
}

void fill_ended(PyFrameObject* frame, int i, PyRef value) {
    raw::slot_t& slot = frame->f_frame->localsplus[i];
    if (!raw::slot_object(slot)) slot = raw::slot_steal(value.release());
}

bool is_variable_of(PyFrameObject* frame, const PyObject* o) {
    for (int i = 0; i < raw::code(frame->f_frame)->co_nlocalsplus; ++i)
        if (raw::slot_object(frame->f_frame->localsplus[i]) == o) return true;
    return false;
}

bool is_variable_of_frames(PyThreadState* ts, const PyObject* o) {
    constexpr int kFrames = 64;
    PyFrameObject* f = PyThreadState_GetFrame(ts);
    bool found = false;
    for (int n = 0; f && !found && n < kFrames; ++n) {
        found = is_variable_of(f, o);
        PyFrameObject* const outer = PyFrame_GetBack(f);
        Py_DECREF(f);
        f = outer;
    }
    Py_XDECREF(f);
    return found;
}

PyFrameObject* KeptError::outermost_frame(const PyObject* code) const {
    if (!traceback_ || !PyTraceBack_Check(traceback_)) return nullptr;
    PyFrameObject* const frame = reinterpret_cast<PyTracebackObject*>(traceback_)->tb_frame;
    return reinterpret_cast<const PyObject*>(raw::code(frame->f_frame)) == code ? frame : nullptr;
}

PyObject* finish_raise(Frame& f, const CodeInfo& code, int insn_index) {
    if (!f.is_linked()) f.link();
    f.set_unit_at(code.insns[insn_index].op_unit);
    int pc = insn_index;
    return unwind(f, code, &pc) ? finish_default(f, code.insns[pc].unit) : finish_unwound(f);
}

PyObject* call_as_program(PyObject* callable, PyObject* args) {
    PyThreadState* const ts = PyThreadState_Get();
    raw::IFrame* const around = raw::current(ts);
    int frames = 0;
    for (PyFrameObject* f = PyThreadState_GetFrame(ts); f; ++frames) {
        PyFrameObject* const outer = PyFrame_GetBack(f);
        Py_DECREF(f);
        f = outer;
    }
#if PY_VERSION_HEX >= 0x030F0000
    raw::set_current(ts, ts->base_frame);
#else
    raw::set_current(ts, nullptr);
#endif
    raw::recursion(ts) += frames;
    PyObject* const result = PyObject_CallObject(callable, args);
    raw::recursion(ts) -= frames;
    raw::set_current(ts, around);
    return result;
}

bool is_traced(PyThreadState* ts, PyCodeObject* code) { return raw::traced(ts, code); }
bool is_watched(PyCodeObject* code) { return raw::watched(code); }
bool Frame::is_held() const {
    auto* object = reinterpret_cast<PyObject*>(raw_->frame_obj);
    return object && Py_REFCNT(object) > 1;
}

int recursion_left(PyThreadState* ts) { return raw::recursion(ts); }
bool eval_breaker_set(PyThreadState* ts) { return raw::eval_breaker(ts); }
unsigned long thread_switches(PyThreadState* ts) { return raw::gil_switches(ts); }
bool has_other_threads(PyThreadState* ts) {
    PyThreadState* first = PyInterpreterState_ThreadHead(ts->interp);
    return first != ts || PyThreadState_Next(first) != nullptr;
}
const volatile int32_t* breaker_word(PyThreadState* ts, int32_t* mask) { return raw::breaker_word(ts, mask); }

}  // namespace stator::frontend
