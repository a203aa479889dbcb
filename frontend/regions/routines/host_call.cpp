// Pure functions of NumPy that regions call through Python, on operands that are boxed for the call.
//
// The operands are views of the region's memory, the result stays in the array that NumPy made.
// Floating-point conditions that np.errstate does something about fail the call, and so do warnings: nothing
// is reported twice. Whatever goes wrong, the region leaves in front of the statement and Python does it
// again. What a call gives was found out while the region was built (probe_host) and is compared with each
// result.
#include <algorithm>
#include <cstring>
#include <span>

#include "frontend/clock.h"
#include "frontend/cpython/collection.h"
#include "frontend/cpython/deferred.h"
#include "frontend/cpython/frame.h"
#include "frontend/hosts/call_pure.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/own_warnings.h"
#include "frontend/hosts/numpy/runtime.h"
#include "frontend/regions/routines/library.h"
#include "guards/check/check.h"

namespace stator::frontend::regions {

namespace {

constexpr int kMostArguments = 12;
// Of arrays that calls take and give. A product has the axes of both its operands, so that a loop that goes
// on with it has more of them in each version of its code, and a probe twice the elements with every axis.
constexpr int kMostAxes = 8;

struct Span {
    const char *begin, *end;
    bool meets(const Span& o) const { return begin < o.end && o.begin < end; }
};

struct HostCall {
    HostFunction f;
    HostResult gives;
    std::vector<PyRef> made;  // arrays that the region may still use
};

// Builds an argument from its words. `spans` collects where operands lie.
struct Reader {
    const int64_t* words;
    std::vector<Span> spans{};
    bool empty = false;

    int64_t bits() {
        const int64_t v = *words;
        words += 2;
        return v;
    }
    PyObject* array(const Value& v) {
        const ArrayWords a = take_array(&words, v.rank);
        PyArray_Descr* descr = numpy::descr_of(v.dtype);
        Py_INCREF(descr);
        PyObject* o =
            PyArray_NewFromDescr(&PyArray_Type, descr, v.rank, a.extents, a.strides, a.address, 0, nullptr);
        if (!o) return nullptr;
        Span s;
        guards::memory_span(o, &s.begin, &s.end);
        spans.push_back(s);
        empty |= PyArray_SIZE(reinterpret_cast<PyArrayObject*>(o)) == 0;
        return o;
    }
    PyObject* complex(const Value& v) {
        const int64_t parts[] = {bits(), bits()};
        const bool python = v.kind == Kind::Complex;
        const size_t half = !python && v.dtype == DType::C64 ? sizeof(float) : sizeof(double);
        char both[2 * sizeof(double)] = {};
        for (size_t k = 0; k < 2; ++k) std::memcpy(both + k * half, &parts[k], half);
        return numpy::box_scalar(python ? graph::Box::PyComplex : graph::Box::NpScalar,
                                 python ? DType::C128 : v.dtype, both);
    }
    PyObject* build(const Value& v) {
        switch (v.kind) {
            case Kind::Known: return Py_NewRef(v.obj);
            case Kind::Passed: return Py_NewRef(reinterpret_cast<PyObject*>(bits()));
            case Kind::Int: return PyLong_FromLongLong(bits());
            case Kind::Bool: return PyBool_FromLong(static_cast<char>(bits()) != 0);
            case Kind::Float: {
                const int64_t b = bits();
                double d;
                std::memcpy(&d, &b, sizeof d);
                return PyFloat_FromDouble(d);
            }
            case Kind::Scalar: {
                PyObject* o =
                    numpy::box_scalar(graph::Box::NpScalar, v.dtype, reinterpret_cast<const char*>(words));
                words += 2;
                return o;
            }
            case Kind::Complex:
            case Kind::ComplexScalar: return complex(v);
            case Kind::Array: return array(v);
            case Kind::Tuple: {
                PyRef t = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(v.items.size())));
                for (size_t i = 0; t && i < v.items.size(); ++i) {
                    PyObject* item = build(v.items[i]);
                    if (!item) return nullptr;
                    PyTuple_SET_ITEM(t.get(), static_cast<Py_ssize_t>(i), item);
                }
                return t.release();
            }
            default:
                PyErr_SetString(PyExc_SystemError, "stator: an argument that has no object");
                return nullptr;
        }
    }
};

