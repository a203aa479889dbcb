// Instructions of regions, less nests.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/llvm/regions/internal.h"
#include "kernels/region_abi.h"

namespace stator::kernels::emit {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

llvm::Align RegionEmitter::align_of(DType t) {
    return llvm::Align(static_cast<uint64_t>(std::min(graph::info(t).size, 8)));
}

Value* RegionEmitter::in_memory(DType t, Val v) {
    OpContext c = ops();
    return t == DType::Bool ? as_bytes(c, v) : v.v;
}

void RegionEmitter::inst(const Inst& i) {
    RegionVal v;
    OpContext c = ops();
    switch (i.op) {
        case RegionOp::Const: v.scalar = constant(i); break;
        case RegionOp::Pointwise: v.scalar = pointwise(i); break;
        case RegionOp::Call: {
            std::vector<Val> in;
            for (const ValueId o : i.in) in.push_back(value(o).scalar);
            v.scalar = call(i, in);
            break;
        }
        case RegionOp::CheckedAdd:
        case RegionOp::CheckedSub:
        case RegionOp::CheckedMul: v.scalar = checked(i); break;
        case RegionOp::FloorDiv:
        case RegionOp::FloorMod: v.scalar = floor_division(i); break;
        case RegionOp::Finite: finite(i); break;
        case RegionOp::Guard: {
            Value* holds = as_mask(c, value(i.in[0]).scalar);
            leave_if(i.ints[0] ? b_.CreateNot(holds) : holds, i.exit);
            break;
        }
        case RegionOp::Index: v.scalar = index(i); break;
        case RegionOp::Poll: poll(i); break;
        case RegionOp::Extent:
            v.scalar = {value(i.in[0]).extents[static_cast<size_t>(i.ints[0])], false};
            break;
        case RegionOp::View: v = view(i); break;
        case RegionOp::Load: {
            const DType t = type(i.in[0]).dtype;
            auto* load = b_.CreateAlignedLoad(element_type(c_, t), element(i, i.in.size() - 1), align_of(t));
            tag(load, i.in[0]);
            v.scalar = {load, false};
            break;
        }
        case RegionOp::Store: {
            const DType t = type(i.in[0]).dtype;
            tag(b_.CreateAlignedStore(in_memory(t, value(i.in.back()).scalar), element(i, i.in.size() - 2),
                                      align_of(t)),
                i.in[0]);
            break;
        }
        case RegionOp::Flatten: {
            const RegionVal& a = value(i.in[0]);
            v.address = a.address;
            Value* n = i64(1);
            for (Value* e : a.extents) n = b_.CreateMul(n, e);
            v.extents = {n};
            v.strides = {i64(graph::info(type(i.result).dtype).size)};
            break;
        }
        case RegionOp::Fma:
            v.scalar = fma({value(i.in[0]).scalar, value(i.in[1]).scalar, value(i.in[2]).scalar});
            break;
        case RegionOp::Part: v = part(i); break;
        case RegionOp::Reshape: {
            v.address = value(i.in[0]).address;
            for (size_t d = 1; d < i.in.size(); ++d) v.extents.push_back(number(i.in[d]));
            dense_strides(v, type(i.result).dtype);
            break;
        }
        case RegionOp::Nest: nest(i); break;
        case RegionOp::Pack: v.scalar = {nest(i), false}; break;
        case RegionOp::Scratch: v = scratch(i); break;
        case RegionOp::Save: v.scalar = save(i); break;
        case RegionOp::Restore: restore(i); break;
        case RegionOp::Undisturbed: v.scalar = {b_.CreateNot(wanted()), true}; break;
        case RegionOp::Trust: v.scalar = trust(); break;
        case RegionOp::Distrust: distrust(); break;
        case RegionOp::Watch: watch(); break;
        case RegionOp::Raised: v.scalar = raised(i); break;
        case RegionOp::Dot: v.scalar = dot(i); break;
        case RegionOp::Reduce: v.scalar = reduce(i); break;
        case RegionOp::Library:
        case RegionOp::Made: v = library(i); break;
        case RegionOp::NestLoad:
        case RegionOp::NestStore:
        case RegionOp::NestWhen:
        case RegionOp::NestWithin:
        case RegionOp::NestTake:
        case RegionOp::NestScatter:
        case RegionOp::NestAppend:
        case RegionOp::NestNext:
        case RegionOp::NestIndex: llvm_unreachable("only in nests");
    }
    if (i.result >= 0) values_[static_cast<size_t>(i.result)] = std::move(v);
}

// ---- scalars ----

Val RegionEmitter::constant(const Inst& i) {
    const DType t = type(i.result).dtype;
    const auto bits = static_cast<uint64_t>(i.ints[0]);
    llvm::Type* elt = element_type(c_, t);
    if (t == DType::Bool && bits <= 1) return {b_.getInt1(bits != 0), true};
    if (t == DType::C128) {
        const uint64_t words[] = {bits, static_cast<uint64_t>(i.ints[1])};
        return {llvm::ConstantInt::get(c_, llvm::APInt(128, words)), false};
    }
    const auto width = static_cast<unsigned>(8 * graph::info(t).size);
    const llvm::APInt raw(width, width == 64 ? bits : bits & ((uint64_t{1} << width) - 1));
    Value* whole = llvm::ConstantInt::get(c_, raw);
    if (elt->isIntegerTy()) return {whole, false};
    return {llvm::ConstantExpr::getBitCast(llvm::cast<llvm::Constant>(whole), elt), false};
}

Val RegionEmitter::pointwise(const Inst& i) {
    // x - 1 as x + -1: the form in which the optimizer compares addresses.
    const auto* k = i.in.size() == 2 ? llvm::dyn_cast<llvm::ConstantInt>(value(i.in[1]).scalar.v) : nullptr;
    if (k && i.pointwise == Op::Subtract && i.operand != DType::Bool)
        return {b_.CreateAdd(value(i.in[0]).scalar.v, llvm::ConstantInt::get(k->getType(), -k->getValue())),
                false};
    std::vector<Val> in;
    for (const ValueId v : i.in) in.push_back(value(v).scalar);
    OpContext c = ops();
    return compute(c, i.pointwise, i.operand, type(i.result).dtype, in);
}

Val RegionEmitter::fma(const std::vector<Val>& in) {
    llvm::Type* t = in[0].v->getType();
    std::vector<Value*> operands;
    for (const Val& v : in) operands.push_back(v.v);
    if (!b_.getIsFPConstrained()) return {b_.CreateIntrinsic(Intrinsic::fma, {t}, operands), false};
    constexpr auto id = Intrinsic::experimental_constrained_fma;
#if LLVM_VERSION_MAJOR >= 20
    auto* function = Intrinsic::getOrInsertDeclaration(&m_, id, {t});
#else
    auto* function = Intrinsic::getDeclaration(&m_, id, {t});
#endif
    return {b_.CreateConstrainedFPCall(function, operands), false};
}

Val RegionEmitter::checked(const Inst& i) {
    const bool is_signed = graph::is_signed(type(i.result).dtype);
    const auto pick = [&](Intrinsic::ID s, Intrinsic::ID u) { return is_signed ? s : u; };
    const Intrinsic::ID id =
        i.op == RegionOp::CheckedAdd   ? pick(Intrinsic::sadd_with_overflow, Intrinsic::uadd_with_overflow)
        : i.op == RegionOp::CheckedSub ? pick(Intrinsic::ssub_with_overflow, Intrinsic::usub_with_overflow)
                                       : pick(Intrinsic::smul_with_overflow, Intrinsic::umul_with_overflow);
    Value* both = b_.CreateBinaryIntrinsic(id, value(i.in[0]).scalar.v, value(i.in[1]).scalar.v);
    leave_if(b_.CreateExtractValue(both, 1), i.exit);
    return {b_.CreateExtractValue(both, 0), false};
}

// Rounded down, by way of the quotient that is rounded to zero. Powers of two are shifts and masks.
Val RegionEmitter::floor_division(const Inst& i) {
    const bool quotient = i.op == RegionOp::FloorDiv;
    Value *n = value(i.in[0]).scalar.v, *d = value(i.in[1]).scalar.v;
    llvm::Type* t = n->getType();
    llvm::Constant *zero = llvm::ConstantInt::get(t, 0), *minus_one = llvm::ConstantInt::getSigned(t, -1);
    const bool is_signed = graph::is_signed(type(i.result).dtype);
    if (const auto* k = llvm::dyn_cast<llvm::ConstantInt>(d);
        k && k->getValue().isPowerOf2() && !(is_signed && k->isNegative())) {
        Value* by = llvm::ConstantInt::get(t, k->getValue().logBase2());
        if (!quotient) return {b_.CreateAnd(n, llvm::ConstantInt::get(t, k->getValue() - 1)), false};
        return {is_signed ? b_.CreateAShr(n, by) : b_.CreateLShr(n, by), false};
    }
    leave_if(b_.CreateICmpEQ(d, zero), i.exit);
    if (!is_signed) return {quotient ? b_.CreateUDiv(n, d) : b_.CreateURem(n, d), false};
    Value* reversed = b_.CreateICmpEQ(d, minus_one);
    if (quotient) {
        Value* least = llvm::ConstantInt::get(t, llvm::APInt::getSignedMinValue(t->getIntegerBitWidth()));
        leave_if(b_.CreateAnd(reversed, b_.CreateICmpEQ(n, least)), i.exit);
    } else {
        d = b_.CreateSelect(reversed, llvm::ConstantInt::get(t, 1), d);  // 0 in any case, and no trap
    }
    Value *q = quotient ? b_.CreateSDiv(n, d) : nullptr, *r = b_.CreateSRem(n, d);
    Value* down = b_.CreateAnd(b_.CreateICmpNE(r, zero), b_.CreateICmpSLT(b_.CreateXor(r, d), zero));
    if (quotient) return {b_.CreateAdd(q, b_.CreateSExt(down, t)), false};
    return {b_.CreateAdd(r, b_.CreateSelect(down, d, zero)), false};
}

// -n <= i < n if and only if the wrapped index is below n as unsigned numbers.
Val RegionEmitter::index(const Inst& i) {
    Value *at = number(i.in[0]), *n = number(i.in[1]);
    Value* wrapped = b_.CreateSelect(b_.CreateICmpSLT(at, i64(0)), b_.CreateAdd(at, n), at);
    leave_if(b_.CreateICmpUGE(wrapped, n), i.exit);
    return {wrapped, false};
}

void RegionEmitter::finite(const Inst& i) {
    const DType t = type(i.in[0]).dtype;
    OpContext c = ops();
    Val v = value(i.in[0]).scalar;
    if (graph::is_complex(t)) {
        const int half = t == DType::C64 ? 32 : 64;
        llvm::Type* part = t == DType::C64 ? b_.getFloatTy() : b_.getDoubleTy();
        llvm::Type* bits = b_.getIntNTy(static_cast<unsigned>(half));
        Value* re = b_.CreateBitCast(b_.CreateTrunc(v.v, bits), part);
        Value* im = b_.CreateBitCast(
            b_.CreateTrunc(b_.CreateLShr(v.v, llvm::ConstantInt::get(v.v->getType(), half)), bits), part);
        for (Value* p : {re, im}) {
            Value* magnitude = b_.CreateUnaryIntrinsic(Intrinsic::fabs, p);
            leave_if(b_.CreateFCmpUEQ(magnitude, llvm::ConstantFP::getInfinity(part)), i.exit);
        }
        return;
    }
    if (t == DType::F16) v = compute(c, Op::Cast, DType::F16, DType::F32, {v});
    Value* bad = not_finite(v.v);
    if (i.in.size() == 1) return leave_if(bad, i.exit);
    llvm::BasicBlock *look = new_block("look"), *next = new_block("go");
    b_.CreateCondBr(bad, look, next, unlikely());
    b_.SetInsertPoint(look);
    Value *a = value(i.in[1]).scalar.v, *b = value(i.in.back()).scalar.v;
    Value* raised = b_.CreateCall(raised_function(v.v->getType()), {v.v, a, b});
    b_.CreateCondBr(raised, exit_block(i.exit), next);
    b_.SetInsertPoint(next);
}

Value* RegionEmitter::not_finite(Value* x) {
    return b_.CreateFCmpUEQ(b_.CreateUnaryIntrinsic(Intrinsic::fabs, x),
                            llvm::ConstantFP::getInfinity(x->getType()));
}

// Whether an operation on a and b that gave r, which is not finite, raised a flag. One function for all
// checks, because code that hardly ever runs should not take long to compile.
llvm::Function* RegionEmitter::raised_function(llvm::Type* t) {
    const std::string name = o_.prefix + (t->isFloatTy() ? "_raised_f32" : "_raised_f64");
    if (llvm::Function* f = m_.getFunction(name)) return f;
    auto* f = llvm::Function::Create(llvm::FunctionType::get(b_.getInt1Ty(), {t, t, t}, false),
                                     llvm::Function::InternalLinkage, name, m_);
    f->addFnAttr(llvm::Attribute::NoUnwind);
    f->addFnAttr(llvm::Attribute::NoInline);
    f->addFnAttr(llvm::Attribute::Cold);
    f->addFnAttr(kScalarWork);
    const Builder::InsertPointGuard here(b_);
    b_.SetInsertPoint(llvm::BasicBlock::Create(c_, "entry", f));
    b_.SetCurrentDebugLocation(llvm::DebugLoc());
    Value *r = f->getArg(0), *a = f->getArg(1), *b = f->getArg(2);
    const unsigned bits = t->isFloatTy() ? 32 : 64;
    const auto signals = [&](Value* x) {
        Value* quiet = b_.CreateAnd(b_.CreateBitCast(x, b_.getIntNTy(bits)),
                                    b_.getIntN(bits, uint64_t{1} << (bits == 32 ? 22 : 51)));
        return b_.CreateAnd(b_.CreateFCmpUNO(x, x), b_.CreateICmpEQ(quiet, b_.getIntN(bits, 0)));
    };
    Value* of_nan = b_.CreateOr(signals(a), signals(b));
    Value* of_others =
        b_.CreateOr(b_.CreateFCmpUNO(r, r), b_.CreateNot(b_.CreateOr(not_finite(a), not_finite(b))));
    b_.CreateRet(b_.CreateSelect(b_.CreateFCmpUNO(a, b), of_nan, of_others));
    return f;
}

Value* RegionEmitter::wanted() {
    auto* flag = b_.CreateAlignedLoad(b_.getInt32Ty(), breaker_, llvm::Align(4), /*isVolatile=*/true);
    Value* bits = b_.CreateAnd(flag, mask_);
    if (disturbed_)
        bits = b_.CreateOr(bits, b_.CreateAlignedLoad(b_.getInt32Ty(), disturbed_, llvm::Align(4), true));
    return b_.CreateICmpNE(bits, b_.getInt32(0));
}
void RegionEmitter::poll(const Inst& i) {
    // For the compiler alone: nothing that was loaded is known any more.
    if (!i.ints.empty() && i.ints[0] == 1)
        b_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent, llvm::SyncScope::SingleThread);
    Value* leaves = wanted();
    if (leave_ && i.ints.size() > 1) {
        Value* asked = b_.CreateAlignedLoad(b_.getInt32Ty(), leave_, llvm::Align(4), /*isVolatile=*/true);
        leaves = b_.CreateOr(leaves, b_.CreateICmpNE(asked, b_.getInt32(0)));
    }
    leave_if(leaves, i.exit);
}

