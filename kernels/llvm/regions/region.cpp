// The region emitter: blocks become LLVM blocks, parameters phi nodes, arrays one value for the address and
// one for each extent and stride.
//
// An exit becomes one block, however many instructions lead to it: its values dominate all of them. They are
// stored into RegionArgs::out and the exit's number is returned; branches to exits are marked unlikely.
//
// Scalar code is silent (nobody asks which flags it raised), so it is ordinary LLVM arithmetic without any
// fast-math flag, which the optimizer may move. Only nests that report flags need the strict kind; they
// become functions of their own (llvm/regions/nest.cpp).
#include "kernels/llvm/regions/region.h"

#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <iterator>

#include "kernels/llvm/regions/internal.h"
#include "kernels/region_abi.h"

namespace stator::kernels {

std::unique_ptr<llvm::Module> emit_llvm_region(llvm::LLVMContext& context, const graph::Region& region,
                                               const EmitOptions& options) {
    auto module = std::make_unique<llvm::Module>(options.prefix, context);
    emit::RegionEmitter(*module, region, options).emit();
    return module;
}

namespace emit {

using llvm::BasicBlock;
using llvm::Value;

RegionEmitter::RegionEmitter(llvm::Module& m, const Region& r, const EmitOptions& options)
    : m_(m), c_(m.getContext()), r_(r), o_(options), b_(c_) {}

void RegionEmitter::emit() {
    cfg_ = graph::region_cfg(r_);
    find_roots();
    values_.resize(r_.types.size());
    blocks_.resize(r_.blocks.size());
    exits_.resize(r_.exits.size());
    auto* type = llvm::FunctionType::get(b_.getInt32Ty(), {b_.getPtrTy()}, false);
    f_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, o_.prefix + "_region", m_);
    f_->addFnAttr(llvm::Attribute::NoUnwind);
    b_.SetInsertPoint(new_block("entry"));
    prologue();
    inputs();
    blocks_[0] = b_.GetInsertBlock();
    ahead_ = find_dots_ahead(r_, cfg_);
    for (const auto& [where, ahead] : ahead_)
        results_[&ahead] = {slot(b_.getInt64Ty(), "first"), slot(b_.getInt64Ty(), "results")};
    for (const BlockId id : cfg_.order)
        if (id != 0) {
            blocks_[static_cast<size_t>(id)] = new_block("b");
            parameters(id);
        }
    for (const BlockId id : cfg_.order) block(id);
    emit_exits();
}

// ---- frame ----

BasicBlock* RegionEmitter::new_block(const char* name) { return BasicBlock::Create(c_, name, f_); }

llvm::AllocaInst* RegionEmitter::slot(llvm::Type* t, const char* name) {
    Builder entry(&f_->getEntryBlock(), f_->getEntryBlock().begin());
    return entry.CreateAlloca(t, nullptr, name);
}

Value* RegionEmitter::field(size_t offset, llvm::Type* t, const char* name) {
    return b_.CreateLoad(t, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), args_, offset), name);
}

void RegionEmitter::prologue() {
    llvm::Type* ptr = b_.getPtrTy();
    args_ = f_->getArg(0);
    arrays_ = field(offsetof(RegionArgs, arrays), ptr, "arrays");
    dims_ = field(offsetof(RegionArgs, dims), ptr, "dims");
    scalars_ = field(offsetof(RegionArgs, scalars), ptr, "scalars");
    out_ = field(offsetof(RegionArgs, out), ptr, "out");
    calls_ = field(offsetof(RegionArgs, calls), ptr, "calls");
    breaker_ = field(offsetof(RegionArgs, breaker), ptr, kBreakerName);
    mask_ = field(offsetof(RegionArgs, breaker_mask), b_.getInt32Ty(), "mask");
    const bool routines = std::ranges::any_of(
        r_.calls, [](const graph::RegionCall& c) { return c.kind == graph::RegionCall::Library; });
    if (routines) disturbed_ = field(offsetof(RegionArgs, disturbed), ptr, "disturbed");
    scratch_ = field(offsetof(RegionArgs, scratch), ptr, "scratch");
    grow_ = field(offsetof(RegionArgs, grow), ptr, "grow");
    if (std::ranges::any_of(r_.blocks, [](const graph::Block& b) { return b.steps > 0; })) {
        leave_ = field(offsetof(RegionArgs, leave), ptr, "leave");
        steps_at_ = field(offsetof(RegionArgs, steps), ptr, "steps_at");
        steps_ = slot(b_.getInt64Ty(), "steps");
        b_.CreateStore(i64(0), steps_);
    }
    faults_ = slot(b_.getInt32Ty(), "faults");
    b_.CreateStore(b_.getInt32(0), faults_);
}

