// Which of NumPy's inner loops a ufunc runs for operands of some kinds. NumPy is asked once for each
// combination (`ufunc.resolve_dtypes`), so its rules of promotion are written nowhere here.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "frontend/host_calls/backoff.h"
#include "frontend/host_calls/tally.h"
#include "frontend/hosts/numpy/lower.h"
#include "kernels/program.h"

namespace stator::frontend {

// What decides on the loop: a dtype, of arrays and of NumPy's numbers, or the type of a Python number, which
// gives way to the other operand's dtype (NEP 50). Python's bools are NumPy's.
enum class OperandKind : uint8_t {
    // From 0 on graph::DType.
    PythonInt = graph::kDTypeCount,
    PythonFloat,
    PythonComplex,
    None,  // of what is no operand here
};
inline constexpr size_t kOperandKinds = static_cast<size_t>(OperandKind::None);

constexpr OperandKind kind_of(graph::DType t) { return static_cast<OperandKind>(t); }
constexpr bool is_dtype(OperandKind k) { return static_cast<int>(k) < graph::kDTypeCount; }
constexpr graph::DType dtype_of(OperandKind k) { return static_cast<graph::DType>(k); }

inline constexpr int kMostInputs = 2;

struct UfuncLoop {
    kernels::HostLoop loop;  // without a function: NumPy has to be asked each time
    graph::DType in[kMostInputs] = {};
    graph::DType out = graph::DType::Bool;
    // The same bits however the elements lie, and in however many calls of the loop they are computed.
    bool any_layout = false;
    mutable Backoff backoff;
};

class UfuncLoops {
  public:
    explicit UfuncLoops(const numpy::Ufunc& u) : tally(new_tally("numpy." + u.name)), ufunc_(u) {}

    // With a `second` of None for ufuncs of one operand. No error is set.
    const UfuncLoop& find(OperandKind first, OperandKind second) {
        const size_t at = static_cast<size_t>(first) * (kOperandKinds + 1) + static_cast<size_t>(second);
        if (known_[at]) return *known_[at];
        known_[at] = std::make_unique<UfuncLoop>(ask(first, second));
        return *known_[at];
    }
    const numpy::Ufunc& ufunc() const { return ufunc_; }

    Tally& tally;
    bool takes_out = false;  // as a last argument, after the operands

  private:
    UfuncLoop ask(OperandKind first, OperandKind second) const;

    const numpy::Ufunc& ufunc_;
    std::array<std::unique_ptr<UfuncLoop>, kOperandKinds*(kOperandKinds + 1)> known_;
};

}  // namespace stator::frontend
