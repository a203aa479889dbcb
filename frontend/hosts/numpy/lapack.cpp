#include "frontend/hosts/numpy/lapack.h"

#include <algorithm>
#include <string_view>

#include "frontend/hosts/numpy/lower.h"
#include "guards/check/names.h"

namespace stator::frontend::numpy {

namespace {

// Without the letter of the type. All of these take copies of what they would overwrite, unless a flag says
// otherwise; of other routines (and of BLAS: dscal, daxpy) that is not so.
constexpr std::string_view kDrivers[] = {
    "gesv",  "getrf", "getrs", "getri", "gbsv",  "gbtrf", "gbtrs", "gtsv",  "gttrf",
    "gttrs", "posv",  "potrf", "potrs", "potri", "pbsv",  "pbtrf", "pbtrs", "ptsv",
    "pttrf", "pttrs", "sysv",  "hesv",  "sytrf", "trtrs", "trtri", "tbtrs", "gels",
    "gelsd", "gelss", "gelsy", "geqrf", "orgqr", "ungqr", "gesvd", "gesdd", "geev",
    "syev",  "syevd", "syevr", "heev",  "heevd", "heevr", "gees",  "gehrd", "stev",
};

bool is_driver(std::string_view name) {
    return name.size() > 1 && std::string_view("sdcz").find(name[0]) != std::string_view::npos &&
           std::ranges::find(kDrivers, name.substr(1)) != std::end(kDrivers);
}

}  // namespace

bool is_lapack(PyObject* callable) {
    if (std::string_view(Py_TYPE(callable)->tp_name) != "fortran") return false;
    PyObject* modules = PyImport_GetModuleDict();
    PyObject* wrappers = PyDict_GetItemString(modules, "scipy.linalg._flapack");  // borrowed
    if (!wrappers || !PyModule_Check(wrappers)) return false;
    const PyRef name = PyRef::steal(PyObject_GetAttrString(callable, "__name__"));
    const std::string text = guards::utf8(name.get());
    std::string_view routine = text;
    if (const size_t space = routine.rfind(' '); space != std::string_view::npos)
        routine.remove_prefix(space + 1);
    PyErr_Clear();
    return is_driver(routine) &&
           PyDict_GetItemString(PyModule_GetDict(wrappers), std::string(routine).c_str()) == callable;
}

ShadowRef lower_lapack(TraceBuilder& tb, const Call& call) {
    const Py_ssize_t named = call.kwnames ? PyTuple_GET_SIZE(call.kwnames) : 0;
    for (Py_ssize_t i = 0; i < named; ++i)
        if (guards::utf8(PyTuple_GET_ITEM(call.kwnames, i)).starts_with("overwrite"))
            return tb.fail(Reason::UnknownCall, "an argument that is overwritten");
    // Flags may be given by position, too, behind the arrays.
    for (size_t i = 0; i + static_cast<size_t>(named) < call.args.size(); ++i)
        if (!PyArray_Check(call.args[i].obj)) return tb.fail(Reason::UnknownCall, "flags given by position");
    return lower_library(tb, call);
}

}  // namespace stator::frontend::numpy
