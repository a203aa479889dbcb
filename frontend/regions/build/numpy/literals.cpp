// np.array([...]) of numbers, or of rows of numbers: memory of the region's own, an element at a time.

#include <algorithm>
#include <string_view>

#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/names.h"
#include "frontend/regions/build/builder.h"

namespace stator::frontend::regions {

namespace {

bool is_sequence(const Value& v) { return v.kind == Kind::List || v.kind == Kind::Tuple; }

// The dtype that NumPy finds for numbers of these kinds: none where it has to think.
std::optional<DType> common_dtype(const std::vector<Value>& numbers) {
    std::optional<DType> t;
    for (const Value& v : numbers) {
        const bool plain = v.kind == Kind::Int || v.kind == Kind::Float || v.kind == Kind::Scalar;
        if (!plain || v.dtype == DType::F16) return std::nullopt;
        if (!t || *t == v.dtype) {
            t = v.dtype;
            continue;
        }
        const bool widens =
            (*t == DType::F64 && v.dtype == DType::I64) || (*t == DType::I64 && v.dtype == DType::F64);
        if (!widens) return std::nullopt;
        t = DType::F64;
    }
    return t;
}

}  // namespace

// Declined: it is no call of np.array or np.asarray with a list or tuple.
Did Builder::call_array(PyObject* callable, const std::vector<Value>& args, Value* out) {
    if (args.empty() || !is_sequence(args[0]) ||
        !(numpy::is_function(callable, "array") || numpy::is_function(callable, "asarray")))
        return Did::Declined;
    for (size_t i = 2; i < args.size(); ++i)
        if (args[i].kind != Kind::Empty) return unknown("such a call of np.array");
    const std::vector<Value>& rows = args[0].items;
    const bool matrix = !rows.empty() && is_sequence(rows[0]);
    std::vector<Value> numbers;
    for (const Value& row : rows) {
        if (is_sequence(row) != matrix || (matrix && row.items.size() != rows[0].items.size()))
            return unknown("np.array() of items of several kinds");
        if (matrix)
            numbers.insert(numbers.end(), row.items.begin(), row.items.end());
        else
            numbers.push_back(row);
    }
    const auto found = common_dtype(numbers);
    if (!found) return unknown("np.array() of such items");
    DType t;
    if (!dtype_argument(args.size() > 1 ? args[1] : Value{}, *found, &t)) return false;
    if (graph::is_complex(t) || t == DType::F16) return unknown("np.array() of such items");
    const auto columns = static_cast<int64_t>(matrix ? rows[0].items.size() : 0);
    std::vector<ValueId> extents{const_int(static_cast<int64_t>(rows.size()))}, values;
    if (matrix) extents.push_back(const_int(columns));
    for (const Value& v : numbers)
        if (!element_of(v, t, &values.emplace_back())) return false;
    if (!memory(t, extents, true, out)) return false;
    for (size_t i = 0; i < values.size(); ++i) {
        const auto at = static_cast<int64_t>(i);
        graph::Inst store;
        store.op = graph::RegionOp::Store;
        store.in = {out->id};
        if (matrix) store.in.push_back(const_int(at / columns));
        store.in.push_back(const_int(matrix ? at % columns : at));
        store.in.push_back(values[i]);
        emit_effect(std::move(store));
    }
    return true;
}

}  // namespace stator::frontend::regions
