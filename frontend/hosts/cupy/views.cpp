// Views as affine maps: basic indexing, and the functions that permute, cut, add and drop axes. Where one
// leaves the trace, CuPy makes it again by the same call.
#include <algorithm>
#include <numeric>

#include "frontend/hosts/cupy/lower.h"
#include "frontend/once.h"

namespace stator::frontend::cupy {

namespace {

struct Request {
    TraceBuilder& tb;
    const Call& call;
    const Operand& base;
    Shape shape;
    int rank() const { return static_cast<int>(shape.size()); }
    size_t count() const { return call.args.size(); }
    bool axis(const Operand& o, int rank, int* out) const {
        int64_t i;
        return numpy::read_fixed_int(tb, o, &i) && numpy::normalize_axis(i, rank, out);
    }
    // Arguments after the first one, or the items of the one sequence that is given for them.
    bool rest(std::vector<Operand>* out) const {
        if (call.kwnames) return false;
        if (count() == 2 && !PyLong_CheckExact(call.args[1].obj))
            return numpy::read_items(tb, call.args[1], out);
        out->assign(call.args.begin() + 1, call.args.end());
        return !out->empty();
    }
};

using Lower = bool (*)(const Request&, ViewStep* out);

bool transpose(const Request& r, ViewStep* out) {
    std::vector<int> axes(r.shape.size());
    std::iota(axes.rbegin(), axes.rend(), 0);
    std::vector<Operand> items;
    if (r.count() > 1) {
        if (!r.rest(&items) || items.size() != axes.size()) return false;
        for (size_t i = 0; i < items.size(); ++i)
            if (!r.axis(items[i], r.rank(), &axes[i])) return false;
    }
    *out = numpy::permuted(r.tb, r.shape, axes);
    return true;
}

bool swapaxes(const Request& r, ViewStep* out) {
    int i, j;
    if (r.call.kwnames || r.count() != 3 || !r.axis(r.call.args[1], r.rank(), &i) ||
        !r.axis(r.call.args[2], r.rank(), &j))
        return false;
    std::vector<int> axes(r.shape.size());
    std::iota(axes.begin(), axes.end(), 0);
    std::swap(axes[static_cast<size_t>(i)], axes[static_cast<size_t>(j)]);
    *out = numpy::permuted(r.tb, r.shape, axes);
    return true;
}

bool expand_dims(const Request& r, ViewStep* out) {
    int at;
    if (r.call.kwnames || r.count() != 2 || !r.axis(r.call.args[1], r.rank() + 1, &at)) return false;
    *out = numpy::whole(r.shape, r.tb);
    for (int& axis : out->map) axis += axis >= at;
    out->shape.insert(out->shape.begin() + at, r.tb.int_const(1));
    return true;
}

// In C order without gaps, whatever its extents: then every reshape is a view.
bool in_c_order(const Request& r) {
    const graph::Node& n = r.tb.node(r.tb.value(r.base.shadow));
    for (Sym s : r.shape)
        if (r.tb.hint(s) == 0) return false;
    return n.layout == graph::Layout::Contiguous && n.perm.empty() &&
           r.base.shadow->layout == graph::Layout::Contiguous && r.base.shadow->perm.empty();
}

bool reshape(const Request& r, ViewStep* out) {
    std::vector<Operand> items;
    if (r.call.kwnames || r.count() < 2) return false;
    out->reshape = true;
    return r.rest(&items) && in_c_order(r) && numpy::reshaped(r.tb, r.shape, items, &out->shape);
}

bool ravel(const Request& r, ViewStep* out) {
    if (r.call.kwnames || r.count() != 1 || !in_c_order(r)) return false;
    out->reshape = true;
    out->shape = {r.tb.syms().product(r.shape)};
    return true;
}

struct Row {
    std::string_view name;
    Lower lower;
};
constexpr Row kRows[] = {
    {"transpose", transpose}, {"swapaxes", swapaxes}, {"expand_dims", expand_dims},
    {"reshape", reshape},     {"ravel", ravel},
};

}  // namespace

ShadowRef lower_view(TraceBuilder& tb, std::string_view name, const Call& call) {
    const auto* row = std::ranges::find(kRows, name, &Row::name);
    if (row == std::end(kRows) || call.args.empty() || !is_cupy_array(call.result)) return nullptr;
    const Operand& base = call.args[0];
    if (!is_cupy_array(base.obj) || call.result == base.obj || !tb.resolve(base.shadow, base.obj) ||
        base.shadow->kind != ShadowKind::Array)
        return nullptr;
    // A copy (reshape of an array with gaps) is not modelled here.
    const char *lo, *hi, *first, *last;
    guards::memory_span(base.obj, &lo, &hi);
    guards::memory_span(call.result, &first, &last);
    if (first == last || first < lo || last > hi) return nullptr;
    ViewStep step;
    if (!row->lower({tb, call, base, tb.shape(base.shadow)}, &step)) return nullptr;
    return tb.new_tensor_view(base.shadow, std::move(step), call.result, call.callable, call.args,
                              call.kwnames);
}

ShadowRef lower_subscript(TraceBuilder& tb, const Operand& a, const Operand& key, PyObject* result) {
    PyObject* getitem = once([] {
        PyRef module = module_named("operator");
        return module ? PyObject_GetAttrString(module.get(), "getitem") : nullptr;
    });
    const Operand args[] = {a, key};
    if (!is_cupy_array(a.obj)) return tb.fail(Reason::UnknownOp, "a subscript of this type");
    if (!tb.resolve(a.shadow, a.obj)) return nullptr;
    ViewStep step;
    const size_t before = tb.graph.nodes.size();
    if (a.shadow->kind == ShadowKind::Array && is_cupy_array(result) &&
        numpy::basic_view(tb, tb.shape(a.shadow), key, &step))
        if (ShadowRef s = tb.new_tensor_view(a.shadow, std::move(step), result, getitem, args, nullptr))
            return s;
    tb.rollback(before);
    tb.reason = Reason::None;
    // A mask makes CuPy wait for the number of elements that it chooses.
    return lower_library(tb, {getitem, args, nullptr, result}, false);
}

}  // namespace stator::frontend::cupy
