// When traces of its iterations are tried instead of a loop's region, what decides, and what opens it again.
#include "frontend/drive/duel.h"

#include <gtest/gtest.h>

#include "frontend/policy.h"

using stator::frontend::Duel;

namespace {

// A loop as the driver goes through it, with a clock of its own.
struct Loop {
    Duel duel;
    int64_t now = 1'000'000, recordings = 0;
    int64_t region_ns, traces_ns;
    bool code_is_there = true, nested = false;
    int64_t steps = 0;  // of the interpreter, an iteration
    int undecided = 0;  // so many turns of traces until loops inside know who serves them
    int by_region = 0, by_traces = 0,
        unrecorded = 1;  // iterations; how many of those the traces' turn records

    void run(int64_t iterations) {
        for (int64_t left = iterations; left > 0;) {
            const bool passes = duel.passes();
            const Duel::Turn turn =
                passes ? Duel::Turn::Traces
                       : duel.at_arrival({now, left, recordings, code_is_there, nested, undecided > 0});
            if (turn != Duel::Turn::Traces) {
                const int64_t done = turn == Duel::Turn::Region ? left : 1;
                now += region_ns * done;
                by_region += static_cast<int>(done);
                duel.ran(region_ns * done, done, now, steps * done);
                left -= done;
                continue;
            }
            if (unrecorded > 0) --unrecorded, ++recordings;
            if (undecided > 0) --undecided;
            now += traces_ns;
            ++by_traces;
            --left;
        }
        if (!duel.passes()) duel.at_arrival({now, 0, recordings, code_is_there});
    }
    void runs(int count, int64_t iterations) {
        for (int i = 0; i < count; ++i) run(iterations);
    }
};

Loop loop(int64_t region_ns, int64_t traces_ns) { return {.region_ns = region_ns, .traces_ns = traces_ns}; }

}  // namespace

TEST(Duel, TheFasterOneServes) {
    Loop slow = loop(10'000, 2'000), quick = loop(2'000, 10'000);
    slow.runs(10, 100);
    quick.runs(10, 100);
    EXPECT_TRUE(slow.duel.traces_won());
    EXPECT_FALSE(quick.duel.traces_won());
    EXPECT_FALSE(quick.duel.undecided(quick.now));
    // It is found out in a few iterations.
    EXPECT_LE(quick.by_traces, 8);
    const int before = quick.by_traces;
    quick.runs(1000, 100);
    EXPECT_EQ(quick.by_traces, before);
}

TEST(Duel, RunsOfOneIterationAreCompared) {
    Loop l = loop(10'000, 2'000);
    l.runs(100, 1);
    EXPECT_TRUE(l.duel.traces_won());
}

TEST(Duel, ALittleAheadIsNotEnough) {
    Loop l = loop(10'000, 9'500);
    l.runs(100, 100);
    EXPECT_FALSE(l.duel.traces_won());
    EXPECT_LE(l.by_traces, 2 * stator::frontend::policy().duel_iterations);
}

TEST(Duel, ShortIterationsAreNotCompared) {
    Loop l = loop(100, 1);
    l.runs(10, 100);
    EXPECT_EQ(l.by_traces, 0);
}

TEST(Duel, TheRegionServesUntilThereIsCode) {
    Loop l = loop(10'000, 2'000);
    l.code_is_there = false;
    l.runs(10, 100);
    EXPECT_EQ(l.by_traces, 2);  // one that records and one that does not
    EXPECT_TRUE(l.duel.undecided(l.now));
    l.code_is_there = true;
    l.runs(10, 100);
    EXPECT_TRUE(l.duel.traces_won());
}

TEST(Duel, ALoopThatAlwaysRecordsIsTheRegions) {
    Loop l = loop(10'000, 2'000);
    l.unrecorded = 1'000'000;
    l.runs(100, 100);
    EXPECT_FALSE(l.duel.traces_won());
    EXPECT_LE(l.by_traces, stator::frontend::policy().duel_recordings);
}

