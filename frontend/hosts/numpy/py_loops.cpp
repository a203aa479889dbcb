// See py_loops.h. The formulas of floor division and modulo are those of CPython's floatobject.c
// (float_floor_div, float_rem); the other functions are the C library's, which is what CPython's math module
// calls. Where Python raises instead of returning inf or nan, the lowering puts a guard behind the loop.
#include "frontend/hosts/numpy/py_loops.h"

#include <cmath>

namespace stator::frontend::numpy {

namespace {

double float_mod(double vx, double wx) {
    double mod = std::fmod(vx, wx);
    if (mod != 0) {
        if ((wx < 0) != (mod < 0)) mod += wx;
    } else {
        mod = std::copysign(0.0, wx);
    }
    return mod;
}

double float_floor_div(double vx, double wx) {
    double mod = std::fmod(vx, wx);
    double div = (vx - mod) / wx;
    if (mod != 0 && (wx < 0) != (mod < 0)) div -= 1.0;
    if (div == 0) return std::copysign(0.0, vx / wx);
    double floordiv = std::floor(div);
    if (div - floordiv > 0.5) floordiv += 1.0;
    return floordiv;
}

using Unary = double (*)(double);
using Binary = double (*)(double, double);

template <Unary F>
void unary_loop(char** args, const int64_t* dims, const int64_t* steps, void*) {
    for (int64_t i = 0; i < dims[0]; i++)
        *reinterpret_cast<double*>(args[1] + i * steps[1]) =
            F(*reinterpret_cast<double*>(args[0] + i * steps[0]));
}

template <Binary F>
void binary_loop(char** args, const int64_t* dims, const int64_t* steps, void*) {
    for (int64_t i = 0; i < dims[0]; i++)
        *reinterpret_cast<double*>(args[2] + i * steps[2]) =
            F(*reinterpret_cast<double*>(args[0] + i * steps[0]),
              *reinterpret_cast<double*>(args[1] + i * steps[1]));
}

struct LoopRow {
    std::string_view name;
    int nin;
    kernels::HostLoopFn fn;
};

#define UNARY(name) {"py." #name, 1, unary_loop<static_cast<Unary>(::name)>}
constexpr LoopRow kLoopRows[] = {
    {"py.floor_divide", 2, binary_loop<float_floor_div>},
    {"py.remainder", 2, binary_loop<float_mod>},
    {"py.pow", 2, binary_loop<static_cast<Binary>(::pow)>},
    {"py.fmod", 2, binary_loop<static_cast<Binary>(::fmod)>},
    {"py.atan2", 2, binary_loop<static_cast<Binary>(::atan2)>},
    UNARY(exp),
    UNARY(expm1),
    UNARY(sin),
    UNARY(cos),
    UNARY(tan),
    UNARY(asin),
    UNARY(acos),
    UNARY(atan),
    UNARY(sinh),
    UNARY(cosh),
    UNARY(tanh),
    UNARY(asinh),
    UNARY(acosh),
    UNARY(atanh),
    UNARY(log),
    UNARY(log2),
    UNARY(log10),
    UNARY(cbrt),
};
#undef UNARY

}  // namespace

kernels::HostLoop python_loop(std::string_view name, const std::vector<graph::DType>& types) {
    if (!name.starts_with("py.")) return {};
    for (const LoopRow& row : kLoopRows) {
        if (row.name != name || static_cast<int>(types.size()) != row.nin + 1) continue;
        for (graph::DType t : types)
            if (t != graph::DType::F64) return {};
        return {row.fn, nullptr};
    }
    return {};
}

}  // namespace stator::frontend::numpy