// ---- arrays ----

// For each cell of the region's own memory the first of those that some `scratch` has in common with it.
std::vector<int64_t> RegionEmitter::shared_cells() const {
    std::vector<int64_t> first(static_cast<size_t>(graph::scratch_cells(r_)));
    std::iota(first.begin(), first.end(), 0);
    const auto find = [&](int64_t cell) {
        while (first[static_cast<size_t>(cell)] != cell) cell = first[static_cast<size_t>(cell)];
        return cell;
    };
    for (const graph::Block& b : r_.blocks)
        for (const Inst& i : b.insts)
            if (i.op == RegionOp::Scratch && i.ints.size() > 1)
                for (int64_t k = 1; k < i.ints[1]; ++k) {
                    const int64_t a = find(i.ints[0]), other = find(i.ints[0] + k);
                    first[static_cast<size_t>(std::max(a, other))] = std::min(a, other);
                }
    for (size_t k = 0; k < first.size(); ++k) first[k] = find(static_cast<int64_t>(k));
    return first;
}

// Inputs that are written overlap no others, nor does the region's own memory: one alias scope for each. What
// takes turns in a cell of that memory has one scope, so that what is read of the one stays in front of what
// is stored to the other.
void RegionEmitter::find_roots() {
    root_.assign(r_.types.size(), -1);
    int roots = 0;
    const std::vector<int64_t> shared = shared_cells();
    std::vector<int> of_cell(shared.size(), -1);
    for (const graph::RegionInput& in : r_.inputs)
        if (type(in.value).is_array()) root_[static_cast<size_t>(in.value)] = roots++;
    for (const BlockId b : cfg_.order)
        for (const Inst& i : r_.blocks[static_cast<size_t>(b)].insts) {
            if (i.op == RegionOp::View || i.op == RegionOp::Part || i.op == RegionOp::Flatten ||
                i.op == RegionOp::Reshape)
                root_[static_cast<size_t>(i.result)] = root_[static_cast<size_t>(i.in[0])];
            if (i.op == RegionOp::Made) root_[static_cast<size_t>(i.result)] = roots++;
            if (i.op == RegionOp::Scratch) {
                int& root = of_cell[static_cast<size_t>(shared[static_cast<size_t>(i.ints[0])])];
                if (root < 0) root = roots++;
                root_[static_cast<size_t>(i.result)] = root;
            }
        }
    if (roots < 2) return root_.assign(r_.types.size(), -1);
    llvm::MDBuilder metadata(c_);
    llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain("arrays");
    std::vector<llvm::Metadata*> scopes;
    for (int k = 0; k < roots; ++k) scopes.push_back(metadata.createAnonymousAliasScope(domain));
    for (size_t k = 0; k < scopes.size(); ++k) {
        in_scope_.push_back(llvm::MDNode::get(c_, {scopes[k]}));
        std::vector<llvm::Metadata*> others = scopes;
        others.erase(others.begin() + static_cast<ptrdiff_t>(k));
        out_of_scope_.push_back(llvm::MDNode::get(c_, others));
    }
}