PyRef call(const HostFunction& f, const std::vector<PyRef>& args, OnWarning on_warning) {
    PyObject* argv[kMostArguments];
    for (size_t i = 0; i < args.size(); ++i) argv[i] = args[i].get();
    const size_t named = f.names.get() ? static_cast<size_t>(PyTuple_GET_SIZE(f.names.get())) : 0;
    if (f.silent) {
        const DeferredSignals deferred;
        return PyRef::steal(PyObject_Vectorcall(f.callable.get(), argv, args.size() - named, f.names.get()));
    }
    if (on_warning == OnWarning::Fail &&
        numpy::warns_by_itself(f.callable.get(), argv, args.size() - named, f.names.get())) {
        PyErr_SetString(PyExc_RuntimeError, "stator: a call that would warn");
        return {};
    }
    return call_pure(f.callable.get(), argv, args.size() - named, f.names.get(), on_warning);
}

// Python meets it when it does the statement again.
uint32_t fails() {
    PyErr_Clear();
    return kernels::kFaultHost;
}

bool is_scalar_of(PyObject* o, DType t) { return Py_TYPE(o) == numpy::descr_of(t)->typeobj; }

// In the order of C without gaps, also along axes of extent 1.
bool is_plain(PyArrayObject* a) {
    npy_intp dense = PyArray_ITEMSIZE(a);
    for (int d = PyArray_NDIM(a) - 1; d >= 0; --d) {
        if (PyArray_STRIDE(a, d) != dense && PyArray_SIZE(a) > 0) return false;
        dense *= PyArray_DIM(a, d);
    }
    return PyArray_ISALIGNED(a) && PyArray_ISNOTSWAPPED(a);
}

// Whether it shows all elements of a vector that nobody else has, as what NumPy reshapes at the end does.
bool shows_vector(PyArrayObject* a) {
    PyObject* base = PyArray_BASE(a);
    if (!base || !numpy::is_array(base) || Py_REFCNT(base) != 1) return false;
    auto* v = reinterpret_cast<PyArrayObject*>(base);
    return PyArray_NDIM(v) == 1 && is_plain(v) && PyArray_CHKFLAGS(v, NPY_ARRAY_OWNDATA) &&
           PyArray_BYTES(v) == PyArray_BYTES(a) && PyArray_SIZE(v) == PyArray_SIZE(a) &&
           PyArray_DESCR(v) == PyArray_DESCR(a);
}

bool fits(PyObject* o, const HostResult& r) {
    switch (r.kind) {
        case Kind::Array: {
            if (!numpy::is_array(o)) return false;
            auto* a = reinterpret_cast<PyArrayObject*>(o);
            return PyArray_NDIM(a) == r.rank && PyArray_DESCR(a) == numpy::descr_of(r.dtype) && is_plain(a) &&
                   PyArray_CHKFLAGS(a, NPY_ARRAY_OWNDATA) == r.owns &&
                   (!r.flat || (PyArray_SIZE(a) > 0 && shows_vector(a)));
        }
        case Kind::Scalar:
        case Kind::ComplexScalar: return is_scalar_of(o, r.dtype);
        case Kind::Float: return PyFloat_CheckExact(o);
        case Kind::Complex: return PyComplex_CheckExact(o);
        case Kind::Bool: return PyBool_Check(o);
        case Kind::Int: return PyLong_CheckExact(o);
        default: return false;
    }
}

// A number's bits to where a `library` instruction wants them.
bool put_number(PyObject* o, const HostResult& r, char* out) {
    switch (r.kind) {
        case Kind::Float: {
            const double d = PyFloat_AS_DOUBLE(o);
            std::memcpy(out, &d, sizeof d);
            return true;
        }
        case Kind::Complex: {
            const Py_complex c = PyComplex_AsCComplex(o);
            std::memcpy(out, &c, sizeof c);
            return true;
        }
        case Kind::Bool: *out = o == Py_True; return true;
        case Kind::Int: {
            int overflow = 0;
            const int64_t i = PyLong_AsLongLongAndOverflow(o, &overflow);
            std::memcpy(out, &i, sizeof i);
            return overflow == 0;
        }
        default: {
            char bits[16] = {};
            numpy::scalar_bits(o, bits);
            std::memcpy(out, bits, static_cast<size_t>(graph::info(r.dtype).size));
            return true;
        }
    }
}

bool holds_any(PyObject* array, std::span<const int64_t> addresses) {
    const char *begin, *end;
    guards::memory_span(array, &begin, &end);
    return std::any_of(addresses.begin(), addresses.end(), [&](int64_t at) {
        const auto* p = reinterpret_cast<const char*>(at);
        return p >= begin && p < end;
    });
}

struct AppendCall {
    Value item;
};

uint32_t run_append(void* data, int64_t* words) {
    const CallThroughPython counted;
    const NoCollection quiet;
    Reader in{words};
    take_array(&in.words, 0);
    auto* list = reinterpret_cast<PyObject*>(in.bits());
    PyRef item = PyRef::steal(in.build(static_cast<AppendCall*>(data)->item));
    if (item && numpy::is_array(item.get()))
        item = PyRef::steal(PyArray_NewCopy(reinterpret_cast<PyArrayObject*>(item.get()), NPY_CORDER));
    if (item && PyList_Append(list, item.get()) == 0) return 0;
    return fails();
}

