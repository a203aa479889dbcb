#include "frontend/host_calls/layout.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "frontend/hosts/numpy/fresh.h"
#include "frontend/hosts/numpy/runtime.h"

namespace stator::frontend {

namespace {

using graph::DType;

OperandKind kind_of_descr(PyArray_Descr* descr) {
    const auto t = graph::dtype_numbered(descr->type_num);
    return t && descr == numpy::descr_of(*t) ? kind_of(*t) : OperandKind::None;
}

struct ScalarType {
    PyTypeObject* type;
    DType dtype;
};

// NumPy's numbers, the frequent ones first.
OperandKind kind_of_number(PyTypeObject* type) {
    static const ScalarType kTypes[] = {
        {&PyDoubleArrType_Type, DType::F64}, {&PyLongArrType_Type, DType::I64},
        {&PyBoolArrType_Type, DType::Bool},  {&PyCDoubleArrType_Type, DType::C128},
        {&PyFloatArrType_Type, DType::F32},  {&PyIntArrType_Type, DType::I32},
        {&PyUByteArrType_Type, DType::U8},   {&PyULongArrType_Type, DType::U64},
        {&PyUIntArrType_Type, DType::U32},   {&PyShortArrType_Type, DType::I16},
        {&PyUShortArrType_Type, DType::U16}, {&PyByteArrType_Type, DType::I8},
        {&PyCFloatArrType_Type, DType::C64}, {&PyHalfArrType_Type, DType::F16},
    };
    for (const ScalarType& row : kTypes)
        if (row.type == type) return kind_of(row.dtype);
    return OperandKind::None;
}

template <class T>
void put(char* bits, T value) {
    std::memcpy(bits, &value, sizeof value);
}

template <class T>
bool put_int(char* bits, long long value) {
    if (value < 0 ? !std::is_signed_v<T> || value < static_cast<long long>(std::numeric_limits<T>::min())
                  : static_cast<unsigned long long>(value) > std::numeric_limits<T>::max())
        return false;
    return put(bits, static_cast<T>(value)), true;
}

bool put_real(char* bits, DType to, double value) {
    const auto single = static_cast<float>(value);
    const bool fits = std::isinf(single) == std::isinf(value);
    switch (to) {
        case DType::F64: return put(bits, value), true;
        case DType::C128: return put(bits, std::complex<double>(value, 0)), true;
        case DType::F32: return put(bits, single), fits;
        case DType::C64: return put(bits, std::complex<float>(single, 0)), fits;
        default: return false;
    }
}

bool put_whole(char* bits, DType to, PyObject* number) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow != 0) return false;
    constexpr long long kExact = 1LL << 53;
    switch (to) {
        case DType::I8: return put_int<int8_t>(bits, value);
        case DType::U8: return put_int<uint8_t>(bits, value);
        case DType::I16: return put_int<int16_t>(bits, value);
        case DType::U16: return put_int<uint16_t>(bits, value);
        case DType::I32: return put_int<int32_t>(bits, value);
        case DType::U32: return put_int<uint32_t>(bits, value);
        case DType::I64: return put_int<int64_t>(bits, value);
        case DType::U64: return put_int<uint64_t>(bits, value);
        default: return value <= kExact && value >= -kExact && put_real(bits, to, static_cast<double>(value));
    }
}

bool put_complex(char* bits, DType to, PyObject* number) {
    const double real = PyComplex_RealAsDouble(number), imag = PyComplex_ImagAsDouble(number);
    if (to == DType::C128) return put(bits, std::complex<double>(real, imag)), true;
    if (to != DType::C64) return false;
    const std::complex<float> single(static_cast<float>(real), static_cast<float>(imag));
    put(bits, single);
    return std::isinf(single.real()) == std::isinf(real) && std::isinf(single.imag()) == std::isinf(imag);
}

