// Python's operators on arrays: the ufunc behind each, in-place forms as stores, and `**`, for which NumPy
// takes other ufuncs for some Python exponents. Operators between scalars are scalars.cpp's.
//
// Which exponents those are depends on NumPy's version, so it is asked: a subclass of ndarray with
// __array_ufunc__ sees which ufunc `x ** 2` calls. The exponent is then fixed by a guard, since it selected
// code.
#include <map>
#include <tuple>

#include "frontend/cpython/builtins.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/operators.h"
#include "frontend/once.h"
#include "frontend/trace_builder/array_meta.h"
#include "guards/check/own_code.h"

namespace stator::frontend::numpy {

namespace {

// Indexed by CPython's NB_* codes below NB_INPLACE_ADD.
constexpr struct {
    const char* ufunc;
    const char* function;  // in the operator module
} kUfuncNames[] = {
    {"add", "add"},         {"bitwise_and", "and_"},   {"floor_divide", "floordiv"}, {"left_shift", "lshift"},
    {"matmul", "matmul"},   {"multiply", "mul"},       {"remainder", "mod"},         {"bitwise_or", "or_"},
    {"power", "pow"},       {"right_shift", "rshift"}, {"subtract", "sub"},          {"divide", "truediv"},
    {"bitwise_xor", "xor"},
};
constexpr int kOperatorCount = sizeof(kUfuncNames) / sizeof(kUfuncNames[0]);  // NB_INPLACE_ADD
constexpr int kPower = 8, kMatmul = 4;

constexpr const char* kCompare[] = {"less", "less_equal", "equal", "not_equal", "greater", "greater_equal"};
constexpr const char* kCompareFunction[] = {"lt", "le", "eq", "ne", "gt", "ge"};

PyObject* operator_named(const char* name) {
    static auto* cache = new std::map<std::string, PyObject*>;
    auto it = cache->find(name);
    if (it != cache->end()) return it->second;
    PyRef module = module_named("operator");
    PyObject* found = module ? PyObject_GetAttrString(module.get(), name) : nullptr;
    PyErr_Clear();
    return cache->emplace(name, found).first->second;
}

guards::OwnCode power_probe_code(R"(
def make():
    import numpy
    class Probe(numpy.ndarray):
        def __array_ufunc__(self, ufunc, method, *args, **kwargs):
            Probe.seen = (ufunc, len(args)) if method == '__call__' else None
            return self
    def probe(dtype, exponent, in_place):
        x = numpy.ones(2, dtype).view(Probe)
        Probe.seen = None
        if in_place:
            x **= exponent
        else:
            x ** exponent
        return Probe.seen
    return probe
probe = make()
)",
                                 Py_file_input);

PyObject* power_probe() {
    return once([] {
        PyRef globals = PyRef::steal(PyDict_New());
        PyDict_SetItemString(globals.get(), "__builtins__", builtins_at_import());
        PyRef done = PyRef::steal(power_probe_code.run(globals.get()));
        PyObject* found = done ? PyDict_GetItemString(globals.get(), "probe") : nullptr;
        Py_XINCREF(found);
        PyErr_Clear();
        return found;
    });
}

// The ufunc that `array ** exponent` calls, and whether with the exponent; nullptr when that is not known.
const Ufunc* ufunc_of_power(DType base, PyObject* exponent, bool in_place, bool* binary) {
    using Key = std::tuple<DType, bool, bool, double>;
    static auto* cache = new std::map<Key, std::pair<const Ufunc*, bool>>;
    Key key{base, in_place, PyFloat_CheckExact(exponent), PyFloat_AsDouble(exponent)};
    if (PyErr_Occurred() || std::get<3>(key) != std::get<3>(key)) {
        PyErr_Clear();
        *binary = true;
        return find_ufunc("power");
    }
    auto it = cache->find(key);
    if (it == cache->end()) {
        std::pair<const Ufunc*, bool> answer{nullptr, false};
        if (PyObject* probe = power_probe()) {
            PyRef seen =
                PyRef::steal(PyObject_CallFunction(probe, "OOi", descr_of(base), exponent, in_place));
            if (seen && PyTuple_Check(seen.get())) {
                answer.first = ufunc_of(PyTuple_GET_ITEM(seen.get(), 0));
                answer.second = PyLong_AsLong(PyTuple_GET_ITEM(seen.get(), 1)) == 2;
            }
            PyErr_Clear();
        }
        if (cache->size() > 4096) cache->clear();
        it = cache->emplace(key, answer).first;
    }
    *binary = it->second.second;
    return it->second.first;
}

ShadowRef lower_power(TraceBuilder& tb, const Operand& a, const Operand& b, bool in_place, PyObject* result) {
    const Ufunc* power = find_ufunc("power");
    const Operand* out = in_place ? &a : nullptr;
    bool python_exponent = PyLong_CheckExact(b.obj) || PyFloat_CheckExact(b.obj);
    Operand both[] = {a, b};
    if (!is_array(a.obj) || (is_array(b.obj) && PyArray_NDIM(reinterpret_cast<PyArrayObject*>(b.obj)) > 0))
        return lower_ufunc(tb, *power, both, out, nullptr, {}, result);
    if (!python_exponent) {  // some versions look into 0-d exponents too
        DType t;
        bool boolean = dtype_of_object(b.obj, &t) &&
                       t == DType::Bool;  // read as an index by some versions, with a warning
        if (in_place || boolean) return tb.fail(Reason::UnknownOp, "** with this exponent");
        return library_of(tb, operator_function(kPower), {a, b}, result);
    }
    if (!tb.resolve(a.shadow, a.obj) || a.shadow->kind != ShadowKind::Array || !require_fixed(tb, b))
        return tb.reason == Reason::None ? tb.fail(Reason::UnknownOp, "**") : nullptr;
    bool binary = false;
    const Ufunc* u = ufunc_of_power(a.shadow->dtype, b.obj, in_place, &binary);
    if (!u || (binary ? u->nin != 2 : u->nin != 1))
        return tb.fail(Reason::UnknownOp, "** with this exponent");
    return lower_ufunc(tb, *u, binary ? std::span<const Operand>(both) : std::span<const Operand>(both, 1),
                       out, nullptr, {}, result);
}

}  // namespace

