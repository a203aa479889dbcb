// Addresses, loads and stores of the LLVM emitter.
//
// Invariant: a vector access touches exactly the elements of its iterations; nothing beyond them is read,
// even where it would be harmless.
#include "kernels/llvm/internal.h"

#include <algorithm>
#include <numeric>

namespace stator::kernels::emit {

using llvm::Value;

Value* NestEmitter::num(const Int& i) {
    if (i.sym < 0) return i64(i.value);
    auto [it, fresh] = sym_cache_.try_emplace(i.sym, nullptr);
    if (fresh)
        it->second = b_.CreateLoad(
            b_.getInt64Ty(),
            b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), syms_, static_cast<uint64_t>(i.sym)));
    return it->second;
}

Value* NestEmitter::times(Value* v, const Int& factor) {
    if (factor.is(1)) return v;
    return b_.CreateMul(v, num(factor));
}

// Bytes that one unit of the term's index moves.
Value* NestEmitter::term_bytes(const Access& a, const Term& t) {
    if (a.buffer < 0) return num(t.factor);
    int size = graph::info(p_.buffers[a.buffer].dtype).size;
    if (t.dim == kDense) return b_.CreateMul(num(t.factor), i64(size));
    int at = p_.buffers[a.buffer].stride_base + t.dim;
    auto [it, fresh] = stride_cache_.try_emplace({a.buffer, t.dim}, nullptr);
    if (fresh)
        it->second = b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), strides_,
                                                                                  static_cast<uint64_t>(at)));
    return times(it->second, t.factor);
}

Value* NestEmitter::buffer_base(int buffer) {
    auto [it, fresh] = base_cache_.try_emplace(buffer, nullptr);
    if (fresh)
        it->second = b_.CreateLoad(
            b_.getPtrTy(),
            b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), buffers_, static_cast<uint64_t>(buffer)));
    return it->second;
}

Value* NestEmitter::sum_terms(const Access& a, const std::vector<Term>& terms) {
    Value* sum = nullptr;
    for (const Term& t : terms) sum = sum ? b_.CreateAdd(sum, term_bytes(a, t)) : term_bytes(a, t);
    return sum;
}

// Address at the current index of every axis but `except`.
Value* NestEmitter::row_base(const Stmt& s, int except) {
    Value* p = buffer_base(s.access.buffer);
    Value* offset = sum_terms(s.access, s.access.offset);
    for (int axis = 0; axis < n_.full_depth(); ++axis) {
        if (axis == except) continue;
        Value* bytes = sum_terms(s.access, s.access.axis[axis]);
        if (!bytes) continue;
        Value* moved = b_.CreateMul(index_of_[axis], bytes);
        offset = offset ? b_.CreateAdd(offset, moved) : moved;
    }
    return offset ? b_.CreateGEP(b_.getInt8Ty(), p, offset) : p;
}

Step NestEmitter::step(const Access& a, int axis, DType t) {
    const auto& terms = a.axis[axis];
    Step s;
    if (terms.empty()) return s;
    s.bytes = sum_terms(a, terms);
    bool known = terms.size() == 1 && terms[0].dim == kDense && terms[0].factor.sym < 0;
    s.cls = !known                       ? StrideClass::Runtime
            : terms[0].factor.value == 1 ? StrideClass::Unit
                                         : StrideClass::Constant;
    if (known) s.elements = terms[0].factor.value;
    (void)t;
    return s;
}

int NestEmitter::align_of(DType t) const { return std::min(graph::info(t).size, 8); }

Value* NestEmitter::element(Value* base, const Step& st, Value* index, DType t) {
    if (!index || st.cls == StrideClass::None) return base;
    if (st.cls == StrideClass::Unit) return b_.CreateGEP(element_type(c_, t), base, index);
    return b_.CreateGEP(b_.getInt8Ty(), base, b_.CreateMul(index, st.bytes));
}

