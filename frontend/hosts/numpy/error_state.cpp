// np.errstate in a trace: the object is made and entered only where Python goes on inside its block; segments
// know what it says. Its settings are constants of the trace.
#include <cstring>

#include "frontend/hosts/numpy/lower.h"
#include "guards/check/names.h"

namespace stator::frontend::numpy {

namespace {

struct Kind {
    const char* name;
    uint32_t bit;
};
constexpr Kind kKinds[] = {{"divide", kernels::kFaultDivide},
                           {"over", kernels::kFaultOverflow},
                           {"under", kernels::kFaultUnderflow},
                           {"invalid", kernels::kFaultInvalid}};

ShadowRef lower_errstate(TraceBuilder& tb, const Call& call) {
    size_t keywords = call.kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(call.kwnames)) : 0;
    if (call.args.size() != keywords) return tb.fail(Reason::UnknownCall, "positional arguments");
    return tb.made(call.callable, call.kwnames, call.args);
}

// What a made errstate object sets, from the keywords it was made with; "all" is what the others are not
// given.
bool settings(const Shadow& made, uint32_t* set, uint32_t* ignored) {
    if (made.kind != ShadowKind::Made) return false;
    *set = *ignored = 0;
    uint32_t given = 0;
    PyObject* names = made.items[1]->obj.get();
    size_t count = names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0;
    auto apply = [&](uint32_t bits, PyObject* mode) {
        *set |= bits;
        if (PyUnicode_Check(mode) && PyUnicode_CompareWithASCIIString(mode, "ignore") == 0) *ignored |= bits;
    };
    PyObject* all = nullptr;
    for (size_t i = 0; i < count; ++i) {
        const std::string name = guards::utf8(PyTuple_GET_ITEM(names, static_cast<Py_ssize_t>(i)));
        PyObject* mode = made.items[2 + i]->obj.get();
        if (!mode) return false;
        if (mode == Py_None) continue;
        if (name == "all") all = mode;
        if (name == "call") continue;  // for modes that are handled in Python
        for (const Kind& kind : kKinds)
            if (name == kind.name) apply(kind.bit, mode), given |= kind.bit;
    }
    if (all) apply(15 & ~given, all);
    return true;
}

ShadowRef lower_enter(TraceBuilder& tb, const Call& call) {
    uint32_t set = 0, ignored = 0;
    if (call.args.size() != 1 || !settings(*call.args[0].shadow, &set, &ignored) ||
        tb.entered(call.args[0].shadow) || call.args[0].shadow->used)
        return tb.fail(Reason::UnknownCall, "an errstate made elsewhere");
    tb.enter_errors(call.args[0].shadow, set, ignored);
    return tb.constant(call.result);
}

ShadowRef lower_exit(TraceBuilder& tb, const Call& call) {
    bool plain = call.args.size() == 4 && !call.kwnames;
    for (size_t i = 1; plain && i < 4; ++i) plain = call.args[i].obj == Py_None;
    if (!plain || !tb.leave_errors(call.args[0].shadow))
        return tb.fail(Reason::UnknownCall, "an errstate entered elsewhere");
    return tb.constant(call.result);
}

}  // namespace

void register_error_state() {
    static constexpr CallRow kRows[] = {
        {"errstate", lower_errstate},
        {"errstate.__enter__", lower_enter},
        {"errstate.__exit__", lower_exit},
    };
    add_rows(kRows);
}

}  // namespace stator::frontend::numpy