void RegionEmitter::tag(llvm::Instruction* access, ValueId array) {
    const int root = root_[static_cast<size_t>(array)];
    if (root < 0) return;
    access->setMetadata(llvm::LLVMContext::MD_alias_scope, in_scope_[static_cast<size_t>(root)]);
    access->setMetadata(llvm::LLVMContext::MD_noalias, out_of_scope_[static_cast<size_t>(root)]);
}

// Address `index` steps of `stride` bytes behind p. Where elements are adjacent the multiplication is left to
// the address, through which the optimizer sees that one iteration's a[i] is the next one's a[i - 1].
Value* RegionEmitter::step(Value* p, Value* index, Value* stride, DType t) {
    const auto* bytes = llvm::dyn_cast<llvm::ConstantInt>(stride);
    if (bytes && bytes->getSExtValue() == graph::info(t).size)
        return b_.CreateGEP(element_type(c_, t), p, index);
    return b_.CreateGEP(b_.getInt8Ty(), p, b_.CreateMul(index, stride, "", true, true));
}

// Address of the element of in[0] at in[1], ... in[indices].
Value* RegionEmitter::element(const Inst& i, size_t indices) {
    const RegionVal& a = value(i.in[0]);
    Value* p = a.address;
    for (size_t d = 0; d < indices; ++d) p = step(p, number(i.in[d + 1]), a.strides[d], type(i.in[0]).dtype);
    return p;
}

