// Calls of ufuncs with few elements: `np.sin(x)` of a number, 500 ns in NumPy; and operators of arrays and of
// NumPy's numbers, which call ufuncs.
//
// The loop is the one that NumPy would run, with the strides that it would have, so the bits are its own;
// what is left out is how NumPy finds it and what it puts around it. Where the loop reports a floating-point
// fault its results are dropped, and NumPy is asked.
#include <array>
#include <memory>

#include "frontend/host_calls/layout.h"
#include "frontend/host_calls/slots.h"
#include "frontend/host_calls/ufunc_loops.h"
#include "frontend/host_calls/verified.h"
#include "frontend/hosts/numpy/runtime.h"
#include "frontend/profile/doing.h"
#include "kernels/tier0/flags.h"
#include "kernels/tier0/ops.h"

namespace stator::frontend {

namespace {

using graph::DType;
namespace tier0 = kernels::tier0;

vectorcallfunc g_ufunc_call;  // of all ufuncs

// By address. Half of the places stay empty, so that what is not served is known after few steps.
constexpr size_t kSlots = 1024;
struct Slot {
    PyObject* ufunc = nullptr;
    std::unique_ptr<UfuncLoops> loops;
} g_served[kSlots];
size_t g_served_count = 0;

// The place of the ufunc, or the empty one that it could have: other ufuncs may have its first choice.
Slot& slot_of(const PyObject* ufunc) {
    size_t i = (reinterpret_cast<uintptr_t>(ufunc) * 0x9E3779B97F4A7C15u) >> 54;
    while (g_served[i].ufunc && g_served[i].ufunc != ufunc) i = (i + 1) % kSlots;
    return g_served[i];
}

UfuncLoops* served(const PyObject* ufunc) { return slot_of(ufunc).loops.get(); }

// Memory for operands that are converted and for results that are copied; nothing else runs meanwhile.
constexpr int64_t kMostBytes = kMostAtOnce * 16;
alignas(64) char g_converted[kMostInputs][kMostBytes];
alignas(64) char g_result[kMostBytes];

// A call that is being answered.
class Answer {
  public:
    explicit Answer(UfuncLoops& loops) : loops_(loops), nin_(loops.ufunc().nin) {}

    // `out` is nullptr where NumPy makes the result. Empty without an error where NumPy has to be asked.
    PyRef of(PyObject* const* args, PyObject* out);

  private:
    bool convert(int i);
    bool place_result(PyObject* out);
    bool run();
    PyRef give(PyObject* out);

