// torch_host(): which callables of torch mean what. The table is made when the program first works on a
// tensor; callables are found by identity.
#include <algorithm>
#include <string>
#include <unordered_map>

#include "frontend/hosts/torch/lower.h"

namespace stator::frontend::torch {

namespace {

struct FunctionRow {
    const char* name;
    bool fresh;
};
constexpr FunctionRow kFunctions[] = {
#define FUNCTION(name) {#name, false},
#define FRESH(name) {#name, true},
#include "frontend/hosts/torch/functions.def"
#undef FRESH
#undef FUNCTION
};

// Python's operators by CPython's NB_* codes, and what they are in the table and in the operator module.
struct OperatorRow {
    const char *name, *function;
};
constexpr OperatorRow kOperators[] = {
    {"add", "add"},
    {"bitwise_and", "and_"},
    {"floor_divide", "floordiv"},
    {"bitwise_left_shift", "lshift"},
    {"matmul", "matmul"},
    {"mul", "mul"},
    {"remainder", "mod"},
    {"bitwise_or", "or_"},
    {"pow", "pow"},
    {"bitwise_right_shift", "rshift"},
    {"sub", "sub"},
    {"div", "truediv"},
    {"bitwise_xor", "xor"},
};
constexpr int kOperatorCount = sizeof(kOperators) / sizeof(kOperators[0]);
constexpr OperatorRow kCompare[] = {{"lt", "lt"}, {"le", "le"}, {"eq", "eq"},
                                    {"ne", "ne"}, {"gt", "gt"}, {"ge", "ge"}};
constexpr OperatorRow kUnary[] = {
    {"neg", "neg"}, {"positive", "pos"}, {"bitwise_not", "invert"}, {"abs", "abs"}};

// Questions that the guard on torch's modes settles, with whatever tensors are asked about.
constexpr const char* kStateQueries[] = {
    "_get_tracing_state",  "is_grad_enabled",           "is_inference_mode_enabled",   "is_autocast_enabled",
    "_has_torch_function", "_has_torch_function_unary", "_has_torch_function_variadic"};

constexpr std::string_view kAttentionModule = "MultiheadAttention.forward";

struct Tables {
    std::unordered_map<PyObject*, Function> functions;
    std::unordered_map<std::string_view, PyObject*> pure;
    PyRef operators;  // the module
};

PyRef module(const char* name) {
    PyRef m = module_named(name);
    if (!m) PyErr_Clear();
    return m;
}

PyRef attribute(const PyRef& of, const std::string& name) {
    PyRef o = PyRef::steal(of ? PyObject_GetAttrString(of.get(), name.c_str()) : nullptr);
    if (!o) PyErr_Clear();
    return o;
}

void add(Tables& t, PyRef o, const Function& f) {
    if (o && t.functions.emplace(o.get(), f).second) o.release();  // kept for ever
}

void add_function(Tables& t, const FunctionRow& row, std::span<const PyRef> places) {
    const std::string_view name = row.name;
    const std::string text(name);
    for (const PyRef& place : places) {
        PyRef o = attribute(place, text);
        if (!o || PyType_Check(o.get()) || PyModule_Check(o.get())) continue;
        if (!t.pure.count(name)) t.pure[name] = Py_NewRef(o.get());
        add(t, std::move(o), {name, false, row.fresh});
    }
    for (size_t i = 0; i < 2; ++i) add(t, attribute(places[i], text + "_"), {name, true});
}

Tables make_tables() {
    Tables t;
    const PyRef torch = module("torch");
    const PyRef places[] = {torch,
                            attribute(torch, "Tensor"),
                            module("torch.nn.functional"),
                            module("torch.special"),
                            module("torch.linalg"),
                            module("torch.fft"),
                            module("torch._C._nn")};
    for (const FunctionRow& row : kFunctions) add_function(t, row, places);
    for (const char* name : {"copy", "fill", "zero"})
        add(t, attribute(places[1], std::string(name) + "_"), {name, true});
    for (const char* name : {"size", "dim", "ndimension", "numel", "nelement", "is_contiguous",
                             "is_floating_point", "element_size", "is_complex", "get_device"})
        add(t, attribute(places[1], name), {name, false});
    for (const char* name : {"numel", "is_floating_point", "is_complex"})
        add(t, attribute(torch, name), {name, false});
    const PyRef attention = attribute(module("torch.nn"), "MultiheadAttention");
    add(t, attribute(attention, "forward"), {kAttentionModule});
    const PyRef core = attribute(torch, "_C");
    for (const char* name : kStateQueries) add(t, attribute(core, name), {name, false});
    t.operators = module("operator");
    for (const OperatorRow& row : kOperators) add(t, attribute(t.operators, row.function), {row.name, false});
    for (const OperatorRow& row : kCompare) add(t, attribute(t.operators, row.function), {row.name, false});
    for (const OperatorRow& row : kUnary) add(t, attribute(t.operators, row.function), {row.name, false});
    const PyRef builtins = module("builtins");
    add(t, attribute(builtins, "abs"), {"abs", false});
    add(t, attribute(builtins, "len"), {"len", false});
    return t;
}

const Tables* tables() {
    static const Tables* all = nullptr;
    if (!all && guards::tensor_api()) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        all = new Tables(make_tables());
        PyErr_Restore(type, value, traceback);
    }
    return all;
}

PyObject* operator_named(const char* name) {
    const Tables* t = tables();
    PyRef o = t ? attribute(t->operators, name) : PyRef();
    return o.get();  // the module keeps it
}

bool init(std::string*) { return true; }

// The builtins that also mean something to other hosts are asked for by their operands only.
bool shared_builtin(PyObject* callable) {
    if (!PyCFunction_Check(callable)) return false;
    PyObject* module = reinterpret_cast<PyCFunctionObject*>(callable)->m_module;
    if (!module || !PyUnicode_Check(module)) return false;
    return PyUnicode_CompareWithASCIIString(module, "builtins") == 0 ||
           PyUnicode_CompareWithASCIIString(module, "_operator") == 0;
}

bool knows(PyObject* callable) { return find_function(callable) && !shared_builtin(callable); }

// Whether every tensor among the operands is one that guards know.
bool known_tensors(TraceBuilder& tb, std::span<const Operand> args) {
    for (const Operand& o : args) {
        if (!tb.resolve(o.shadow, o.obj)) return false;
        std::vector<Operand> items;
        if (PyTuple_CheckExact(o.obj) && !(numpy::read_items(tb, o, &items) && known_tensors(tb, items)))
            return false;
        const bool settled = is_tensor(o.obj) || PyTuple_CheckExact(o.obj) || PyUnicode_CheckExact(o.obj) ||
                             o.obj == Py_None || PyLong_CheckExact(o.obj) || PyFloat_CheckExact(o.obj);
        if (!settled || (PyUnicode_CheckExact(o.obj) && !tb.require_constant(o.shadow, o.obj))) return false;
    }
    return true;
}

ShadowRef lower_state_query(TraceBuilder& tb, const Call& call) {
    const guards::TensorApi* api = guards::tensor_api();
    const bool plain = !guards::state(api->function_modes) && !guards::state(api->dispatch_modes) &&
                       !guards::state(api->autocast) && !guards::transformed();
    if (!plain) return tb.fail(Reason::TorchMode);
    if ((call.result != Py_None && !PyBool_Check(call.result)) || call.kwnames ||
        !known_tensors(tb, call.args))
        return tb.fail(Reason::UnknownCall, "a question about torch's state");
    tb.guards.expect_torch_state(
        {guards::state(api->grad_enabled), guards::state(api->inference_enabled), nullptr});
    return tb.constant(call.result);
}

bool is_state_query(std::string_view name) {
    return std::ranges::find(kStateQueries, name) != std::end(kStateQueries);
}

// As generated code, as a view, or as torch's own call.
ShadowRef lower_known(TraceBuilder& tb, const Function& f, const Call& call) {
    const size_t before = tb.graph.nodes.size();
    const Id v = compute(tb, f.name, call.args, call.kwnames);
    if (v != kNone)
        if (ShadowRef s = finish(tb, v, before, call.result)) return s;
    tb.rollback(before);
    tb.reason = Reason::None;
    for (const auto lower : {lower_view, lower_parts, lower_library_view}) {
        if (ShadowRef s = lower(tb, f.name, call)) return s;
        tb.rollback(before);
        tb.reason = Reason::None;
    }
    return lower_library(tb, call, &f);
}

ShadowRef lower_call(TraceBuilder& tb, const Call& call) {
    const Function* f = find_function(call.callable);
    if (!f) return tb.fail(Reason::UnknownCall, "this function");
    if (f->in_place) return lower_in_place(tb, f->name, call);
    if (f->name == kAttentionModule) return lower_attention_module(tb, call);
    if (is_state_query(f->name)) return lower_state_query(tb, call);
    if (is_query(f->name)) return lower_query(tb, f->name, call);
    const size_t before = tb.graph.nodes.size();
    if (DirectCall direct; direct_form(tb, f->name, call, &direct))
        if (ShadowRef s = lower_known(tb, *f, {direct.callable, direct.args, nullptr, call.result})) return s;
    tb.rollback(before);
    tb.reason = Reason::None;
    return lower_known(tb, *f, call);
}

ShadowRef call_operator(TraceBuilder& tb, const char* name, std::span<const Operand> args, PyObject* result) {
    PyObject* function = operator_named(name);
    return function ? lower_call(tb, {function, args, nullptr, result}) : nullptr;
}

ShadowRef lower_binary(TraceBuilder& tb, int nb_op, const Operand& a, const Operand& b, PyObject* result) {
    if (nb_op < 0 || nb_op >= 2 * kOperatorCount) return tb.fail(Reason::UnknownOp, "this operator");
    const Operand both[] = {a, b};
    const OperatorRow& row = kOperators[nb_op % kOperatorCount];
    if (nb_op < kOperatorCount || !is_tensor(a.obj)) return call_operator(tb, row.function, both, result);
    if (result != a.obj) return tb.fail(Reason::UnknownOp, "an in-place operator with a new result");
    return lower_in_place(tb, row.name, {nullptr, both, nullptr, result});
}

ShadowRef lower_compare(TraceBuilder& tb, int py_op, const Operand& a, const Operand& b, PyObject* result) {
    if (py_op < 0 || py_op > Py_GE) return tb.fail(Reason::UnknownOp, "this comparison");
    const Operand both[] = {a, b};
    return call_operator(tb, kCompare[py_op].function, both, result);
}

ShadowRef lower_unary(TraceBuilder& tb, Host::Unary op, const Operand& a, PyObject* result) {
    return call_operator(tb, kUnary[static_cast<int>(op)].function, std::span(&a, 1), result);
}

PyObject* method(PyObject* tensor, PyObject* name) {
    PyObject* found = _PyType_Lookup(Py_TYPE(tensor), name);
    return found && find_function(found) ? found : nullptr;
}

bool is_array(PyObject* o) { return guards::is_tensor(o); }
bool is_scalar(PyObject*) { return false; }

}  // namespace