Value* RegionEmitter::times(Value* stride, Value* step) {
    const auto* k = llvm::dyn_cast<llvm::ConstantInt>(step);
    if (k && k->isOne()) return stride;
    Value* product = b_.CreateMul(step, stride);
    if (k && wide_.contains(stride)) wide_.insert(product);
    return product;
}

RegionVal RegionEmitter::view(const Inst& i) {
    const RegionVal a = value(i.in[0]);
    RegionVal v;
    v.address = a.address;
    // Rows of a contiguous array are, and so is what is one and the same everywhere.
    v.dense = a.dense || a.extents.empty();
    int last = -1;
    const auto operand = [&](int k) { return number(i.in[static_cast<size_t>(k)]); };
    for (const graph::ViewAxis& x : r_.views[static_cast<size_t>(i.ints[0])]) {
        if (x.kind == graph::ViewAxis::New) {
            v.extents.push_back(operand(x.count));
            v.strides.push_back(i64(0));
            v.dense = v.dense && a.extents.empty();
            continue;
        }
        const auto axis = static_cast<size_t>(x.axis);
        Value* stride = a.strides[axis];
        if (x.start) v.address = step(v.address, operand(x.start), stride, type(i.in[0]).dtype);
        if (x.kind == graph::ViewAxis::Drop) {
            v.dense = v.dense && v.extents.empty();
            continue;
        }
        const bool whole = !x.count || operand(x.count) == a.extents[axis];
        v.dense = v.dense && (!x.step || operand(x.step) == i64(1)) &&
                  (v.extents.empty() || (x.axis > last && whole));
        last = x.axis;
        v.extents.push_back(x.count ? operand(x.count) : a.extents[axis]);
        v.strides.push_back(x.step ? times(stride, operand(x.step)) : stride);
    }
    return v;
}

