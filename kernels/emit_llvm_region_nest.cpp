// Nests of regions: whole-array statements as loops.
//
// Loops run over the axes in C order, the innermost one in vectors where every element it touches is adjacent
// to the one before (or is one and the same, for what is read). Whether that holds is known from the strides
// or looked at before each row; where it does not, the row is done element by element. What does not fill a
// vector is done with masks: lanes past the end compute the first of the remaining points once more, so they
// raise no flag which that point does not raise, and are not stored.
//
// Every nest is a function of its own, shared by all nests that read the same: loops that exist in two
// versions hold most statements twice. In those that report flags nothing can move between the clearing and
// the reading of flags, while the rest of the region is ordinary arithmetic.
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <utility>

#include "kernels/emit_llvm_flags.h"
#include "kernels/emit_llvm_region_internal.h"

namespace stator::kernels::emit {

using llvm::BasicBlock;
using llvm::Value;

constexpr size_t kShortBody = 16;

// Its size where it is not in the list.
template <class T>
size_t index_in(const std::vector<T>& list, T v) {
    return static_cast<size_t>(std::find(list.begin(), list.end(), v) - list.begin());
}

class RegionNest {
  public:
    RegionNest(RegionEmitter& e, const Inst& nest)
        : e_(e), b_(e.b_), nest_(nest), body_(e.r_.nests[static_cast<size_t>(nest.ints[0])]) {}
    void emit();

  private:
    struct Row {  // of an array, at the current indices of the outer axes
        ValueId array;
        Value* address;
        bool stored = false;
    };
    struct LoopBlocks {
        BasicBlock *head, *exit;
        llvm::PHINode* index;
        Value *end, *step;
    };

    std::string key(const std::vector<ValueId>& free, const std::vector<Value*>& arguments);
    llvm::Function* function(const std::vector<ValueId>& free, const std::vector<Value*>& arguments);
    void swap_in(llvm::Function* f, const std::vector<ValueId>& free, const std::vector<Value*>& arguments);
    std::vector<ValueId> free_values() const;
    static std::vector<Value**> parts(RegionVal& v);
    void loops(size_t axis);
    void row();
    void body(int lanes, Value* index, Value* mask);
    Val evaluate(const Inst& i, int lanes, Value* index, Value* mask);
    Val operand(ValueId v, int lanes);
    Val load(const Inst& i, int lanes, Value* index, Value* mask);
    void store(const Inst& i, int lanes, Value* index, Value* mask);
    Val position(const Inst& i, int lanes, Value* index, Value* mask);
    Value* element(ValueId array, Value* index);
    Value* inner_stride(ValueId array);
    bool fixed(ValueId array);  // does not move along the innermost axis
    int pick_lanes();
    bool masks_tails(int lanes) const;
    Value* adjacent();  // i1: vectors may be used; null: never
    LoopBlocks open(Value* begin, Value* end, Value* step);
    void close(LoopBlocks& l);
    Row& row_of(ValueId array);
    Value* i64(int64_t v) { return e_.i64(v); }

