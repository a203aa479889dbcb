// Nests of regions: whole-array statements as loops.
//
// Loops run over the axes in C order, the innermost one in vectors where every element it touches is adjacent
// to the one before (or is one and the same, for what is read). Whether that holds is known from the strides
// or looked at before each row; where it does not, the row is done element by element, or, where there is
// more to compute than to fetch, in vectors that are put together from elements. What does not fill a vector
// is done by a last one that overlaps the one before it, where computing a point twice gives the same twice.
// Elsewhere, and in rows shorter than a vector, it is done with masks: lanes past the end compute the first
// of the remaining points once more, so they raise no flag which that point does not raise, and are not
// stored.
//
// Where all arrays turn out to be without gaps between the rows, rows are put together to one, so that short
// ones cost no more than long ones (`put_together`).
//
// Every nest is a function of its own, shared by all nests that read the same: loops that exist in two
// versions hold most statements twice. Nothing of the region's arithmetic can move between the clearing and
// the reading of flags, as the statement's own is behind a call.
#include <llvm/IR/Intrinsics.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <utility>

#include "kernels/llvm/regions/nest.h"

namespace stator::kernels::emit {

constexpr size_t kShortBody = 16;
constexpr size_t kManyAlike = 4;

// Its size where it is not in the list.
template <class T>
size_t index_in(const std::vector<T>& list, T v) {
    return static_cast<size_t>(std::find(list.begin(), list.end(), v) - list.begin());
}

Value* RegionEmitter::nest(const Inst& inst) { return RegionNest(*this, inst).emit(); }

// ---- frame ----

// In the order of their first use, so that nests of the same shape over other arrays have the same key.
std::vector<ValueId> RegionNest::free_values() const {
    std::vector<ValueId> inside, out;
    const auto use = [&](ValueId v) {
        if (std::find(inside.begin(), inside.end(), v) == inside.end() &&
            std::find(out.begin(), out.end(), v) == out.end())
            out.push_back(v);
    };
    for (const ValueId v : nest_.in) use(v);
    for (const Inst& i : body_.insts) {
        for (const ValueId v : i.in) use(v);
        if (i.result >= 0) inside.push_back(i.result);
    }
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
    std::string k = std::to_string(may_be_one_row()) + std::to_string(reads_flags() && calls_out()) +
                    std::to_string(gathered_lanes()) + std::to_string(raises_flags()) +
                    std::to_string(may_repeat()) + std::to_string(static_cast<int>(nest_.op)) + " " +
                    std::to_string(nest_.in.size());
    llvm::raw_string_ostream out(k);
    for (const ValueId v : nest_.in) out << " e" << index_in(free, v);
    std::vector<ValueId> wholes;
    for (const ValueId v : free) {
        out << "\nf " << static_cast<int>(e_.type(v).dtype) << " " << static_cast<int>(e_.type(v).rank) << " "
            << e_.value(v).scalar.mask << strided_.contains(v);
        if (is_part(v)) {
            const auto [whole, part] = e_.part_of_.at(v);
            out << " p" << part << " of " << index_in(wholes, whole);
            wholes.push_back(whole);
        }
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

Value* RegionNest::emit() {
    const std::vector<ValueId> free = free_values();
    for (const ValueId id : free)
        if (!e_.value(id).strides.empty() && e_.wide_.contains(e_.value(id).strides.back()))
            strided_.insert(id);
    find_sum();
    narrow_ = moves_most();
    std::vector<Value*> arguments{e_.calls_};
    for (const ValueId id : free)
        for (Value** part : parts(e_.values_[static_cast<size_t>(id)]))
            if (!llvm::isa<llvm::Constant>(*part) && index_in(arguments, *part) == arguments.size())
                arguments.push_back(*part);
    const bool counts = nest_.op == RegionOp::Pack;
    llvm::Function*& f = e_.nests_[key(free, arguments)];
    Value* passed = nullptr;
    if (counts) arguments.push_back(passed = e_.slot(b_.getInt64Ty(), "passed"));
    if (!f) f = function(free, arguments);
    const auto call = [&]() -> Value* {
        auto* called = b_.CreateCall(f, arguments);
        called->setDoesNotThrow();
        return called;
    };
    Value* raised;
    if (reads_flags() && !calls_out()) {
        FlagScope flags(b_, e_.f_);
        flags.enter();
        raised = call();
        raised = b_.CreateOr(flags.read(), raised);
        flags.restore();
    } else {
        raised = call();
    }
    if (nest_.exit >= 0) {
        Value* wanted = b_.CreateAnd(raised, b_.getInt32(static_cast<uint32_t>(nest_.ints[1])));
        e_.leave_if(b_.CreateICmpNE(wanted, b_.getInt32(0)), nest_.exit);
    }
    return counts ? b_.CreateLoad(b_.getInt64Ty(), passed, "count") : nullptr;
}

bool RegionNest::calls_out() const {
    return std::any_of(body_.insts.begin(), body_.insts.end(),
                       [](const Inst& i) { return i.op == RegionOp::Call; });
}

// A function that takes what the nest uses and gives the faults that it found by itself. Its caller looks at
// the flags, so that it serves where they are looked at later, too; but what it calls may clear them, and
// then it has to look itself.
llvm::Function* RegionNest::function(const std::vector<ValueId>& free, const std::vector<Value*>& arguments) {
    std::vector<llvm::Type*> types;
    for (Value* a : arguments) types.push_back(a->getType());
    auto* type = llvm::FunctionType::get(b_.getInt32Ty(), types, false);
    auto* f = llvm::Function::Create(type, llvm::Function::InternalLinkage,
                                     e_.o_.prefix + "_statement" + std::to_string(e_.nests_.size()), e_.m_);
    f->addFnAttr(llvm::Attribute::NoUnwind);
    f->addFnAttr(llvm::Attribute::NoInline);
    if (narrow_)
        for (const char* width : {"prefer-vector-width", "min-legal-vector-width"})
            f->addFnAttr(width, std::to_string(vector_bits()));

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
    if (nest_.op == RegionOp::Pack || takes_next()) {
        count_ = e_.slot(b_.getInt64Ty(), "count");
        b_.CreateStore(i64(0), count_);
    }
    FlagScope flags(b_, f);
    if (raises_flags()) flags.strict();
    const bool reads = reads_flags() && calls_out();
    if (reads) {
        flags.enter();
        flags_ = &flags;
    }
    loops(0);
    Value* raised = b_.CreateLoad(b_.getInt32Ty(), e_.faults_);
    if (reads) {
        raised = b_.CreateOr(flags.read(), raised);
        flags.restore();
    }
    give_count(f);
    b_.CreateRet(raised);
    b_.setIsFPConstrained(false);
    e_.f_ = caller;
    e_.calls_ = calls;
    e_.faults_ = faults;
    for (size_t k = 0; k < free.size(); ++k) e_.values_[static_cast<size_t>(free[k])] = saved[k];
    return f;
}

// Whether it reads elements of a vector one after the other, as points pass.
bool RegionNest::takes_next() const {
    return std::any_of(body_.insts.begin(), body_.insts.end(),
                       [](const Inst& i) { return i.op == RegionOp::NestNext; });
}

void RegionNest::give_count(llvm::Function* f) {
    if (nest_.op == RegionOp::Pack)
        b_.CreateStore(b_.CreateLoad(b_.getInt64Ty(), count_),
                       f->getArg(static_cast<unsigned>(f->arg_size() - 1)));
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

// Which arrays have the outer strides of several others. Where there are two such sets, none: each takes an
// addition for every vector and a register, which is more than what it spares.
void RegionNest::find_alike() {
    const auto outer = [&](const Row& r) {
        const auto& strides = e_.value(r.array).strides;
        return std::vector<Value*>(strides.begin(), strides.end() - 1);
    };
    std::map<std::vector<Value*>, size_t> sets;
    for (const Row& r : rows_) ++sets[outer(r)];
    const auto large = [](const auto& set) { return set.second >= kManyAlike; };
    if (std::count_if(sets.begin(), sets.end(), large) != 1) return;
    for (Row& r : rows_) r.alike = sets[outer(r)] >= kManyAlike;
}

// On to the rows at this index of the axis. Rows of arrays with the same strides, views of one array above
// all, share the distance from their first rows: no arithmetic for each between two short rows.
void RegionNest::to_rows(size_t axis, Value* index) {
    std::map<std::pair<Value*, Value*>, Value*> sums;
    for (Row& r : rows_) {
        Value* stride = e_.value(r.array).strides[axis];
        Value* bytes = b_.CreateMul(index, stride, "", true, true);
        if (!r.alike) {
            r.address = b_.CreateGEP(b_.getInt8Ty(), r.address, bytes);
            continue;
        }
        Value*& sum = sums[{r.offset, stride}];
        if (!sum) sum = r.offset ? b_.CreateAdd(r.offset, bytes, "", true, true) : bytes;
        r.offset = sum;
    }
}

Value* RegionNest::row_begin(ValueId array) {
    const Row& r = row_of(array);
    return r.offset ? b_.CreateGEP(b_.getInt8Ty(), r.address, r.offset) : r.address;
}

Value* RegionNest::in_row(ValueId array, llvm::Type* t, Value* index) {
    const Row& r = row_of(array);
    if (!r.offset) return b_.CreateGEP(t, r.address, index);
    const auto size = static_cast<int64_t>(e_.m_.getDataLayout().getTypeAllocSize(t).getFixedValue());
    Value* bytes = b_.CreateMul(index, i64(size), "", true, true);
    return b_.CreateGEP(b_.getInt8Ty(), r.address, b_.CreateAdd(r.offset, bytes, "", true, true));
}

// Whether rows without gaps between them may be expected, and nothing asks for positions. Written so that it
// is not looked for in vain: each array is to come from a contiguous one, none is the same for several rows.
bool RegionNest::may_be_one_row() const {
    if (nest_.in.size() < 2) return false;
    return std::all_of(body_.insts.begin(), body_.insts.end(), [&](const Inst& i) {
        if (i.op != RegionOp::NestLoad && i.op != RegionOp::NestStore) return i.op != RegionOp::NestIndex;
        return e_.value(i.in[0]).dense;
    });
}

// An axis is part of the next inner one where a step along it leads, in all arrays, to where that one ends.
void RegionNest::put_together() {
    const size_t last = extents_.size() - 1;
    Value *together = b_.getTrue(), *row = extents_[last];
    for (size_t axis = last; axis-- > 0;) {
        std::vector<std::pair<Value*, Value*>> seen;  // equal strides are looked at once
        for (const Row& r : rows_) {
            const auto& strides = e_.value(r.array).strides;
            const std::pair of{strides[axis], strides[last]};
            if (std::find(seen.begin(), seen.end(), of) != seen.end()) continue;
            seen.push_back(of);
            Value* end = b_.CreateMul(strides[last], row);
            together = b_.CreateAnd(together, b_.CreateICmpEQ(strides[axis], end));
        }
        Value* longer = b_.CreateMul(row, extents_[axis]);
        extents_[axis] = b_.CreateSelect(together, i64(1), extents_[axis]);
        row = b_.CreateSelect(together, longer, row, "one.row");
    }
    extents_[last] = row;
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
        find_loop_calls();
        if (may_be_one_row() && !sum_) put_together();
        if (rank > 1) find_alike();
    }
    if (rank == 0) return loop_calls_.empty() ? body({1, i64(0)}) : chunk(i64(0), i64(1));
    if (axis + 1 == rank) return row();
    if (is_summed(axis)) return loops(axis + 1);  // inside of the others
    LoopBlocks l = open(i64(0), extents_[axis], i64(1));
    at_[axis] = l.index;
    const std::vector<Row> outer = rows_;
    to_rows(axis, l.index);
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

// Whether it mostly loads and stores, on a CPU that has nothing to gain there from 512 bits: every access
// that is not aligned, and that is most of those of stencils, lies in two cache lines then. Masks are another
// matter: the wider they are the fewer.
bool RegionNest::moves_most() {
    if (!e_.o_.halves_512 || nest_.op != RegionOp::Nest) return false;
    size_t moves = 0, computes = 0;
    for (const Inst& i : body_.insts) {
        switch (i.op) {
            case RegionOp::NestLoad:
            case RegionOp::NestStore: ++moves; break;
            case RegionOp::Pointwise:
            case RegionOp::Fma: ++computes; break;
            case RegionOp::Const: break;
            default: return false;
        }
        if (i.result >= 0 && e_.type(i.result).dtype == DType::Bool) return false;
    }
    return 2 * moves >= computes && !sum_ && gathered_lanes() == 1;
}

int RegionNest::pick_lanes() {
    int widest = 1;
    bool masked = false;
    const auto look = [&](ValueId v) { widest = std::max(widest, graph::info(e_.type(v).dtype).size); };
    for (const Inst& i : body_.insts) {
        masked |= i.op == RegionOp::NestWhen;
        if (i.op == RegionOp::Call && !calls_loop(i)) return 1;
        if (i.op == RegionOp::NestWhen && !loop_calls_.empty() && !squeezes()) return 1;
        if (i.result >= 0) look(i.result);
        for (const ValueId v : i.in) look(v);
    }
    if (widest > 8) return 1;
    // Two registers at a time where the body is short: that is the unrolling. Masks for two take long to
    // compile.
    const int lanes = vector_bits() / 8 / widest;
    const bool doubles = body_.insts.size() <= kShortBody && !sum_ && !(masked && e_.o_.in_a_hurry);
    return doubles ? 2 * lanes : lanes;
}

// Points that are computed at once although elements of some array are known not to be adjacent; 1: none,
// since elements come and go one by one. Not where flags are looked at: that is the copy of a loop that
// seldom runs.
int RegionNest::gathered_lanes() {
    if (nest_.exit >= 0 || nest_.op != RegionOp::Nest || sum_ || !loop_calls_.empty()) return 1;
    size_t computes = 0, moves = 0;
    int widest = 1;
    for (const Inst& i : body_.insts) {
        switch (i.op) {
            case RegionOp::Pointwise: ++computes; break;
            case RegionOp::Const:
            case RegionOp::Fma:
            case RegionOp::NestIndex: break;
            case RegionOp::NestLoad:
            case RegionOp::NestStore: {
                const ValueId array = i.in[0];
                const bool constant = llvm::isa<llvm::Constant>(inner_stride(array));
                const bool known = constant || strided_.contains(array);
                // Several points may be one and the same element.
                if (is_part(array) || (i.op == RegionOp::NestStore && (fixed(array) || !known))) return 1;
                if (known && !fixed(array) && inner_stride(array) != i64(unit(array))) ++moves;
                break;
            }
            default: return 1;
        }
        if (i.result >= 0) widest = std::max(widest, graph::info(e_.type(i.result).dtype).size);
        for (const ValueId v : i.in) widest = std::max(widest, graph::info(e_.type(v).dtype).size);
    }
    return moves > 0 && computes >= moves && widest <= 8 ? e_.o_.vector_bits / 8 / widest : 1;
}

// AVX-512 has masked moves for all sizes, AVX2 for words of four and eight bytes.
bool RegionNest::masks_tails(int lanes) const {
    if (lanes == 1 || e_.o_.in_a_hurry) return false;
    if (e_.o_.has_avx512) return true;
    if (!e_.o_.has_avx2) return false;
    return std::all_of(rows_.begin(), rows_.end(),
                       [&](const Row& r) { return graph::info(e_.type(r.array).dtype).size >= 4; });
}

Value* RegionNest::adjacent() {
    Value* all = b_.getTrue();
    const auto& body = body_.insts;
    for (size_t k = 0; k < body.size(); ++k) {
        const bool stores = body[k].op == RegionOp::NestStore || body[k].op == RegionOp::NestAppend;
        if (stores && is_part(body[k].in[0]) && !pairs_with(k, k + 1) && !(k > 0 && pairs_with(k - 1, k)))
            return nullptr;
        if (body[k].op == RegionOp::NestAppend && inner_stride(body[k].in[0]) != i64(unit(body[k].in[0])))
            return nullptr;
    }
    const auto known_not_to = [&](ValueId array) {
        Value *stride = inner_stride(array), *next = i64(unit(array));
        if (stride == next) return false;
        if (strided_.contains(array) || llvm::isa<llvm::ConstantInt>(stride)) return true;
        all = b_.CreateAnd(all, b_.CreateICmpEQ(stride, next));
        return false;
    };
    for (const Inst& i : body)
        if (i.op == RegionOp::NestNext && known_not_to(i.in[0])) return nullptr;
    for (const Row& r : rows_) {
        if (fixed(r.array)) {
            if (r.stored) return nullptr;
            continue;
        }
        if (known_not_to(r.array)) return nullptr;
    }
    return all;
}

void RegionNest::row() {
    if (loop_calls_.empty()) return stretch(i64(0), extents_.back());
    LoopBlocks l = open(i64(0), extents_.back(), i64(kChunk));
    Value* end = b_.CreateAdd(l.index, i64(kChunk), "", true, true);
    chunk(l.index, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, extents_.back()));
    close(l);
}

// Whether computing points again changes nothing: what is read is not stored to.
bool RegionNest::may_repeat() const {
    const auto root = [&](ValueId array) { return e_.root_[static_cast<size_t>(array)]; };
    std::set<int> stored, read;
    for (const Inst& i : body_.insts) {
        switch (i.op) {
            case RegionOp::NestStore: stored.insert(root(i.in[0])); break;
            case RegionOp::NestLoad:
            case RegionOp::NestTake: read.insert(root(i.in[0])); break;
            case RegionOp::NestScatter:
            case RegionOp::NestAppend:
            case RegionOp::NestNext:
            case RegionOp::NestWhen: return false;
            case RegionOp::Call:
                if (calls_loop(i)) return false;
                break;
            default: break;
        }
    }
    return !stored.contains(-1) && !read.contains(-1) &&
           std::none_of(read.begin(), read.end(), [&](int r) { return stored.contains(r); });
}

// At least a vector of points: whole vectors, then once more round for one that ends where the row does. The
// loop itself does not look for that, which short bodies would notice.
void RegionNest::overlapping(Value* begin, Value* n, Value* end, int lanes) {
    BasicBlock *const first = b_.GetInsertBlock(), *pass = e_.new_block("pass"),
                      *vector = e_.new_block("vector"), *after = e_.new_block("whole.end"),
                      *done = e_.new_block("overlapping.end");
    Value* whole = b_.CreateAdd(begin, b_.CreateAnd(n, i64(-lanes)), "", true, true);
    Value* last = b_.CreateSub(end, i64(lanes), "", true, true);
    b_.CreateBr(pass);
    b_.SetInsertPoint(pass);
    auto* from = b_.CreatePHI(b_.getInt64Ty(), 2);
    auto* to = b_.CreatePHI(b_.getInt64Ty(), 2);
    from->addIncoming(begin, first);
    to->addIncoming(whole, first);
    b_.CreateBr(vector);
    b_.SetInsertPoint(vector);
    auto* index = b_.CreatePHI(b_.getInt64Ty(), 2);
    index->addIncoming(from, pass);
    body({lanes, index});
    Value* next = b_.CreateAdd(index, i64(lanes), "", true, true);
    index->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpSLT(next, to), vector, after);
    b_.SetInsertPoint(after);
    from->addIncoming(last, after);
    to->addIncoming(end, after);
    b_.CreateCondBr(b_.CreateICmpSLT(to, end), pass, done);
    b_.SetInsertPoint(done);
}

// The points from `begin` on, a vector at a time; gives the first one that is left. `done`: none is, ever.
Value* RegionNest::vectors(Value* begin, Value* end, int lanes, bool& done) {
    const auto* zero = llvm::dyn_cast<llvm::ConstantInt>(begin);
    Value* n = zero && zero->isZero() ? end : b_.CreateSub(end, begin, "", true, true);
    const bool masks = masks_tails(lanes);
    done = masks;
    BasicBlock* const after = e_.new_block("vectors.end");
    Value *whole, *over = nullptr;
    BasicBlock* over_from = nullptr;
    if (may_repeat()) {
        BasicBlock *const enough = e_.new_block("enough"), *const few = e_.new_block("few");
        b_.CreateCondBr(b_.CreateICmpSGE(n, i64(lanes)), enough, few);
        b_.SetInsertPoint(enough);
        overlapping(begin, n, end, lanes);
        over = end;
        over_from = b_.GetInsertBlock();
        b_.CreateBr(after);
        b_.SetInsertPoint(few);
        whole = begin;
    } else {
        whole = b_.CreateAnd(n, i64(-lanes));
        if (n != end) whole = b_.CreateAdd(begin, whole, "", true, true);
        LoopBlocks l = open(begin, whole, i64(lanes));
        body({lanes, l.index});
        close(l);
    }
    Value* rest = whole;
    if (masks) {
        BasicBlock *const some = e_.new_block("masked"), *const none = e_.new_block("masked.end");
        b_.CreateCondBr(b_.CreateICmpSLT(whole, end), some, none);
        b_.SetInsertPoint(some);
        auto* lane = llvm::FixedVectorType::get(b_.getInt64Ty(), static_cast<unsigned>(lanes));
        Value* left = b_.CreateVectorSplat(static_cast<unsigned>(lanes), b_.CreateSub(end, whole));
        body({lanes, whole, b_.CreateICmpULT(b_.CreateStepVector(lane), left), whole});
        b_.CreateBr(none);
        b_.SetInsertPoint(none);
        rest = end;
    }
    BasicBlock* const rest_from = b_.GetInsertBlock();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
    if (!over) return rest;
    auto* phi = b_.CreatePHI(b_.getInt64Ty(), 2);
    phi->addIncoming(over, over_from);
    phi->addIncoming(rest, rest_from);
    return phi;
}

// The points of a row from `begin` to `end`.
void RegionNest::stretch(Value* begin, Value* end) {
    const int lanes = pick_lanes();
    Value* fits = lanes > 1 ? adjacent() : nullptr;
    Value* at = begin;
    if (fits) {
        BasicBlock *const from = b_.GetInsertBlock(), *some = e_.new_block("vectors"),
                          *single = e_.new_block("single");
        b_.CreateCondBr(fits, some, single);
        b_.SetInsertPoint(some);
        bool done = false;
        Value* rest = vectors(begin, end, lanes, done);
        BasicBlock* rest_from = b_.GetInsertBlock();
        b_.CreateBr(single);
        b_.SetInsertPoint(single);
        if (done && llvm::isa<llvm::Constant>(fits)) return;
        auto* phi = b_.CreatePHI(b_.getInt64Ty(), 2);
        phi->addIncoming(begin, from);
        phi->addIncoming(rest, rest_from);
        at = phi;
    } else if (const int several = gathered_lanes(); several > 1) {
        at = b_.CreateAdd(begin, b_.CreateAnd(b_.CreateSub(end, begin), i64(-several)));
        LoopBlocks l = open(begin, at, i64(several));
        gathers_ = true;
        body({several, l.index});
        gathers_ = false;
        close(l);
    }
    LoopBlocks l = open(at, end, i64(1));
    body({1, l.index});
    close(l);
}

}  // namespace stator::kernels::emit
