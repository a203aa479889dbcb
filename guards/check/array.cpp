// Guards on arrays: dtype, rank, extents, how the elements lie in memory, and overlap of what is written.
//
// What a layout class promises, for the axes of extent other than 1 (those of extent 1 are never stepped
// along, and constants in the spec say which they are; with an extent of 0 nothing is):
//
//   Contiguous   elements are dense in the order of perm
//   InnerDense   strides are multiples of the itemsize, the last axis of perm has stride itemsize
//   Strided      strides are multiples of the itemsize
//
// and for the last two, perm is the order in which NumPy's iterator would walk this array: it decides the
// strides of eager's result, so it is part of the promise.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "guards/check/cupy_api.h"
#include "guards/check/impl.h"
#include "guards/check/numpy_api.h"
#include "guards/check/torch_api.h"

namespace stator::guards {
namespace {

constexpr int kMaxRank = NPY_MAXDIMS;
constexpr int8_t kAnySign = 2;               // the spec does not say: neither signs nor density are checked
constexpr uint32_t kWarnOnWrite = 1u << 31;  // NPY_ARRAY_WARN_ON_WRITE, not in the public headers

enum class Trouble : uint8_t { None, NotArray, Rank, DType, Flags, Extent, Order, Inner, Multiple };

// A copy of the built-in dtype has the same elements, but results inherit it, and whether it is one shows in
// what asarray(x, dtype) returns. They would inherit metadata too.
bool same_dtype(const Instr& in, PyArrayObject* a) {
    const auto* expected = reinterpret_cast<PyArray_Descr*>(in.p);
    PyArray_Descr* d = PyArray_DESCR(a);
    if (!in.own_dtype) return d == expected;
    return d != expected && d->type_num == expected->type_num && PyArray_ISNBO(d->byteorder) &&
           !PyDataType_METADATA(d) && PyDataType_ELSIZE(d) == PyDataType_ELSIZE(expected);
}

// Strides dense in the order of `perm` (rank entries), axes of extent 1 aside.
bool dense(int rank, const npy_intp* shape, const npy_intp* strides, const int8_t* perm, npy_intp itemsize) {
    npy_intp expected = itemsize;
    for (int k = rank; k-- > 0;) {
        const int axis = perm[k];
        if (shape[axis] == 0) return true;
        if (shape[axis] == 1) continue;
        if (strides[axis] != expected) return false;
        expected *= shape[axis];
    }
    return true;
}

Trouble check_strides(const Instr& in, const npy_intp* shape, const npy_intp* strides, const int8_t* perm,
                      npy_intp itemsize) {
    const int rank = in.ndim;
    for (int i = 0; i < rank; ++i)
        if (shape[i] == 0) return Trouble::None;
    if (in.layout == graph::Layout::Contiguous)
        return dense(rank, shape, strides, perm, itemsize) ? Trouble::None : Trouble::Order;
    for (int i = 0; i < rank; ++i)  // itemsizes are powers of two
        if (shape[i] != 1 && (strides[i] & (itemsize - 1))) return Trouble::Multiple;
    if (in.layout == graph::Layout::InnerDense) {
        const int inner = perm[rank - 1];
        if (shape[inner] != 1 && strides[inner] != itemsize) return Trouble::Inner;
    }
    // A dense array is of another class: results of the same operations are laid out otherwise, and what was
    // a copy may be a view. So is one whose strides have other signs.
    const int8_t* signs = perm + rank;
    const bool exact = rank > 0 && signs[0] != kAnySign;
    for (int i = 0; i < rank && exact; ++i)
        if (shape[i] != 1 && (strides[i] > 0) - (strides[i] < 0) != signs[i]) return Trouble::Order;
    if (rank < 2) return exact && shape[0] != 1 && strides[0] == itemsize ? Trouble::Order : Trouble::None;
    int order[kMaxRank];
    memory_order(rank, shape, strides, order);
    int k = 0;
    for (int i = 0; i < rank; ++i) {  // compare the two orders without the axes of extent 1
        if (shape[order[i]] == 1) continue;
        while (shape[perm[k]] == 1) ++k;
        if (perm[k++] != order[i]) return Trouble::Order;
    }
    int8_t own[kMaxRank];
    for (int i = 0; i < rank; ++i) own[i] = static_cast<int8_t>(order[i]);
    if (exact && dense(rank, shape, strides, own, itemsize)) return Trouble::Order;
    if (!exact) return Trouble::None;
    stride_ties(rank, shape, strides, own);
    return std::memcmp(own, signs + rank, static_cast<size_t>(rank)) == 0 ? Trouble::None : Trouble::Order;
}

// Inlined: this is most of what a guard program does.
[[gnu::always_inline]] inline Trouble find_trouble(const GuardProgram::Impl& p, const Instr& in,
                                                   PyObject* obj, int64_t* symbols) {
    if (Py_TYPE(obj) != &PyArray_Type) return Trouble::NotArray;
    auto* a = reinterpret_cast<PyArrayObject*>(obj);
    if (PyArray_NDIM(a) != in.ndim) return Trouble::Rank;
    if (!same_dtype(in, a)) return Trouble::DType;
    if ((static_cast<uint32_t>(PyArray_FLAGS(a)) & in.mask) != in.want) return Trouble::Flags;
    const npy_intp* shape = PyArray_DIMS(a);
    const Axis* axes = p.axes.data() + in.first;
    for (int i = 0; i < in.ndim; ++i) {
        const Axis& axis = axes[i];
        const int64_t n = shape[i];
        if (n < axis.lo || n > axis.hi) return Trouble::Extent;
        if (axis.mode == Axis::Define) symbols[axis.symbol] = n;
        if (axis.mode == Axis::Equal && symbols[axis.symbol] != n) return Trouble::Extent;
    }
    if (in.perm < 0) return Trouble::None;
    return check_strides(in, shape, PyArray_STRIDES(a), p.perms.data() + in.perm, in.lo);
}

// An array in memory, whichever library made it.
struct Extent {
    char* data = nullptr;
    int rank = 0;
    int64_t item = 1;
    const int64_t *shape = nullptr, *strides = nullptr;
    int64_t unit = 1;  // of the strides, in bytes
    TensorView view = {};
    int64_t stride(int axis) const { return strides[axis] * unit; }
};

// False: it cannot be read, which counts as overlapping.
bool extent_of(PyObject* o, Extent* e) {
    if (is_exact_array(o)) {
        auto* a = reinterpret_cast<PyArrayObject*>(o);
        e->data = PyArray_BYTES(a), e->rank = PyArray_NDIM(a), e->item = PyArray_ITEMSIZE(a);
        e->shape = PyArray_DIMS(a), e->strides = PyArray_STRIDES(a);
        return true;
    }
    TensorView& t = e->view;
    if (is_cupy_array(o) ? !read_cupy_array(o, &t) : !is_tensor(o) || !read_tensor(o, &t)) return false;
    const int64_t item = graph::info(t.dtype).size;
    e->data = t.data, e->rank = t.rank, e->item = e->unit = item, e->shape = t.shape, e->strides = t.strides;
    return true;
}

struct Interval {
    const char *begin, *end;  // empty when equal
};

Interval memory(PyObject* o) {
    Extent e;
    if (!extent_of(o, &e)) return {nullptr, reinterpret_cast<const char*>(UINTPTR_MAX)};
    const char* begin = e.data;
    const char* end = begin + e.item;
    for (int i = 0; i < e.rank; ++i) {
        const int64_t n = e.shape[i], step = e.stride(i);
        if (n == 0) return {begin, begin};
        (step < 0 ? begin : end) += (n - 1) * step;
    }
    return {begin, end};
}

bool disjoint(const Interval& a, const Interval& b) {
    return a.begin == a.end || b.begin == b.end || a.end <= b.begin || b.end <= a.begin;
}

bool is_c_order(const std::vector<int>& perm) {
    for (size_t i = 0; i < perm.size(); ++i)
        if (perm[i] != static_cast<int>(i)) return false;
    return true;
}

bool is_f_order(const std::vector<int>& perm, int rank) {
    if (static_cast<int>(perm.size()) != rank) return rank < 2;
    for (int i = 0; i < rank; ++i)
        if (perm[i] != rank - 1 - i) return false;
    return true;
}

std::string order_text(const ArraySpec& spec) {
    if (is_c_order(spec.perm)) return "C order";
    if (is_f_order(spec.perm, spec.ndim)) return "Fortran order";
    std::string s = "axes in memory order (";
    for (size_t i = 0; i < spec.perm.size(); ++i) s += (i ? ", " : "") + std::to_string(spec.perm[i]);
    return s + ")";
}

std::string layout_text(const ArraySpec& spec) {
    if (spec.ndim == 0) return "";
    switch (spec.layout) {
        case graph::Layout::Contiguous: return "contiguous in " + order_text(spec);
        case graph::Layout::InnerDense: return "rows dense in " + order_text(spec);
        case graph::Layout::Strided: return "strided in " + order_text(spec);
    }
    return "";
}

}  // namespace

std::string dtype_text(graph::DType t) {
    if (graph::info(t).numpy_type < 0) return std::string(graph::info(t).text);
    PyArray_Descr* d = PyArray_DescrFromType(graph::info(t).numpy_type);
    const char* name = d ? d->typeobj->tp_name : nullptr;
    std::string s = name ? name : std::string(graph::info(t).text);
    Py_XDECREF(d);
    return s.starts_with("numpy.") ? s.substr(6) : s;
}

namespace {

template <class T>
std::string tuple_text(int n, const T* values) {
    std::string s = "(";
    for (int i = 0; i < n; ++i) s += (i ? ", " : "") + std::to_string(values[i]);
    return s + (n == 1 ? ",)" : ")");
}

}  // namespace

Axis lower_axis(const graph::SymTable& syms, graph::Sym extent, std::vector<bool>& defined) {
    if (const auto value = syms.as_const(extent)) return {Axis::Bounds, -1, *value, *value};
    if (syms.expr(extent).kind != graph::SymKind::Symbol) return {Axis::Bounds, -1, 0, NPY_MAX_INTP};
    const int symbol = static_cast<int>(syms.expr(extent).value);
    Axis axis{defined[symbol] ? Axis::Equal : Axis::Define, symbol, syms.symbol_info(symbol).lo,
              syms.symbol_info(symbol).hi};
    defined[symbol] = true;
    return axis;
}

// As npyiter_find_best_axis_ordering: an insertion sort from the innermost axis outwards, in which an axis
// moves inwards only past one whose stride is known to be larger; strides of 0, and of extents 1 (which the
// iterator sets to 0), say nothing.
void memory_order(int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides, int* perm) {
    const auto stride = [&](int axis) { return shape[axis] == 1 ? 0 : std::abs(strides[axis]); };
    for (int i = ndim; i-- > 0;) {  // perm[i + 1 ..] is sorted
        int at = i;
        for (int j = i + 1; j < ndim; ++j) {
            const Py_ssize_t inner = stride(perm[j]), mine = stride(i);
            if (inner == 0 || mine == 0) continue;
            if (inner <= mine) break;
            at = j;
        }
        for (int j = i; j < at; ++j) perm[j] = perm[j + 1];
        perm[at] = i;
    }
}

void stride_ties(int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides, int8_t* ties) {
    for (int i = 0; i < ndim; ++i) {
        int first = i;
        for (int j = 0; j < i && first == i && shape[i] != 1 && strides[i] != 0; ++j)
            if (shape[j] != 1 && std::abs(strides[j]) == std::abs(strides[i])) first = j;
        ties[i] = static_cast<int8_t>(first);
    }
}

bool is_exact_array(PyObject* obj) { return PyArray_API && Py_TYPE(obj) == &PyArray_Type; }

bool is_ufunc(PyObject* obj) { return PyUFunc_API && Py_TYPE(obj) == &PyUFunc_Type; }

std::string ufunc_name(PyObject* ufunc) {
    const char* name = reinterpret_cast<PyUFuncObject*>(ufunc)->name;
    return name ? name : "?";
}

void lower_array(GuardProgram::Impl& p, const Guard& g, Instr& in, std::vector<bool>& defined) {
    const ArraySpec& spec = g.spec;
    in.ndim = static_cast<uint8_t>(spec.ndim);
    in.layout = spec.layout;
    in.own_dtype = spec.own_dtype;
    in.lo = graph::info(spec.dtype).size;
    in.mask = in.want = NPY_ARRAY_ALIGNED;
    if (spec.writeable) {
        // The last two make a write do more than write.
        in.mask |= NPY_ARRAY_WRITEABLE | NPY_ARRAY_WRITEBACKIFCOPY | kWarnOnWrite;
        in.want |= NPY_ARRAY_WRITEABLE;
    }
    PyObject* descr = reinterpret_cast<PyObject*>(PyArray_DescrFromType(graph::info(spec.dtype).numpy_type));
    in.p = p.keep(descr);
    Py_DECREF(descr);
    in.first = static_cast<int32_t>(p.axes.size());
    for (const graph::Sym extent : spec.shape) p.axes.push_back(lower_axis(*p.syms, extent, defined));
    // NumPy keeps the contiguity flags exact, with the same rule for extents 0 and 1.
    const bool contiguous = spec.layout == graph::Layout::Contiguous;
    const uint32_t flag = is_c_order(spec.perm)              ? NPY_ARRAY_C_CONTIGUOUS
                          : is_f_order(spec.perm, spec.ndim) ? NPY_ARRAY_F_CONTIGUOUS
                                                             : 0;
    if (contiguous && flag) {
        in.mask |= flag;
        in.want |= flag;
        return;
    }
    if (spec.ndim == 0) return;
    in.perm = static_cast<int32_t>(p.perms.size());
    for (int i = 0; i < spec.ndim; ++i)
        p.perms.push_back(static_cast<int8_t>(spec.perm.empty() ? i : spec.perm[static_cast<size_t>(i)]));
    for (int i = 0; i < in.ndim; ++i)
        p.perms.push_back(i < static_cast<int>(spec.signs.size()) ? spec.signs[static_cast<size_t>(i)]
                                                                  : kAnySign);
    for (int i = 0; i < in.ndim; ++i)
        p.perms.push_back(i < static_cast<int>(spec.ties.size()) ? spec.ties[static_cast<size_t>(i)]
                                                                 : static_cast<int8_t>(i));
}

// No two indices name the same element when each stride steps over all that the smaller ones span.
bool overlaps_itself(PyObject* o) {
    Extent e;
    if (!extent_of(o, &e)) return true;
    const int rank = e.rank;
    int64_t span = e.item, last = 0;
    for (int done = 0, i = 0; done < rank; ++done) {  // axes by ascending stride; ties fail below
        int64_t least = INT64_MAX;
        int axis = -1;
        for (i = 0; i < rank; ++i) {
            const int64_t n = e.shape[i], step = std::abs(e.stride(i));
            if (n == 0) return false;
            if (n == 1 || step <= last) continue;
            if (step < least) least = step, axis = i;
        }
        if (axis < 0) break;
        if (least < span) return true;
        span += (e.shape[axis] - 1) * least;
        last = least;
    }
    // Every axis was taken once unless two share a stride, or one has stride 0.
    for (int i = 0; i < rank; ++i)
        for (int j = 0; j < i; ++j)
            if (e.shape[i] > 1 && e.shape[j] > 1 && std::abs(e.stride(i)) == std::abs(e.stride(j)))
                return true;
    for (int i = 0; i < rank; ++i)
        if (e.shape[i] > 1 && e.stride(i) == 0) return true;
    return false;
}

void memory_span(PyObject* array, const char** begin, const char** end) {
    const Interval i = memory(array);
    *begin = i.begin, *end = i.end;
}

bool spans_overlap(PyObject* a, PyObject* b) {
    const Interval x = memory(a), y = memory(b);
    return x.begin != x.end && y.begin != y.end && x.begin < y.end && y.begin < x.end;
}

int64_t host_array_kind(PyObject* o) {
    auto* a = reinterpret_cast<PyArrayObject*>(o);
    return PyArray_TYPE(a) * 1000 + PyArray_NDIM(a) * 10 + (PyArray_ISNOTSWAPPED(a) ? 0 : 1) +
           (PyArray_ISALIGNED(a) ? 0 : 2);
}

bool is_host_array(PyObject* o, int64_t kind) { return PyArray_CheckExact(o) && host_array_kind(o) == kind; }

bool check_array(const GuardProgram::Impl& p, const Instr& in, PyObject* obj, int64_t* symbols) {
    return find_trouble(p, in, obj, symbols) == Trouble::None;
}

void array_scalar(PyObject* array, char* out) {
    auto* a = reinterpret_cast<PyArrayObject*>(array);
    std::memcpy(out, PyArray_DATA(a), static_cast<size_t>(PyArray_ITEMSIZE(a)));
}

bool check_overlap(const GuardProgram::Impl& p, const Instr& in, PyObject* const* objects) {
    PyObject* written = objects[in.src];
    if (overlaps_itself(written)) return false;
    const Interval w = memory(written);
    for (int i = 0; i < in.other; ++i)
        if (!disjoint(w, memory(objects[p.others[in.first + i]]))) return false;
    return true;
}

std::string array_text(const ArraySpec& spec, bool written, const graph::SymTable* syms) {
    std::string s = dtype_text(spec.dtype) + "[";
    for (int i = 0; i < spec.ndim; ++i)
        s += (i ? ", " : "") + (syms ? syms->str(spec.shape[i]) : std::string("?"));
    s += "]";
    if (spec.own_dtype) s += ", dtype a copy of the built-in one";
    const std::string layout = layout_text(spec);
    if (!layout.empty()) s += ", " + layout;
    return written ? s + ", writeable" : s;
}

std::string show_array(PyObject* obj) {
    auto* a = reinterpret_cast<PyArrayObject*>(obj);
    PyArray_Descr* d = PyArray_DESCR(a);
    std::string type = d->typeobj->tp_name;
    if (type.starts_with("numpy.")) type = type.substr(6);
    std::string s = "an ndarray of " + type;
    if (!PyArray_ISNBO(d->byteorder))
        s += " in foreign byte order";
    else if (PyDataType_METADATA(d))
        s += " with metadata";
    else if (PyArray_Descr* builtin =
                 graph::dtype_numbered(d->type_num) ? PyArray_DescrFromType(d->type_num) : nullptr) {
        if (builtin != d) s += " (a copy of the built-in dtype)";
        Py_DECREF(builtin);
    }
    return s + ", shape " + tuple_text(PyArray_NDIM(a), PyArray_DIMS(a));
}

std::string explain_array(const GuardProgram::Impl& p, const Instr& in, const Guard& g, PyObject* obj,
                          int64_t* symbols) {
    const std::string& s = p.sources[g.source].text;
    auto* a = reinterpret_cast<PyArrayObject*>(obj);
    const auto dims = [&] { return "shape " + tuple_text(PyArray_NDIM(a), PyArray_DIMS(a)); };
    const std::string strides = Py_TYPE(obj) == &PyArray_Type
                                    ? "strides " + tuple_text(PyArray_NDIM(a), PyArray_STRIDES(a)) + " for "
                                    : "";
    switch (find_trouble(p, in, obj, symbols)) {
        case Trouble::None: return "";
        case Trouble::NotArray: return "expected " + s + " to be an ndarray, found " + show(obj);
        case Trouble::Rank:
            return "expected " + s + ".ndim == " + std::to_string(in.ndim) + ", found " +
                   std::to_string(PyArray_NDIM(a)) + " (" + dims() + ")";
        case Trouble::DType:
            return "expected " + s + ".dtype to be " + dtype_text(g.spec.dtype) +
                   (in.own_dtype ? " (a copy of the built-in dtype)" : "") + ", found " + show_array(obj);
        case Trouble::Flags: {
            const uint32_t differ = (static_cast<uint32_t>(PyArray_FLAGS(a)) & in.mask) ^ in.want;
            if (differ & NPY_ARRAY_ALIGNED)
                return "expected " + s + " to be aligned, found an unaligned array";
            if (differ & (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS))
                return "expected " + s + " to be " + layout_text(g.spec) + ", found " + strides + dims();
            return "expected " + s + " to be writeable, found a read-only array";
        }
        case Trouble::Extent:
            for (int i = 0; i < in.ndim; ++i) {
                const Axis& axis = p.axes[static_cast<size_t>(in.first + i)];
                const int64_t n = PyArray_DIM(a, i);
                const std::string extent = s + ".shape[" + std::to_string(i) + "]";
                const std::string found = ", found " + std::to_string(n) + " (" + dims() + ")";
                if (axis.lo == axis.hi && n != axis.lo)
                    return "expected " + extent + " == " + std::to_string(axis.lo) + found;
                if (n < axis.lo) return "expected " + extent + " >= " + std::to_string(axis.lo) + found;
                if (n > axis.hi) return "expected " + extent + " <= " + std::to_string(axis.hi) + found;
                if (axis.mode == Axis::Equal && symbols[axis.symbol] != n)
                    return "expected " + extent + " == " + p.syms->symbol_info(axis.symbol).name +
                           ", which is " + std::to_string(symbols[axis.symbol]) + found;
                if (axis.mode == Axis::Define) symbols[axis.symbol] = n;
            }
            return "";
        case Trouble::Order:
        case Trouble::Inner:
            return "expected " + s + " to be " + layout_text(g.spec) + ", found " + strides + dims();
        case Trouble::Multiple:
            return "expected the strides of " + s + " to be multiples of " + std::to_string(in.lo) +
                   " bytes, found " + strides + dims();
    }
    return "";
}

std::string explain_overlap(const GuardProgram::Impl& p, const Instr& in, PyObject* const* objects) {
    const std::string& s = p.sources[static_cast<size_t>(in.src)].text;
    PyObject* written = objects[in.src];
    if (overlaps_itself(written))
        return "expected the elements of " + s + " to lie apart, found an array that overlaps itself";
    for (int i = 0; i < in.other; ++i) {
        const int32_t o = p.others[static_cast<size_t>(in.first + i)];
        if (!disjoint(memory(written), memory(objects[o])))
            return "expected " + s + ", which is written, to share no memory with " +
                   p.sources[static_cast<size_t>(o)].text +
                   (objects[o] == objects[in.src] ? ", found one and the same array"
                                                  : ", found that they overlap");
    }
    return "";
}

}  // namespace stator::guards
