// Methods of ndarray, most of which call Python in NumPy (`x.mean()`), and np.array. What is called stands in
// a PyMethodDef, through which every call goes, whatever the interpreter has specialized it to.
#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include "frontend/host_calls/case.h"
#include "frontend/host_calls/slots.h"
#include "frontend/host_calls/verified.h"
#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/names.h"
#include "frontend/hosts/numpy/small_products.h"
#include "frontend/policy.h"
#include "frontend/profile/doing.h"

namespace stator::frontend {

namespace {

constexpr std::string_view kMethods[] = {"sum",    "prod",   "mean",        "std",  "var",    "min",
                                         "max",    "any",    "all",         "ptp",  "argmin", "argmax",
                                         "dot",    "cumsum", "cumprod",     "clip", "round",  "trace",
                                         "repeat", "take",   "searchsorted"};
constexpr size_t kCount = std::size(kMethods);
constexpr size_t kMostArguments = 8;
constexpr size_t kDot = std::ranges::find(kMethods, std::string_view("dot")) - std::begin(kMethods);

using Fast = PyObject* (*)(PyObject * self, PyObject* const* args, Py_ssize_t count, PyObject* names);

struct Taken {
    HostFunction function;
    Fast numpys = nullptr;
};
Taken g_taken[kCount];

PyObject* ask_method(const HostCall& call) {
    const auto& taken = *static_cast<const Taken*>(call.function->place);
    return taken.numpys(call.args[0], call.args + 1, PyVectorcall_NARGS(call.nargsf) - 1, call.names);
}

template <size_t I>
PyObject* enter_method(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
    Taken& taken = g_taken[I];
    const size_t all = static_cast<size_t>(count + (names ? PyTuple_GET_SIZE(names) : 0));
    const bool small = PyArray_CheckExact(self) &&
                       PyArray_SIZE(reinterpret_cast<PyArrayObject*>(self)) <= policy().host_call_elements;
    if (!small || all >= kMostArguments || !host_calls_are_on())
        return taken.numpys(self, args, count, names);
    PyObject* with_self[kMostArguments];
    with_self[0] = self;
    for (size_t i = 0; i < all; ++i) with_self[i + 1] = args[i];
    if (I == kDot && all == 1 && !names) {
        const Timed timed(Activity::Answering, kFramesLine);
        if (PyRef result = numpy::small_product(taken.function.callable, with_self, 2, 0, 0))
            return answered(result.release(), *taken.function.tally, taken.function.callable, with_self, 2,
                            [&] { return taken.numpys(self, args, count, names); });
    }
    return serve({&taken.function, with_self, static_cast<size_t>(count) + 1, names, ask_method});
}

template <size_t... I>
constexpr std::array<Fast, kCount> entries(std::index_sequence<I...>) {
    return {enter_method<I>...};
}

PyMethodDef* definition(PyObject* method) { return reinterpret_cast<PyMethodDescrObject*>(method)->d_method; }

PyCFunction as_stored(Fast f) { return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f)); }

void give_method_back(HostFunction& f) {
    definition(f.callable)->ml_meth = as_stored(static_cast<Taken*>(f.place)->numpys);
}

}  // namespace

void take_methods() {
    constexpr auto kEntries = entries(std::make_index_sequence<kCount>());
    for (size_t i = 0; i < kCount; ++i) {
        PyObject* method = numpy::array_method(kMethods[i].data());
        if (!method || !Py_IS_TYPE(method, &PyMethodDescr_Type)) continue;
        PyMethodDef& def = *definition(method);
        if (def.ml_flags != (METH_FASTCALL | METH_KEYWORDS)) continue;
        const auto numpys = reinterpret_cast<Fast>(reinterpret_cast<void (*)()>(def.ml_meth));
        g_taken[i] = {{method, give_method_back, &g_taken[i], &new_tally_of(method)}, numpys};
        def.ml_meth = as_stored(kEntries[i]);
    }
}

}  // namespace stator::frontend