// Whether strides fall, or stay, from each axis with elements to go over to the next.
bool falls(const UfuncOperand& o) {
    npy_intp before = std::numeric_limits<npy_intp>::max();
    for (int i = 0; i < o.rank; ++i) {
        if (o.shape[i] == 1) continue;
        if (o.strides[i] <= 0 || o.strides[i] > before) return false;
        before = o.strides[i];
    }
    return true;
}

}  // namespace

bool UfuncOperand::read(PyObject* o) {
    if (PyArray_CheckExact(o)) return read_array(reinterpret_cast<PyArrayObject*>(o));
    return read_number(o);
}

bool UfuncOperand::read_array(PyArrayObject* a) {
    kind = kind_of_descr(PyArray_DESCR(a));
    rank = PyArray_NDIM(a);
    const int flags = PyArray_FLAGS(a);
    if (kind == OperandKind::None || rank > kMostOperandAxes || !(flags & NPY_ARRAY_ALIGNED)) return false;
    shape = PyArray_DIMS(a);
    for (int i = 0; i < rank; ++i) {
        if (shape[i] > kMostAtOnce || shape[i] < 1) return false;
        size *= shape[i];
        strides[i] = PyArray_STRIDE(a, i);
    }
    c_contiguous = (flags & NPY_ARRAY_C_CONTIGUOUS) != 0;
    f_contiguous = (flags & NPY_ARRAY_F_CONTIGUOUS) != 0;
    data = PyArray_BYTES(a);
    itemsize = PyArray_ITEMSIZE(a);
    return size <= kMostAtOnce;
}

bool UfuncOperand::read_number(PyObject* o) {
    data = bits_;
    number_ = o;
    if (PyFloat_CheckExact(o)) {
        kind = OperandKind::PythonFloat;
    } else if (PyLong_CheckExact(o)) {
        kind = OperandKind::PythonInt;
    } else if (PyBool_Check(o)) {
        kind = kind_of(DType::Bool);
        bits_[0] = o == Py_True;
    } else if (PyComplex_CheckExact(o)) {
        kind = OperandKind::PythonComplex;
    } else {
        kind = kind_of_number(Py_TYPE(o));
        if (kind == OperandKind::None) return false;
        numpy::scalar_bits(o, bits_);
    }
    return true;
}

bool UfuncOperand::set_number(DType to) {
    switch (kind) {
        case OperandKind::PythonFloat: return put_real(bits_, to, PyFloat_AS_DOUBLE(number_));
        case OperandKind::PythonInt: return put_whole(bits_, to, number_);
        case OperandKind::PythonComplex: return put_complex(bits_, to, number_);
        default: return false;
    }
}

void UfuncOperand::make_dense(int64_t size_of_one) {
    itemsize = size_of_one;
    const bool fortran = f_contiguous && !c_contiguous;
    for (int i = 0; i < rank; ++i) {
        const int axis = fortran ? i : rank - 1 - i;
        strides[axis] = size_of_one;
        size_of_one *= shape[axis];
    }
    c_contiguous = !fortran;
    f_contiguous |= rank == 1;
}

bool Layout::add_extents(const UfuncOperand& o) {
    if (o.rank > rank) {
        flat_ &= rank == 0;
        std::copy_backward(shape, shape + rank, shape + o.rank);
        std::fill(shape, shape + (o.rank - rank), 1);
        rank = o.rank;
    }
    flat_ &= o.rank == rank;
    for (int i = 0; i < o.rank; ++i) {
        npy_intp& extent = shape[rank - o.rank + i];
        if (extent == o.shape[i]) continue;
        if (extent == 1)
            extent = o.shape[i];
        else if (o.shape[i] != 1)
            return false;
    }
    return true;
}