void RegionEmitter::inputs() {
    int arrays = 0, scalars = 0, dim = 0;
    for (const graph::RegionInput& in : r_.inputs) {
        const RegionType t = type(in.value);
        if (t.is_array()) {
            input_array(in, arrays++, dim);
            continue;
        }
        Value* at =
            b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), scalars_, static_cast<uint64_t>(scalars++) * 16);
        values_[static_cast<size_t>(in.value)].scalar = {
            b_.CreateAlignedLoad(element_type(c_, t.dtype), at, llvm::Align(8)), false};
    }
}

// Strides of contiguous arrays are computed: the optimizer sees how they relate to extents.
void RegionEmitter::input_array(const graph::RegionInput& in, int index, int& dim) {
    const RegionType t = type(in.value);
    RegionVal& v = values_[static_cast<size_t>(in.value)];
    v.address = b_.CreateLoad(
        b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), arrays_, static_cast<uint64_t>(index)));
    const auto rank = static_cast<size_t>(t.rank);
    const auto load = [&](size_t i) {
        return b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), dims_,
                                                                            static_cast<uint64_t>(dim) + i));
    };
    for (size_t d = 0; d < rank; ++d) v.extents.push_back(load(d));
    v.strides.resize(rank);
    Value* dense = i64(graph::info(t.dtype).size);
    for (size_t d = rank; d-- > 0;) {
        v.strides[d] = in.contiguous ? dense : load(rank + d);
        if (in.contiguous && d + 1 < rank) wide_.insert(dense);
        if (in.contiguous && d > 0) dense = b_.CreateMul(dense, v.extents[d], "", true, true);
    }
    v.dense = in.contiguous;
    dim += 2 * t.rank;
}

// ---- control flow ----

RegionVal RegionEmitter::parameter(RegionType t) {
    RegionVal v;
    if (!t.is_array()) {
        const bool mask = t.dtype == DType::Bool;
        v.scalar = {b_.CreatePHI(mask ? b_.getInt1Ty() : element_type(c_, t.dtype), 2), mask};
        return v;
    }
    v.address = b_.CreatePHI(b_.getPtrTy(), 2);
    v.dense = true;
    for (int d = 0; d < t.rank; ++d) v.extents.push_back(b_.CreatePHI(b_.getInt64Ty(), 2));
    for (int d = 0; d < t.rank; ++d) v.strides.push_back(b_.CreatePHI(b_.getInt64Ty(), 2));
    return v;
}

void RegionEmitter::parameters(BlockId id) {
    b_.SetInsertPoint(blocks_[static_cast<size_t>(id)]);
    for (const ValueId p : r_.blocks[static_cast<size_t>(id)].params)
        values_[static_cast<size_t>(p)] = parameter(type(p));
}

void RegionEmitter::block(BlockId id) {
    const graph::Block& b = r_.blocks[static_cast<size_t>(id)];
    b_.SetInsertPoint(blocks_[static_cast<size_t>(id)]);
    if (b.steps > 0)
        b_.CreateStore(b_.CreateAdd(b_.CreateLoad(b_.getInt64Ty(), steps_), i64(b.steps)), steps_);
    for (size_t k = 0; k < b.insts.size(); ++k) {
        here_ = {id, k};
        inst(b.insts[k]);
    }
    graph::for_edges(b, [&](const graph::Edge& e) { forget_dots(id, e); });
    terminator(b);
}

void RegionEmitter::pass(const RegionVal& parameter, const RegionVal& v, RegionType t, BasicBlock* from) {
    const auto add = [&](Value* phi, Value* in) { llvm::cast<llvm::PHINode>(phi)->addIncoming(in, from); };
    if (!t.is_array()) {
        OpContext c = ops();
        add(parameter.scalar.v, t.dtype == DType::Bool ? as_mask(c, v.scalar) : v.scalar.v);
        return;
    }
    add(parameter.address, v.address);
    for (size_t d = 0; d < v.extents.size(); ++d) {
        add(parameter.extents[d], v.extents[d]);
        add(parameter.strides[d], v.strides[d]);
    }
}

void RegionEmitter::arguments(const graph::Edge& e, BasicBlock* from) {
    const auto& params = r_.blocks[static_cast<size_t>(e.to)].params;
    for (size_t k = 0; k < params.size(); ++k)
        pass(value(params[k]), value(e.args[k]), type(params[k]), from);
}

