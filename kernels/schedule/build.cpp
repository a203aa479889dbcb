// Scheduling, part 3: index maps, and the statements that compute a value at an index map inside a nest.
//
// Invariant: a statement is shared within a nest by (value, map), so a common subexpression is computed once.
#include <algorithm>
#include <stdexcept>

#include "kernels/schedule/internal.h"

namespace stator::kernels::scheduling {

Space Scheduler::space_of(const std::vector<Sym>& shape) const {
    Space s;
    for (Sym e : shape)
        if (!unit(e)) s.extent.push_back(e);
    s.reduced.assign(s.extent.size(), 0);
    return s;
}

Map Scheduler::identity(const std::vector<Sym>& shape) const {
    Map m;
    int axis = 0;
    Sym zero = g_.syms.constant(0);
    for (Sym e : shape) m.push_back(unit(e) ? DimMap{-1, 0, zero} : DimMap{axis++, 1, zero});
    return m;
}

// The map of the operand of a view (or of the root of a store), given the map of the view.
Map Scheduler::compose(const Node& view, const Map& m) {
    int rank = static_cast<int>(view.ints[0]);
    Map out(rank);
    for (int d = 0; d < rank; ++d) {
        int64_t axis = view.ints[1 + d], step = view.ints[1 + rank + d];
        if (axis < 0) {
            out[d] = {-1, 0, view.syms[d]};
            continue;
        }
        const DimMap& in = m[axis];
        Sym start = g_.syms.add(view.syms[d], g_.syms.mul(g_.syms.constant(step), in.start));
        out[d] = {in.axis, in.axis < 0 ? 0 : step * in.step, start};
    }
    return out;
}

std::vector<Sym> Scheduler::store_shape(const Node& n) const {
    if (!node(n.in[1]).shape.empty()) return node(n.in[1]).shape;
    return {n.syms.begin() + n.ints[0], n.syms.end()};
}

Id Scheduler::base_of(Id v, Map& m) {
    while (node(v).op == Op::View && located(v) < 0) {
        m = compose(node(v), m);
        v = node(v).in[0];
    }
    return v;
}

Id Scheduler::reshaped(Id v) {
    do v = node(v).in[0];
    while (node(v).op == Op::Reshape && !rank0(v) && located(v) < 0);
    return v;
}

// ---- buffers and scalars ----

int Scheduler::new_buffer(BufferKind kind, Id v) {
    const Node& n = node(v);
    Buffer b{kind, v, n.dtype, n.shape, graph::Layout::Contiguous, n.perm, p_.stride_count, false};
    const Node& owner =
        kind == BufferKind::Input ? node(root(v)) : n;  // versions lie where the first one does
    if (kind == BufferKind::Input) {
        b.layout = owner.layout;
        b.perm = owner.perm;
    }
    if (kind == BufferKind::Input && owner.op == Op::Input) {
        b.layout = g_.inputs[owner.ints[0]].layout;
        b.perm = g_.inputs[owner.ints[0]].perm;
    }
    p_.stride_count += static_cast<int>(n.shape.size());
    p_.buffers.push_back(std::move(b));
    return static_cast<int>(p_.buffers.size()) - 1;
}

int Scheduler::located(Id v) {
    if (buffer_[v] >= 0 || !available_[v]) return buffer_[v];
    Id owner = node(v).op == Op::Store ? root(v) : v;
    if (rank0(v) && !has_stores_[owner]) return -1;
    auto [it, fresh] = store_buffer_.try_emplace(owner, -1);
    if (fresh) it->second = new_buffer(BufferKind::Input, owner);
    return buffer_[v] = it->second;
}

int Scheduler::leaf_slot(Id v) {
    if (slot_[v] >= 0) return slot_[v];
    const Node& n = node(v);
    Scalar s{ScalarKind::Input, v, n.dtype, {0, 0}};
    if (n.op == Op::Const) {
        for (size_t i = 0; i < n.ints.size() && i < 2; ++i) s.bits[i] = static_cast<uint64_t>(n.ints[i]);
        s.kind = ScalarKind::Const;
    } else if (n.op == Op::SymScalar) {
        s.kind = ScalarKind::Sym;
    }
    p_.scalars.push_back(s);
    return slot_[v] = static_cast<int>(p_.scalars.size()) - 1;
}

int Scheduler::const_slot(graph::DType t, uint64_t lo, uint64_t hi) {
    p_.scalars.push_back({ScalarKind::Const, graph::kNone, t, {lo, hi}});
    return static_cast<int>(p_.scalars.size()) - 1;
}

// ---- statements ----

int Scheduler::add(Draft& d, DraftStmt s) {
    d.stmts.push_back(std::move(s));
    return static_cast<int>(d.stmts.size()) - 1;
}

int Scheduler::scalar_stmt(Draft& d, int slot) {
    auto [it, fresh] = d.scalar_memo.try_emplace(slot, -1);
    if (!fresh) return it->second;
    DraftStmt s;
    s.stmt.kind = StmtKind::Scalar;
    s.stmt.dtype = p_.scalars[slot].dtype;
    s.stmt.slot = slot;
    s.stmt.node = p_.scalars[slot].value;
    s.level = Level::Scalar;
    return it->second = add(d, std::move(s));
}

// Byte offsets of `m` into `buffer`; contiguous buffers are indexed as if flat. `shape` is the indexed
// value's, which differs from the buffer's when the value is a reshape of it.
SymAccess Scheduler::access(const Draft& d, int buffer, const Map& m, const std::vector<Sym>& shape) {
    // Callers turn this into a trace that is given up; an index of -1 would damage memory that is not ours.
    if (buffer < 0) throw std::logic_error("the scheduler reads a value that has no memory");
    auto& t = g_.syms;
    const Buffer& b = p_.buffers[buffer];
    SymAccess a;
    a.buffer = buffer;
    a.axis.resize(d.space.extent.size());
    int rank = static_cast<int>(m.size());
    std::vector<Sym> dense(rank, t.constant(1));
    bool flat = b.layout == graph::Layout::Contiguous;
    bool c_order =
        b.perm.empty() || shape != b.shape;  // what is reshaped lies in C order, whatever its axes are called
    if (flat) {
        Sym stride = t.constant(1);
        for (int k = rank - 1; k >= 0; --k) {
            int dim = c_order ? k : b.perm[k];
            dense[dim] = stride;
            stride = t.mul(stride, shape[dim]);
        }
    }
    Sym offset = t.constant(0);
    for (int dim = 0; dim < rank; ++dim) {
        Sym step = t.mul(t.constant(m[dim].step), dense[dim]);
        bool has_start = t.as_const(m[dim].start) != std::optional<int64_t>(0);
        if (flat) {
            offset = t.add(offset, t.mul(m[dim].start, dense[dim]));
            if (m[dim].axis < 0) continue;
            auto& terms = a.axis[m[dim].axis];
            if (terms.empty())
                terms.push_back({kDense, step});
            else
                terms[0].factor = t.add(terms[0].factor, step);
        } else {
            bool inner_dense =
                b.layout == graph::Layout::InnerDense && dim == (b.perm.empty() ? rank - 1 : b.perm.back());
            int name = inner_dense ? kDense : dim;
            if (has_start) a.offset.push_back({name, m[dim].start});
            if (m[dim].axis >= 0) a.axis[m[dim].axis].push_back({name, step});
        }
    }
    if (flat && t.as_const(offset) != std::optional<int64_t>(0)) a.offset.push_back({kDense, offset});
    return a;
}

int Scheduler::load(Draft& d, Id v, int buffer, const Map& m, const std::vector<Sym>& shape) {
    DraftStmt s;
    s.stmt.kind = StmtKind::Load;
    s.stmt.dtype = node(v).dtype;
    s.stmt.node = v;
    s.access = access(d, buffer, m, shape);
    bool moves = false;
    for (auto& terms : s.access.axis) moves |= !terms.empty();
    // When a loop has no iterations, nothing may be read ahead of it: the element need not exist.
    s.level = moves || !d.space.extent.empty() ? inner_level() : Level::Scalar;
    d.reads.emplace_back(buffer, m);
    return add(d, std::move(s));
}

void Scheduler::store(Draft& d, int buffer, const Map& m, int value, Level level, Id v) {
    DraftStmt s;
    s.stmt.kind = StmtKind::Store;
    s.stmt.dtype = p_.buffers[buffer].dtype;
    s.stmt.in = {value};
    s.stmt.node = v;
    s.level = level;
    s.access = access(d, buffer, m, p_.buffers[buffer].shape);
    p_.buffers[buffer].written = true;
    if (!d.has_order) {
        const auto& perm = p_.buffers[buffer].perm;
        for (size_t k = 0; k < m.size(); ++k) {
            int axis = m[perm.empty() ? k : perm[k]].axis;
            if (axis >= 0) d.order.push_back(axis);
        }
        d.has_order = true;
    }
    add(d, std::move(s));
}

void Scheduler::set_scalar(Draft& d, int value, Level level, Id v) {
    p_.scalars.push_back({ScalarKind::Result, v, node(v).dtype, {0, 0}});
    slot_[v] = static_cast<int>(p_.scalars.size()) - 1;
    DraftStmt s;
    s.stmt.kind = StmtKind::SetScalar;
    s.stmt.dtype = node(v).dtype;
    s.stmt.in = {value};
    s.stmt.slot = slot_[v];
    s.stmt.node = v;
    s.level = level;
    add(d, std::move(s));
}

int Scheduler::eval_compute(Draft& d, Id v, const Map& m, Level level) {
    DraftStmt s;
    const Node& n = node(v);
    s.stmt.kind = StmtKind::Compute;
    s.stmt.dtype = n.dtype;
    s.stmt.op = n.op;
    s.stmt.name = n.name;
    s.stmt.node = v;
    s.level = level;
    for (Id in : n.in) {
        int i = rank0(in) ? eval_scalar(d, in) : eval(d, in, m);
        s.stmt.in.push_back(i);
        s.level = std::max(s.level, d.stmts[i].level);
    }
    return add(d, std::move(s));
}

// start + i*delta, as NumPy's fill loop computes it. Statements stand for graph ops, so this is a sum of a
// product.
int Scheduler::eval_arange(Draft& d, Id v, const Map& m) {
    const Node& n = node(v);
    DraftStmt index;
    index.stmt.kind = StmtKind::Index;
    index.stmt.dtype = n.dtype;
    index.stmt.node = v;
    index.level = inner_level();
    index.access.axis.resize(d.space.extent.size());
    if (m[0].axis >= 0) index.access.axis[m[0].axis].push_back({kDense, g_.syms.constant(m[0].step)});
    if (g_.syms.as_const(m[0].start) != std::optional<int64_t>(0))
        index.access.offset.push_back({kDense, m[0].start});
    int i = add(d, std::move(index));
    auto binary = [&](Op op, int a, int b) {
        DraftStmt s;
        s.stmt.kind = StmtKind::Compute;
        s.stmt.dtype = n.dtype;
        s.stmt.op = op;
        s.stmt.in = {a, b};
        s.stmt.node = v;
        s.level = inner_level();
        return add(d, std::move(s));
    };
    int delta = eval_scalar(d, n.in[1]), start = eval_scalar(d, n.in[0]);
    return binary(Op::Add, start, binary(Op::Multiply, i, delta));
}

int Scheduler::eval(Draft& d, Id v, const Map& m) {
    auto key = std::pair(v, m);
    if (auto it = memo(d).find(key); it != memo(d).end()) return it->second;
    const Node& n = node(v);
    int r;
    if (alias_[v] >= 0) {
        r = rank0(alias_[v]) ? eval_scalar(d, alias_[v]) : eval(d, alias_[v], m);
    } else if (int b = located(v); b >= 0) {
        r = load(d, v, b, m, n.shape);
    } else if (n.op == Op::View) {
        r = rank0(n.in[0]) ? eval_scalar(d, n.in[0]) : eval(d, n.in[0], compose(n, m));
    } else if (n.op == Op::Reshape) {
        Id base = reshaped(v);
        r = rank0(base) ? eval_scalar(d, base) : load(d, v, located(base), m, n.shape);
    } else if (n.op == Op::Full) {
        r = eval_scalar(d, n.in[0]);
    } else if (n.op == Op::Empty) {
        r = scalar_stmt(d, const_slot(n.dtype, 0, 0));  // any contents do
    } else if (n.op == Op::Arange) {
        r = eval_arange(d, v, m);
    } else {
        r = eval_compute(d, v, m, inner_level());
    }
    memo(d)[key] = r;
    return r;
}

int Scheduler::eval_scalar(Draft& d, Id v) {
    auto key = std::pair(v, Map{});
    if (auto it = memo(d).find(key); it != memo(d).end()) return it->second;
    const Node& n = node(v);
    int r;
    if (alias_[v] >= 0) {
        r = eval_scalar(d, alias_[v]);
    } else if (slot_[v] >= 0) {
        r = scalar_stmt(d, slot_[v]);
    } else if (int b = located(v); b >= 0) {
        r = load(d, v, b, {}, n.shape);
    } else if (is_leaf(v)) {
        r = scalar_stmt(d, leaf_slot(v));
    } else if (n.op == Op::View || n.op == Op::Reshape) {
        Id in = n.in[0];
        Map zero(node(in).shape.size(), DimMap{-1, 0, g_.syms.constant(0)});
        if (rank0(in))
            r = eval_scalar(d, in);
        else
            r = eval(d, in, n.op == Op::View ? compose(n, {}) : zero);
    } else if (n.op == Op::Store) {
        r = eval_scalar(d, n.in[1]);
    } else if (n.op == Op::Empty) {
        r = scalar_stmt(d, const_slot(n.dtype, 0, 0));
    } else if (n.op == Op::Full) {
        r = eval_scalar(d, n.in[0]);
    } else {
        r = eval_compute(d, v, {}, Level::Scalar);
    }
    memo(d)[key] = r;
    return r;
}

}  // namespace stator::kernels::scheduling
