// Calls of library routines: operands go through words on the stack (LibraryFn in region_abi.h).
#include "kernels/llvm/regions/internal.h"
#include "kernels/region_abi.h"

namespace stator::kernels::emit {

using llvm::Value;

namespace {

constexpr int kScalarWords = 2;

int words_of(graph::RegionType t) { return t.is_array() ? 1 + 2 * t.rank : kScalarWords; }

}  // namespace

void RegionEmitter::dense_strides(RegionVal& v, DType t) {
    v.dense = true;
    v.strides.resize(v.extents.size());
    Value* dense = i64(graph::info(t).size);
    for (size_t d = v.extents.size(); d-- > 0;) {
        v.strides[d] = dense;
        if (d + 1 < v.extents.size()) wide_.insert(dense);
        if (d > 0) dense = b_.CreateMul(dense, v.extents[d], "", true, true);
    }
}

// A `library` gives an empty value. What a routine made is contiguous: its strides are computed, so that the
// optimizer sees them.
RegionVal RegionEmitter::library(const Inst& i) {
    const bool makes = i.op == RegionOp::Made;
    const RegionType made = makes ? type(i.result) : RegionType{};
    const size_t operands = makes ? static_cast<size_t>(i.ints[2]) : i.in.size();
    const size_t kept = i.in.size() - operands;
    int count = makes ? 2 + static_cast<int>(kept) + made.rank : 0;
    for (size_t k = 0; k < operands; ++k) count += words_of(type(i.in[k]));
    llvm::Type* word = b_.getInt64Ty();
    auto* words = slot(llvm::ArrayType::get(word, static_cast<uint64_t>(count)), "words");
    words->setAlignment(llvm::Align(16));
    int at = 0;
    const auto next = [&] { return b_.CreateConstInBoundsGEP1_64(word, words, static_cast<uint64_t>(at++)); };
    for (size_t k = 0; k < operands; ++k) {
        const ValueId v = i.in[k];
        const RegionVal& operand = value(v);
        if (!type(v).is_array()) {
            b_.CreateAlignedStore(in_memory(type(v).dtype, operand.scalar), next(), llvm::Align(8));
            ++at;
            continue;
        }
        b_.CreateStore(b_.CreatePtrToInt(operand.address, word), next());
        for (Value* n : operand.extents) b_.CreateStore(n, next());
        for (Value* s : operand.strides) b_.CreateStore(s, next());
    }
    if (makes) b_.CreateStore(i64(static_cast<int64_t>(kept)), next());
    for (size_t k = operands; k < i.in.size(); ++k)
        b_.CreateStore(b_.CreatePtrToInt(value(i.in[k]).address, word), next());
    const auto target = static_cast<int>(i.ints[0]);
    llvm::Type* ptr = b_.getPtrTy();
    auto* type = llvm::FunctionType::get(b_.getInt32Ty(), {ptr, ptr}, false);
    auto* called = b_.CreateCall(type, call_function(target), {call_data(target), words});
    called->setDoesNotThrow();
    const auto wanted = static_cast<uint32_t>(i.ints[1]) | kFaultHost;
    leave_if(b_.CreateICmpNE(b_.CreateAnd(called, b_.getInt32(wanted)), b_.getInt32(0)), i.exit);
    RegionVal v;
    if (!makes) return v;
    v.address = b_.CreateIntToPtr(b_.CreateLoad(word, next()), ptr);
    for (int d = 0; d < made.rank; ++d) v.extents.push_back(b_.CreateLoad(word, next()));
    dense_strides(v, made.dtype);
    return v;
}

}  // namespace stator::kernels::emit