void RegionEmitter::terminator(const graph::Block& b) {
    const graph::Terminator& t = b.end;
    if (t.kind == graph::Terminator::Leave) {
        b_.CreateBr(exit_block(t.exit));
        return;
    }
    BasicBlock* then = blocks_[static_cast<size_t>(t.then.to)];
    if (t.kind == graph::Terminator::Jump) {
        arguments(t.then, b_.GetInsertBlock());
        b_.CreateBr(then);
        return;
    }
    OpContext c = ops();
    Value* cond = as_mask(c, value(t.cond).scalar);
    // Two edges into one block need two predecessors.
    BasicBlock* other = blocks_[static_cast<size_t>(t.other.to)];
    BasicBlock* middle = then == other ? new_block("edge") : nullptr;
    arguments(t.then, b_.GetInsertBlock());
    if (!middle) arguments(t.other, b_.GetInsertBlock());
    b_.CreateCondBr(cond, then, middle ? middle : other);
    if (!middle) return;
    b_.SetInsertPoint(middle);
    arguments(t.other, middle);
    b_.CreateBr(other);
}

// ---- exits ----

BasicBlock* RegionEmitter::exit_block(int exit) {
    if (const BlockId to = r_.exits[static_cast<size_t>(exit)].to; to >= 0)
        return blocks_[static_cast<size_t>(to)];
    BasicBlock*& block = exits_[static_cast<size_t>(exit)];
    if (!block) block = new_block("exit");
    return block;
}

// What goes into which slot of RegionArgs::out.
std::vector<RegionEmitter::ExitStore> RegionEmitter::exit_stores(int exit) const {
    std::vector<ExitStore> out;
    const auto put = [&](Value* v, bool mask = false) { out.push_back({out.size(), v, mask}); };
    for (const ValueId id : r_.exits[static_cast<size_t>(exit)].values) {
        const RegionVal& v = value(id);
        if (!type(id).is_array()) {
            put(v.scalar.v, v.scalar.mask);
            continue;
        }
        put(v.address);
        for (Value* n : v.extents) put(n);
        for (Value* s : v.strides) put(s);
    }
    return out;
}

void RegionEmitter::emit_stores(const std::vector<ExitStore>& stores) {
    for (const ExitStore& s : stores)
        b_.CreateAlignedStore(s.mask ? b_.CreateZExt(s.value, b_.getInt8Ty()) : s.value,
                              b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), out_, 16 * s.slot),
                              llvm::Align(8));
}

// Neighbouring exits list mostly the same values: what all of a group store is stored in one place.
void RegionEmitter::emit_exits() {
    std::vector<int> used;
    for (size_t x = 0; x < exits_.size(); ++x)
        if (exits_[x]) used.push_back(static_cast<int>(x));
    for (size_t first = 0; first < used.size();) {
        std::vector<ExitStore> common = exit_stores(used[first]);
        size_t end = first + 1;
        for (; end < used.size(); ++end) {
            const std::vector<ExitStore> next = exit_stores(used[end]);
            std::vector<ExitStore> both;
            std::set_intersection(common.begin(), common.end(), next.begin(), next.end(),
                                  std::back_inserter(both));
            if (2 * both.size() < std::max(common.size(), next.size())) break;
            common = std::move(both);
        }
        emit_exit_group(std::vector<int>(used.begin() + static_cast<ptrdiff_t>(first),
                                         used.begin() + static_cast<ptrdiff_t>(end)),
                        common);
        first = end;
    }
}

void RegionEmitter::emit_exit_group(const std::vector<int>& group, const std::vector<ExitStore>& common) {
    BasicBlock* leave = new_block("leave");
    b_.SetInsertPoint(leave);
    auto* number = b_.CreatePHI(b_.getInt32Ty(), static_cast<unsigned>(group.size()));
    emit_stores(common);
    if (steps_) b_.CreateStore(b_.CreateLoad(b_.getInt64Ty(), steps_), steps_at_);
    b_.CreateRet(number);
    for (const int exit : group) {
        BasicBlock* at = exits_[static_cast<size_t>(exit)];
        b_.SetInsertPoint(at);
        const std::vector<ExitStore> all = exit_stores(exit);
        std::vector<ExitStore> own;
        std::set_difference(all.begin(), all.end(), common.begin(), common.end(), std::back_inserter(own));
        emit_stores(own);
        const int returns = r_.exits[static_cast<size_t>(exit)].returns;
        number->addIncoming(b_.getInt32(static_cast<uint32_t>(returns < 0 ? exit : returns)), at);
        b_.CreateBr(leave);
    }
}

llvm::MDNode* RegionEmitter::unlikely() { return llvm::MDBuilder(c_).createBranchWeights(1, 1 << 20); }

void RegionEmitter::leave_if(Value* bad, int exit) {
    BasicBlock* next = new_block("go");
    b_.CreateCondBr(bad, exit_block(exit), next, unlikely());
    b_.SetInsertPoint(next);
}

}  // namespace emit
}  // namespace stator::kernels
