// Sums along axes that are not the innermost one: s[i, :] += x[i, k, :] * y[k, :], for all k.
//
// Every element's terms are added in the order of C, whatever the order among elements. So the axes along
// which the sum stays at one place become the innermost loops, and it stays in registers.
#include <algorithm>

#include "kernels/llvm/regions/nest.h"

namespace stator::kernels::emit {

// A body that reads and then stores one element of an array, and nothing else of its memory.
void RegionNest::find_sum() {
    const auto& body = body_.insts;
    const bool calls = std::any_of(body.begin(), body.end(), [&](const Inst& i) { return calls_loop(i); });
    if (nest_.op != RegionOp::Nest || calls) return;
    const auto is = [&](RegionOp op) { return [op](const Inst& i) { return i.op == op; }; };
    const auto store = std::find_if(body.begin(), body.end(), is(RegionOp::NestStore));
    if (store == body.end() || is_part(store->in[0])) return;
    const int root = e_.root_[static_cast<size_t>(store->in[0])];
    if (root < 0) return;
    std::optional<size_t> load;
    for (size_t k = 0; k < body.size(); ++k) {
        const Inst& i = body[k];
        switch (i.op) {
            case RegionOp::NestStore:
                if (&i != &*store) return;
                break;
            case RegionOp::NestLoad:
                if (i.in[0] == store->in[0]) {
                    if (load || &i > &*store) return;
                    load = k;
                    break;
                }
                [[fallthrough]];
            case RegionOp::NestTake: {
                const int other = e_.root_[static_cast<size_t>(i.in[0])];
                if (other < 0 || other == root || is_part(i.in[0])) return;
                break;
            }
            case RegionOp::NestWhen:
            case RegionOp::NestWithin:
            case RegionOp::NestScatter:
            case RegionOp::NestNext:
            case RegionOp::NestAppend: return;
            default: break;
        }
    }
    if (!load || fixed(store->in[0])) return;
    sum_ = Sum{*load, static_cast<size_t>(store - body.begin()), nullptr};
    for (size_t axis = 0; axis + 1 < nest_.in.size(); ++axis)
        if (is_summed(axis)) return;
    sum_.reset();
}

bool RegionNest::is_summed(size_t axis) const {
    if (!sum_ || axis + 1 >= nest_.in.size()) return false;
    const auto* stride =
        llvm::dyn_cast<llvm::ConstantInt>(e_.value(body_.insts[sum_->store].in[0]).strides[axis]);
    return stride && stride->isZero();
}

// All terms of the elements at the point.
void RegionNest::sum(const Points& p) {
    complex_.clear();
    const Val begin = load(body_.insts[sum_->load], p);
    OpContext c = e_.ops(p.lanes);
    Value* first = splat(c, begin).v;
    sum_->value = e_.slot(first->getType(), "sum");
    b_.CreateStore(first, sum_->value);
    sum_over(0, p);
    const Inst& store_inst = body_.insts[sum_->store];
    vals_[static_cast<size_t>(store_inst.in[1])] = {b_.CreateLoad(first->getType(), sum_->value), false};
    store(sum_->store, p);
    std::fill(vals_.begin(), vals_.end(), Val{});
}

void RegionNest::sum_over(size_t axis, const Points& p) {
    while (axis + 1 < nest_.in.size() && !is_summed(axis)) ++axis;
    if (axis + 1 < nest_.in.size()) {
        LoopBlocks l = open(i64(0), extents_[axis], i64(1));
        at_[axis] = l.index;
        const std::vector<Row> outer = rows_;
        to_rows(axis, l.index);
        sum_over(axis + 1, p);
        rows_ = outer;
        close(l);
        return;
    }
    for (size_t k = 0; k < body_.insts.size(); ++k) {
        const Inst& i = body_.insts[k];
        if (k == sum_->store) {
            OpContext c = e_.ops(p.lanes);
            const Val v = operand(i.in[1], p);
            b_.CreateStore(e_.type(i.in[0]).dtype == DType::Bool ? as_bytes(c, v) : v.v, sum_->value);
            continue;
        }
        const Val v = k == sum_->load
                          ? Val{b_.CreateLoad(sum_->value->getAllocatedType(), sum_->value), false}
                          : evaluate(k, p);
        if (i.result >= 0) vals_[static_cast<size_t>(i.result)] = v;
    }
    std::fill(vals_.begin(), vals_.end(), Val{});
}

}  // namespace stator::kernels::emit
