// Tier 0: runs a loop nest without compiling anything, by calling the host's inner loops on chunks. It serves
// while the compiler works, where LLVM refuses, and as the reference that compiled code is compared with.
//
// A nest without reductions, or with Sequential ones, is walked in chunks along its innermost parallel axis:
// every statement runs for the whole chunk before the next one does. A nest with Run reductions is walked
// element by element over the parallel axes; the operand of a reduction is gathered along the innermost
// reduced axis into one piece of memory (unless it lies there already) and given to the host's loop in a
// single call, because that is what NumPy does and the order of summation depends on the length of the call.
//
// Invariants. Host loops see the stride class in which eager would call them: results are contiguous, scalars
// have stride 0, loads keep the stride they have in memory (a negative one only where there is a single axis,
// since NumPy's iterator turns the others around). Floating-point flags are cleared before and read after
// each call that may raise one NumPy would report; the caller's MXCSR comes back unchanged.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/program.h"
#include "kernels/tier0/flags.h"
#include "kernels/tier0/ops.h"
#include "kernels/tier0/plan.h"

namespace stator::kernels {
namespace {

using namespace tier0;
using graph::Op;

class Interpreter {
  public:
    Interpreter(const Program& program, const LoopNest& nest, const Plan& plan, const KernelArgs& args);
    uint32_t run(int64_t begin, int64_t end);

  private:
    struct Address {
        char* base = nullptr;           // address (Index: nothing) at iteration 0
        int64_t start = 0;              // Index: value at iteration 0
        const int64_t* step = nullptr;  // per axis
    };

    void resolve(int i);
    int64_t term(const Access& a, const Term& t) const;
    int64_t moved(const Address& a) const;

    void phase(Phase p, int64_t n, int axis);
    void execute(int i, int64_t n, int axis);
    void load(int i, int64_t n, int axis);
    void compute(int i, int64_t n, int axis);
    void call_host(const Step& step, const Stmt& s, Operand out, int64_t n);
    void write(int i, int64_t n, int axis);
    Operand result(int i, int64_t n, int axis);
    void host(int loop, char** ptrs, int64_t n, const int64_t* strides, uint32_t faults);

    template <class Body>
    void for_axes(int first, int last, Body body);
    void walk_chunks();
    void walk_runs();
    void start_reductions(int64_t n);
    void accumulate_elements(int64_t n, bool first);
    void gather_run(int64_t length);
    void reduce_run(int i, int64_t length, int64_t position, bool first);
    Operand operand_as(int i, int operand, int64_t n);