// Complex numbers lie in memory as two floats.
RegionVal RegionEmitter::part(const Inst& i) {
    RegionVal v = value(i.in[0]);
    const int size = graph::info(type(i.result).dtype).size;
    v.address =
        b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), v.address, static_cast<uint64_t>(size * i.ints[0]));
    part_of_[i.result] = {i.in[0], static_cast<int>(i.ints[0])};
    return v;
}

// In RegionArgs::scratch.
Value* RegionEmitter::cell(int64_t number, size_t offset) {
    static_assert(sizeof(Cell) == 16);
    return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), scratch_,
                                         static_cast<uint64_t>(number) * sizeof(Cell) + offset);
}
// The first of the instruction's cells in which no array lies that it is to keep clear of.
Value* RegionEmitter::free_cell(const Inst& i) {
    const auto rank = static_cast<size_t>(type(i.result).rank);
    const int64_t cells = i.ints.size() > 1 ? i.ints[1] : 1;
    Value* chosen = cell(i.ints[0] + cells - 1);
    for (int64_t k = i.ints[0] + cells - 2; k >= i.ints[0]; --k) {
        Value* memory = b_.CreateLoad(b_.getInt64Ty(), cell(k, offsetof(Cell, memory)));
        Value* size = b_.CreateLoad(b_.getInt64Ty(), cell(k, offsetof(Cell, bytes)));
        Value* free = b_.getTrue();
        for (size_t n = rank; n < i.in.size(); ++n) {
            Value* data = b_.CreatePtrToInt(value(i.in[n]).address, b_.getInt64Ty());
            free = b_.CreateAnd(free, b_.CreateICmpUGE(b_.CreateSub(data, memory), size));
        }
        chosen = b_.CreateSelect(free, cell(k), chosen);
    }
    return chosen;
}

