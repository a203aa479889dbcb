// The table of thresholds and what STATOR_TUNE makes of it.
#include "frontend/policy.h"

#include <gtest/gtest.h>

#include <set>

namespace stator::frontend {
namespace {

// What a text that is not right gives: one line, and thresholds as they were.
std::string only_problem(std::string_view text) {
    Policy p;
    const std::vector<std::string> problems = tune(p, text);
    EXPECT_EQ(problems.size(), 1u) << text;
    for (const PolicyRow& row : policy_rows()) EXPECT_EQ(row.value(p), row.fallback) << text << row.name;
    return problems.empty() ? "" : problems[0];
}

TEST(Policy, EachRowIsWhole) {
    std::set<std::string_view> names;
    for (const PolicyRow& row : policy_rows()) {
        EXPECT_TRUE(names.insert(row.name).second) << row.name << " is there twice";
        EXPECT_LE(row.least, row.fallback) << row.name;
        EXPECT_LE(row.fallback, row.most) << row.name;
        EXPECT_FALSE(row.group.empty()) << row.name;
        EXPECT_TRUE(row.reason.ends_with('.')) << row.name;
        // Some must not be zero: they are divisors.
        EXPECT_GE(row.least, row.unit == "1/n" ? 1 : 0) << row.name;
    }
    EXPECT_GT(names.size(), 100u);
}

TEST(Policy, RowsOfAGroupAreTogether) {
    std::set<std::string_view> ended;
    std::string_view group;
    for (const PolicyRow& row : policy_rows()) {
        if (row.group == group) continue;
        EXPECT_TRUE(ended.insert(row.group).second) << row.name << " is away from its group";
        group = row.group;
    }
}

TEST(Policy, DefaultsAreThoseOfTheTable) {
    for (const PolicyRow& row : policy_rows()) EXPECT_EQ(row.value(Policy{}), row.fallback) << row.name;
    EXPECT_EQ(Policy{}.step_cost, 40);
    EXPECT_EQ(Policy{}.build_time, 35'000'000);
    EXPECT_EQ(Policy{}.investments_most_kept, 25'000'000);
}

TEST(Policy, EachThresholdCanBeSetWithinItsBounds) {
    for (const PolicyRow& row : policy_rows())
        for (const int64_t value : {row.least, row.most}) {
            Policy p;
            const std::vector<std::string> problems =
                tune(p, std::string(row.name) + "=" + std::to_string(value));
            EXPECT_TRUE(problems.empty()) << problems[0];
            for (const PolicyRow& other : policy_rows())
                EXPECT_EQ(other.value(p), other.name == row.name ? value : other.fallback)
                    << row.name << " sets " << other.name;
        }
}

TEST(Policy, NothingBeyondItsBounds) {
    for (const PolicyRow& row : policy_rows()) {
        const std::string name(row.name);
        EXPECT_NE(only_problem(name + "=" + std::to_string(row.most + 1)).find(name), std::string::npos);
        EXPECT_NE(only_problem(name + "=" + std::to_string(row.least - 1)).find(name), std::string::npos);
    }
}

TEST(Policy, SeveralAreSetByOneText) {
    Policy p;
    EXPECT_TRUE(tune(p, "").empty());
    EXPECT_TRUE(tune(p, " hot_work = 10 ,, build_time=1_000_000,hot_work=20").empty());
    EXPECT_EQ(p.hot_work, 20);
    EXPECT_EQ(p.build_time, 1'000'000);
}

TEST(Policy, WhatIsWrongIsSaidAndTheRestIsSet) {
    Policy p;
    const std::vector<std::string> problems = tune(p, "hot_wrok=10,header_regions=2,place_traces");
    ASSERT_EQ(problems.size(), 2u);
    EXPECT_EQ(problems[0],
              "STATOR_TUNE: expected the name of a threshold, found 'hot_wrok'; it is ignored, "
              "'python -m stator policy' lists the names");
    EXPECT_EQ(problems[1], "STATOR_TUNE: expected name=value, found 'place_traces'; it is ignored");
    EXPECT_EQ(p.header_regions, 2u);
    EXPECT_EQ(p.hot_work, Policy{}.hot_work);
}

TEST(Policy, AValueHasToBeAWholeNumber) {
    EXPECT_EQ(only_problem("header_attempts=lots"),
              "STATOR_TUNE: expected a whole number from 1 to 1000000 for header_attempts, found 'lots'; 8 "
              "is used");
    for (const char* text : {"hot_work=", "hot_work=1.5", "hot_work=1e3", "hot_work=10ms", "hot_work=-1",
                             "hot_work=_1", "hot_work=1_", "hot_work=99999999999999999999", "hot_work=1=2"})
        EXPECT_NE(only_problem(text).find("for hot_work, found '"), std::string::npos) << text;
}

}  // namespace
}  // namespace stator::frontend
