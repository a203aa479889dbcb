// See temporaries.h. What is asked for here, and in which order, is NumPy's: can_elide_temp,
// can_elide_temp_unary and try_binary_elide of numpy/_core/src/multiarray/temp_elide.c, and their callers in
// number.c.
#include "frontend/hosts/numpy/temporaries.h"
#include "frontend/cpython/operators.h"

#include <algorithm>

#include "frontend/cpython/builtins.h"
#include "frontend/hosts/numpy/complex_forms.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/operators.h"
#include "frontend/once.h"
#include "guards/check/numpy_api.h"
#include "guards/check/own_code.h"

namespace stator::frontend::numpy {

namespace {

// An array is told by its memory: programs may hear of calls of `id`.
guards::OwnCode elision_probe_code(R"(
def probe():
    import numpy, operator
    c = numpy.zeros((256, 256))
    seen = []
    def memory(a):
        return a.__array_interface__['data']
    def noted(a):
        seen.append(memory(a))
        return a
    reuses = (c.T * 1.0 + c).flags.f_contiguous
    behind_number = memory(numpy.float64(1) * noted(c * 1.0)) == seen[0]
    by_call = operator.add(c.T * 1.0, c).flags.f_contiguous
    return reuses + 2 * behind_number + 4 * by_call
)",
                                   Py_file_input);

enum Reuses : long { kReuses = 1, kBehindNumber = 2, kByCall = 4 };

// NumPy may have been built without it, and where CPython's symbols are stripped it cannot see who calls. A
// NumPy number on the left calls the ufunc itself from some version on.
bool numpy_reuses(Reuses how) {
    const long answers = once([] {
        const PyRef globals = PyRef::steal(PyDict_New());
        PyDict_SetItemString(globals.get(), "__builtins__", builtins_at_import());
        PyRef done = PyRef::steal(elision_probe_code.run(globals.get()));
        PyObject* probe = done ? PyDict_GetItemString(globals.get(), "probe") : nullptr;
        const PyRef answer = PyRef::steal(probe ? PyObject_CallNoArgs(probe) : nullptr);
        const long found = answer ? PyLong_AsLong(answer.get()) : 0;
        PyErr_Clear();
        return found < 0 ? 0 : found;
    });
    return answers & how;
}

PyArrayObject* as_array(PyObject* o) { return reinterpret_cast<PyArrayObject*>(o); }

bool is_reusable(PyObject* o) {
    if (!o || !PyArray_CheckExact(o)) return false;
    PyArrayObject* a = as_array(o);
    return PyArray_ISNUMBER(a) && PyArray_CHKFLAGS(a, NPY_ARRAY_OWNDATA) && PyArray_ISWRITEABLE(a) &&
           !PyArray_CHKFLAGS(a, NPY_ARRAY_WRITEBACKIFCOPY) && PyArray_NDIM(a) > 0;
}

bool is_temporary(PyObject* o, int held) { return Py_REFCNT(o) == 1 + held && is_reusable(o); }

bool takes(PyArrayObject* temporary, PyObject* other) {
    if (!PyArray_CheckExact(other) && !PyArray_CheckAnyScalar(other)) return false;
    const PyRef array = PyRef::steal(PyArray_EnsureArray(Py_NewRef(other)));
    if (!array) {
        PyErr_Clear();
        return false;
    }
    PyArrayObject* o = as_array(array.get());
    const int rank = PyArray_NDIM(o);
    if (rank != 0 && (rank != PyArray_NDIM(temporary) ||
                      !PyArray_CompareLists(PyArray_DIMS(temporary), PyArray_DIMS(o), rank)))
        return false;
    return PyArray_CanCastArrayTo(o, PyArray_DESCR(temporary), NPY_SAFE_CASTING);
}

// Where `b OP a` has other bits than `a OP b`, of operators that NumPy takes to commute: sums, and products
// of integers and floats, are what they are.
bool order_shows(int op, int type) {
    graph::DType t;
    return op == nb::Multiply && dtype_of_number(type, &t) && exchanges_operands(t);
}

bool commutes(int op) {
    return op == nb::Add || op == nb::Multiply || op == nb::And || op == nb::Or || op == nb::Xor;
}

// The operand of `a OP b` that is reused, 0 or 1; -1: neither.
int reused_of(int op, PyObject* a, PyObject* b, TemporaryReuse::Held held) {
    switch (op) {
        case nb::Add:
        case nb::And:
        case nb::FloorDivide:
        case nb::Lshift:
        case nb::Multiply:
        case nb::Or:
        case nb::Rshift:
        case nb::Subtract:
        case nb::Xor: break;
        case nb::TrueDivide:
            if (!PyArray_CheckExact(a) || !(PyArray_ISFLOAT(as_array(a)) || PyArray_ISCOMPLEX(as_array(a))))
                return -1;
            break;
        case nb::Power: return is_temporary(a, held.below) && power_is_unary(a, b) ? 0 : -1;
        default: return -1;
    }
    if (is_temporary(a, held.below) && takes(as_array(a), b)) return 0;
    if (!commutes(op) || !is_temporary(b, held.top) || !takes(as_array(b), a)) return -1;
    return !PyArray_IsScalar(a, Generic) || numpy_reuses(kBehindNumber) ? 1 : -1;
}

PyObject* builtin_abs() {
    static PyObject* const abs = builtin("abs");
    return abs;
}

// What an instruction does with its topmost operands. Functions of the module operator are the operators,
// called by CPython as the evaluator is.
struct Operation {
    int operands = 0;  // 0: nothing that NumPy would reuse an operand for
    int op = -1;       // of two: Nb
    bool in_place = false;
    bool of_complex_gives_float = false, by_call = false;
};

Operation operation_of(const Frame& f, const Insn& insn) {
    switch (insn.op) {
        case Opcode::BinaryOp: {
            const bool in_place = insn.arg >= kOperators;
            return {2, in_place ? insn.arg - kOperators : insn.arg, in_place};
        }
        case Opcode::UnaryNegative:
        case Opcode::UnaryPositive:
        case Opcode::UnaryInvert: return {1};
        case Opcode::Call: break;
        default: return {};
    }
    if (insn.arg != 1 && insn.arg != 2) return {};
    if (!PyArray_Check(f.peek(0)) && (insn.arg == 1 || !PyArray_Check(f.peek(1)))) return {};
    const CallOperands call = call_operands(f, insn);
    if (call.self || call.kwnames || !PyCFunction_CheckExact(call.callable)) return {};
    if (insn.arg == 1) {
        const bool is_abs = call.callable == builtin_abs() || call.callable == unary_function("abs");
        for (const char* name : {"neg", "pos", "invert"})
            if (call.callable == unary_function(name)) return {1, -1, false, false, true};
        return is_abs ? Operation{1, -1, false, true, true} : Operation{};
    }
    for (int op = 0; op < kOperators; ++op)
        if (call.callable == operator_function(op)) return {2, op, false, false, true};
    return {};
}

}  // namespace