// The cell's memory, grown when it is too small.
Value* RegionEmitter::ensure(Value* cell, Value* bytes, llvm::BasicBlock* failed) {
    Value* has = b_.CreateLoad(
        b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), cell, offsetof(Cell, bytes)), "has");
    llvm::BasicBlock *more = new_block("more"), *enough = new_block("enough");
    b_.CreateCondBr(b_.CreateICmpSLT(has, bytes), more, enough, unlikely());
    b_.SetInsertPoint(more);
    auto* type = llvm::FunctionType::get(b_.getInt8Ty(), {b_.getPtrTy(), b_.getInt64Ty()}, false);
    Value* ok = b_.CreateCall(type, grow_, {cell, bytes});
    // C++ returns a bool in the low byte.
    b_.CreateCondBr(b_.CreateICmpEQ(ok, b_.getInt8(0)), failed, enough, unlikely());
    b_.SetInsertPoint(enough);
    return b_.CreateLoad(
        b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), cell, offsetof(Cell, memory)), "memory");
}

// An empty array needs no memory.
RegionVal RegionEmitter::scratch(const Inst& i) {
    const RegionType t = type(i.result);
    RegionVal v;
    const auto rank = static_cast<size_t>(t.rank);
    v.extents.resize(rank);
    v.strides.resize(rank);
    Value *bytes = i64(graph::info(t.dtype).size), *overflow = b_.getFalse();
    for (size_t d = rank; d-- > 0;) {
        v.extents[d] = number(i.in[d]);
        v.strides[d] = bytes;
        if (d + 1 < rank) wide_.insert(bytes);
        Value* both = b_.CreateBinaryIntrinsic(Intrinsic::smul_with_overflow, bytes, v.extents[d]);
        bytes = b_.CreateExtractValue(both, 0);
        overflow = b_.CreateOr(overflow, b_.CreateExtractValue(both, 1));
    }
    leave_if(overflow, i.exit);
    v.address = ensure(free_cell(i), bytes, exit_block(i.exit));
    v.dense = true;
    return v;
}

// ---- calls ----

Value* RegionEmitter::call_function(int call) {
    return b_.CreateLoad(
        b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), calls_,
                                                     static_cast<uint64_t>(call) * sizeof(RegionCallTarget) +
                                                         offsetof(RegionCallTarget, fn)));
}

