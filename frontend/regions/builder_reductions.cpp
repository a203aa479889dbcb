// Reductions along axes: which axes a call reduces, and what extents its result has.

#include <algorithm>
#include <array>
#include <string_view>

#include "frontend/hosts/numpy/lower.h"
#include "frontend/regions/builder.h"

namespace stator::frontend::regions {

namespace {

// Where the bound arguments of a reduction are (signatures.def).
struct ReductionRow {
    std::string_view name;
    size_t keepdims;
};
constexpr size_t kAxis = 1;
constexpr ReductionRow kReductions[] = {
    {"sum", 4}, {"prod", 4}, {"mean", 4}, {"max", 3},    {"amax", 3},   {"min", 3}, {"amin", 3},
    {"any", 3}, {"all", 3},  {"std", 5},  {"argmax", 3}, {"argmin", 3}, {"var", 5},
};

const ReductionRow* reduction_row(PyObject* callable) {
    static PyObject* const numpy = PyModule_GetDict(PyImport_ImportModule("numpy"));
    for (const ReductionRow& row : kReductions)
        for (PyObject* owner : {numpy, PyArray_Type.tp_dict})
            if (PyDict_GetItemString(owner, std::string(row.name).c_str()) == callable) return &row;
    return nullptr;
}

}  // namespace

// Of a number that was a constant in this block.
std::optional<bool> Builder::known_bool(const Value& v) const {
    if (v.kind == Kind::Empty || v.is_none()) return false;
    if (v.kind != Kind::Bool) return std::nullopt;
    for (const graph::Inst& i : r_->blocks[static_cast<size_t>(block_)].insts)
        if (i.result == v.id && i.op == graph::RegionOp::Const) return i.ints[0] != 0;
    return std::nullopt;
}

// Which axes of `rank` an axis argument names, ascending.
bool Builder::axes_of(const Value& v, int rank, std::vector<int>* out) const {
    out->clear();
    const bool all = v.kind == Kind::Empty || v.is_none();
    for (int i = 0; all && i < rank; ++i) out->push_back(i);
    if (all) return true;
    const std::vector<Value> single{v};
    for (const Value& item : v.kind == Kind::Tuple ? v.items : single) {
        const auto k = item.kind == Kind::Int ? known_int(item.id) : std::nullopt;
        if (!k || *k < -rank || *k >= rank) return false;
        out->push_back(static_cast<int>(*k < 0 ? *k + rank : *k));
    }
    std::sort(out->begin(), out->end());
    return std::adjacent_find(out->begin(), out->end()) == out->end();
}

std::optional<Builder::Reduction> Builder::reduction_of(PyObject* callable,
                                                        const std::vector<Value>& args) const {
    const ReductionRow* row = reduction_row(callable);
    if (!row || args.empty() || !args[0].is_array()) return std::nullopt;
    const auto argument = [&](size_t i) { return i < args.size() ? args[i] : Value{}; };
    Reduction r;
    r.name = row->name;
    const auto kept = known_bool(argument(row->keepdims));
    if (!kept || !axes_of(argument(kAxis), args[0].rank, &r.axes)) return std::nullopt;
    r.keepdims = *kept;
    for (size_t i = kAxis + 1; i < args.size(); ++i)
        r.plain &= i == row->keepdims || args[i].kind == Kind::Empty || args[i].is_none();
    return r;
}

std::vector<ValueId> Builder::reduced_extents(const Value& a, const Reduction& r) {
    std::vector<ValueId> out;
    const std::vector<ValueId> own = extents_of(a);
    for (int axis = 0; axis < a.rank; ++axis) {
        const bool reduced = std::binary_search(r.axes.begin(), r.axes.end(), axis);
        if (!reduced) out.push_back(own[static_cast<size_t>(axis)]);
        if (reduced && r.keepdims) out.push_back(const_int(1));
    }
    return out;
}

// What is known of the extents of an array that NumPy's own call has made.
void Builder::note_extents(PyObject* callable, const std::vector<Value>& args, const Value& made) {
    if (made.kind != Kind::Array) return;
    std::vector<ValueId> extents;
    if (const auto r = reduction_of(callable, args)) {
        extents = reduced_extents(args[0], *r);
    } else if (PyObject_TypeCheck(callable, &PyUFunc_Type) &&
               !reinterpret_cast<PyUFuncObject*>(callable)->core_enabled) {
        for (const Value& v : args) {
            if (!v.is_array()) continue;
            const std::vector<ValueId> own = extents_of(v);
            if (!extents.empty() && own != extents) return;
            extents = own;
        }
    }
    if (extents.size() != static_cast<size_t>(made.rank)) return;
    for (size_t d = 0; d < extents.size(); ++d) extents_[{made.id, static_cast<int>(d)}] = extents[d];
}

}  // namespace stator::frontend::regions
