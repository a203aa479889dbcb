// Libraries may put loops of their own into NumPy's ufuncs while a program runs
// (PyUFunc_ReplaceLoopBySignature; mkl_umath does). Compiled code computes what NumPy's own loops compute,
// and nothing that a guard could look at cheaply tells the two apart: the function is therefore watched in
// the table through which extension modules call it. As long as a ufunc has another loop, everything runs as
// plain Python.
//
// What was replaced before stator was imported is not noticed.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/runtime.h"
#include "frontend/services.h"
#include "frontend/stance.h"

namespace stator::frontend::numpy {

namespace {

using Replace = int (*)(PyUFuncObject*, PyUFuncGenericFunction, const int*, PyUFuncGenericFunction*);
constexpr int kReplaceSlot = 30;  // of PyUFunc_API, since NumPy 1.0 (__ufunc_api.h)

Replace numpys_replace = nullptr;

// Of each loop that is another's, NumPy's own. Never freed: modules may call when the process ends.
using Loop = std::pair<PyUFuncObject*, std::vector<int>>;
std::map<Loop, PyUFuncGenericFunction>& replaced() {
    static auto* all = new std::map<Loop, PyUFuncGenericFunction>;
    return *all;
}

int replace_loop(PyUFuncObject* ufunc, PyUFuncGenericFunction loop, const int* types,
                 PyUFuncGenericFunction* before) {
    PyUFuncGenericFunction old = nullptr;
    const int result = numpys_replace(ufunc, loop, types, &old);
    if (before) *before = old;
    if (result != 0 || !ufunc_of(reinterpret_cast<PyObject*>(ufunc))) return result;
    const Loop which{ufunc, {types, types + ufunc->nargs}};
    const auto it = replaced().find(which);
    if (it == replaced().end()) {
        if (loop != old) replaced().emplace(which, old);
    } else if (it->second == loop) {
        replaced().erase(it);
    }
    set_hosts_changed(!replaced().empty());
    log(LogTopic::Recompiles,
        std::string("a loop of np.") + ufunc->name + " was replaced: " +
            (hosts_are_changed() ? "everything runs as plain Python" : "all are NumPy's own again"));
    return result;
}

}  // namespace

void watch_loops() {
    if (numpys_replace) return;
    numpys_replace = reinterpret_cast<Replace>(PyUFunc_API[kReplaceSlot]);
    PyUFunc_API[kReplaceSlot] = reinterpret_cast<void*>(&replace_loop);
}

}  // namespace stator::frontend::numpy
