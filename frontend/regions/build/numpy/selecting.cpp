// Calls of ufuncs with a place for their result, and conj.

#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/names.h"
#include "frontend/regions/build/builder.h"

namespace stator::frontend::regions {

namespace {

bool is_operand(const Value& v) { return v.is_number() || v.is_array() || v.is_complex_number(); }

}  // namespace

// A ufunc's operands, and the array its result goes to behind them.
bool Builder::call_ufunc_into(const std::string& name, std::vector<Value>& args, Value* out) {
    const Value dest = args.back();
    Value result;
    if (graph::is_complex(dest.dtype) && (!several(dest) || (name == "square" && !squares_into(dest))))
        return false;
    const bool done = args.size() == 2 ? unary_ufunc(name, args[0], &result)
                                       : binary_ufunc(name, args[0], args[1], &result);
    return done && into(dest, result, out);
}

// Declined: the call is another part's business.
Did Builder::call_selecting(PyObject* callable, std::vector<Value>& args, Value* out) {
    if (const std::string name(numpy::ufunc_name(callable)); !name.empty()) {
        auto* ufunc = reinterpret_cast<PyUFuncObject*>(callable);
        for (const Value& v : args)
            if (!is_operand(v)) return Did::Declined;
        if (ufunc->nout == 1 && ufunc->nin <= 2 && args.size() == static_cast<size_t>(ufunc->nin) + 1)
            return call_ufunc_into(name, args, out);
        const bool complex = args.size() == 2 && (args[0].is_complex_number() || args[1].is_complex_number());
        if (complex) return binary_ufunc(name, args[0], args[1], out);
        return Did::Declined;
    }
    const auto is = [&](const char* name) { return numpy::is_function_or_method(callable, name); };
    if (args.size() != 1 || !args[0].is_array()) return Did::Declined;
    // Of real numbers the method returns the array itself.
    if ((callable == numpy::array_method("conj") || callable == numpy::array_method("conjugate")) &&
        !graph::is_complex(args[0].dtype)) {
        *out = args[0];
        return true;
    }
    if (is("conj") && graph::is_complex(args[0].dtype)) return unary_complex("conjugate", args[0], out);
    return Did::Declined;
}

}  // namespace stator::frontend::regions
