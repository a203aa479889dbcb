// See temporaries.h. What is asked for here, and in which order, is NumPy's: can_elide_temp,
// can_elide_temp_unary and try_binary_elide of numpy/_core/src/multiarray/temp_elide.c, and their callers in
// number.c.
#include "frontend/hosts/numpy/temporaries.h"

#include <algorithm>

#include "frontend/hosts/numpy/api.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/once.h"

namespace stator::frontend::numpy {

namespace {

// CPython's NB_* codes, which all versions share.
enum Nb : int {
    kAdd = 0,
    kAnd = 1,
    kFloorDivide = 2,
    kLshift = 3,
    kMultiply = 5,
    kOr = 7,
    kPower = 8,
    kRshift = 9,
    kSubtract = 10,
    kTrueDivide = 11,
    kXor = 12,
    kInPlace = 13,
};

constexpr char kProbeSource[] = R"(
def probe():
    import numpy
    c = numpy.zeros((256, 256))
    seen = []
    def noted(a):
        seen.append(id(a))
        return a
    reuses = (c.T * 1.0 + c).flags.f_contiguous
    behind_number = id(numpy.float64(1) * noted(c * 1.0)) == seen[0]
    return reuses + 2 * behind_number
)";

enum Reuses : long { kReuses = 1, kBehindNumber = 2 };

// NumPy may have been built without it, and where CPython's symbols are stripped it cannot see who calls. A
// NumPy number on the left calls the ufunc itself from some version on.
bool numpy_reuses(Reuses how) {
    const long answers = once([] {
        const PyRef globals = PyRef::steal(PyDict_New());
        PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins());
        PyRef done = PyRef::steal(PyRun_String(kProbeSource, Py_file_input, globals.get(), globals.get()));
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

bool commutes(int op) { return op == kAdd || op == kMultiply || op == kAnd || op == kOr || op == kXor; }

// The operand of `a OP b` that is reused, 0 or 1; -1: neither.
int reused_of(int op, PyObject* a, PyObject* b, TemporaryReuse::Held held) {
    switch (op) {
        case kAdd:
        case kAnd:
        case kFloorDivide:
        case kLshift:
        case kMultiply:
        case kOr:
        case kRshift:
        case kSubtract:
        case kXor: break;
        case kTrueDivide:
            if (!PyArray_CheckExact(a) || !(PyArray_ISFLOAT(as_array(a)) || PyArray_ISCOMPLEX(as_array(a))))
                return -1;
            break;
        case kPower: return is_temporary(a, held.below) && power_is_unary(a, b) ? 0 : -1;
        default: return -1;
    }
    if (is_temporary(a, held.below) && takes(as_array(a), b)) return 0;
    if (!commutes(op) || !is_temporary(b, held.top) || !takes(as_array(b), a)) return -1;
    return !PyArray_IsScalar(a, Generic) || numpy_reuses(kBehindNumber) ? 1 : -1;
}

PyObject* builtin_abs() {
    return once([] { return PyDict_GetItemString(PyEval_GetBuiltins(), "abs"); });
}

}  // namespace

TemporaryReuse::TemporaryReuse(const Frame& f, const Insn& insn, Held held) {
    PyObject* temporary = nullptr;
    if (insn.op == Opcode::BinaryOp) {
        PyObject *a = f.peek(1), *b = f.peek(0);
        // Where the left operand has no operator in place, the plain one is called.
        const bool in_place = insn.arg >= kInPlace;
        possible_ = (PyArray_Check(a) && !in_place) || PyArray_Check(b);
        if (!possible_ || (in_place && PyArray_Check(a))) return;
        operand_ = reused_of(in_place ? insn.arg - kInPlace : insn.arg, a, b, held);
        temporary = operand_ == 0 ? a : b;
    } else if (insn.op == Opcode::UnaryNegative || insn.op == Opcode::UnaryPositive ||
               insn.op == Opcode::UnaryInvert) {
        temporary = f.peek(0);
        possible_ = PyArray_Check(temporary);
        operand_ = is_temporary(temporary, held.top) ? 0 : -1;
    } else if (insn.op == Opcode::Call && insn.arg == 1) {
        temporary = f.peek(0);
        if (!is_reusable(temporary) || PyArray_ISCOMPLEX(as_array(temporary))) return;
        const CallOperands call = call_operands(f, insn);
        possible_ = call.callable == builtin_abs() && !call.self && !call.kwnames;
        operand_ = possible_ && is_temporary(temporary, held.top) ? 0 : -1;
    }
    if (operand_ < 0) return;
    PyArrayObject* array = as_array(temporary);
    rank_ = PyArray_NDIM(array);
    itemsize_ = PyArray_ITEMSIZE(array);
    if (rank_ > kMaxRank)
        operand_ = -1;
    else
        std::copy_n(PyArray_STRIDES(array), rank_, strides_);
}

void TemporaryReuse::settle(Frame& f) {
    if (operand_ < 0) return;
    PyArrayObject* result = as_array(f.peek(0));
    if (!PyArray_CheckExact(result) || PyArray_NDIM(result) != rank_ ||
        PyArray_ITEMSIZE(result) != itemsize_ || PyArray_SIZE(result) == 0 ||
        std::equal(strides_, strides_ + rank_, PyArray_STRIDES(result)) || !numpy_reuses(kReuses))
        return;
    other_strides_ = true;
    if (PyArray_NBYTES(result) < kReusedBytes) return;
    PyArray_Descr* dtype = PyArray_DESCR(result);
    Py_INCREF(dtype);
    PyRef in_order = PyRef::steal(PyArray_NewFromDescr(&PyArray_Type, dtype, rank_, PyArray_DIMS(result),
                                                       strides_, nullptr, 0, nullptr));
    if (!in_order || PyArray_CopyInto(as_array(in_order.get()), result) < 0) return PyErr_Clear();
    Py_XDECREF(f.pop());
    f.push(in_order.release());
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
