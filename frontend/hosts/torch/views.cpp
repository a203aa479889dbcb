// Views as affine maps: basic indexing, and the functions that permute, cut, add and drop axes.
#include <algorithm>
#include <numeric>

#include "frontend/hosts/torch/lower.h"
#include "frontend/once.h"

namespace stator::frontend::torch {

namespace {

struct Request {
    TraceBuilder& tb;
    const Call& call;
    const Operand& base;
    Shape shape;
    int rank() const { return static_cast<int>(shape.size()); }
    bool axis(const Operand& o, int rank, int* out) const {
        int64_t i;
        return numpy::read_fixed_int(tb, o, &i) && numpy::normalize_axis(i, rank, out);
    }
    // Arguments after the first one, or the items of the one sequence that is given for them.
    bool rest(std::vector<Operand>* out) const {
        if (call.kwnames) return false;
        if (call.args.size() == 2 && !PyLong_CheckExact(call.args[1].obj))
            return numpy::read_items(tb, call.args[1], out);
        out->assign(call.args.begin() + 1, call.args.end());
        return !out->empty();
    }
};

using Lower = bool (*)(const Request&, ViewStep* out);

bool permuted(const Request& r, const std::vector<int>& axes, ViewStep* out) {
    *out = numpy::permuted(r.tb, r.shape, axes);
    return true;
}

bool transpose(const Request& r, ViewStep* out) {
    int i, j;
    if (r.call.kwnames || r.call.args.size() != 3 || !r.axis(r.call.args[1], r.rank(), &i) ||
        !r.axis(r.call.args[2], r.rank(), &j))
        return false;
    std::vector<int> axes(r.shape.size());
    std::iota(axes.begin(), axes.end(), 0);
    std::swap(axes[static_cast<size_t>(i)], axes[static_cast<size_t>(j)]);
    return permuted(r, axes, out);
}

bool matrix_transpose(const Request& r, ViewStep* out) {
    if (r.call.args.size() != 1 || r.rank() != 2) return false;
    return permuted(r, {1, 0}, out);
}

bool permute(const Request& r, ViewStep* out) {
    std::vector<Operand> items;
    std::vector<int> axes;
    if (!r.rest(&items) || items.size() != r.shape.size()) return false;
    for (const Operand& o : items) {
        axes.emplace_back();
        if (!r.axis(o, r.rank(), &axes.back())) return false;
    }
    return permuted(r, axes, out);
}

bool unsqueeze(const Request& r, ViewStep* out) {
    int at;
    if (r.call.kwnames || r.call.args.size() != 2 || !r.axis(r.call.args[1], r.rank() + 1, &at)) return false;
    *out = numpy::whole(r.shape, r.tb);
    for (int& axis : out->map) axis += axis >= at;
    out->shape.insert(out->shape.begin() + at, r.tb.int_const(1));
    return true;
}

bool drop(const Request& r, const std::vector<bool>& dropped, ViewStep* out) {
    *out = numpy::whole(r.shape, r.tb);
    out->shape.clear();
    for (size_t d = 0; d < r.shape.size(); ++d) {
        if (dropped[d]) {
            out->map[d] = -1, out->step[d] = 0;
            continue;
        }
        out->map[d] = static_cast<int>(out->shape.size());
        out->shape.push_back(r.shape[d]);
    }
    return true;
}

bool squeeze(const Request& r, ViewStep* out) {
    std::vector<bool> dropped(r.shape.size(), false);
    auto unit = [&](size_t d) { return r.tb.syms().as_const(r.shape[d]) == 1; };
    if (r.call.kwnames || r.call.args.size() > 2) return false;
    if (r.call.args.size() == 2) {
        int axis;
        if (!r.axis(r.call.args[1], r.rank(), &axis)) return false;
        dropped[static_cast<size_t>(axis)] = unit(static_cast<size_t>(axis));
    } else {
        for (size_t d = 0; d < dropped.size(); ++d) dropped[d] = unit(d);
    }
    return drop(r, dropped, out);
}

bool select(const Request& r, ViewStep* out) {
    int axis;
    Sym i;
    if (r.call.kwnames || r.call.args.size() != 3 || !r.axis(r.call.args[1], r.rank(), &axis) ||
        !numpy::read_int(r.tb, r.call.args[2], &i))
        return false;
    const Sym n = r.shape[static_cast<size_t>(axis)];
    if (!r.tb.decide(Relation::Ge, i, r.tb.int_const(0))) i = r.tb.syms().add(i, n);
    if (!r.tb.require(Relation::Ge, i, r.tb.int_const(0)) || !r.tb.require(Relation::Lt, i, n)) return false;
    std::vector<bool> dropped(r.shape.size(), false);
    dropped[static_cast<size_t>(axis)] = true;
    drop(r, dropped, out);
    out->start[static_cast<size_t>(axis)] = i;
    return true;
}

bool expand(const Request& r, ViewStep* out) {
    std::vector<Operand> items;
    if (!r.rest(&items) || items.size() < r.shape.size()) return false;
    const size_t added = items.size() - r.shape.size();
    *out = numpy::whole(r.shape, r.tb);
    out->shape.clear();
    for (size_t d = 0; d < items.size(); ++d) {
        Sym n;
        if (!numpy::read_int(r.tb, items[d], &n)) return false;
        const bool keep = r.tb.hint(n) == -1;
        if (keep && (d < added || !r.tb.require(Relation::Eq, n, r.tb.int_const(-1)))) return false;
        if (d >= added) {
            const Sym have = r.shape[d - added];
            if (keep || r.tb.hint(n) == r.tb.hint(have)) {
                if (!keep && !r.tb.require(Relation::Eq, n, have)) return false;
                n = have;
                out->map[d - added] = static_cast<int>(d);
            } else {
                if (r.tb.syms().as_const(have) != 1) return false;
                out->map[d - added] = -1, out->step[d - added] = 0;
            }
        }
        out->shape.push_back(numpy::fixed_extent(r.tb, n));
    }
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

bool view(const Request& r, ViewStep* out) {
    std::vector<Operand> items;
    if (r.call.kwnames || r.call.args.size() < 2) return false;
    if (r.call.args.size() == 2 && !PyLong_CheckExact(r.call.args[1].obj) &&
        !PyTuple_CheckExact(r.call.args[1].obj) && !PyList_CheckExact(r.call.args[1].obj))
        return false;
    out->reshape = true;
    return r.rest(&items) && in_c_order(r) && numpy::reshaped(r.tb, r.shape, items, &out->shape);
}

bool flatten(const Request& r, ViewStep* out) {
    int first = 0, last = r.rank() - 1;
    const auto& args = r.call.args;
    if (r.call.kwnames || args.size() > 3 || r.rank() < 2) return false;
    if (args.size() > 1 && !r.axis(args[1], r.rank(), &first)) return false;
    if (args.size() > 2 && !r.axis(args[2], r.rank(), &last)) return false;
    if (first >= last || !in_c_order(r)) return false;
    out->reshape = true;
    out->shape.assign(r.shape.begin(), r.shape.begin() + first);
    Sym merged = r.tb.int_const(1);
    for (int d = first; d <= last; ++d) {
        merged = r.tb.syms().mul(merged, r.shape[static_cast<size_t>(d)]);
    }
    out->shape.push_back(merged);
    out->shape.insert(out->shape.end(), r.shape.begin() + last + 1, r.shape.end());
    return true;
}

struct ViewRow {
    std::string_view name;
    Lower lower;
};
constexpr ViewRow kRows[] = {
    {"transpose", transpose}, {"swapaxes", transpose},  {"swapdims", transpose}, {"t", matrix_transpose},
    {"permute", permute},     {"unsqueeze", unsqueeze}, {"squeeze", squeeze},    {"select", select},
    {"expand", expand},       {"view", view},           {"reshape", view},       {"flatten", flatten},
};

}  // namespace

static PyObject* getitem_function() {
    return once([] {
        PyRef module = module_named("operator");
        return module ? PyObject_GetAttrString(module.get(), "getitem") : nullptr;
    });
}

ShadowRef lower_view(TraceBuilder& tb, std::string_view name, const Call& call) {
    const auto* row = std::ranges::find(kRows, name, &ViewRow::name);
    if (row == std::end(kRows) || call.args.empty() || !is_tensor(call.result)) return nullptr;
    const Operand& base = call.args[0];
    if (!is_tensor(base.obj) || call.result == base.obj || !tb.resolve(base.shadow, base.obj) ||
        base.shadow->kind != ShadowKind::Array)
        return nullptr;
    // A copy (reshape of a tensor with gaps) is not modelled here.
    const char *lo, *hi, *first, *last;
    guards::memory_span(base.obj, &lo, &hi);
    guards::memory_span(call.result, &first, &last);
    if (first == last || first < lo || last > hi) return nullptr;
    ViewStep step;
    if (!row->lower({tb, call, base, tb.shape(base.shadow)}, &step)) return nullptr;
    return tb.new_tensor_view(base.shadow, std::move(step), call.result, call.callable, call.args,
                              call.kwnames);
}

// Axes that stay, and such that are split into several; nothing else is a view whatever the extents.
static bool split_axes(TraceBuilder& tb, const Shape& from, const std::vector<Sym>& strides, const Shape& to,
                       std::vector<Sym>* out) {
    size_t at = 0;
    out->assign(to.size(), {});
    for (size_t d = 0; d < from.size(); ++d) {
        size_t end = at;
        Sym covered = tb.int_const(1);
        do {
            if (end == to.size()) return false;
            covered = tb.syms().mul(covered, to[end++]);
        } while (tb.hint(covered) < tb.hint(from[d]));
        if (tb.hint(covered) != tb.hint(from[d]) || !tb.require(Relation::Eq, covered, from[d])) return false;
        Sym stride = strides[d];
        for (size_t i = end; i-- > at;) {
            (*out)[i] = stride;
            stride = tb.syms().mul(stride, to[i]);
        }
        at = end;
    }
    return at == to.size();
}

ShadowRef lower_library_view(TraceBuilder& tb, std::string_view name, const Call& call) {
    if ((name != "view" && name != "reshape") || call.args.empty() || !is_tensor(call.result)) return nullptr;
    const Operand& base = call.args[0];
    Placement at, result;
    std::vector<Operand> items;
    Shape shape;
    if (!is_tensor(base.obj) || call.result == base.obj || !tb.resolve(base.shadow, base.obj) ||
        !tb.placement(base.shadow, &at))
        return nullptr;
    const Request r{tb, call, base, tb.shape(base.shadow)};
    if (!r.rest(&items) || !numpy::reshaped(tb, r.shape, items, &shape)) return nullptr;
    result = {at.origin, {}, at.offset};
    guards::TensorView made;
    if (!split_axes(tb, r.shape, at.strides, shape, &result.strides) ||
        !guards::read_tensor(call.result, &made) || made.rank != static_cast<int>(shape.size()))
        return nullptr;
    for (size_t d = 0; d < shape.size(); ++d)
        if (tb.hint(shape[d]) != made.shape[d] || tb.hint(result.strides[d]) != made.strides[d])
            return nullptr;
    ShadowRef s = tb.library(call.callable, call.args, call.kwnames, call.result, &shape, Sharing::Arguments);
    if (s) s->placement = std::make_shared<Placement>(std::move(result));
    return s;
}

namespace {

// The extent of each part; false when the last one would be smaller for other extents.
bool part_extent(TraceBuilder& tb, std::string_view name, const Operand& size, Sym whole, int64_t count,
                 Sym* out) {
    if (!PyLong_CheckExact(size.obj)) return false;
    if (name == "split") {
        if (!numpy::read_int(tb, size, out)) return false;
        return tb.require(Relation::Eq, tb.syms().mul(*out, tb.int_const(count)), whole);
    }
    int64_t chunks;
    if (!numpy::read_fixed_int(tb, size, &chunks) || chunks != count) return false;
    *out = tb.syms().floordiv(whole, tb.int_const(count));
    return tb.require(Relation::Eq, tb.syms().mul(*out, tb.int_const(count)), whole);
}

}  // namespace

ShadowRef lower_parts(TraceBuilder& tb, std::string_view name, const Call& call) {
    if ((name != "split" && name != "chunk") || !PyTuple_CheckExact(call.result)) return nullptr;
    const size_t keywords = call.kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(call.kwnames)) : 0;
    const size_t positional = call.args.size() - keywords;
    if (positional < 2 || call.args.size() > 3 || keywords > 1) return nullptr;
    if (keywords == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(call.kwnames, 0), "dim") != 0)
        return nullptr;
    const Operand& base = call.args[0];
    const Py_ssize_t count = PyTuple_GET_SIZE(call.result);
    if (!is_tensor(base.obj) || !tb.resolve(base.shadow, base.obj) ||
        base.shadow->kind != ShadowKind::Array || count < 2)
        return nullptr;
    const Request r{tb, call, base, tb.shape(base.shadow)};
    int axis = 0;
    Sym part;
    if (call.args.size() == 3 && !r.axis(call.args[2], r.rank(), &axis)) return nullptr;
    if (r.rank() == 0 ||
        !part_extent(tb, name, call.args[1], r.shape[static_cast<size_t>(axis)], count, &part))
        return nullptr;
    PyObject* getitem = getitem_function();
    auto all = std::make_shared<Shadow>();
    all->kind = ShadowKind::Made;
    all->items = tb.maker(call.callable, call.args, call.kwnames);
    std::vector<ShadowRef> parts;
    for (Py_ssize_t i = 0; i < count; ++i) {
        const PyRef index = PyRef::steal(PyLong_FromSsize_t(i));
        const Operand made[] = {{all, nullptr}, {tb.constant(index.get()), index.get()}};
        ViewStep step = numpy::whole(r.shape, tb);
        step.start[static_cast<size_t>(axis)] = tb.syms().mul(part, tb.int_const(i));
        step.shape[static_cast<size_t>(axis)] = part;
        PyObject* item = PyTuple_GET_ITEM(call.result, i);
        ShadowRef s = is_tensor(item)
                          ? tb.new_tensor_view(base.shadow, std::move(step), item, getitem, made, nullptr)
                          : nullptr;
        if (!s) return nullptr;
        parts.push_back(std::move(s));
    }
    return tb.tuple(std::move(parts));
}

ShadowRef lower_subscript(TraceBuilder& tb, const Operand& a, const Operand& key, PyObject* result) {
    PyObject* getitem = getitem_function();
    const Operand args[] = {a, key};
    if (!is_tensor(a.obj)) return tb.fail(Reason::UnknownOp, "a subscript of this type");
    if (!tb.resolve(a.shadow, a.obj)) return nullptr;
    ViewStep step;
    const size_t before = tb.graph.nodes.size();
    if (a.shadow->kind == ShadowKind::Array && is_tensor(result) &&
        numpy::basic_view(tb, tb.shape(a.shadow), key, &step))
        if (ShadowRef s = tb.new_tensor_view(a.shadow, std::move(step), result, getitem, args, nullptr))
            return s;
    tb.rollback(before);
    tb.reason = Reason::None;
    return lower_library(tb, {getitem, args, nullptr, result});
}

}  // namespace stator::frontend::torch
