// Calls left to CuPy on whole operands: matrix products, sorts, transforms, and whatever has no kernel here.
// They run on the current stream, in order with the kernels around them; nothing is waited for.
#include "frontend/hosts/cupy/lower.h"
#include "frontend/hosts/cupy/runtime.h"

namespace stator::frontend::cupy {

namespace {

bool rebuildable(TraceBuilder& tb, const Operand& o) {
    if (!o.obj || !tb.resolve(o.shadow, o.obj)) return false;
    if (PyTuple_CheckExact(o.obj) || PyList_CheckExact(o.obj)) {
        std::vector<Operand> items;
        if (o.shadow->kind == ShadowKind::Opaque || !numpy::read_items(tb, o, &items)) return false;
        for (const Operand& item : items)
            if (!rebuildable(tb, item)) return false;
        return true;
    }
    if (o.shadow->kind == ShadowKind::Opaque) return o.shadow->value != kNone;
    return o.shadow->kind != ShadowKind::Lazy && o.shadow->kind != ShadowKind::Iter;
}

bool writes(const Call& call) {
    for (Py_ssize_t i = 0; call.kwnames && i < PyTuple_GET_SIZE(call.kwnames); ++i)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(call.kwnames, i), "out") == 0) return true;
    return false;
}

}  // namespace

ShadowRef lower_library(TraceBuilder& tb, const Call& call, bool fresh) {
    if (writes(call)) return tb.fail(Reason::UnknownCall, "out=");
    std::vector<PyObject*> objects;
    for (const Operand& o : call.args) {
        if (!rebuildable(tb, o)) {
            if (tb.reason == Reason::None) tb.fail(Reason::UnknownCall, "a function with such an argument");
            return nullptr;
        }
        objects.push_back(o.obj);
    }
    for (const Operand& o : call.args)  // asarray() of an array: the very same
        if (is_cupy_array(o.obj) && o.obj == call.result) return o.shadow;
    if (!is_cupy_array(call.result))
        return tb.fail(Reason::UnknownCall, "a result that is no array of CuPy's");
    const bool shared = !lies_apart(call.result, objects.data(), objects.size());
    ShadowRef s = tb.library(call.callable, call.args, call.kwnames, call.result, nullptr,
                             shared ? Sharing::Arguments : Sharing::None);
    if (s && fresh && !shared) tb.graph.node(tb.value(s)).ints[3] = graph::kGivesFresh;
    return s;
}

}  // namespace stator::frontend::cupy