    UfuncLoops& loops_;
    const int nin_;
    UfuncOperand operands_[kMostInputs];
    const UfuncLoop* loop_ = nullptr;
    Layout layout_;
    PyRef made_;
    char* data_ = nullptr;    // of the result, where the loop writes it
    bool converted_ = false;  // an operand of another dtype was
    uint32_t faults_ = 0;
    char bits_[16] = {};
};

// The operand as the loop takes it.
bool Answer::convert(int i) {
    UfuncOperand& o = operands_[i];
    const DType to = loop_->in[i];
    if (!is_dtype(o.kind)) return o.set_number(to);
    const DType from = dtype_of(o.kind);
    if (from == to) return true;
    converted_ = true;
    const int size = graph::info(to).size;
    const bool number = o.rank == 0;
    if (!number && o.rank > 1 && !o.c_contiguous && !o.f_contiguous) return false;
    const int64_t step = number ? 0 : o.rank == 1 ? o.strides[0] : graph::info(from).size;
    faults_ |= tier0::cast(from, to, {o.data, step}, {g_converted[i], size}, o.size);
    o.data = g_converted[i];
    o.make_dense(size);
    return true;
}

bool Answer::place_result(PyObject* out) {
    const int64_t size = graph::info(loop_->out).size;
    if (layout_.rank == 0) {
        data_ = bits_;
        return !out;
    }
    if (out) {
        data_ = g_result;
        return layout_.fits_into(out, loop_->out, loop_->any_layout);
    }
    if (converted_ && layout_.is_fortran_with_short_axes()) return false;
    made_ = layout_.new_array(loop_->out, size);
    if (made_) data_ = PyArray_BYTES(reinterpret_cast<PyArrayObject*>(made_.get()));
    return static_cast<bool>(made_);
}

// False where the loop reports what NumPy may have to warn about.
bool Answer::run() {
    char* at[kMostInputs + 1];
    npy_intp steps[kMostInputs + 1];
    for (int i = 0; i < nin_; ++i) at[i] = operands_[i].data, steps[i] = layout_.steps[i];
    at[nin_] = data_;
    steps[nin_] = graph::info(loop_->out).size;
    layout_.each_round(at, nin_, steps[nin_], [&](char** data) {
        char* now[kMostInputs + 1];
        npy_intp strides[kMostInputs + 1], count = layout_.count;
        for (int i = 0; i <= nin_; ++i) now[i] = data[i], strides[i] = steps[i];
        loop_->loop.fn(now, &count, strides, loop_->loop.data);
    });
    const bool clean = (faults_ | tier0::read_faults()) == 0;
    if (!clean) tier0::clear_flags();
    loop_->backoff.note(clean);
    return clean;
}

PyRef Answer::give(PyObject* out) {
    if (out) return layout_.copy_into(out, data_), PyRef::borrow(out);
    if (layout_.rank > 0) return std::move(made_);
    return PyRef::steal(numpy::box_scalar(graph::Box::NpScalar, loop_->out, bits_));
}

PyRef Answer::of(PyObject* const* args, PyObject* out) {
    const Timed timed(Activity::Answering, kFramesLine);
    for (int i = 0; i < nin_; ++i)
        if (!operands_[i].read(args[i])) return {};
    loop_ = &loops_.find(operands_[0].kind, nin_ > 1 ? operands_[1].kind : OperandKind::None);
    if (!loop_->loop.fn || loop_->backoff.skips()) return {};
    if (!layout_.find(operands_, nin_, loop_->any_layout)) return {};
    tier0::clear_flags();
    for (int i = 0; i < nin_; ++i)
        if (!convert(i)) return {};
    // Loops of comparisons clear what conversions have set.
    if (converted_) faults_ |= tier0::read_faults();
    layout_.walk(operands_, nin_);
    if (!place_result(out) || !run()) return {};
    return give(out);
}

PyObject* enter_ufunc(PyObject* ufunc, PyObject* const* args, size_t nargsf, PyObject* names) {
    if (!names && host_calls_are_on()) {
        if (UfuncLoops* u = served(ufunc)) {
            const Py_ssize_t count = PyVectorcall_NARGS(nargsf), nin = u->ufunc().nin;
            if (count == nin || (count == nin + 1 && u->takes_out && !host_calls_are_verified()))
                if (PyRef result = Answer(*u).of(args, count > nin ? args[nin] : nullptr))
                    return answered(result.release(), u->tally, ufunc, args, count,
                                    [&] { return g_ufunc_call(ufunc, args, nargsf, names); });
            if (PyErr_Occurred()) return nullptr;
        }
    }
    return g_ufunc_call(ufunc, args, nargsf, names);
}

// NumPy warns of these two with an operand too many that it takes for the result.
bool warns_of_three(const numpy::Ufunc& u) { return u.name == "maximum" || u.name == "minimum"; }

// Loops that look at strides of 0 are not as simple as this.
bool is_simple(const numpy::Ufunc& u) {
    return u.nin <= kMostInputs && u.nout == 1 && !u.generalized && !u.scalar_paths;
}

}  // namespace

void take_ufuncs() {
    for (const numpy::Ufunc* u : numpy::all_ufuncs()) {
        Slot& place = slot_of(u->object);
        if (!is_simple(*u) || place.ufunc || g_served_count == kSlots / 2) continue;
        auto& slot = *reinterpret_cast<vectorcallfunc*>(reinterpret_cast<char*>(u->object) +
                                                        Py_TYPE(u->object)->tp_vectorcall_offset);
        if (!g_ufunc_call) g_ufunc_call = slot;
        if (slot != g_ufunc_call) continue;
        ++g_served_count;
        place.ufunc = u->object;
        place.loops = std::make_unique<UfuncLoops>(*u);
        place.loops->takes_out = !u->skips && !warns_of_three(*u);
        slot = enter_ufunc;
    }
}

}  // namespace stator::frontend