Value* NestEmitter::load_vector(llvm::Type* elt, Value* p, int lanes, int align) {
    llvm::Align at(static_cast<uint64_t>(align));
    if (lanes == 1 || !elt->isIntegerTy(128)) return b_.CreateAlignedLoad(lanes_type(elt, lanes), p, at);
    // 16-byte elements move through vector registers only as halves.
    return b_.CreateBitCast(b_.CreateAlignedLoad(lanes_type(b_.getInt64Ty(), 2 * lanes), p, at),
                            lanes_type(elt, lanes));
}

// Constant steps of a few elements are vector loads and a shuffle, everything else is a gather.
Value* NestEmitter::load_strided(DType t, Value* base, const Step& st, int lanes, Value* index) {
    llvm::Type* elt = element_type(c_, t);
    Value* first = element(base, st, index, t);
    int align = align_of(t);
    int64_t k = st.elements;
    if (st.cls == StrideClass::Constant && k == -1) {
        Value* low = b_.CreateGEP(elt, first, i64(1 - lanes));
        return b_.CreateVectorReverse(load_vector(elt, low, lanes, align));
    }
    if (st.cls == StrideClass::Constant && k == 2) {
        // Elements 0, 2, ..., 2*lanes-2: two vectors, the second ending at the last element.
        Value* low = load_vector(elt, first, lanes, align);
        Value* high = load_vector(elt, b_.CreateGEP(elt, first, i64(lanes - 1)), lanes, align);
        std::vector<int> pick(static_cast<size_t>(lanes));
        for (int j = 0; j < lanes; ++j) pick[static_cast<size_t>(j)] = 2 * j < lanes ? 2 * j : 2 * j + 1;
        return b_.CreateShuffleVector(low, high, pick);
    }
    Value* steps =
        b_.CreateStepVector(llvm::FixedVectorType::get(b_.getInt64Ty(), static_cast<unsigned>(lanes)));
    Value* offsets = b_.CreateMul(steps, b_.CreateVectorSplat(static_cast<unsigned>(lanes), st.bytes));
    Value* addresses = b_.CreateGEP(b_.getInt8Ty(), first, offsets);
    return b_.CreateMaskedGather(lanes_type(elt, lanes), addresses,
                                 llvm::Align(static_cast<uint64_t>(align)));
}

Val NestEmitter::load(const Stmt& s, Value* base, const Step& st, int lanes, Value* index) {
    llvm::Type* elt = element_type(c_, s.dtype);
    if (st.cls == StrideClass::None) lanes = 1;  // one element, spread where it is used
    if (lanes > 1 && st.cls != StrideClass::Unit)
        return {load_strided(s.dtype, base, st, lanes, index), false};
    return {load_vector(elt, element(base, st, index, s.dtype), lanes, align_of(s.dtype)), false};
}

void NestEmitter::store(const Stmt& s, Val v, Value* base, const Step& st, int lanes, Value* index) {
    OpContext c{b_, o_, lanes, faults_};
    Value* bits = s.dtype == DType::Bool ? as_bytes(c, v) : v.v;
    Value* p = element(base, st, index, s.dtype);
    llvm::Align align(static_cast<uint64_t>(align_of(s.dtype)));
    if (lanes == 1 || st.cls == StrideClass::Unit) {
        if (lanes > 1 && s.dtype == DType::C128)
            bits = b_.CreateBitCast(bits, lanes_type(b_.getInt64Ty(), 2 * lanes));
        b_.CreateAlignedStore(bits, p, align);
        return;
    }
    Value* steps =
        b_.CreateStepVector(llvm::FixedVectorType::get(b_.getInt64Ty(), static_cast<unsigned>(lanes)));
    Value* offsets = b_.CreateMul(steps, b_.CreateVectorSplat(static_cast<unsigned>(lanes), st.bytes));
    b_.CreateMaskedScatter(bits, b_.CreateGEP(b_.getInt8Ty(), p, offsets), align);
}

Value* NestEmitter::scalar_slot(int slot) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), scalars_, static_cast<uint64_t>(slot) * 16);
}

}  // namespace stator::kernels::emit