// What it gives follows from the kinds of its arguments, so that behind a call that succeeds nothing fails.
uint32_t run_draw(void* data, int64_t* words) {
    const CallThroughPython counted;
    auto& h = *static_cast<HostCall*>(data);
    const NoCollection quiet;
    Reader in{words};
    const ArrayWords to = take_array(&in.words, std::max(h.gives.rank, 0));
    std::vector<PyRef> args;
    for (const Value& v : h.f.args) {
        args.push_back(PyRef::steal(in.build(v)));
        if (!args.back().get()) return fails();
    }
    const PyRef result = call(h.f, args, OnWarning::Ignore);
    if (!result.get()) return fails();
    if (!fits(result.get(), h.gives)) return kernels::kFaultHost;
    if (h.gives.kind != Kind::Array) {
        if (put_number(result.get(), h.gives, to.address)) return 0;
        return kernels::kFaultHost;
    }
    auto* a = reinterpret_cast<PyArrayObject*>(result.get());
    for (int d = 0; d < to.rank; ++d)
        if (PyArray_DIM(a, d) != to.extents[d]) return kernels::kFaultHost;
    std::memcpy(to.address, PyArray_BYTES(a), static_cast<size_t>(PyArray_NBYTES(a)));
    return 0;
}

uint32_t run_host(void* data, int64_t* words) {
    const CallThroughPython counted;
    auto& h = *static_cast<HostCall*>(data);
    const NoCollection quiet;
    const bool array = h.gives.kind == Kind::Array;
    Reader in{words};
    char* number = array ? nullptr : take_array(&in.words, 0).address;
    std::vector<PyRef> args;
    for (const Value& v : h.f.args) {
        args.push_back(PyRef::steal(in.build(v)));
        if (!args.back().get()) return fails();
    }
    if (in.empty && !h.f.quiet_about_nothing) return kernels::kFaultHost;
    PyRef result;
    {
        const numpy::StrictErrors strict(0, 0);
        result = call(h.f, args, OnWarning::Fail);
    }
    if (!result.get()) return fails();
    if (!fits(result.get(), h.gives)) return kernels::kFaultHost;
    if (!array) {
        if (put_number(result.get(), h.gives, number)) return 0;
        return kernels::kFaultHost;
    }
    Span s;
    guards::memory_span(result.get(), &s.begin, &s.end);
    for (const Span& operand : in.spans)
        if (s.meets(operand)) return kernels::kFaultHost;
    auto* a = reinterpret_cast<PyArrayObject*>(result.get());
    auto* out = const_cast<int64_t*>(in.words);
    const int64_t kept = *out++;
    std::erase_if(h.made,
                  [&](const PyRef& old) { return !holds_any(old.get(), {out, static_cast<size_t>(kept)}); });
    out += kept;
    *out++ = reinterpret_cast<int64_t>(PyArray_BYTES(a));
    for (int d = 0; d < h.gives.rank; ++d) *out++ = PyArray_DIM(a, d);
    h.made.push_back(std::move(result));
    return 0;
}

// ---- finding out what a call gives ----

// Stands for an operand: small, and nothing that functions complain about (an identity matrix, indices 0 and
// 1).
PyObject* small_array(DType t, const std::vector<int64_t>& extents) {
    PyArray_Descr* descr = numpy::descr_of(t);
    Py_INCREF(descr);
    PyObject* a = PyArray_Zeros(static_cast<int>(extents.size()), extents.data(), descr, 0);
    if (!a) return nullptr;
    auto* array = reinterpret_cast<PyArrayObject*>(a);
    const PyRef one = PyRef::steal(PyLong_FromLong(1));
    const npy_intp n = PyArray_SIZE(array);
    for (npy_intp i = 0; i < n; ++i)
        if (i % 4 == 0 || i % 4 == 3)
            PyArray_SETITEM(array, PyArray_BYTES(array) + i * PyArray_ITEMSIZE(array), one.get());
    return a;
}

struct Prober {
    const std::vector<std::vector<int64_t>>& extents;
    const std::vector<int64_t>& ints;
    size_t arrays = 0, numbers = 0;

