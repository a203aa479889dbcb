// One graph op on scalars or vectors, with NumPy's bits and flags on x86.
//
// Rules. Floating-point arithmetic goes through constrained intrinsics (the builder is in strict mode), so
// that LLVM neither drops, moves nor masks an operation that may raise a flag. What NumPy computes silently
// is done without raising: comparisons are quiet predicates, maximum and minimum are comparisons and selects,
// sign operations work on bits. No nsw/nuw, no operation with an undefined case: shifts by the width or more
// and conversions out of range are made definite.
#include "kernels/llvm/internal.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Intrinsics.h>

#include <numeric>

namespace stator::kernels::emit {

namespace {

using llvm::CmpInst;
using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

llvm::Type* int_type(OpContext& c, int bits) {
    return lanes_type(c.b.getIntNTy(static_cast<unsigned>(bits)), c.lanes);
}
int bits_of(DType t) { return 8 * graph::info(t).size; }
llvm::Type* type_of(OpContext& c, DType t) { return lanes_type(element_type(c.b.getContext(), t), c.lanes); }
Value* int_const(OpContext& c, DType t, uint64_t v) {
    return llvm::ConstantInt::get(int_type(c, bits_of(t)), v);
}
Value* as_int(OpContext& c, DType t, Value* v) { return c.b.CreateBitCast(v, int_type(c, bits_of(t))); }
Value* as_float(OpContext& c, DType t, Value* v) { return c.b.CreateBitCast(v, type_of(c, t)); }
uint64_t sign_bit(DType t) { return uint64_t{1} << (bits_of(t) - 1); }
uint64_t inf_bits(DType t) { return t == DType::F64 ? 0x7ff0000000000000u : 0x7f800000u; }

struct Args {
    OpContext& c;
    Op op;
    DType t, r;  // operand 0's dtype, result's
    const std::vector<Val>& in;
    Builder& b() const { return c.b; }
    Value* operator[](size_t i) const { return in[i].v; }
    bool is_float() const { return graph::is_float(t); }
    bool is_signed() const { return graph::is_signed(t); }
    bool is_bool() const { return t == DType::Bool; }
    Value* mask(size_t i) const { return as_mask(c, in[i]); }
};

Val mask(Value* v) { return {v, true}; }
Val plain(Value* v) { return {v, false}; }

// ---- arithmetic ----

// LLVM recognizes operations on the sign bit as fneg and fabs, and makes `-x + y` a difference and `|x| *
// |x|` a square. Numbers stay the same, but a NaN operand then gives a NaN of another sign. A fence prevents
// that, and is no machine instruction.
Value* fenced(const Args& a, Value* v) {
    return a.t == DType::F32 || a.t == DType::F64 ? a.b().CreateArithmeticFence(v, v->getType()) : v;
}
// The operand. LLVM makes a negation of a product with the constant -1, and of a difference from -0, so these
// constants are fenced.
Value* not_a_sign(const Args& a, size_t i) {
    auto* constant = llvm::dyn_cast<llvm::Constant>(a[i]);
    if (constant && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
    auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
    const bool is_sign = number && (number->isExactlyValue(-1.0) || number->isExactlyValue(-0.0));
    return is_sign ? fenced(a, a[i]) : a[i];
}

Val add(const Args& a) {
    if (a.is_bool()) return mask(a.b().CreateOr(a.mask(0), a.mask(1)));
    return plain(a.is_float() ? a.b().CreateFAdd(a[0], a[1]) : a.b().CreateAdd(a[0], a[1]));
}
Val subtract(const Args& a) {
    return plain(a.is_float() ? a.b().CreateFSub(not_a_sign(a, 0), a[1]) : a.b().CreateSub(a[0], a[1]));
}
Val multiply(const Args& a) {
    if (a.is_bool()) return mask(a.b().CreateAnd(a.mask(0), a.mask(1)));
    return plain(a.is_float() ? a.b().CreateFMul(not_a_sign(a, 0), not_a_sign(a, 1))
                              : a.b().CreateMul(a[0], a[1]));
}
Val divide(const Args& a) { return plain(a.b().CreateFDiv(a[0], not_a_sign(a, 1))); }
Val square(const Args& a) {
    return plain(a.is_float() ? a.b().CreateFMul(a[0], a[0]) : a.b().CreateMul(a[0], a[0]));
}
Val reciprocal(const Args& a) {
    return plain(a.b().CreateFDiv(llvm::ConstantFP::get(type_of(a.c, a.t), 1.0), a[0]));
}
Val negative(const Args& a) {
    if (!a.is_float()) return plain(a.b().CreateNeg(a[0]));
    Value* bits = a.b().CreateXor(as_int(a.c, a.t, a[0]), int_const(a.c, a.t, sign_bit(a.t)));
    return plain(fenced(a, as_float(a.c, a.t, bits)));
}
Val absolute(const Args& a) {
    if (a.is_bool()) return mask(a.mask(0));
    if (a.is_float()) {
        Value* bits = a.b().CreateAnd(as_int(a.c, a.t, a[0]), int_const(a.c, a.t, ~sign_bit(a.t)));
        return plain(fenced(a, as_float(a.c, a.t, bits)));
    }
    if (!a.is_signed()) return plain(a[0]);
    return plain(a.b().CreateBinaryIntrinsic(Intrinsic::abs, a[0], a.b().getFalse()));
}
Val copysign(const Args& a) {
    Value* magnitude = a.b().CreateAnd(as_int(a.c, a.t, a[0]), int_const(a.c, a.t, ~sign_bit(a.t)));
    Value* sign = a.b().CreateAnd(as_int(a.c, a.t, a[1]), int_const(a.c, a.t, sign_bit(a.t)));
    return plain(as_float(a.c, a.t, a.b().CreateOr(magnitude, sign)));
}
Val square_root(const Args& a) {
    if (!a.b().getIsFPConstrained()) return plain(a.b().CreateUnaryIntrinsic(Intrinsic::sqrt, a[0]));
    llvm::Module* module = a.b().GetInsertBlock()->getModule();
    constexpr auto id = Intrinsic::experimental_constrained_sqrt;
#if LLVM_VERSION_MAJOR >= 20
    auto* function = Intrinsic::getOrInsertDeclaration(module, id, {a[0]->getType()});
#else
    auto* function = Intrinsic::getDeclaration(module, id, {a[0]->getType()});
#endif
    return plain(a.b().CreateConstrainedFPCall(function, {a[0]}));
}
// Rounding to integral values: the plain intrinsics become roundpd with exceptions suppressed; a signaling
// NaN is the only thing that could have raised one.
template <Intrinsic::ID id>
Val rounding(const Args& a) {
    return plain(a.b().CreateUnaryIntrinsic(id, a[0]));
}

// x86's maxpd would give NumPy's choice of zeros too, but raises invalid on quiet NaNs where NumPy is silent.
template <CmpInst::Predicate float_wins, CmpInst::Predicate signed_wins, CmpInst::Predicate unsigned_wins>
Val extremum(const Args& a) {
    Value* first;
    if (a.is_float()) {
        Value* wins = a.b().CreateFCmp(float_wins, a[0], a[1]);
        Value* nan = a.b().CreateFCmpUNO(a[0], a[0]);
        first = a.b().CreateOr(wins, nan);
    } else {
        first = a.b().CreateICmp(a.is_signed() ? signed_wins : unsigned_wins, a[0], a[1]);
    }
    return plain(a.b().CreateSelect(first, a[0], a[1]));
}

// ---- comparisons and predicates ----

template <CmpInst::Predicate fp, CmpInst::Predicate sint, CmpInst::Predicate uint>
Val compare(const Args& a) {
    if (a.is_float()) return mask(a.b().CreateFCmp(fp, a[0], a[1]));
    if (!a.is_bool()) return mask(a.b().CreateICmp(a.is_signed() ? sint : uint, a[0], a[1]));
    // i1 compares as an unsigned number
    return mask(a.b().CreateICmp(uint, a.mask(0), a.mask(1)));
}
Val is_nan(const Args& a) { return mask(a.b().CreateFCmpUNO(a[0], a[0])); }
template <CmpInst::Predicate pred>
Val against_inf(const Args& a) {
    Value* magnitude = a.b().CreateAnd(as_int(a.c, a.t, a[0]), int_const(a.c, a.t, ~sign_bit(a.t)));
    return mask(a.b().CreateICmp(pred, magnitude, int_const(a.c, a.t, inf_bits(a.t))));
}
Val sign_of(const Args& a) {
    return mask(a.b().CreateICmpSLT(as_int(a.c, a.t, a[0]), int_const(a.c, a.t, 0)));
}

// ---- logic ----

Value* truth(const Args& a, size_t i) {
    if (a.is_bool()) return a.mask(i);
    if (!a.is_float()) return a.b().CreateICmpNE(a[i], int_const(a.c, a.t, 0));
    Value* magnitude = a.b().CreateAnd(as_int(a.c, a.t, a[i]), int_const(a.c, a.t, ~sign_bit(a.t)));
    return a.b().CreateICmpNE(magnitude, int_const(a.c, a.t, 0));
}
Val logical_and(const Args& a) { return mask(a.b().CreateAnd(truth(a, 0), truth(a, 1))); }
Val logical_or(const Args& a) { return mask(a.b().CreateOr(truth(a, 0), truth(a, 1))); }
Val logical_xor(const Args& a) { return mask(a.b().CreateXor(truth(a, 0), truth(a, 1))); }
Val logical_not(const Args& a) { return mask(a.b().CreateNot(truth(a, 0))); }
Val bit_and(const Args& a) { return a.is_bool() ? logical_and(a) : plain(a.b().CreateAnd(a[0], a[1])); }
Val bit_or(const Args& a) { return a.is_bool() ? logical_or(a) : plain(a.b().CreateOr(a[0], a[1])); }
Val bit_xor(const Args& a) { return a.is_bool() ? logical_xor(a) : plain(a.b().CreateXor(a[0], a[1])); }
Val invert(const Args& a) { return a.is_bool() ? logical_not(a) : plain(a.b().CreateNot(a[0])); }

Val left_shift(const Args& a) {
    Value* ok = a.b().CreateICmpULT(a[1], int_const(a.c, a.t, static_cast<uint64_t>(bits_of(a.t))));
    Value* zero = int_const(a.c, a.t, 0);
    Value* by = a.b().CreateSelect(ok, a[1], zero);
    return plain(a.b().CreateSelect(ok, a.b().CreateShl(a[0], by), zero));
}
Val right_shift(const Args& a) {
    Value* ok = a.b().CreateICmpULT(a[1], int_const(a.c, a.t, static_cast<uint64_t>(bits_of(a.t))));
    Value* zero = int_const(a.c, a.t, 0);
    if (!a.is_signed()) {
        Value* by = a.b().CreateSelect(ok, a[1], zero);
        return plain(a.b().CreateSelect(ok, a.b().CreateLShr(a[0], by), zero));
    }
    Value* by = a.b().CreateSelect(ok, a[1], int_const(a.c, a.t, static_cast<uint64_t>(bits_of(a.t) - 1)));
    return plain(a.b().CreateAShr(a[0], by));
}

// ---- selection and conversion ----

Val copy(const Args& a) { return a.in[0]; }
Val where(const Args& a) {
    Value* cond = as_mask(a.c, a.in[0]);
    bool masks = a.r == DType::Bool && a.in[1].mask && a.in[2].mask;
    Value* x = a.r == DType::Bool && !masks ? as_bytes(a.c, a.in[1]) : a[1];
    Value* y = a.r == DType::Bool && !masks ? as_bytes(a.c, a.in[2]) : a[2];
    return {a.b().CreateSelect(cond, x, y), masks};
}

Value* to_int(const Args& a, int bits) { return a.b().CreateFPToSI(a[0], int_type(a.c, bits)); }

// Collects kFaultInvalid when any lane of the mask is set.
void faults_if(OpContext& c, Value* m) {
    Value* any = c.lanes == 1 ? m : c.b.CreateOrReduce(m);
    Value* bits = c.b.CreateSelect(any, c.b.getInt32(kFaultInvalid), c.b.getInt32(0));
    c.b.CreateStore(c.b.CreateOr(c.b.CreateLoad(c.b.getInt32Ty(), c.faults), bits), c.faults);
}

// As C on x86-64: through cvttsd2si of 32 bits for i32 and smaller, of 64 bits for the others. What NumPy
// makes of values outside u32 depends on the length of the array; so that is reported and eager decides.
Val float_to_int(const Args& a) {
    Builder& b = a.b();
    llvm::Type* result = type_of(a.c, a.r);
    if (a.r == DType::U64) {
        Value* two63 =
            as_float(a.c, a.t, int_const(a.c, a.t, a.t == DType::F64 ? 0x43e0000000000000u : 0x5f000000u));
        Value* big = b.CreateFCmpOGE(a[0], two63);
        Value* less = b.CreateSelect(big, two63, llvm::Constant::getNullValue(a[0]->getType()));
        Value* low = b.CreateFPToSI(b.CreateFSub(a[0], less), int_type(a.c, 64));
        Value* top = b.CreateSelect(big, int_const(a.c, a.r, uint64_t{1} << 63), int_const(a.c, a.r, 0));
        return plain(b.CreateXor(low, top));
    }
    if (a.r == DType::I64) return plain(to_int(a, 64));
    if (a.r == DType::U32) {
        Value* wide = to_int(a, 64);
        Value* biased = b.CreateAdd(wide, int_const(a.c, DType::I64, uint64_t{1} << 31));
        faults_if(a.c, b.CreateICmpUGE(
                           biased, int_const(a.c, DType::I64, (uint64_t{1} << 32) + (uint64_t{1} << 31))));
        return plain(b.CreateTrunc(wide, result));
    }
    Value* wide = to_int(a, 32);
    return plain(a.r == DType::I32 ? wide : b.CreateTrunc(wide, result));
}

Val to_half(OpContext& c, Value* x, DType from);
Value* half_to_float(OpContext& c, Value* bits);
Value* brain_to_float(OpContext& c, Value* bits);
Val to_brain(OpContext& c, Value* x);

// ---- complex numbers, which move as integers that hold both parts ----

DType part_of(DType t) { return t == DType::C64 ? DType::F32 : DType::F64; }

// The real (0) or imaginary (1) parts.
Value* part(const Args& a, int which) {
    llvm::Type* element = element_type(a.b().getContext(), part_of(a.t));
    Value* both =
        a.b().CreateBitCast(a[0], llvm::FixedVectorType::get(element, static_cast<unsigned>(2 * a.c.lanes)));
    if (a.c.lanes == 1) return a.b().CreateExtractElement(both, static_cast<uint64_t>(which));
    std::vector<int> pick(static_cast<size_t>(a.c.lanes));
    for (int k = 0; k < a.c.lanes; ++k) pick[static_cast<size_t>(k)] = 2 * k + which;
    return a.b().CreateShuffleVector(both, pick);
}

Val join(const Args& a, Value* re, Value* im) {
    Builder& b = a.b();
    Value* both;
    if (a.c.lanes == 1) {
        both = llvm::PoisonValue::get(llvm::FixedVectorType::get(re->getType(), 2));
        both = b.CreateInsertElement(b.CreateInsertElement(both, re, uint64_t{0}), im, uint64_t{1});
    } else {
        std::vector<int> pick;
        for (int k = 0; k < a.c.lanes; ++k) pick.insert(pick.end(), {k, k + a.c.lanes});
        both = b.CreateShuffleVector(re, im, pick);
    }
    return plain(b.CreateBitCast(both, type_of(a.c, a.r)));
}

Val complex_cast(const Args& a) {
    if (!graph::is_complex(a.t)) {
        Val re = compute(a.c, Op::Cast, a.t, part_of(a.r), a.in);
        return join(a, re.v, llvm::Constant::getNullValue(re.v->getType()));
    }
    Val re = plain(part(a, 0)), im = plain(part(a, 1));
    DType from = part_of(a.t), to = graph::is_complex(a.r) ? part_of(a.r) : a.r;
    Val re_cast = compute(a.c, Op::Cast, from, to, {re});
    if (a.r == DType::Bool) return mask(a.b().CreateOr(re_cast.v, compute(a.c, Op::Cast, from, to, {im}).v));
    return graph::is_complex(a.r) ? join(a, re_cast.v, compute(a.c, Op::Cast, from, to, {im}).v) : re_cast;
}

Val cast(const Args& a) {
    Builder& b = a.b();
    if (a.t == a.r) return a.in[0];
    if (graph::is_complex(a.t) || graph::is_complex(a.r)) return complex_cast(a);
    if (a.t == DType::BF16) {
        Value* wide = brain_to_float(a.c, a[0]);
        return a.r == DType::F32 ? plain(wide) : compute(a.c, Op::Cast, DType::F32, a.r, {plain(wide)});
    }
    if (a.r == DType::BF16) {
        Val wide = a.t == DType::F32 ? a.in[0] : compute(a.c, Op::Cast, a.t, DType::F32, a.in);
        return to_brain(a.c, wide.v);
    }
    if (a.t == DType::F16) {
        Value* wide = half_to_float(a.c, a[0]);
        if (a.r == DType::F32) return plain(wide);
        return compute(a.c, Op::Cast, DType::F32, a.r, {plain(wide)});
    }
    if (a.r == DType::Bool) return mask(truth(a, 0));
    if (a.r == DType::F16) {
        if (a.is_float()) return to_half(a.c, a[0], a.t);
        // integers go through f32, as in NumPy
        Val wide = compute(a.c, Op::Cast, a.t, DType::F32, a.in);
        return to_half(a.c, wide.v, DType::F32);
    }
    llvm::Type* result = type_of(a.c, a.r);
    if (a.is_bool()) {
        if (!graph::is_float(a.r)) return plain(b.CreateZExt(a.mask(0), result));
        return plain(b.CreateSelect(a.mask(0), llvm::ConstantFP::get(result, 1.0),
                                    llvm::ConstantFP::get(result, 0.0)));
    }
    if (a.is_float()) {
        if (!graph::is_float(a.r)) return float_to_int(a);
        return plain(a.r == DType::F64 ? b.CreateFPExt(a[0], result) : b.CreateFPTrunc(a[0], result));
    }
    if (graph::is_float(a.r))
        return plain(a.is_signed() ? b.CreateSIToFP(a[0], result) : b.CreateUIToFP(a[0], result));
    return plain(a.is_signed() ? b.CreateSExtOrTrunc(a[0], result) : b.CreateZExtOrTrunc(a[0], result));
}

Value* brain_to_float(OpContext& c, Value* bits) {
    llvm::Type* i32 = lanes_type(c.b.getInt32Ty(), c.lanes);
    Value* wide = c.b.CreateShl(c.b.CreateZExt(bits, i32), llvm::ConstantInt::get(i32, 16));
    return c.b.CreateBitCast(wide, lanes_type(c.b.getFloatTy(), c.lanes));
}

// To the nearest, ties to even.
Val to_brain(OpContext& c, Value* x) {
    Builder& b = c.b;
    llvm::Type *i32 = lanes_type(b.getInt32Ty(), c.lanes), *i16 = lanes_type(b.getInt16Ty(), c.lanes);
    auto constant = [&](uint64_t v) { return llvm::ConstantInt::get(i32, v); };
    Value* bits = b.CreateBitCast(x, i32);
    Value* odd = b.CreateAnd(b.CreateLShr(bits, constant(16)), constant(1));
    Value* rounded = b.CreateLShr(b.CreateAdd(b.CreateAdd(bits, constant(0x7fff)), odd), constant(16));
    return plain(b.CreateTrunc(b.CreateSelect(b.CreateFCmpUNO(x, x), constant(0x7fc0), rounded), i16));
}

// F16C through LLVM's conversions of the half type.
Value* half_to_float(OpContext& c, Value* bits) {
    Value* half = c.b.CreateBitCast(bits, lanes_type(c.b.getHalfTy(), c.lanes));
    return c.b.CreateFPExt(half, lanes_type(c.b.getFloatTy(), c.lanes));
}

// In vectors of one register: without AVX-512's arithmetic on halves LLVM 22 crashes where it has to split
// this conversion.
Value* round_to_half(OpContext& c, Value* x) {
    Builder& b = c.b;
    const int most = c.options.vector_bits / 32;
    if (c.lanes <= most) return b.CreateFPTrunc(x, lanes_type(b.getHalfTy(), c.lanes));
    std::vector<Value*> parts;
    for (int from = 0; from < c.lanes; from += most) {
        std::vector<int> lanes(static_cast<size_t>(most));
        std::iota(lanes.begin(), lanes.end(), from);
        parts.push_back(b.CreateFPTrunc(b.CreateShuffleVector(x, lanes), lanes_type(b.getHalfTy(), most)));
    }
    return llvm::concatenateVectors(b, parts);
}

// From f64, rounding twice would be wrong: the first step rounds to odd, which keeps what the second one
// needs.
Val to_half(OpContext& c, Value* x, DType from) {
    Builder& b = c.b;
    llvm::Type *f32 = lanes_type(b.getFloatTy(), c.lanes), *i32 = lanes_type(b.getInt32Ty(), c.lanes);
    if (from == DType::F64) {
        Value* near = b.CreateFPTrunc(x, f32);
        Value* back = b.CreateFPExt(near, x->getType());
        Value* bits = b.CreateBitCast(near, i32);
        llvm::Type* i64 = lanes_type(b.getInt64Ty(), c.lanes);
        Value* magnitude = llvm::ConstantInt::get(i64, ~(uint64_t{1} << 63));
        Value* exact = b.CreateAnd(b.CreateBitCast(x, i64), magnitude);
        Value* rounded = b.CreateAnd(b.CreateBitCast(back, i64), magnitude);
        Value* one = llvm::ConstantInt::get(i32, 1);
        Value* zero = llvm::ConstantInt::get(i32, 0);
        Value* even = b.CreateICmpEQ(b.CreateAnd(bits, one), zero);
        Value* up = b.CreateICmpUGT(rounded, exact);
        Value* number = b.CreateFCmpORD(x, x);
        Value* fix = b.CreateAnd(b.CreateAnd(even, b.CreateICmpNE(rounded, exact)), number);
        Value* delta = b.CreateSelect(up, llvm::ConstantInt::get(i32, ~uint64_t{0}, true), one);
        bits = b.CreateAdd(bits, b.CreateSelect(fix, delta, zero));
        x = b.CreateBitCast(bits, f32);
    }
    return plain(b.CreateBitCast(round_to_half(c, x), lanes_type(b.getInt16Ty(), c.lanes)));
}

// ---- the table ----

struct Row {
    Op op;
    Val (*emit)(const Args&);
};
using P = CmpInst;
constexpr Row kRows[] = {
    {Op::Cast, cast},
    {Op::Copy, copy},
    {Op::Add, add},
    {Op::Subtract, subtract},
    {Op::Multiply, multiply},
    {Op::Divide, divide},
    {Op::Negative, negative},
    {Op::Absolute, absolute},
    {Op::Square, square},
    {Op::Reciprocal, reciprocal},
    {Op::Sqrt, square_root},
    {Op::Floor, rounding<Intrinsic::floor>},
    {Op::Ceil, rounding<Intrinsic::ceil>},
    {Op::Trunc, rounding<Intrinsic::trunc>},
    {Op::Rint, rounding<Intrinsic::rint>},
    {Op::Maximum, extremum<P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT>},
    {Op::Minimum, extremum<P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT>},
    {Op::Fmax, extremum<P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT>},
    {Op::Fmin, extremum<P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT>},
    {Op::Copysign, copysign},
    {Op::Less, compare<P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT>},
    {Op::LessEqual, compare<P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE>},
    {Op::Greater, compare<P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT>},
    {Op::GreaterEqual, compare<P::FCMP_OGE, P::ICMP_SGE, P::ICMP_UGE>},
    {Op::Equal, compare<P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ>},
    {Op::NotEqual, compare<P::FCMP_UNE, P::ICMP_NE, P::ICMP_NE>},
    {Op::LogicalAnd, logical_and},
    {Op::LogicalOr, logical_or},
    {Op::LogicalXor, logical_xor},
    {Op::LogicalNot, logical_not},
    {Op::BitwiseAnd, bit_and},
    {Op::BitwiseOr, bit_or},
    {Op::BitwiseXor, bit_xor},
    {Op::Invert, invert},
    {Op::LeftShift, left_shift},
    {Op::RightShift, right_shift},
    {Op::IsNan, is_nan},
    {Op::IsInf, against_inf<P::ICMP_EQ>},
    {Op::IsFinite, against_inf<P::ICMP_ULT>},
    {Op::SignBit, sign_of},
    {Op::Where, where},
};

}  // namespace

llvm::Type* element_type(llvm::LLVMContext& c, DType t) {
    if (t == DType::F32) return llvm::Type::getFloatTy(c);
    if (t == DType::F64) return llvm::Type::getDoubleTy(c);
    // Half and complex numbers only move; as integers of their size.
    return llvm::Type::getIntNTy(c, static_cast<unsigned>(8 * graph::info(t).size));
}

llvm::Type* lanes_type(llvm::Type* element, int lanes) {
    return lanes == 1 ? element : llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
}

llvm::Value* as_mask(OpContext& c, Val v) {
    if (v.mask) return v.v;
    return c.b.CreateICmpNE(v.v, llvm::Constant::getNullValue(v.v->getType()));
}

llvm::Value* as_bytes(OpContext& c, Val v) {
    return v.mask ? c.b.CreateZExt(v.v, lanes_type(c.b.getInt8Ty(), c.lanes)) : v.v;
}

Val splat(OpContext& c, Val scalar) {
    if (c.lanes == 1 || scalar.v->getType()->isVectorTy()) return scalar;
    return {c.b.CreateVectorSplat(static_cast<unsigned>(c.lanes), scalar.v), scalar.mask};
}

Val compute(OpContext& c, Op op, DType operand, DType result, const std::vector<Val>& in) {
    for (const Row& r : kRows)
        if (r.op == op) return r.emit(Args{c, op, operand, result, in});
    llvm_unreachable("no lowering: the statement should have called the host's loop");
}

Val from_index(OpContext& c, llvm::Value* index, DType t) {
    return compute(c, Op::Cast, DType::I64, t, {Val{index, false}});
}

}  // namespace stator::kernels::emit