bool Layout::find(const UfuncOperand* operands, int count_of_operands, bool any_layout) {
    bool c = true, f = true;
    for (int i = 0; i < count_of_operands; ++i) {
        const UfuncOperand& o = operands[i];
        if (o.rank == 0) continue;
        if (!add_extents(o)) return false;
        c &= o.c_contiguous;
        f &= o.f_contiguous;
    }
    for (int i = 0; i < rank; ++i) size *= shape[i];
    if (size > kMostAtOnce) return false;
    for (int i = 0; i < count_of_operands && flat_; ++i)
        flat_ &= operands[i].rank == 0 || std::equal(shape, shape + rank, operands[i].shape);
    flat_ &= rank <= 1 || c || f;
    fortran_ = flat_ && rank > 1 && !c;
    if (flat_) return true;
    return any_layout && std::all_of(operands, operands + count_of_operands, falls);
}

void Layout::walk(const UfuncOperand* operands, int count_of_operands) {
    if (flat_) {
        count = size;
        for (int i = 0; i < count_of_operands; ++i) {
            const UfuncOperand& o = operands[i];
            // Axes of extent 1 may have any stride.
            steps[i] = o.rank == 0 ? 0 : o.rank == 1 ? o.strides[0] : o.itemsize;
        }
        return;
    }
    npy_intp all[kMostInputs][kMostOperandAxes] = {};
    for (int i = 0; i < count_of_operands; ++i) {
        const UfuncOperand& o = operands[i];
        for (int k = 0; k < o.rank; ++k)
            if (o.shape[k] != 1) all[i][rank - o.rank + k] = o.strides[k];
    }
    // The loop goes over the last axis, and over those before it that go on where it ends.
    outer_ = rank - 1;
    count = shape[rank - 1];
    const auto goes_on = [&](int axis) {
        for (int i = 0; i < count_of_operands; ++i)
            if (all[i][axis] != all[i][rank - 1] * count) return false;
        return true;
    };
    while (outer_ > 0 && goes_on(outer_ - 1)) count *= shape[--outer_];
    for (int i = 0; i < count_of_operands; ++i) {
        steps[i] = all[i][rank - 1];
        std::copy(all[i], all[i] + outer_, outer_steps_[i]);
    }
}

bool Layout::is_fortran_with_short_axes() const {
    return fortran_ && std::find(shape, shape + rank, 1) != shape + rank;
}

PyRef Layout::new_array(DType t, int64_t itemsize) const {
    PyArray_Descr* descr = numpy::descr_of(t);
    if (!fortran_) return PyRef::steal(numpy::new_small_array(descr, rank, shape, size * itemsize));
    Py_INCREF(descr);
    return PyRef::steal(
        PyArray_NewFromDescr(&PyArray_Type, descr, rank, shape, nullptr, nullptr, 1, nullptr));
}

bool Layout::fits_into(PyObject* out, DType t, bool any_layout) const {
    // Other loops look at how the output lies to the operands.
    if (!any_layout || !PyArray_CheckExact(out)) return false;
    auto* a = reinterpret_cast<PyArrayObject*>(out);
    if (!may_be_written(a) || !PyArray_ISALIGNED(a)) return false;
    if (PyArray_DESCR(a) != numpy::descr_of(t) || PyArray_NDIM(a) != rank) return false;
    if (!std::equal(shape, shape + rank, PyArray_DIMS(a))) return false;
    return !fortran_ || PyArray_IS_F_CONTIGUOUS(a);
}

void Layout::copy_into(PyObject* out, const char* elements) const {
    auto* a = reinterpret_cast<PyArrayObject*>(out);
    const auto itemsize = static_cast<size_t>(PyArray_ITEMSIZE(a));
    if (fortran_ || PyArray_IS_C_CONTIGUOUS(a)) {
        std::memcpy(PyArray_DATA(a), elements, itemsize * static_cast<size_t>(size));
        return;
    }
    npy_intp index[kMostOperandAxes] = {};
    for (int64_t n = 0; n < size; ++n, elements += itemsize) {
        char* place = PyArray_BYTES(a);
        for (int i = 0; i < rank; ++i) place += index[i] * PyArray_STRIDE(a, i);
        std::memcpy(place, elements, itemsize);
        for (int i = rank - 1; i >= 0 && ++index[i] == shape[i]; --i) index[i] = 0;
    }
}

}  // namespace stator::frontend
