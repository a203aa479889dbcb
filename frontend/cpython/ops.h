// What the instruction handlers (ops_*.cpp) share: their context, stack access, and the rules for releasing
// operands.
//
// Every handler reproduces one instruction of the evaluator. Rules:
//   - operands stay in their slots while a call out runs, so that every slot below the stack pointer is
//   valid;
//   - a slot is emptied, or the stack pointer lowered, before its value is released (a finalizer may look);
//   - operands are released after the result is known, in the evaluator's order (Release);
//   - on an error the operands are gone or are left to unwinding, which ends with the same stack either way.
#pragma once

#include "frontend/cpython/raw/raw.h"
// raw.h must come first.
#include "frontend/cpython/pending.h"
#include "frontend/cpython/stepper.h"

namespace stator::frontend::ops {

struct Op {
    PyThreadState* ts;
    raw::IFrame* frame;
    const CodeInfo& code;
    const Insn& in;
    int* pc;
};

using Function = Step (*)(const Op&);

#define INSN(id, pops, pushes, doc) Step op_##id(const Op& o);
#include "frontend/cpython/instructions.def"
#undef INSN

inline Step next(const Op& o) {
    ++*o.pc;
    return Step::Next;
}

inline Step jump(const Op& o) {
    *o.pc = o.in.target;
    return Step::Next;
}

inline raw::slot_t* sp(const Op& o) { return raw::sp(o.frame); }
inline void set_sp(const Op& o, raw::slot_t* sp) { raw::set_sp(o.frame, sp); }
inline PyObject* top(const Op& o, int from_top = 0) { return raw::slot_object(sp(o)[-1 - from_top]); }
inline raw::slot_t& local(const Op& o, int i) { return o.frame->localsplus[i]; }

inline void push_slot(const Op& o, raw::slot_t s) {
    raw::slot_t* p = sp(o);
    *p = s;
    set_sp(o, p + 1);
}

inline void push(const Op& o, PyObject* steal) { push_slot(o, raw::slot_steal(steal)); }

inline raw::slot_t pop_slot(const Op& o) {
    raw::slot_t* p = sp(o) - 1;
    set_sp(o, p);
    return *p;
}

inline void drop(const Op& o) { raw::slot_close(pop_slot(o)); }

// In which order an instruction lets go of its operands: a finalizer can tell. 3.14 turned it round for most.
enum class Release { BottomFirst, TopFirst, Usual = raw::kMinor < 14 ? BottomFirst : TopFirst };

template <Release R>
inline void release(raw::slot_t* operands, int n) {
    for (int i = 0; i < n; i++) {
        raw::slot_t* p = operands + (R == Release::BottomFirst ? i : n - 1 - i);
        raw::slot_t old = *p;
        *p = raw::slot_null();
        raw::slot_close(old);
    }
}

// Replaces the n operands on top by `result` (owned); NULL: the operands go and the error stands.
template <Release R = Release::Usual>
inline Step replace_many(const Op& o, int n, PyObject* result) {
    raw::slot_t* base = sp(o) - n;
    release<R>(base, n);
    set_sp(o, base);
    if (!result) return Step::Raised;
    push(o, result);
    return next(o);
}

template <int N, Release R = Release::Usual>
inline Step replace(const Op& o, PyObject* result) {
    raw::slot_t* base = sp(o) - N;
    raw::slot_t old[N];
    for (int i = 0; i < N; i++) old[i] = base[i];
    if (result) base[0] = raw::slot_steal(result);
    set_sp(o, result ? base + 1 : base);
    release<R>(old, N);
    return result ? next(o) : Step::Raised;
}

// Removes N operands after a call that returns a status.
template <int N>
inline Step consume(const Op& o, int err) {
    raw::slot_t* base = sp(o) - N;
    raw::slot_t old[N];
    for (int i = 0; i < N; i++) old[i] = base[i];
    set_sp(o, base);
    release<Release::Usual>(old, N);
    return err < 0 ? Step::Raised : next(o);
}

// The n operands from `first` on as an array for the C API, with one writable entry before it.
class Operands {
  public:
    Operands(raw::slot_t* first, int n) {
        if constexpr (raw::kMinor < 14) {
            args_ = reinterpret_cast<PyObject**>(first);
        } else {
            PyObject** buffer = n < kInline ? inline_ : (heap_ = new PyObject*[n + 1]);
            for (int i = 0; i < n; i++) buffer[i + 1] = raw::slot_object(first[i]);
            args_ = buffer + 1;
        }
    }
    ~Operands() { delete[] heap_; }
    Operands(const Operands&) = delete;
    PyObject** get() const { return args_; }

  private:
    static constexpr int kInline = raw::kMinor < 14 ? 1 : 12;
    PyObject** args_;
    PyObject** heap_ = nullptr;
    PyObject* inline_[kInline + 1];
};

// Errors in CPython's words (errors.cpp).
void raise_name_error(PyObject* exception, const char* format, PyObject* name);
void raise_unbound(const Op& o, int slot);
extern const char kNameErrorFormat[];
// "f()", "module.f()" ... as the evaluator names a callable in argument errors; the error set before is
// dropped.
void raise_not_iterable_arguments(PyObject* callable, PyObject* args);
// Adds ** arguments of a call to those that `dict` holds. Below 0 with an error set.
int merge_keywords(PyObject* callable, PyObject* dict, PyObject* kwargs);

// Where the evaluator looks at its breaker. False with an error set.
inline bool serve_breaker(const Op& o) {
    return __builtin_expect(!raw::eval_breaker(o.ts), 1) || serve_pending(o.ts);
}

}  // namespace stator::frontend::ops