    const Program& p_;
    const LoopNest& nest_;
    const Plan& plan_;
    const KernelArgs& args_;
    std::vector<Operand> value_;               // per statement: where its value is for the chunk at hand
    std::vector<Address> address_;             // per statement: Load, Store, Index
    std::vector<int64_t> steps_;               // storage of Address::step
    std::vector<int64_t> extent_;              // per axis
    std::vector<int64_t> at_;                  // per axis: iteration the chunk starts at
    std::vector<std::vector<char>> gathered_;  // per statement: the run a reduction works on
    std::vector<Operand> run_;                 // per statement: where that run is
    std::vector<char> extremum_;               // per ArgReduce, 16 bytes: the best element so far
    int64_t begin_ = 0, end_ = 1;
    uint32_t faults_ = 0;
};

Interpreter::Interpreter(const Program& program, const LoopNest& nest, const Plan& plan,
                         const KernelArgs& args)
    : p_(program), nest_(nest), plan_(plan), args_(args) {
    const size_t n = nest.stmts.size(), axes = nest.axes.size();
    value_.resize(n);
    address_.resize(n);
    steps_.resize(n * axes);
    at_.resize(axes);
    extent_.reserve(axes);
    for (const Axis& a : nest.axes) extent_.push_back(a.extent.get(args.syms));
    for (size_t i = 0; i < n; ++i) resolve(static_cast<int>(i));
}

int64_t Interpreter::term(const Access& a, const Term& t) const {
    const int64_t factor = t.factor.get(args_.syms);
    if (a.buffer < 0) return factor;  // an index: in units of 1
    const Buffer& b = p_.buffers[a.buffer];
    return factor * (t.dim == kDense ? graph::info(b.dtype).size : args_.strides[b.stride_base + t.dim]);
}

void Interpreter::resolve(int i) {
    const Stmt& s = nest_.stmts[i];
    if (s.kind == StmtKind::Scalar) value_[i] = {args_.scalars + 16 * s.slot, 0};
    if (s.kind != StmtKind::Load && s.kind != StmtKind::Store && s.kind != StmtKind::Index) return;
    int64_t* step = steps_.data() + static_cast<size_t>(i) * nest_.axes.size();
    int64_t offset = 0;
    for (const Term& t : s.access.offset) offset += term(s.access, t);
    for (size_t a = 0; a < s.access.axis.size(); ++a)
        for (const Term& t : s.access.axis[a]) step[a] += term(s.access, t);
    address_[i] = {s.kind == StmtKind::Index ? nullptr : args_.buffers[s.access.buffer] + offset, offset,
                   step};
}

int64_t Interpreter::moved(const Address& a) const {
    int64_t offset = 0;
    for (size_t k = 0; k < at_.size(); ++k) offset += at_[k] * a.step[k];
    return offset;
}

// Statements of one phase, for n iterations along `axis` (-1: n is 1 and no axis moves).
void Interpreter::phase(Phase p, int64_t n, int axis) {
    for (const int i : plan_.phase[static_cast<int>(p)])
        if (!plan_.steps[i].reduces) execute(i, n, axis);
}

void Interpreter::execute(int i, int64_t n, int axis) {
    const Stmt& s = nest_.stmts[i];
    switch (s.kind) {
        case StmtKind::Load: return load(i, n, axis);
        case StmtKind::Compute: return compute(i, n, axis);
        case StmtKind::Store:
        case StmtKind::SetScalar: return write(i, n, axis);
        case StmtKind::Index: {
            const Address& a = address_[i];
            const Operand out = result(i, n, axis);
            index(s.dtype, a.start + moved(a), axis < 0 ? 0 : a.step[axis], out, n);
            value_[i] = out;
            return;
        }
        case StmtKind::Scalar:
        case StmtKind::Reduce:
        case StmtKind::ArgReduce: return;
    }
}

void Interpreter::load(int i, int64_t n, int axis) {
    const Address& a = address_[i];
    const Step& step = plan_.steps[i];
    const Operand memory{a.base + moved(a), axis < 0 ? 0 : a.step[axis]};
    const bool turned = memory.stride < 0 && plan_.axes > 1;
    if (!step.must_copy && !turned) {
        value_[i] = memory;
        return;
    }
    const Operand out = result(i, n, axis);
    copy(step.size, memory, out, n);
    value_[i] = out;
}

// Where a statement's value goes: its slot, or straight to where its only user stores it.
Operand Interpreter::result(int i, int64_t, int axis) {
    const Step& step = plan_.steps[i];
    if (step.sole_store >= 0 && axis >= 0) {
        const Address& a = address_[step.sole_store];
        if (a.step[axis] == step.size) return {a.base + moved(a), step.size};
    }
    return {args_.scratch + step.slot, axis < 0 ? 0 : step.size};
}

void Interpreter::compute(int i, int64_t n, int axis) {
    const Stmt& s = nest_.stmts[i];
    const Step& step = plan_.steps[i];
    const Operand out = result(i, n, axis);
    value_[i] = out;
    const auto in = [&](int k) { return value_[s.in[k]]; };
    if (s.op == Op::Copy) return copy(step.size, in(0), out, n);
    if (s.op == Op::Where) return where(step.size, in(0), in(1), in(2), out, n);
    if (s.op == Op::Cast) {
        clear_flags();
        const uint32_t faults = cast(nest_.stmts[s.in[0]].dtype, s.dtype, in(0), out, n);
        faults_ |= (faults | read_faults()) & step.faults;
        return;
    }
    char* ptrs[33];
    int64_t strides[33];
    const size_t arity = s.in.size();
    if (arity > 32) {
        faults_ |= kFaultHost;
        return;
    }
    for (size_t k = 0; k < arity; ++k) ptrs[k] = value_[s.in[k]].ptr, strides[k] = value_[s.in[k]].stride;
    ptrs[arity] = out.ptr;
    strides[arity] = out.stride;
    host(step.loop, ptrs, n, strides, step.faults);
}

void Interpreter::host(int loop, char** ptrs, int64_t n, const int64_t* strides, uint32_t faults) {
    if (loop < 0 || !args_.loops[loop].fn) {
        faults_ |= kFaultHost;  // nothing to call: the segment is left to eager
        return;
    }
    const HostLoop& l = args_.loops[loop];
    if (faults) clear_flags();
    l.fn(ptrs, &n, strides, l.data);
    if (faults) faults_ |= read_faults() & faults;
}

void Interpreter::write(int i, int64_t n, int axis) {
    const Stmt& s = nest_.stmts[i];
    const Operand from = value_[s.in[0]];
    if (s.kind == StmtKind::SetScalar) {
        if (begin_ == 0) copy(plan_.steps[i].size, {from.ptr, 0}, {args_.scalars + 16 * s.slot, 0}, 1);
        return;
    }
    const Address& a = address_[i];
    const Operand to{a.base + moved(a), axis < 0 ? 0 : a.step[axis]};
    if (to.ptr != from.ptr) copy(plan_.steps[i].size, from, to, n);
}

// Calls body for every combination of the axes [first, last), the last one fastest. Axis 0 is limited to the
// range of this call when it is parallel.
template <class Body>
void Interpreter::for_axes(int first, int last, Body body) {
    const auto low = [&](int a) { return a == 0 && plan_.parallel > 0 ? begin_ : 0; };
    const auto high = [&](int a) { return a == 0 && plan_.parallel > 0 ? end_ : extent_[a]; };
    for (int a = first; a < last; ++a) {
        if (high(a) <= low(a)) return;
        at_[a] = low(a);
    }
    for (;;) {
        body();
        int a = last - 1;
        while (a >= first && ++at_[a] == high(a)) at_[a] = low(a), --a;
        if (a < first) break;
    }
    for (int a = first; a < last; ++a) at_[a] = 0;
}

// Pointwise nests and Sequential reductions.
void Interpreter::walk_chunks() {
    const bool reduced = plan_.axes > plan_.parallel;
    const auto chunk = [&](int64_t n, int axis) {
        phase(Phase::Before, n, axis);
        if (reduced) {
            start_reductions(n);
            bool first = true;
            for_axes(plan_.parallel, plan_.axes, [&] {
                phase(Phase::Inside, n, axis);
                accumulate_elements(n, first);
                first = false;
            });
        }
        phase(Phase::After, n, axis);
    };
    if (plan_.parallel == 0) return chunk(1, -1);
    const int inner = plan_.parallel - 1;
    for_axes(0, inner, [&] {
        const int64_t low = inner == 0 ? begin_ : 0, high = inner == 0 ? end_ : extent_[inner];
        for (int64_t j = low; j < high; j += kChunkElements) {
            at_[inner] = j;
            chunk(std::min(kChunkElements, high - j), inner);
        }
        at_[inner] = 0;
    });
}

// Accumulators of Reduce statements, one per element of the chunk.
void Interpreter::start_reductions(int64_t n) {
    for (const int i : plan_.reductions) {
        const Step& step = plan_.steps[i];
        const Stmt& s = nest_.stmts[i];
        value_[i] = {args_.scratch + step.slot, plan_.runs || plan_.parallel == 0 ? 0 : step.size};
        if (s.kind == StmtKind::Reduce && s.start == ReduceStart::Identity)
            copy(step.size, value_[s.in[1]], value_[i], n);
        if (s.kind == StmtKind::ArgReduce) std::memset(value_[i].ptr, 0, sizeof(int64_t));
    }
}

// The operand of a reduction in the reduction's dtype: a logical reduction tests numbers first.
Operand Interpreter::operand_as(int i, int operand, int64_t n) {
    const graph::DType from = nest_.stmts[operand].dtype, to = nest_.stmts[i].dtype;
    const Operand in = plan_.runs ? run_[i] : value_[operand];
    if (from == to || nest_.stmts[i].kind == StmtKind::ArgReduce) return in;
    if (gathered_.empty()) gathered_.resize(nest_.stmts.size());
    const int size = graph::info(to).size;
    std::vector<char> converted(static_cast<size_t>(n * size));
    const Operand out{converted.data(), size};
    cast(from, to, in, out, n);
    gathered_[i].swap(converted);  // the old run has been read
    return out;
}

void Interpreter::accumulate_elements(int64_t n, bool first) {
    for (const int i : plan_.reductions) {
        const Stmt& s = nest_.stmts[i];
        const Operand in = operand_as(i, s.in[0], n), acc = value_[i];
        if (first && s.start == ReduceStart::First) {
            copy(plan_.steps[i].size, in, acc, n);
            continue;
        }
        char* ptrs[] = {acc.ptr, in.ptr, acc.ptr};
        const int64_t strides[] = {acc.stride, in.stride, acc.stride};
        host(plan_.steps[i].loop, ptrs, n, strides, plan_.steps[i].faults);
    }
}

// Run reductions.
void Interpreter::walk_runs() {
    run_.resize(nest_.stmts.size());
    gathered_.resize(nest_.stmts.size());
    extremum_.resize(16 * nest_.stmts.size());
    const int inner = plan_.axes - 1;
    const int64_t length = extent_[inner];
    const auto element = [&] {
        phase(Phase::Before, 1, -1);
        start_reductions(1);
        int64_t position = 0;
        if (length > 0) {
            for_axes(plan_.parallel, inner, [&] {
                gather_run(length);
                for (const int i : plan_.reductions) reduce_run(i, length, position, position == 0);
                position += length;
            });
        }
        phase(Phase::After, 1, -1);
    };
    if (plan_.parallel == 0) return element();
    for_axes(0, plan_.parallel, element);
}

// Evaluates the statements inside the reduction along its innermost axis and puts each reduction's operand in
// one piece.
void Interpreter::gather_run(int64_t length) {
    const int inner = plan_.axes - 1;
    const auto in_memory = [&](int operand) {
        const Stmt& s = nest_.stmts[operand];
        return s.kind == StmtKind::Load && s.depth == plan_.axes && address_[operand].step[inner] >= 0 &&
               !plan_.steps[operand].must_copy;
    };
    bool all_in_memory = true;
    for (const int i : plan_.reductions) {
        const int operand = nest_.stmts[i].in[0];
        if (nest_.stmts[operand].depth < plan_.axes) {
            run_[i] = value_[operand];  // the same element again and again
        } else if (in_memory(operand)) {
            at_[inner] = 0;
            run_[i] = {address_[operand].base + moved(address_[operand]), address_[operand].step[inner]};
        } else {
            const int size = plan_.steps[operand].size;
            gathered_[i].resize(static_cast<size_t>(length * size));
            run_[i] = {gathered_[i].data(), size};
            all_in_memory = false;
        }
    }
    if (all_in_memory) return;
    for (int64_t j = 0; j < length; j += kChunkElements) {
        const int64_t n = std::min(kChunkElements, length - j);
        at_[inner] = j;
        phase(Phase::Inside, n, inner);
        for (const int i : plan_.reductions) {
            const int operand = nest_.stmts[i].in[0], size = plan_.steps[operand].size;
            if (run_[i].ptr == gathered_[i].data() && nest_.stmts[operand].depth == plan_.axes)
                copy(size, value_[operand], {run_[i].ptr + j * size, size}, n);
        }
    }
    at_[inner] = 0;
}

void Interpreter::reduce_run(int i, int64_t length, int64_t position, bool first) {
    const Stmt& s = nest_.stmts[i];
    const Step& step = plan_.steps[i];
    Operand in = operand_as(i, s.in[0], length);
    if (s.kind == StmtKind::ArgReduce) {
        char* best = extremum_.data() + 16 * i;
        const int size = plan_.steps[s.in[0]].size;
        const Better takes_over = better(nest_.stmts[s.in[0]].dtype, s.name == "argmax");
        for (int64_t j = 0; j < length; ++j) {
            const char* candidate = in.ptr + j * in.stride;
            if (!(first && j == 0) && !takes_over(best, candidate)) continue;
            std::memcpy(best, candidate, static_cast<size_t>(size));
            const int64_t found = position + j;
            std::memcpy(value_[i].ptr, &found, sizeof found);
        }
        return;
    }
    char* acc = value_[i].ptr;
    if (first && s.start == ReduceStart::First) {
        std::memcpy(acc, in.ptr, static_cast<size_t>(step.size));
        in.ptr += in.stride;
        if (--length == 0) return;
    }
    // A Sequential reduction among Run ones: one element per call keeps its order.
    const int64_t calls = s.order == RunOrder::Sequential ? length : 1;
    for (int64_t c = 0; c < calls; ++c) {
        char* ptrs[] = {acc, in.ptr + c * in.stride, acc};
        const int64_t strides[] = {0, in.stride, 0};
        host(step.loop, ptrs, length / calls, strides, step.faults);
    }
}

uint32_t Interpreter::run(int64_t begin, int64_t end) {
    begin_ = begin;
    end_ = end;
    phase(Phase::Once, 1, -1);
    plan_.runs ? walk_runs() : walk_chunks();
    return faults_;
}

}  // namespace

uint32_t interpret(const Program& p, int index, const KernelArgs& args, int64_t begin, int64_t end) {
    const KeepFlags keep;
    const LoopNest& nest = *p.code[index];
    const std::shared_ptr<const Plan> plan = plan_for(p, nest);
    return Interpreter(p, nest, *plan, args).run(begin, end);
}

}  // namespace stator::kernels