Value* RegionEmitter::call_data(int call) {
    return b_.CreateLoad(
        b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), calls_,
                                                     static_cast<uint64_t>(call) * sizeof(RegionCallTarget) +
                                                         offsetof(RegionCallTarget, data)));
}

// A scalar function in registers, or a ufunc's loop on one element in memory.
Val RegionEmitter::call(const Inst& i, const std::vector<Val>& operands) {
    const auto target = static_cast<int>(i.ints[0]);
    const graph::RegionCall& c = r_.calls[static_cast<size_t>(target)];
    if (c.kind == graph::RegionCall::Scalar) {
        std::vector<Value*> in;
        for (const Val& v : operands) in.push_back(v.v);
        std::vector<llvm::Type*> types(in.size(), b_.getDoubleTy());
        auto* type = llvm::FunctionType::get(b_.getDoubleTy(), types, false);
        auto* called = b_.CreateCall(type, call_function(target), in);
        called->setDoesNotThrow();
        called->setDoesNotAccessMemory();
        called->addFnAttr(llvm::Attribute::WillReturn);
        return {called, false};
    }
    const size_t n = operands.size() + 1;
    auto* pointers_type = llvm::ArrayType::get(b_.getPtrTy(), n);
    auto* strides_type = llvm::ArrayType::get(b_.getInt64Ty(), n);
    Value *pointers = slot(pointers_type, "pointers"), *strides = slot(strides_type, "strides"),
          *one = slot(b_.getInt64Ty(), "one");
    b_.CreateStore(i64(1), one);
    std::vector<Value*> cells;
    for (size_t k = 0; k < n; ++k) {
        const DType t = c.types[k];
        auto* cell = slot(element_type(c_, t), "cell");
        cell->setAlignment(llvm::Align(16));
        cells.push_back(cell);
        if (k + 1 < n) b_.CreateStore(in_memory(t, operands[k]), cell);
        b_.CreateStore(cell, b_.CreateConstInBoundsGEP2_64(pointers_type, pointers, 0, k));
        b_.CreateStore(i64(graph::info(t).size), b_.CreateConstInBoundsGEP2_64(strides_type, strides, 0, k));
    }
    llvm::Type* ptr = b_.getPtrTy();
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {ptr, ptr, ptr, ptr}, false);
    b_.CreateCall(type, call_function(target), {pointers, one, strides, call_data(target)})
        ->setDoesNotThrow();
    return {b_.CreateLoad(element_type(c_, c.types.back()), cells.back()), false};
}

// The loop with an accumulator that stands still is how NumPy reduces.
Val RegionEmitter::reduce(const Inst& i) {
    const RegionVal& x = value(i.in[0]);
    const DType t = type(i.result).dtype;
    llvm::Type *elt = element_type(c_, t), *ptr = b_.getPtrTy();
    auto* acc = slot(elt, "acc");
    acc->setAlignment(llvm::Align(16));
    b_.CreateStore(in_memory(t, value(i.in[1]).scalar), acc);
    llvm::BasicBlock *some = new_block("some"), *done = new_block("reduced");
    b_.CreateCondBr(b_.CreateICmpSGT(x.extents[0], i64(0)), some, done);
    b_.SetInsertPoint(some);
    auto* pointers_type = llvm::ArrayType::get(ptr, 3);
    auto* strides_type = llvm::ArrayType::get(b_.getInt64Ty(), 3);
    Value *pointers = slot(pointers_type, "pointers"), *strides = slot(strides_type, "strides"),
          *count = slot(b_.getInt64Ty(), "count");
    b_.CreateStore(x.extents[0], count);
    Value* const at[] = {acc, x.address, acc};
    Value* const by[] = {i64(0), x.strides[0], i64(0)};
    for (size_t k = 0; k < 3; ++k) {
        b_.CreateStore(at[k], b_.CreateConstInBoundsGEP2_64(pointers_type, pointers, 0, k));
        b_.CreateStore(by[k], b_.CreateConstInBoundsGEP2_64(strides_type, strides, 0, k));
    }
    const auto target = static_cast<int>(i.ints[0]);
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {ptr, ptr, ptr, ptr}, false);
    b_.CreateCall(type, call_function(target), {pointers, count, strides, call_data(target)})
        ->setDoesNotThrow();
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    return {b_.CreateLoad(elt, acc), false};
}

}  // namespace stator::kernels::emit