bool power_is_unary(PyObject* array, PyObject* exponent) {
    DType base;
    if (!PyLong_CheckExact(exponent) && !PyFloat_CheckExact(exponent)) return false;
    if (!dtype_from_numpy(PyArray_TYPE(reinterpret_cast<PyArrayObject*>(array)), &base)) return false;
    bool binary = true;
    return ufunc_of_power(base, exponent, false, &binary) && !binary;
}

PyObject* operator_function(int nb_op) {
    return operator_named(kUfuncNames[nb_op % kOperatorCount].function);
}

PyObject* unary_function(const char* name) { return operator_named(name); }

ShadowRef lower_binary(TraceBuilder& tb, int nb_op, const Operand& a, const Operand& b, PyObject* result) {
    if (nb_op < 0 || nb_op >= 2 * kOperatorCount) return tb.fail(Reason::UnknownOp, "this operator");
    bool array = is_array(a.obj) || is_array(b.obj);
    if (!array) return lower_scalar_binary(tb, nb_op % kOperatorCount, a, b, result);
    // An in-place operator whose left operand is no array rebinds the name, as the plain one does.
    bool in_place = nb_op >= kOperatorCount && is_array(a.obj);
    int op = nb_op % kOperatorCount;
    if (in_place && result != a.obj)
        return tb.fail(Reason::UnknownOp, "an in-place operator with a new result");
    if (!in_place && (host_only(a) || host_only(b)))
        return library_of(tb, operator_function(op), {a, b}, result);
    if (in_place && (host_only(a) || host_only(b)) && (op == kPower || op == kMatmul))
        return tb.fail(Reason::UnknownOp, "an in-place operator on such an array");
    const bool sequence = is_sequence(a.obj) || is_sequence(b.obj);
    if (sequence && !in_place) return library_of(tb, operator_function(op), {a, b}, result);
    if (sequence && (op == kPower || op == kMatmul))
        return tb.fail(Reason::UnknownOp, "** or @ with a sequence");
    if (in_place && host_only(a)) return lower_host_in_place(tb, *find_ufunc(kUfuncNames[op].ufunc), a, b);
    if (in_place && (host_only(b) || sequence)) {
        Operand both[] = {a, b};
        return lower_ufunc_into(tb, *find_ufunc(kUfuncNames[op].ufunc), both, a, nullptr);
    }
    if (op == kPower) return lower_power(tb, a, b, in_place, result);
    if (op == kMatmul) {
        if (in_place) return lower_matmul_in_place(tb, a, b);
        return library_of(tb, operator_function(op), {a, b}, result);
    }
    Operand both[] = {a, b};
    return lower_ufunc(tb, *find_ufunc(kUfuncNames[op].ufunc), both, in_place ? &a : nullptr, nullptr, {},
                       result);
}

ShadowRef lower_compare(TraceBuilder& tb, int py_op, const Operand& a, const Operand& b, PyObject* result) {
    if (py_op < 0 || py_op > Py_GE) return tb.fail(Reason::UnknownOp, "this comparison");
    if (!is_array(a.obj) && !is_array(b.obj)) return lower_scalar_compare(tb, py_op, a, b, result);
    if (host_only(a) || host_only(b))
        return library_of(tb, operator_named(kCompareFunction[py_op]), {a, b}, result);
    Operand both[] = {a, b};
    if (ShadowRef s = lower_ufunc(tb, *find_ufunc(kCompare[py_op]), both, nullptr, nullptr, {}, result))
        return s;
    // A Python int outside the array's dtype has an answer of its own (u8 < 300), which NumPy may give.
    Arg x, y;
    if (!read_arg(tb, a, &x) || !read_arg(tb, b, &y)) return nullptr;
    return library_of(tb, operator_named(kCompareFunction[py_op]), {a, b}, result);
}

ShadowRef lower_unary(TraceBuilder& tb, Host::Unary op, const Operand& a, PyObject* result) {
    if (!is_array(a.obj)) return lower_scalar_unary(tb, op, a, result);
    static constexpr const char* kNames[] = {"negative", "positive", "invert", "absolute"};
    if (host_only(a)) {
        const Ufunc* u = find_ufunc(kNames[static_cast<int>(op)]);
        return u ? library_of(tb, u->object, {a}, result) : nullptr;
    }
    Operand in[] = {a};
    return lower_ufunc(tb, *find_ufunc(kNames[static_cast<int>(op)]), in, nullptr, nullptr, {}, result);
}

}  // namespace stator::frontend::numpy
