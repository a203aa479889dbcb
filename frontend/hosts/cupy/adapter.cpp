// cupy_host(): which callables of CuPy mean what. The table is made when the program first works on an array
// of CuPy's; callables are found by identity.
#include <string>
#include <unordered_map>

#include "frontend/hosts/cupy/lower.h"
#include "frontend/services.h"
#include "guards/check/functions.h"
#include "guards/check/names.h"

namespace stator::frontend::cupy {

namespace {

struct FunctionRow {
    const char* name;
    bool ufunc, fresh;
};
constexpr FunctionRow kFunctions[] = {
#define UFUNC(name) {#name, true, true},
#define FUNCTION(name) {#name, false, false},
#define FRESH(name) {#name, false, true},
#include "frontend/hosts/cupy/functions.def"
#undef FRESH
#undef FUNCTION
#undef UFUNC
};

// Python's operators by CPython's NB_* codes.
constexpr const char* kOperators[] = {"add",      "bitwise_and", "floor_divide", "left_shift", "matmul",
                                      "multiply", "remainder",   "bitwise_or",   "power",      "right_shift",
                                      "subtract", "true_divide", "bitwise_xor"};
constexpr int kOperatorCount = sizeof(kOperators) / sizeof(kOperators[0]);
constexpr const char* kCompare[] = {"less", "less_equal", "equal", "not_equal", "greater", "greater_equal"};
constexpr const char* kUnary[] = {"negative", "positive", "invert", "absolute"};

struct Tables {
    std::unordered_map<PyObject*, Function> functions;
    PyRef module;
};

PyRef module(const char* name) {
    PyRef m = module_named(name);
    if (!m) PyErr_Clear();
    return m;
}

PyRef attribute(const PyRef& of, const char* name) {
    PyRef o = PyRef::steal(of ? PyObject_GetAttrString(of.get(), name) : nullptr);
    if (!o) PyErr_Clear();
    return o;
}

void add(Tables& t, PyRef o, const Function& f) {
    if (!o || PyType_Check(o.get()) || PyModule_Check(o.get())) return;
    if (t.functions.emplace(o.get(), f).second) o.release();  // kept for ever
}

Tables make_tables() {
    Tables t;
    t.module = module("cupy");
    const PyRef places[] = {t.module, attribute(t.module, "ndarray"), attribute(t.module, "linalg"),
                            attribute(t.module, "fft")};
    const PyRef numpy = module("numpy");
    for (const FunctionRow& row : kFunctions) {
        for (const PyRef& place : places) add(t, attribute(place, row.name), {row.name, row.fresh});
        if (row.ufunc) add(t, attribute(numpy, row.name), {row.name, row.fresh});
    }
    for (const char* name : {"item", "get", "tolist"})
        add(t, attribute(places[1], name), {name, true, false});
    const PyRef builtins = module("builtins");
    for (const char* name : {"abs", "len", "float", "bool"}) {
        PyRef o = attribute(builtins, name);
        if (o) t.functions.emplace(o.get(), Function{name, true, false}), o.release();
    }
    return t;
}

const Tables* tables() {
    static const Tables* all = nullptr;
    if (!all && guards::cupy_api()) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        all = new Tables(make_tables());
        PyErr_Restore(type, value, traceback);
    }
    return all;
}

bool init(std::string*) { return true; }

// Whether `name` is that of CuPy's package or of a module in it.
bool of_cupy(PyObject* name) {
    const std::string s = guards::utf8(name);
    return s == "cupy" || s.starts_with("cupy.") || s.starts_with("cupyx.");
}

// CuPy's own Python functions are known as a whole, also where nothing is known about them: what they do
// inside is not the program's. Builtins that mean something to other hosts are asked for by their operands.
bool knows(PyObject* callable) {
    const Tables* t = tables();
    if (!t) return false;
    if (guards::is_function(callable)) {
        PyObject* globals = PyFunction_GET_GLOBALS(callable);
        if (of_cupy(globals ? PyDict_GetItemString(globals, "__name__") : nullptr)) return true;
    }
    return t->functions.count(callable) != 0 && !numpy_host().knows(callable);
}

ShadowRef call_named(TraceBuilder& tb, std::string_view name, const Call& call, bool fresh, bool pure) {
    using Lower = ShadowRef (*)(TraceBuilder&, std::string_view, const Call&);
    constexpr Lower kLowerings[] = {lower_ufunc, lower_reduction, lower_array, lower_view, lower_query};
    const size_t before = tb.graph.nodes.size();
    std::string why;
    for (const Lower lower : kLowerings) {
        if (ShadowRef s = lower(tb, name, call)) return s;
        tb.rollback(before);
        if (why.empty() && tb.reason != Reason::None) why = tb.reason_detail;
        if (tb.reason == Reason::Unstoreable || tb.reason == Reason::OtherDevice) return nullptr;
        tb.reason = Reason::None;
    }
    if (!pure) return tb.fail(Reason::UnknownCall, std::string(name));
    if (log_enabled(LogTopic::Traces) && !why.empty())
        log(LogTopic::Traces, "cupy." + std::string(name) + " stays CuPy's own call: " + why);
    return lower_library(tb, call, fresh);
}

ShadowRef lower_call(TraceBuilder& tb, const Call& call) {
    const Function* f = find_function(call.callable);
    if (!f) return tb.fail(Reason::UnknownCall, "this function");
    return call_named(tb, f->name, call, f->fresh, f->pure);
}

ShadowRef call_operator(TraceBuilder& tb, const char* name, std::span<const Operand> args, PyObject* result) {
    PyObject* function = function_named(name);
    if (!function) return tb.fail(Reason::UnknownOp, name);
    return call_named(tb, name, {function, args, nullptr, result}, true, true);
}

ShadowRef lower_binary(TraceBuilder& tb, int nb_op, const Operand& a, const Operand& b, PyObject* result) {
    if (nb_op < 0 || nb_op >= 2 * kOperatorCount) return tb.fail(Reason::UnknownOp, "this operator");
    const char* name = kOperators[nb_op % kOperatorCount];
    if (nb_op >= kOperatorCount && is_cupy_array(a.obj)) {
        if (result != a.obj) return tb.fail(Reason::UnknownOp, "an in-place operator with a new result");
        return lower_in_place(tb, name, a, b);
    }
    const Operand both[] = {a, b};
    return call_operator(tb, name, both, result);
}

ShadowRef lower_compare(TraceBuilder& tb, int py_op, const Operand& a, const Operand& b, PyObject* result) {
    if (py_op < 0 || py_op > Py_GE) return tb.fail(Reason::UnknownOp, "this comparison");
    const Operand both[] = {a, b};
    return call_operator(tb, kCompare[py_op], both, result);
}

ShadowRef lower_unary(TraceBuilder& tb, Host::Unary op, const Operand& a, PyObject* result) {
    return call_operator(tb, kUnary[static_cast<int>(op)], std::span(&a, 1), result);
}

PyObject* method(PyObject* array, PyObject* name) {
    PyObject* found = is_cupy_array(array) ? _PyType_Lookup(Py_TYPE(array), name) : nullptr;
    return found && find_function(found) ? found : nullptr;
}

bool is_array(PyObject* o) { return is_cupy_array(o); }
bool is_scalar(PyObject*) { return false; }

}  // namespace

const Function* find_function(PyObject* callable) {
    const Tables* t = tables();
    if (!t) return nullptr;
    auto it = t->functions.find(callable);
    return it == t->functions.end() ? nullptr : &it->second;
}

PyObject* function_named(const char* name) {
    const Tables* t = tables();
    PyRef o = t ? attribute(t->module, name) : PyRef();
    return o.get();  // the module keeps it
}

}  // namespace stator::frontend::cupy

namespace stator::frontend {

const Host& cupy_host() {
    static const Host host = {
        .name = "cupy",
        .id = graph::HostId::CuPy,
        .init = cupy::init,
        .knows = cupy::knows,
        .lower_call = cupy::lower_call,
        .lower_binary = cupy::lower_binary,
        .lower_compare = cupy::lower_compare,
        .lower_unary = cupy::lower_unary,
        .lower_subscript = cupy::lower_subscript,
        .lower_store = cupy::lower_store,
        .lower_attr = cupy::lower_attr,
        .method = cupy::method,
        .lower_truth = numpy::lower_truth,
        .is_array = cupy::is_array,
        .is_scalar = cupy::is_scalar,
    };
    return host;
}

}  // namespace stator::frontend