// In the middle of a loop that is run once.
TEST(Duel, LongIterationsAreComparedOneByOne) {
    Loop l = loop(100'000, 20'000);
    l.run(1000);
    EXPECT_TRUE(l.duel.traces_won());
    EXPECT_LE(l.by_region, 4);
    Loop other = loop(20'000, 100'000);
    other.run(1000);
    EXPECT_FALSE(other.duel.traces_won());
    EXPECT_LE(other.by_traces, 8);
}

TEST(Duel, OtherSizesOpenItAgain) {
    Loop l = loop(10'000, 2'000);
    l.runs(10, 100);
    ASSERT_TRUE(l.duel.traces_won());
    l.region_ns = 20;  // much smaller arrays
    l.traces_ns = 400;
    l.runs(10, 100);
    EXPECT_FALSE(l.duel.traces_won());
    l.region_ns = 100'000;
    l.traces_ns = 20'000;
    l.runs(10, 100);
    EXPECT_TRUE(l.duel.traces_won());
}

TEST(Duels, EachSizeHasItsOwn) {
    stator::frontend::Duels duels;
    const int region = 0;
    Duel& large = duels.at(&region, 10, [] { return 1'000'000; });
    EXPECT_EQ(&duels.at(&region, 9, [] { return 0; }), &large);  // the same run goes on
    Duel& small = duels.at(&region, 10, [] { return 100; });
    EXPECT_NE(&small, &large);
    EXPECT_EQ(&duels.at(&region, 10, [] { return 1'000'100; }), &large);
}

TEST(Duel, NothingIsTriedForEver) {
    Loop l = loop(10'000, 2'000);
    l.code_is_there = false;
    l.runs(10, 100);
    l.now += 2 * stator::frontend::policy().duel_patience;
    EXPECT_FALSE(l.duel.undecided(l.now));
    l.code_is_there = true;
    l.now += 0;
    l.runs(1, 100);
    EXPECT_FALSE(l.duel.undecided(l.now + 2 * stator::frontend::policy().duel_patience));
}

TEST(Duel, LoopsInsideAreLookedAtFirst) {
    Loop l = loop(10'000, 2'000);
    l.nested = true, l.steps = 100, l.undecided = 30;
    l.runs(20, 100);
    EXPECT_TRUE(l.duel.traces_won());
    Loop never = loop(10'000, 2'000);
    never.nested = true, never.undecided = 1'000'000;
    never.runs(20, 100);
    EXPECT_FALSE(never.duel.traces_won());
    EXPECT_LE(never.by_traces, stator::frontend::policy().duel_nested_recordings + 1);
    EXPECT_FALSE(never.duel.undecided(never.now));
}

TEST(Duel, WhileLoopsInsideHaveNoCodeTheRegionServes) {
    Loop l = loop(10'000, 2'000);
    l.nested = true, l.code_is_there = false;
    l.runs(20, 100);
    EXPECT_LE(l.by_traces, 1);
    l.code_is_there = true;
    l.runs(20, 100);
    EXPECT_TRUE(l.duel.traces_won());
}

TEST(Duel, WhatTheInterpreterAloneWouldTakeLongerForIsNotCompared) {
    Loop l = loop(10'000, 2'000);
    l.nested = true, l.steps = 10'000 / stator::frontend::policy().duel_instruction + 1;
    l.runs(20, 100);
    EXPECT_EQ(l.by_traces, 0);
}

// Short runs, which end in one piece, say how long an iteration is, too: long ones are not left after each
// while code is waited for.
TEST(Duel, ShortIterationsAreNotSteppedWhileCodeIsMade) {
    Loop l = loop(10'000, 2'000);
    l.code_is_there = false;
    l.runs(6, 10);
    EXPECT_FALSE(l.duel.is_stepwise());
}

TEST(Duels, RunsOfFewIterationsHaveTheirOwn) {
    stator::frontend::Duels duels;
    int region = 0;
    const auto size = [] { return int64_t{1'000}; };
    const int64_t few = stator::frontend::policy().duel_few_left;
    Duel* const of_few = &duels.at(&region, few - 1, size);
    Duel* const of_many = &duels.at(&region, 100 * few, size);
    EXPECT_NE(of_few, of_many);
    // One run stays one, to its end.
    EXPECT_EQ(&duels.at(&region, 100 * few - 1, size), of_many);
    EXPECT_EQ(&duels.at(&region, few - 1, size), of_few);
}
