// Queries on loop IR, and the verifier of its invariants.
#include "kernels/loops/loop_ir.h"

#include <algorithm>

#include "kernels/loops/host_phases.h"

namespace stator::kernels {

using graph::DType;
using graph::Op;

int LoopNest::parallel_axes() const {
    return static_cast<int>(
        std::count_if(axes.begin(), axes.end(), [](const Axis& a) { return a.kind == AxisKind::Parallel; }));
}

LoopRef host_loop_of(const LoopNest& nest, int i) {
    const Stmt& s = nest.stmts[i];
    LoopRef ref;
    if (s.kind == StmtKind::Compute) {
        ref.name = graph::info(s.op).host == "*" ? s.name : std::string(graph::info(s.op).host);
        for (int in : s.in) ref.types.push_back(nest.stmts[in].dtype);
        ref.types.push_back(s.dtype);
    } else if (s.kind == StmtKind::Reduce) {
        ref.name = s.name;
        // The accumulator is the first operand and the result. Logical reductions of numbers test their
        // operand first, so their loop is the one for b1.
        ref.types.assign(3, s.dtype);
    }
    return ref;
}

uint32_t faults_of(const LoopNest& nest, int i) {
    struct Flag {
        char letter;
        uint32_t bits;
    };
    constexpr uint32_t kFloat = kFaultDivide | kFaultOverflow | kFaultUnderflow | kFaultInvalid;
    constexpr Flag kFlags[] = {{'d', kFaultDivide},
                               {'o', kFaultOverflow},
                               {'u', kFaultUnderflow},
                               {'i', kFaultInvalid},
                               {'?', kFloat | kFaultHost}};
    const Stmt& s = nest.stmts[i];
    if (s.kind != StmtKind::Compute && s.kind != StmtKind::Reduce) return 0;
    if (calls_host(nest, i)) return kFloat | kFaultHost;
    uint32_t bits = 0;
    for (char c : graph::info(s.kind == StmtKind::Reduce ? Op::Reduce : s.op).faults)
        for (const Flag& f : kFlags)
            if (f.letter == c) bits |= f.bits;
    return bits;
}

int find_loop(const Program& p, const LoopRef& ref) {
    for (size_t i = 0; i < p.loops.size(); ++i)
        if (p.loops[i].name == ref.name && p.loops[i].types == ref.types) return static_cast<int>(i);
    return -1;
}

namespace {

struct Checker {
    const Program& p;
    const LoopNest& nest;
    int index;
    std::string out;

    void fail(int stmt, const std::string& what) {
        out += "nest " + std::to_string(index) + ", statement " + std::to_string(stmt) + ": " + what + "\n";
    }
    bool has_value(const Stmt& s) const { return s.kind != StmtKind::Store && s.kind != StmtKind::SetScalar; }

    void operands(int i, const Stmt& s) {
        for (int in : s.in) {
            if (in < 0 || in >= i || !has_value(nest.stmts[in])) {
                fail(i, "operand " + std::to_string(in) + " is not an earlier value");
                continue;
            }
            bool lifts = s.kind == StmtKind::Reduce || s.kind == StmtKind::ArgReduce;
            if (!lifts && nest.stmts[in].depth > s.depth)
                fail(i, "operand " + std::to_string(in) + " is computed at a greater depth");
        }
    }
    void access(int i, const Stmt& s) {
        const Access& a = s.access;
        if (a.axis.size() != nest.axes.size()) return fail(i, "one term list per axis expected");
        bool index_only = s.kind == StmtKind::Index;
        if (!index_only && (a.buffer < 0 || a.buffer >= static_cast<int>(p.buffers.size())))
            return fail(i, "no such buffer");
        auto check = [&](const Term& t, int axis) {
            int rank = index_only ? 0 : static_cast<int>(p.buffers[a.buffer].shape.size());
            if (t.dim != kDense && (t.dim < 0 || t.dim >= rank)) fail(i, "no such dimension");
            if (t.factor.sym >= static_cast<int>(p.syms.size())) fail(i, "no such symbol");
            if (axis >= s.depth) fail(i, "moves along an axis below its depth");
            if (!index_only && t.dim != kDense && p.buffers[a.buffer].layout == graph::Layout::Contiguous)
                fail(i, "a contiguous buffer is indexed by strides");
        };
        for (const Term& t : a.offset) check(t, -1);
        for (size_t k = 0; k < a.axis.size(); ++k)
            for (const Term& t : a.axis[k]) check(t, static_cast<int>(k));
    }
    void hazards(int i, const Stmt& s) {
        for (int j = 0; j < static_cast<int>(nest.stmts.size()); ++j) {
            const Stmt& l = nest.stmts[j];
            if (l.kind != StmtKind::Load || l.access.buffer != s.access.buffer) continue;
            if (j > i)
                fail(j, "loads what statement " + std::to_string(i) + " stores");
            else if (!(l.access == s.access))
                fail(i, "stores to a buffer that statement " + std::to_string(j) + " loads elsewhere");
            if (!nest.in_place) fail(i, "in_place is not set");
        }
    }
    void stmt(int i) {
        const Stmt& s = nest.stmts[i];
        if (s.depth != 0 && s.depth != nest.parallel_axes() && s.depth != nest.full_depth())
            fail(i, "depth " + std::to_string(s.depth) + " is none of 0, parallel axes, all axes");
        operands(i, s);
        if (s.kind == StmtKind::Load || s.kind == StmtKind::Store || s.kind == StmtKind::Index) access(i, s);
        if (s.kind == StmtKind::Store) hazards(i, s);
        if ((s.kind == StmtKind::Scalar || s.kind == StmtKind::SetScalar) &&
            (s.slot < 0 || s.slot >= static_cast<int>(p.scalars.size())))
            fail(i, "no such scalar");
        if (s.kind == StmtKind::Reduce && s.in.size() != (s.start == ReduceStart::Identity ? 2u : 1u))
            fail(i, "a start value is given exactly when the reduction starts at an identity");
        if (s.kind == StmtKind::SetScalar && s.depth != 0) fail(i, "sets a scalar inside a loop");
    }
};

}  // namespace

std::string verify(const Program& p, const graph::Graph& g) {
    std::string out;
    bool committed = false;
    if (p.nests.size() != p.code.size()) return "nests and code differ in length\n";
    for (size_t n = 0; n < p.code.size(); ++n) {
        Checker c{p, *p.code[n], static_cast<int>(n), {}};
        bool reduced = false;
        for (const Axis& a : c.nest.axes) {
            if (reduced && a.kind == AxisKind::Parallel) c.out += "a parallel axis inside a reduced one\n";
            reduced |= a.kind == AxisKind::Reduce;
        }
        committed |= p.nests[n].commit;
        for (int i = 0; i < static_cast<int>(c.nest.stmts.size()); ++i) {
            c.stmt(i);
            const Stmt& s = c.nest.stmts[i];
            bool computes = s.kind == StmtKind::Compute || s.kind == StmtKind::Reduce;
            if (committed && !p.nests[n].commit && computes && s.node >= 0 && graph::can_fault(g, s.node))
                c.fail(i, "may fault behind a commit");
        }
        out += c.out;
    }
    return out;
}

}  // namespace stator::kernels
