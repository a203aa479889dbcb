// See ledger.h.
#include "frontend/replay/ledger.h"

#include "frontend/clock.h"

namespace stator::frontend {

int64_t Purse::balance() const {
    const int64_t passed = now_ns() - since_ - invested_;
    return kEndowment + passed / kTimeShare + saved_ / kSavingsShare - invested_;
}

bool Purse::open() {
    if (since_ == 0) since_ = now_ns();
    return balance() > 0;
}

Purse& purse() {
    static Purse process;
    return process;
}

}  // namespace stator::frontend