TemporaryReuse::TemporaryReuse(Frame& f, const Insn& insn, Held held) {
    const Operation o = operation_of(f, insn);
    // A local that was loaded without a reference has one all the same.
    const auto is_local = [&](int from_top) {
        return o.operands > from_top && f.is_borrowed(f.depth() - 1 - from_top);
    };
    constexpr int kNever = 1 << 30;
    if (is_local(0)) held.top = kNever;
    if (is_local(1)) held.below = kNever;
    if (o.by_call && !numpy_reuses(kByCall)) return;
    operands_ = o.operands;
    if (o.operands == 2) {
        PyObject *a = f.peek(1), *b = f.peek(0);
        possible_ = (PyArray_Check(a) && !o.in_place) || PyArray_Check(b);
        // Where the left operand has no operator in place, the plain one is called.
        if (!possible_ || (o.in_place && PyArray_Check(a))) return;
        operand_ = reused_of(o.op, a, b, held);
        may_exchange_ =
            is_reusable(b) && order_shows(o.op, PyArray_TYPE(as_array(b))) && takes(as_array(b), a);
    } else if (o.operands == 1) {
        PyObject* a = f.peek(0);
        if (o.of_complex_gives_float && PyArray_Check(a) && PyArray_ISCOMPLEX(as_array(a))) return;
        possible_ = PyArray_Check(a);
        operand_ = possible_ && is_temporary(a, held.top) ? 0 : -1;
    }
    if (operand_ < 0) return;
    PyObject* operand = f.peek(o.operands - 1 - operand_);
    take_strides(operand);
    exchanges_ = operand_ == 1 && may_exchange_;
    if (exchanges_ && PyArray_NBYTES(as_array(operand)) >= kReusedBytes) {
        PyObject *b = f.pop(), *a = f.pop();
        f.push(b), f.push(a);
    }
}

TemporaryReuse::TemporaryReuse(PyObject* a, PyObject* b) : operands_(2) {
    possible_ = is_reusable(a);
    if (!possible_ || !takes(as_array(a), b)) return;
    operand_ = 0;
    take_strides(a);
}

void TemporaryReuse::take_strides(PyObject* array) {
    PyArrayObject* a = as_array(array);
    rank_ = PyArray_NDIM(a);
    itemsize_ = PyArray_ITEMSIZE(a);
    std::copy_n(PyArray_STRIDES(a), rank_, strides_);
}

void TemporaryReuse::settle(Frame& f) {
    if (operand_ >= 0) f.push(settled(PyRef::steal(f.pop())).release());
}

PyRef TemporaryReuse::settled(PyRef result) {
    if (operand_ < 0) return result;
    PyArrayObject* array = as_array(result.get());
    if (!PyArray_CheckExact(array) || PyArray_NDIM(array) != rank_ || PyArray_ITEMSIZE(array) != itemsize_ ||
        PyArray_SIZE(array) == 0 || std::equal(strides_, strides_ + rank_, PyArray_STRIDES(array)) ||
        !numpy_reuses(kReuses))
        return result;
    other_strides_ = true;
    if (PyArray_NBYTES(array) < kReusedBytes) return result;
    PyArray_Descr* dtype = PyArray_DESCR(array);
    Py_INCREF(dtype);
    PyRef in_order = PyRef::steal(PyArray_NewFromDescr(&PyArray_Type, dtype, rank_, PyArray_DIMS(array),
                                                       strides_, nullptr, 0, nullptr));
    if (in_order && PyArray_CopyInto(as_array(in_order.get()), array) == 0) return in_order;
    PyErr_Clear();
    return result;
}

bool exchanges_operands(graph::DType t) {
    return graph::is_complex(t) && !complex_forms(t).product_commutes && numpy_reuses(kReuses);
}

bool would_show(PyObject* operand, PyObject* result) {
    if (!is_reusable(operand) || !PyArray_CheckExact(result)) return false;
    PyArrayObject *a = as_array(operand), *r = as_array(result);
    const int rank = PyArray_NDIM(a);
    return rank == PyArray_NDIM(r) && PyArray_ITEMSIZE(a) == PyArray_ITEMSIZE(r) &&
           PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(r), rank) &&
           !std::equal(PyArray_STRIDES(a), PyArray_STRIDES(a) + rank, PyArray_STRIDES(r));
}

}  // namespace stator::frontend::numpy