    PyObject* build(const Value& v) {
        switch (v.kind) {
            case Kind::Known: return Py_NewRef(v.obj);
            case Kind::Int: return PyLong_FromLongLong(ints[numbers++]);
            case Kind::Bool: return Py_NewRef(Py_True);
            case Kind::Float: return PyFloat_FromDouble(1);
            case Kind::Complex: return PyComplex_FromDoubles(1, 0);
            case Kind::ComplexScalar:
            case Kind::Scalar: {
                const PyRef a = PyRef::steal(small_array(v.dtype, {1}));
                if (!a) return nullptr;
                auto* array = reinterpret_cast<PyArrayObject*>(a.get());
                return PyArray_Scalar(PyArray_BYTES(array), numpy::descr_of(v.dtype), nullptr);
            }
            case Kind::Array: return small_array(v.dtype, extents[arrays++]);
            case Kind::Tuple: {
                PyRef t = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(v.items.size())));
                for (size_t i = 0; t && i < v.items.size(); ++i) {
                    PyObject* item = build(v.items[i]);
                    if (!item) return nullptr;
                    PyTuple_SET_ITEM(t.get(), static_cast<Py_ssize_t>(i), item);
                }
                return t.release();
            }
            default: return nullptr;
        }
    }
};

}  // namespace

bool describe_result(PyObject* o, HostResult* out) {
    if (numpy::is_array(o)) {
        auto* a = reinterpret_cast<PyArrayObject*>(o);
        *out = {Kind::Array, DType::F64, PyArray_NDIM(a), PyArray_CHKFLAGS(a, NPY_ARRAY_OWNDATA) != 0};
        out->flat = !out->owns && shows_vector(a);
        return out->rank > 0 && out->rank <= kMostAxes && numpy::dtype_of(PyArray_DESCR(a), &out->dtype);
    }
    if (PyFloat_CheckExact(o)) return *out = {Kind::Float, DType::F64, -1}, true;
    if (PyComplex_CheckExact(o)) return *out = {Kind::Complex, DType::C128, -1}, true;
    if (PyBool_Check(o)) return *out = {Kind::Bool, DType::Bool, -1}, true;
    if (PyLong_CheckExact(o)) return *out = {Kind::Int, DType::I64, -1}, true;
    *out = {Kind::Scalar, DType::F64, -1};
    if (!PyArray_CheckScalar(o) || !numpy::dtype_of_object(o, &out->dtype)) return false;
    if (graph::is_complex(out->dtype)) out->kind = Kind::ComplexScalar;
    return out->dtype != DType::F16 && is_scalar_of(o, out->dtype);
}

bool probe_host(const HostFunction& f, const std::vector<std::vector<int64_t>>& extents,
                const std::vector<int64_t>& ints, HostResult* out, std::string* why) {
    if (f.args.size() > kMostArguments) return *why = "so many arguments", false;
    for (const auto& shape : extents)
        if (shape.size() > kMostAxes) return *why = "arrays of so many axes", false;
    Prober p{extents, ints};
    std::vector<PyRef> args;
    for (const Value& v : f.args) {
        args.push_back(PyRef::steal(p.build(v)));
        if (!args.back().get()) return PyErr_Clear(), *why = "such an argument", false;
    }
    constexpr uint32_t kAll = 15;
    PyRef result;
    {
        const numpy::StrictErrors ignoring(kAll, kAll);
        result = call(f, args, OnWarning::Ignore);
    }
    if (!result.get()) return PyErr_Clear(), *why = "such arguments", false;
    if (!describe_result(result.get(), out)) return *why = "a result that is no plain array", false;
    if (out->kind != Kind::Array) return true;
    Span s;
    guards::memory_span(result.get(), &s.begin, &s.end);
    for (const PyRef& a : args) {
        if (!numpy::is_array(a.get())) continue;
        Span operand;
        guards::memory_span(a.get(), &operand.begin, &operand.end);
        if (s.meets(operand)) return *why = "a result that is a view", false;
    }
    return true;
}

CallThroughPython::CallThroughPython()
    : begun_(metered ? now_ns() : 0),
      switches_(thread_switches(PyThreadState_Get())),
      region_(Disturbance::running) {
    ++calls_through_python();
}
CallThroughPython::~CallThroughPython() {
    if (thread_switches(PyThreadState_Get()) != switches_) *region_ = 1;
    Disturbance::running = region_;
    if (begun_) ns += now_ns() - begun_;
}

int64_t& calls_through_python() {
    static int64_t calls = 0;
    return calls;
}

LibraryRoutine append_routine(Value item) {
    return {run_append, std::make_shared<AppendCall>(std::move(item))};
}

static std::shared_ptr<HostCall> host_call(HostFunction f, HostResult result) {
    auto h = std::make_shared<HostCall>();
    h->f = std::move(f);
    h->gives = result;
    return h;
}

LibraryRoutine host_routine(HostFunction f, HostResult result) {
    return {run_host, host_call(std::move(f), result), true};
}

LibraryRoutine draw_routine(HostFunction f, HostResult result) {
    return {run_draw, host_call(std::move(f), result), true};
}

}  // namespace stator::frontend::regions
