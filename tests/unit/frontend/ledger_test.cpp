// The bound that accounts keep, and when the purse is open.
#include "frontend/drive/ledger.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

#include "frontend/clock.h"
#include "frontend/drive/verdicts.h"
#include "frontend/least_cost.h"
#include "frontend/policy.h"

using stator::frontend::Account;
using stator::frontend::Fund;
using stator::frontend::policy;
using stator::frontend::Purse;
using stator::frontend::Verdicts;

// Whatever is entered in whatever order: as long as the account stays open, cost is within what ledger.h
// promises.
TEST(Account, CostIsBoundByWhatPaysForIt) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 200; ++round) {
        Account account;
        int64_t cost = 0, saved = 0, ran = 0, largest = 0;
        while (!account.overdrawn() && cost < 1'000'000'000) {
            const int64_t amount = static_cast<int64_t>(random() % 50'000);
            switch (random() % (2 + static_cast<unsigned>(round) % 3)) {
                case 0: account.pay(amount), cost += amount, largest = std::max(largest, amount); break;
                case 1: account.ran(amount), ran += amount; break;
                case 2: account.earn(amount / 2), saved += amount / 2; break;
                default: break;
            }
            ASSERT_LE(cost, saved + ran / policy().account_time_share + policy().account_allowance + largest)
                << round;
        }
    }
}

TEST(Account, OldSavingsPayForLittle) {
    Account account;
    account.earn(1'000'000'000'000);
    int64_t cost = 0;
    for (; !account.overdrawn(); cost += 1000) account.pay(1000);
    EXPECT_LT(cost, 10 * policy().account_allowance);
}

TEST(Account, WhatOnlyCostsIsOverdrawnSoon) {
    Account account;
    account.pay(policy().account_allowance);
    EXPECT_FALSE(account.overdrawn());
    account.pay(1);
    EXPECT_TRUE(account.overdrawn());
    account.open();
    EXPECT_FALSE(account.overdrawn());
}

TEST(Purse, IsOpenUntilItIsSpentAndAgainWhenSomethingWasSaved) {
    Purse purse;
    EXPECT_TRUE(purse.open());
    purse.invest(10'000'000);
    EXPECT_TRUE(purse.open());
    purse.invest(1'000'000'000);
    EXPECT_FALSE(purse.open());
    EXPECT_TRUE(purse.exhausted());
    purse.save_by_calls(10'000'000'000);
    EXPECT_TRUE(purse.open());
    EXPECT_FALSE(purse.exhausted());
}

TEST(Purse, IsNotFilledByTimeInWhichNothingWasComputed) {
    Purse purse;
    ASSERT_TRUE(purse.open());
    purse.invest(policy().investments_begin);
    ASSERT_FALSE(purse.open());
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    EXPECT_FALSE(purse.open());
    const int64_t begun = stator::frontend::thread_ns();
    while (stator::frontend::thread_ns() - begun < 100'000'000) purse.open();
    EXPECT_TRUE(purse.open());
}

TEST(Purse, KeepsNoMoreThanWhatOneCallMayLose) {
    Purse purse;
    purse.save_by_calls(1'000'000'000);
    purse.invest(policy().investments_most_kept);
    EXPECT_FALSE(purse.open());
}

TEST(Purse, HasAFundOfItsOwnForTrials) {
    Purse purse;
    EXPECT_TRUE(purse.may_try());
    purse.try_out(2 * policy().trials_begin);
    EXPECT_FALSE(purse.may_try());
    EXPECT_TRUE(purse.open());
    purse.give_back(2 * policy().trials_begin);
    EXPECT_TRUE(purse.may_try());
}

TEST(Fund, IsFilledBeforeItIsSpent) {
    constexpr int64_t kShare = 100, kMost = 1000;
    Fund fund(kMost, kShare, kMost);
    fund.spend(kMost);
    // What was computed meanwhile may have been computed before, when nothing more was kept.
    fund.computed(1'000'000);
    EXPECT_LE(fund.balance(), 0);
    fund.computed(50'000);
    EXPECT_NEAR(fund.balance(), 500, 20);
    fund.computed(1'000'000);
    EXPECT_EQ(fund.balance(), kMost);
}

TEST(Verdicts, AreGivenForEachCombinationOfKinds) {
    Verdicts verdicts;
    bool fresh = false;
    verdicts.of(7, &fresh).give_up(0);
    EXPECT_TRUE(fresh);
    EXPECT_TRUE(verdicts.of(7, &fresh).retired());
    EXPECT_FALSE(fresh);
    EXPECT_FALSE(verdicts.of(8, &fresh).retired()) << "other arguments";
    EXPECT_TRUE(fresh);
    int64_t size = 0;
    EXPECT_FALSE(verdicts.all_retired(&size));
    EXPECT_TRUE(verdicts.any_retired());
    for (uint64_t kinds = 10; kinds < 100; ++kinds) verdicts.of(kinds, &fresh);
    EXPECT_FALSE(fresh) << "the last judge has all that are beyond counting";
}

TEST(LeastCost, WhatOtherProgramsTakeCountsForLittle) {
    stator::frontend::LeastCost cost;
    EXPECT_EQ(cost.note(6'000), 6'000);
    EXPECT_EQ(cost.note(17'000), 7'500);
    EXPECT_EQ(cost.note(6'500), 6'500);
    EXPECT_EQ(cost.note(-100), -100);  // of larger arrays: it says nothing about others
    EXPECT_EQ(cost.note(17'000), 7'500);
}

TEST(LeastCost, WhatHasBecomeDearerIsNoticed) {
    stator::frontend::LeastCost cost;
    cost.note(1'000);
    for (int64_t i = 0; i < 2 * stator::frontend::policy().cost_window; ++i) cost.note(20'000);
    EXPECT_EQ(cost.note(20'000), 20'000);
}
