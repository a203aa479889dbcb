// Which calls are timed, what retires a function, and what brings it back.
#include "frontend/drive/judge.h"

#include <gtest/gtest.h>

#include <utility>

using stator::frontend::Judge;
using Way = Judge::Way;

namespace {

struct Calls {
    int served = 0, plain = 0, retirements = 0;
};

// `count` calls of a function that takes so long served and in plain Python.
Calls call(Judge& judge, int count, int64_t size, int64_t served_ns, int64_t plain_ns, int64_t floor_ns = 0) {
    Calls calls;
    for (int i = 0; i < count; ++i) {
        if (judge.serves()) {
            ++calls.served;
            continue;
        }
        const Way way = judge.choose(size);
        const bool plain = way == Way::Plain || way == Way::TimedPlain;
        ++(plain ? calls.plain : calls.served);
        if (way == Way::TimedServe || way == Way::TimedPlain)
            calls.retirements +=
                judge.note(way, size, {plain ? plain_ns : served_ns, true, plain ? 0 : floor_ns});
    }
    return calls;
}

}  // namespace

TEST(Judge, WhatIsFasterIsServed) {
    Judge judge;
    const Calls calls = call(judge, 1000, 10, 200'000, 1'000'000);
    EXPECT_EQ(calls.plain, 2);
    EXPECT_EQ(calls.retirements, 0);
    EXPECT_FALSE(judge.retired());
}

// Its first plain call was interrupted and took ten times as long.
TEST(Judge, OnePlainCallThatWasSlowDecidesNothing) {
    Judge judge;
    bool interrupted = false, retired = false;
    for (int i = 0; i < 20 && !retired; ++i) {
        const Way way = judge.choose(10);
        const bool first = way == Way::TimedPlain && !std::exchange(interrupted, true);
        const int64_t ns = way == Way::TimedServe ? 2000 : first ? 10'000 : 1000;
        if (way == Way::TimedServe || way == Way::TimedPlain) retired = judge.note(way, 10, {ns, true, 0});
    }
    EXPECT_TRUE(interrupted);
    EXPECT_TRUE(retired);
}

// The process's first calls of what the function uses took long, in plain Python too, which is as fast.
TEST(Judge, TwoPlainCallsThatWereSlowDecideNothing) {
    Judge judge;
    int plain = 0;
    bool retired = false;
    for (int i = 0; i < 40 && !retired; ++i) {
        const Way way = judge.choose(10);
        const int64_t ns = way != Way::TimedPlain ? 45'000 : ++plain <= 2 ? 230'000 : 44'000;
        if (way == Way::TimedServe || way == Way::TimedPlain) retired = judge.note(way, 10, {ns, true, 0});
    }
    EXPECT_TRUE(retired);
}

// In a plain call of a twentieth of a millisecond there was a collection.
TEST(Judge, OnePlainCallThatTookTwentyTimesAsLongDecidesNothing) {
    Judge judge;
    int plain = 0;
    bool retired = false;
    for (int i = 0; i < 40 && !retired; ++i) {
        const Way way = judge.choose(10);
        const int64_t ns = way != Way::TimedPlain ? 45'000 : ++plain == 1 ? 1'100'000 : 40'000;
        if (way == Way::TimedServe || way == Way::TimedPlain) retired = judge.note(way, 10, {ns, true, 0});
    }
    EXPECT_TRUE(retired);
}

// What calls inside lose by being plain meanwhile is little where these are short.
TEST(Judge, ShortCallsAreComparedWithPlainOnesOfWhichNothingIsServed) {
    for (const int64_t served : {50'000, 50'000'000}) {
        Judge judge;
        Way way = judge.choose(10);
        for (; way == Way::TimedServe; way = judge.choose(10)) judge.note(way, 10, {served, true, 0});
        ASSERT_EQ(way, Way::TimedPlain);
        EXPECT_EQ(judge.compares_alone(), served == 50'000);
    }
}

// A tenth apart, and the first three calls of what is faster were hit by something.
TEST(Judge, WhatIsCloseIsComparedLonger) {
    Judge judge;
    int plain = 0;
    bool retired = false;
    for (int i = 0; i < 40 && !retired; ++i) {
        const Way way = judge.choose(10);
        const int64_t ns = way != Way::TimedPlain ? 2200 : ++plain <= 3 ? 2300 : 2000;
        if (way == Way::TimedServe || way == Way::TimedPlain) retired = judge.note(way, 10, {ns, true, 0});
    }
    EXPECT_TRUE(retired);
}

TEST(Judge, WhatIsNotAheadIsRetired) {
    Judge judge;
    EXPECT_EQ(call(judge, 40, 10, 1000, 1000).retirements, 1);
}

// The first ten plain calls run code that CPython has not specialized.
TEST(Judge, ShortCallsAreComparedWhenPythonIsWarm) {
    Judge judge;
    int plain = 0;
    bool retired = false;
    for (int i = 0; i < 40 && !retired; ++i) {
        const Way way = judge.choose(10);
        const int64_t ns = way != Way::TimedPlain ? 150 : ++plain <= 10 ? 400 : 60;
        if (way == Way::TimedServe || way == Way::TimedPlain) retired = judge.note(way, 10, {ns, true, 0});
    }
    EXPECT_TRUE(retired);
}

// Of what takes 300 times as long in plain Python, plain calls take a percent or so of the time.
TEST(Judge, ReviewsOfWhatIsMuchFasterAreRare) {
    Judge judge;
    call(judge, 10, 10, 1000, 300'000);
    EXPECT_LE(call(judge, 90'000, 10, 1000, 300'000).plain, 3);
}

// Nobody waits for plain Python where native loops take long themselves.
TEST(Judge, LongCallsInNativeLoopsWin) {
    Judge judge;
    for (int k = 0; k < 2000; ++k) {
        if (judge.serves()) continue;
        const Judge::Way way = judge.choose(10);
        ASSERT_NE(way, Judge::Way::TimedPlain);
        if (way == Judge::Way::TimedServe) {
            EXPECT_FALSE(judge.note(way, 10, {5'000'000, true, 0, true}));
        }
    }
}

TEST(Judge, WhatIsSlowerIsRetiredWithinTenCalls) {
    Judge judge;
    EXPECT_EQ(call(judge, 10, 10, 26'000, 20'000).retirements, 1);
    EXPECT_TRUE(judge.retired());
    Judge closer;
    EXPECT_EQ(call(closer, 30, 10, 1100, 1000).retirements, 1) << "short calls need more";
    const Calls later = call(judge, 10'000, 10, 1100, 1000);
    EXPECT_LT(later.served, 200);
}

TEST(Judge, AReplayBelowItsFloorNeedsNoPlainCall) {
    Judge judge;
    EXPECT_EQ(call(judge, 5000, 10, 150, 1000, 200).plain, 0);
}

TEST(Judge, CallsThatRecordedDoNotCount) {
    Judge judge;
    for (int i = 0; i < 100; ++i) {
        ASSERT_FALSE(judge.serves());
        const Way way = judge.choose(10);
        ASSERT_EQ(way, Way::TimedServe);
        judge.note(way, 10, {1'000'000, false, 0});
    }
    EXPECT_EQ(call(judge, 100, 10, 100, 1000).retirements, 0);
}

TEST(Judge, LargerInputsAreTriedAgain) {
    Judge judge;
    call(judge, 20, 10, 2000, 1000);
    ASSERT_TRUE(judge.retired());
    EXPECT_EQ(call(judge, 10, 1000, 200'000, 900'000).plain, 2);
    EXPECT_EQ(call(judge, 50, 1000, 200'000, 900'000).plain, 0);
    EXPECT_EQ(call(judge, 50, 10, 2000, 1000).served, 0) << "the small ones are still slower";
}

TEST(Judge, GrowthThatArgumentsDoNotShowIsNoticed) {
    Judge judge;
    call(judge, 20, 0, 2000, 1000);
    ASSERT_TRUE(judge.retired());
    EXPECT_GT(call(judge, 300, 0, 200'000, 900'000).served, 100);
}

TEST(Judge, TrialsOfWhatIsRetiredAreRare) {
    Judge judge;
    int64_t served = 0, plain = 0;
    for (int k = 0; k < 10; ++k) {
        const Calls calls = call(judge, 10'000, 10, 100'000, 1000);
        served += calls.served;
        plain += calls.plain;
    }
    EXPECT_LT(served * 100, plain) << "each costs a hundred plain calls";
}

// Calls that were not shown to it bring the next trial nearer, by no more than the time that they can have
// taken.
TEST(Judge, CallsThatWereMissedBringTheNextTrialNearer) {
    for (const bool long_ago : {false, true}) {
        Judge judge;
        call(judge, 100, 10, 2000, 1000);
        ASSERT_TRUE(judge.retired());
        judge.miss(1'000'000, long_ago ? 10'000'000 : 100'000);
        EXPECT_EQ(call(judge, 10, 10, 2000, 1000).served > 0, long_ago);
    }
}

TEST(Judge, TimeInWhichNoCallIsShownCountsAsWaitedFor) {
    Judge judge;
    call(judge, 20, 10, 2000, 1000);
    ASSERT_TRUE(judge.retired());
    Judge::let_pass(1'000'000'000);
    EXPECT_GT(call(judge, 70, 10, 2000, 1000).served, 0);
}

TEST(Judge, WhatWasLostBeforeItsCodeWasThereIsTriedAgainSooner) {
    int waited[2] = {};
    for (const bool early : {false, true}) {
        Judge judge;
        judge.overdraw(10, 100'000, early);
        while (waited[early] < 100'000) {
            ++waited[early];
            if (judge.serves()) continue;
            const Way way = judge.choose(10);
            if (way == Way::TimedServe) break;
            if (way == Way::TimedPlain) judge.note(way, 10, {1000, true, 0});
        }
    }
    EXPECT_LT(2 * waited[true], waited[false]);
}

TEST(Judge, SmallerInputsAreReviewed) {
    Judge judge;
    call(judge, 20, 100'000, 100'000, 900'000);
    call(judge, 3000, 10, 1000, 500);
    EXPECT_EQ(call(judge, 50, 10, 1000, 500).served, 0);
    EXPECT_LE(call(judge, 50, 100'000, 100'000, 900'000).plain, 2);
}

TEST(Judge, GivenUpUntilThereAreArrays) {
    Judge judge;
    judge.give_up(0);
    EXPECT_EQ(call(judge, 100'000, 0, 1000, 500).served, 0);
    EXPECT_TRUE(judge.gave_up());
    EXPECT_GT(call(judge, 100, 50, 500, 1000).served, 80);
    EXPECT_FALSE(judge.gave_up());
}

TEST(Judge, SizesThatNeverRepeatAreServed) {
    Judge judge;
    int64_t size = 1;
    for (int i = 0; i < 200; ++i) {
        size = size > 100'000'000 ? 1 : size * 7;
        call(judge, 1, size, 1000, 1000);
    }
    EXPECT_FALSE(judge.retired());
}

// Calls of 20 ms are not waited for until 64 of them have passed.
TEST(Judge, LongCallsAreTriedAgainWhenTheWaitIsOver) {
    Judge judge;
    judge.overdraw(10, 1'100'000, /*early=*/true);
    int plain = 0;
    while (plain < 100) {
        EXPECT_FALSE(judge.serves());
        const Way way = judge.choose(10);
        if (way == Way::TimedServe) break;
        ++plain;
        if (way == Way::TimedPlain) judge.note(way, 10, {20'000'000, true, 0});
    }
    EXPECT_LE(plain, 2);
    // Of short ones one in 64 is timed.
    Judge other;
    other.overdraw(10, 1'100'000, /*early=*/true);
    int timed = 0;
    for (int i = 0; i < 640; ++i) {
        EXPECT_FALSE(other.serves());
        const Way way = other.choose(10);
        ASSERT_NE(way, Way::TimedServe);
        timed += way == Way::TimedPlain;
        if (way == Way::TimedPlain) other.note(way, 10, {5'000, true, 0});
    }
    EXPECT_LE(timed, 12);
}

// A loop that is slower than Python's must not take its time twice before that is found out.
TEST(Judge, OneLongServedCallComesBeforeThePlainOne) {
    Judge judge;
    EXPECT_EQ(judge.choose(10), Way::TimedServe);
    judge.note(Way::TimedServe, 10, {300'000'000, true, 0});
    EXPECT_EQ(judge.choose(10), Way::TimedPlain);
    EXPECT_TRUE(judge.note(Way::TimedPlain, 10, {80'000'000, true, 0}));
}

TEST(Judge, WhatWasComparedIsKept) {
    Judge judge;
    EXPECT_EQ(judge.compared().plain, 0);
    call(judge, 100, 10, 200'000, 1'000'000, 300'000);
    EXPECT_TRUE(judge.won());
    EXPECT_EQ(judge.compared().plain, 0);  // nothing was to be doubted about it
    judge.compare();
    call(judge, 20, 10, 200'000, 1'000'000);
    EXPECT_EQ(judge.compared().served, 200'000);
    EXPECT_EQ(judge.compared().plain, 1'000'000);
    judge.compare();
    EXPECT_EQ(call(judge, 20, 10, 200'000, 1'000'000).plain, 0);
}