    RegionEmitter& e_;
    Builder& b_;
    const Inst& nest_;
    const graph::NestBody& body_;
    FlagScope* flags_ = nullptr;
    std::set<ValueId> strided_;         // arrays whose elements along the innermost axis are not adjacent
    std::vector<Value*> extents_, at_;  // by axis; at_: current index, null for the innermost
    std::vector<Row> rows_;
    std::vector<Val> vals_;  // by ValueId, of the body; for the lanes at hand
};

void RegionEmitter::nest(const Inst& inst) { RegionNest(*this, inst).emit(); }

// ---- frame ----

std::vector<ValueId> RegionNest::free_values() const {
    std::vector<ValueId> inside, out(nest_.in);
    for (const Inst& i : body_.insts) {
        if (i.result >= 0) inside.push_back(i.result);
        for (const ValueId v : i.in)
            if (std::find(inside.begin(), inside.end(), v) == inside.end()) out.push_back(v);
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

// What a nest uses of a value: of an array all but the extents.
std::vector<Value**> RegionNest::parts(RegionVal& v) {
    if (!v.address) return {&v.scalar.v};
    std::vector<Value**> p{&v.address};
    for (Value*& stride : v.strides) p.push_back(&stride);
    return p;
}

// What decides the function's code, its arguments aside. Values are numbered in the order of their use.
std::string RegionNest::key(const std::vector<ValueId>& free, const std::vector<Value*>& arguments) {
    std::string k = std::to_string(nest_.exit >= 0) + " " + std::to_string(nest_.in.size());
    llvm::raw_string_ostream out(k);
    for (const ValueId v : nest_.in) out << " e" << index_in(free, v);
    for (const ValueId v : free) {
        out << "\nf " << static_cast<int>(e_.type(v).dtype) << " " << static_cast<int>(e_.type(v).rank) << " "
            << e_.value(v).scalar.mask << strided_.contains(v);
        for (Value** part : parts(e_.values_[static_cast<size_t>(v)])) {
            out << " ";
            if (llvm::isa<llvm::Constant>(*part))
                (*part)->printAsOperand(out);
            else
                out << "a" << index_in(arguments, *part);
        }
    }
    std::vector<ValueId> inside;
    for (const Inst& i : body_.insts) {
        out << "\n"
            << static_cast<int>(i.op) << " " << static_cast<int>(i.pointwise) << " "
            << static_cast<int>(i.operand);
        for (const int64_t n : i.ints) out << " #" << n;
        for (const ValueId v : i.in) {
            const size_t at = index_in(inside, v);
            if (at < inside.size())
                out << " r" << at;
            else
                out << " f" << index_in(free, v);
        }
        if (i.result < 0) continue;
        out << " " << static_cast<int>(e_.type(i.result).dtype);
        inside.push_back(i.result);
    }
    return k;
}

void RegionNest::emit() {
    const std::vector<ValueId> free = free_values();
    for (const ValueId id : free)
        if (!e_.value(id).strides.empty() && e_.wide_.contains(e_.value(id).strides.back()))
            strided_.insert(id);
    std::vector<Value*> arguments{e_.calls_};
    for (const ValueId id : free)
        for (Value** part : parts(e_.values_[static_cast<size_t>(id)]))
            if (!llvm::isa<llvm::Constant>(*part) && index_in(arguments, *part) == arguments.size())
                arguments.push_back(*part);
    llvm::Function*& f = e_.nests_[key(free, arguments)];
    if (!f) f = function(free, arguments);
    auto* called = b_.CreateCall(f, arguments);
    called->setDoesNotThrow();
    if (nest_.exit < 0) return;
    Value* wanted = b_.CreateAnd(called, b_.getInt32(static_cast<uint32_t>(nest_.ints[1])));
    e_.leave_if(b_.CreateICmpNE(wanted, b_.getInt32(0)), nest_.exit);
}

// A function that takes what the nest uses and gives the faults it raised.
llvm::Function* RegionNest::function(const std::vector<ValueId>& free, const std::vector<Value*>& arguments) {
    std::vector<llvm::Type*> types;
    for (Value* a : arguments) types.push_back(a->getType());
    auto* type = llvm::FunctionType::get(b_.getInt32Ty(), types, false);
    auto* f = llvm::Function::Create(type, llvm::Function::InternalLinkage,
                                     e_.o_.prefix + "_statement" + std::to_string(e_.nests_.size()), e_.m_);
    f->addFnAttr(llvm::Attribute::NoUnwind);
    f->addFnAttr(llvm::Attribute::NoInline);

    const Builder::InsertPointGuard here(b_);
    llvm::Function* const caller = std::exchange(e_.f_, f);
    Value *const calls = e_.calls_, *const faults = e_.faults_;
    std::vector<RegionVal> saved;
    for (const ValueId id : free) saved.push_back(e_.value(id));
    b_.SetInsertPoint(e_.new_block("entry"));
    swap_in(f, free, arguments);
    e_.faults_ = e_.slot(b_.getInt32Ty(), "faults");
    b_.CreateStore(b_.getInt32(0), e_.faults_);
    vals_.resize(e_.r_.types.size());
    if (nest_.exit >= 0) {
        FlagScope flags(b_, f);
        flags.enter();
        flags_ = &flags;
        loops(0);
        Value* raised = b_.CreateOr(flags.read(), b_.CreateLoad(b_.getInt32Ty(), e_.faults_));
        flags.restore();
        b_.CreateRet(raised);
        b_.setIsFPConstrained(false);
    } else {
        loops(0);
        b_.CreateRet(b_.getInt32(0));
    }
    e_.f_ = caller;
    e_.calls_ = calls;
    e_.faults_ = faults;
    for (size_t k = 0; k < free.size(); ++k) e_.values_[static_cast<size_t>(free[k])] = saved[k];
    return f;
}

// Values of the region become the function's arguments. Constants stay what they are.
void RegionNest::swap_in(llvm::Function* f, const std::vector<ValueId>& free,
                         const std::vector<Value*>& arguments) {
    e_.calls_ = f->getArg(0);
    for (const ValueId id : free)
        for (Value** part : parts(e_.values_[static_cast<size_t>(id)]))
            if (!llvm::isa<llvm::Constant>(*part))
                *part = f->getArg(static_cast<unsigned>(index_in(arguments, *part)));
}

// ---- loops ----

RegionNest::LoopBlocks RegionNest::open(Value* begin, Value* end, Value* step) {
    LoopBlocks l{e_.new_block("nest"), e_.new_block("nest.end"), nullptr, end, step};
    BasicBlock* from = b_.GetInsertBlock();
    b_.CreateCondBr(b_.CreateICmpSLT(begin, end), l.head, l.exit);
    b_.SetInsertPoint(l.head);
    l.index = b_.CreatePHI(b_.getInt64Ty(), 2);
    l.index->addIncoming(begin, from);
    return l;
}

void RegionNest::close(LoopBlocks& l) {
    Value* next = b_.CreateAdd(l.index, l.step, "", true, true);
    l.index->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpSLT(next, l.end), l.head, l.exit);
    b_.SetInsertPoint(l.exit);
}

RegionNest::Row& RegionNest::row_of(ValueId array) {
    for (Row& r : rows_)
        if (r.array == array) return r;
    rows_.push_back({array, e_.value(array).address});
    return rows_.back();
}

void RegionNest::loops(size_t axis) {
    const size_t rank = nest_.in.size();
    if (axis == 0) {
        for (const ValueId n : nest_.in) extents_.push_back(e_.number(n));
        for (const Inst& i : body_.insts) {
            if (i.op == RegionOp::NestLoad) row_of(i.in[0]);
            if (i.op == RegionOp::NestStore) row_of(i.in[0]).stored = true;
        }
        at_.assign(rank, nullptr);
    }
    if (rank == 0) return body(1, i64(0), nullptr);
    if (axis + 1 == rank) return row();
    LoopBlocks l = open(i64(0), extents_[axis], i64(1));
    at_[axis] = l.index;
    const std::vector<Row> outer = rows_;
    for (Row& r : rows_)
        r.address = b_.CreateGEP(b_.getInt8Ty(), r.address,
                                 b_.CreateMul(l.index, e_.value(r.array).strides[axis], "", true, true));
    loops(axis + 1);
    rows_ = outer;
    close(l);
}

Value* RegionNest::inner_stride(ValueId array) {
    const RegionVal& v = e_.value(array);
    return v.strides.empty() ? i64(0) : v.strides.back();
}

bool RegionNest::fixed(ValueId array) {
    const auto* stride = llvm::dyn_cast<llvm::ConstantInt>(inner_stride(array));
    return stride && stride->isZero();
}

int RegionNest::pick_lanes() {
    int widest = 1;
    const auto look = [&](ValueId v) { widest = std::max(widest, graph::info(e_.type(v).dtype).size); };
    for (const Inst& i : body_.insts) {
        if (i.op == RegionOp::Call) return 1;
        if (i.result >= 0) look(i.result);
        for (const ValueId v : i.in) look(v);
    }
    if (widest > 8) return 1;
    // Two registers at a time where the body is short: that is the unrolling.
    const int lanes = e_.o_.vector_bits / 8 / widest;
    return body_.insts.size() <= kShortBody ? 2 * lanes : lanes;
}

// AVX-512 has masked moves for all sizes, AVX2 for words of four and eight bytes.
bool RegionNest::masks_tails(int lanes) const {
    if (lanes == 1 || e_.o_.has_avx512) return lanes > 1;
    if (!e_.o_.has_avx2) return false;
    return std::all_of(rows_.begin(), rows_.end(),
                       [&](const Row& r) { return graph::info(e_.type(r.array).dtype).size >= 4; });
}

Value* RegionNest::adjacent() {
    Value* all = b_.getTrue();
    for (const Row& r : rows_) {
        if (fixed(r.array)) {
            if (r.stored) return nullptr;
            continue;
        }
        if (strided_.contains(r.array)) return nullptr;
        Value* stride = inner_stride(r.array);
        Value* unit = i64(graph::info(e_.type(r.array).dtype).size);
        if (stride == unit) continue;
        if (llvm::isa<llvm::ConstantInt>(stride)) return nullptr;
        all = b_.CreateAnd(all, b_.CreateICmpEQ(stride, unit));
    }
    return all;
}

void RegionNest::row() {
    Value* n = extents_.back();
    const int lanes = pick_lanes();
    Value* fits = lanes > 1 ? adjacent() : nullptr;
    Value* at = i64(0);
    if (fits) {
        BasicBlock *const from = b_.GetInsertBlock(), *vectors = e_.new_block("vectors"),
                          *single = e_.new_block("single");
        b_.CreateCondBr(fits, vectors, single);
        b_.SetInsertPoint(vectors);
        Value* whole = b_.CreateAnd(n, i64(-lanes));
        LoopBlocks l = open(i64(0), whole, i64(lanes));
        body(lanes, l.index, nullptr);
        close(l);
        BasicBlock* rest_from = b_.GetInsertBlock();
        Value* begin = whole;
        const bool always = llvm::isa<llvm::Constant>(fits) && masks_tails(lanes);
        if (masks_tails(lanes)) {
            BasicBlock *some = e_.new_block("masked"), *done = e_.new_block("masked.end");
            b_.CreateCondBr(b_.CreateICmpSLT(whole, n), some, done);
            b_.SetInsertPoint(some);
            auto* lane = llvm::FixedVectorType::get(b_.getInt64Ty(), static_cast<unsigned>(lanes));
            Value* left = b_.CreateVectorSplat(static_cast<unsigned>(lanes), b_.CreateSub(n, whole));
            body(lanes, whole, b_.CreateICmpULT(b_.CreateStepVector(lane), left));
            b_.CreateBr(done);
            b_.SetInsertPoint(done);
            rest_from = done;
            begin = n;
        }
        b_.CreateBr(single);
        b_.SetInsertPoint(single);
        if (always) return;
        auto* phi = b_.CreatePHI(b_.getInt64Ty(), 2);
        phi->addIncoming(i64(0), from);
        phi->addIncoming(begin, rest_from);
        at = phi;
    }
    LoopBlocks l = open(at, n, i64(1));
    body(1, l.index, nullptr);
    close(l);
}

// ---- one or several points ----

void RegionNest::body(int lanes, Value* index, Value* mask) {
    for (const Inst& i : body_.insts) {
        Val v = evaluate(i, lanes, index, mask);
        if (i.result >= 0) vals_[static_cast<size_t>(i.result)] = v;
    }
    std::fill(vals_.begin(), vals_.end(), Val{});
}

Val RegionNest::operand(ValueId v, int lanes) {
    OpContext c = e_.ops(lanes);
    const Val inside = vals_[static_cast<size_t>(v)];
    return splat(c, inside.v ? inside : e_.value(v).scalar);
}

Val RegionNest::evaluate(const Inst& i, int lanes, Value* index, Value* mask) {
    std::vector<Val> in;
    switch (i.op) {
        case RegionOp::Const: return e_.constant(i);
        case RegionOp::Pointwise: {
            for (const ValueId v : i.in) in.push_back(operand(v, lanes));
            OpContext c = e_.ops(lanes);
            return compute(c, i.pointwise, i.operand, e_.type(i.result).dtype, in);
        }
        case RegionOp::Call: {
            // Host functions may clear flags that are pending.
            if (flags_)
                b_.CreateStore(b_.CreateOr(b_.CreateLoad(b_.getInt32Ty(), e_.faults_), flags_->read()),
                               e_.faults_);
            for (const ValueId v : i.in) in.push_back(operand(v, 1));
            return e_.call(i, in);
        }
        case RegionOp::NestLoad: return load(i, lanes, index, mask);
        case RegionOp::NestStore: store(i, lanes, index, mask); return {};
        case RegionOp::NestIndex: return position(i, lanes, index, mask);
        default: llvm_unreachable("not an instruction of a nest");
    }
}

Value* RegionNest::element(ValueId array, Value* index) {
    Value *p = row_of(array).address, *stride = inner_stride(array);
    if (fixed(array)) return p;
    return b_.CreateGEP(b_.getInt8Ty(), p, b_.CreateMul(index, stride, "", true, true));
}

Val RegionNest::load(const Inst& i, int lanes, Value* index, Value* mask) {
    const DType t = e_.type(i.in[0]).dtype;
    llvm::Type* elt = element_type(e_.c_, t);
    const llvm::Align align = RegionEmitter::align_of(t);
    Value* p = element(i.in[0], index);
    if (lanes == 1 || fixed(i.in[0])) return {b_.CreateAlignedLoad(elt, p, align), false};
    // Vectors are used only where elements are adjacent, whatever the stride is called.
    p = b_.CreateGEP(elt, row_of(i.in[0]).address, index);
    if (!mask) return {b_.CreateAlignedLoad(lanes_type(elt, lanes), p, align), false};
    Value* first = b_.CreateVectorSplat(static_cast<unsigned>(lanes), b_.CreateAlignedLoad(elt, p, align));
    return {b_.CreateMaskedLoad(lanes_type(elt, lanes), p, align, mask, first), false};
}

void RegionNest::store(const Inst& i, int lanes, Value* index, Value* mask) {
    const DType t = e_.type(i.in[0]).dtype;
    const llvm::Align align = RegionEmitter::align_of(t);
    OpContext c = e_.ops(lanes);
    const Val v = operand(i.in[1], lanes);
    Value* bits = t == DType::Bool ? as_bytes(c, v) : v.v;
    if (lanes == 1) {
        b_.CreateAlignedStore(bits, element(i.in[0], index), align);
        return;
    }
    Value* p = b_.CreateGEP(element_type(e_.c_, t), row_of(i.in[0]).address, index);
    if (mask)
        b_.CreateMaskedStore(bits, p, align, mask);
    else
        b_.CreateAlignedStore(bits, p, align);
}

Val RegionNest::position(const Inst& i, int lanes, Value* index, Value* mask) {
    const auto axis = static_cast<size_t>(i.ints[0]);
    if (axis + 1 != nest_.in.size()) return {at_[axis], false};
    if (lanes == 1) return {index, false};
    Value* first = b_.CreateVectorSplat(static_cast<unsigned>(lanes), index);
    Value* each = b_.CreateAdd(first, b_.CreateStepVector(first->getType()));
    return {mask ? b_.CreateSelect(mask, each, first) : each, false};
}

}  // namespace stator::kernels::emit
