// Host loops in generated code: chunks of the innermost axis, in phases (loops/host_phases.h).
//
// Floating-point flags are handled by stator_host_call, the one function outside the module that this code
// refers to.
#include "kernels/llvm/internal.h"

#include <algorithm>
#include <stdexcept>

namespace stator::kernels::emit {

using llvm::Value;

Value* NestEmitter::chunk_slot(int i) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), scratch_, static_cast<uint64_t>(phases_.slot[i]));
}

// Memory for a scalar value, so that a host loop can read it.
Value* NestEmitter::spill(int i) {
    const Stmt& s = n_.stmts[i];
    if (s.kind == StmtKind::Scalar) return scalar_slot(s.slot);
    if (!spilled_[i]) {
        OpContext c{b_, o_, 1, faults_};
        spilled_[i] = slot(b_.getInt128Ty(), "spill");
        Value* v = s.dtype == DType::Bool ? as_bytes(c, outer_[i]) : outer_[i].v;
        b_.CreateStore(v, spilled_[i]);
    }
    return spilled_[i];
}

// Where a host loop finds operand i for iterations from `begin` of the innermost axis; null: a single
// element.
HostOperand NestEmitter::host_operand(int i, Value* begin) {
    const Stmt& s = n_.stmts[i];
    if (!begin || outer_[i].v) return {spill(i), i64(0)};
    if (phases_.slot[i] >= 0) return {chunk_slot(i), i64(graph::info(s.dtype).size)};
    const Step& st = step_[i];
    if (st.cls == StrideClass::None) return {row_[i], i64(0)};
    return {b_.CreateGEP(b_.getInt8Ty(), row_[i], b_.CreateMul(begin, st.bytes)), st.bytes};
}

void NestEmitter::host_call(int i, Value* begin, Value* count) {
    const Stmt& s = n_.stmts[i];
    int n = static_cast<int>(s.in.size()) + 1;
    auto* pointers = llvm::ArrayType::get(b_.getPtrTy(), static_cast<uint64_t>(n));
    auto* numbers = llvm::ArrayType::get(b_.getInt64Ty(), static_cast<uint64_t>(n));
    llvm::AllocaInst *args = slot(pointers, "args"), *strides = slot(numbers, "strides");
    auto put = [&](int k, HostOperand o) {
        b_.CreateStore(o.address, b_.CreateConstInBoundsGEP2_64(pointers, args, 0, static_cast<uint64_t>(k)));
        b_.CreateStore(o.stride,
                       b_.CreateConstInBoundsGEP2_64(numbers, strides, 0, static_cast<uint64_t>(k)));
    };
    for (int k = 0; k + 1 < n; ++k) put(k, host_operand(s.in[static_cast<size_t>(k)], begin));
    int into = begin ? phases_.into[i] : -1;
    if (!begin) {
        spilled_[i] = slot(b_.getInt128Ty(), "result");
        put(n - 1, {spilled_[i], i64(0)});
    } else if (into >= 0) {
        put(n - 1, {b_.CreateGEP(b_.getInt8Ty(), row_[into], b_.CreateMul(begin, step_[into].bytes)),
                    step_[into].bytes});
    } else {
        put(n - 1, {chunk_slot(i), i64(graph::info(s.dtype).size)});
    }
    call_loop(find_loop(p_, host_loop_of(n_, i)), args, count, strides, faults_of(n_, i));
    if (!begin) outer_[i] = {b_.CreateLoad(element_type(c_, s.dtype), spilled_[i]), false};
}

void NestEmitter::call_loop(int loop, Value* args, Value* count, Value* strides, uint32_t mask) {
    if (loop < 0) throw std::logic_error("a statement has no host loop");  // the trace stays with tier 0
    llvm::Type *ptr = b_.getPtrTy(), *i32 = b_.getInt32Ty();
    auto callee = m_.getOrInsertFunction(
        "stator_host_call", llvm::FunctionType::get(i32, {ptr, ptr, b_.getInt64Ty(), ptr, i32}, false));
    Value* entry =
        b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), loops_, static_cast<uint64_t>(loop) * sizeof(HostLoop));
    llvm::CallInst* call = b_.CreateCall(callee, {entry, args, count, strides, b_.getInt32(mask)});
    if (b_.getIsFPConstrained()) call->addFnAttr(llvm::Attribute::StrictFP);
    if (fp_) b_.CreateStore(b_.CreateOr(b_.CreateLoad(i32, faults_), call), faults_);
}

// The generated code of one phase for iterations [begin, end): computes, keeps in slots, stores.
void NestEmitter::chunk_phase(int phase, Value* begin, Value* end) {
    std::vector<int> work;
    int inner = n_.full_depth() - 1;
    for (int i = 0; i < static_cast<int>(n_.stmts.size()); ++i) {
        const Stmt& s = n_.stmts[i];
        bool load = s.kind == StmtKind::Load || s.kind == StmtKind::Index;
        if (s.depth == 0 || dep_[i] != inner || calls_host(n_, i)) continue;
        if (load ? phase != 0 || phases_.slot[i] < 0 : phases_.phase[i] != phase) continue;
        if (s.kind == StmtKind::Store && phases_.into[s.in[0]] == i) continue;
        work.push_back(i);
    }
    if (work.empty()) return;
    span(begin, end, pick_lanes(work), false, [&](int lanes, Value* index) {
        std::vector<Val> vals(n_.stmts.size());
        OpContext c{b_, o_, lanes, faults_};
        Value* within = b_.CreateSub(index, begin);
        auto slot_of = [&](int i) {
            return b_.CreateGEP(element_type(c_, n_.stmts[i].dtype), chunk_slot(i), within);
        };
        auto need = [&](int i) {
            if (vals[i].v || outer_[i].v) return;
            const Stmt& s = n_.stmts[i];
            bool load = s.kind == StmtKind::Load || s.kind == StmtKind::Index;
            if (load)
                vals[i] = eval_here(i, lanes, index, vals);
            else
                vals[i] = {load_vector(element_type(c_, s.dtype), slot_of(i), lanes, align_of(s.dtype)),
                           false};
        };
        for (int i : work) {
            const Stmt& s = n_.stmts[i];
            for (int in : s.in) need(in);
            if (!vals[i].v) vals[i] = eval_here(i, lanes, index, vals);
            if (phases_.slot[i] < 0) continue;
            Value* v = s.dtype == DType::Bool ? as_bytes(c, vals[i]) : vals[i].v;
            b_.CreateAlignedStore(v, slot_of(i), llvm::Align(static_cast<uint64_t>(align_of(s.dtype))));
        }
    });
}

void NestEmitter::emit_chunked() {
    auto [begin, end] = range(inner_);
    Loop l = open_loop(begin, end, "chunk");
    Value* full = b_.CreateAdd(l.index, i64(kChunkElements));
    Value* stop = b_.CreateSelect(b_.CreateICmpSLT(full, end), full, end);
    Value* count = b_.CreateSub(stop, l.index);
    for (int k = 0; k < phases_.count; ++k) {
        chunk_phase(k, l.index, stop);
        for (int i = 0; i < static_cast<int>(n_.stmts.size()); ++i)
            if (n_.stmts[i].depth > 0 && calls_host(n_, i) && phases_.phase[i] == k)
                host_call(i, l.index, count);
    }
    close_loop(l, i64(kChunkElements));
}

}  // namespace stator::kernels::emit