const Function* find_function(PyObject* callable) {
    const Tables* t = tables();
    if (!t) return nullptr;
    auto it = t->functions.find(callable);
    return it == t->functions.end() ? nullptr : &it->second;
}

PyObject* builtin(const char* module_name, std::string_view name) {
    PyRef o = attribute(module(module_name), std::string(name));
    return o && PyCFunction_Check(o.get()) ? o.get() : nullptr;  // the module keeps it
}

PyObject* pure_form(std::string_view name) {
    const Tables* t = tables();
    auto it = t->pure.find(name);
    return it == t->pure.end() ? nullptr : it->second;
}

}  // namespace stator::frontend::torch

namespace stator::frontend {

const Host& torch_host() {
    static const Host host = {
        .name = "torch",
        .id = graph::HostId::Torch,
        .init = torch::init,
        .knows = torch::knows,
        .lower_call = torch::lower_call,
        .lower_binary = torch::lower_binary,
        .lower_compare = torch::lower_compare,
        .lower_unary = torch::lower_unary,
        .lower_subscript = torch::lower_subscript,
        .lower_store = torch::lower_store,
        .lower_attr = torch::lower_attr,
        .method = torch::method,
        .lower_truth = numpy::lower_truth,
        .is_array = torch::is_array,
        .is_scalar = torch::is_scalar,
    };
    return host;
}

}  // namespace stator::frontend
