#include "jit/options.h"

#include <gtest/gtest.h>

#include <set>

namespace stator::jit {
namespace {

Options parse(std::vector<const char*> environment, std::vector<std::string>& problems) {
    environment.push_back(nullptr);
    return parse_environment(environment.data(), problems);
}
std::string only_problem(const char* entry) {
    std::vector<std::string> problems;
    parse({entry}, problems);
    EXPECT_EQ(problems.size(), 1u) << entry;
    return problems.empty() ? "" : problems[0];
}

TEST(Options, DefaultsAreThoseOfTheTable) {
    const Options o;
    for (const OptionRow& row : option_rows()) {
        Options other;
        std::string error;
        EXPECT_TRUE(set_option(other, row.field, row.fallback, error)) << error;
        EXPECT_EQ(get_option(o, row.field), get_option(other, row.field)) << row.field;
        EXPECT_TRUE(row.variable.starts_with("STATOR")) << row.variable;
        EXPECT_NE(help_text().find(row.help), std::string::npos);
    }
    EXPECT_EQ(o.mode, Mode::On);
    EXPECT_EQ(o.cache_size, int64_t{256} << 20);
    EXPECT_TRUE(o.async);
}

TEST(Options, EveryVariableIsRead) {
    std::vector<std::string> problems;
    const Options o = parse(
        {"PATH=/bin", "STATOR=all", "STATOR_LOG=cache,kernels", "STATOR_CACHE_SIZE=64k", "STATOR_THREADS=3",
         "STATOR_ASYNC=off", "STATOR_ONLY=step, solve*", "STATOR_DUMP=/tmp/d", "STATOR_VERIFY="},
        problems);
    EXPECT_TRUE(problems.empty()) << problems[0];
    EXPECT_EQ(o.mode, Mode::All);
    EXPECT_TRUE(logs(o, LogArtifact::Cache));
    EXPECT_TRUE(logs(o, LogArtifact::Kernels));
    EXPECT_FALSE(logs(o, LogArtifact::Guards));
    EXPECT_EQ(get_option(o, "log"), "kernels,cache");
    EXPECT_EQ(o.cache_size, 64 << 10);
    EXPECT_EQ(o.threads, 3);
    EXPECT_FALSE(o.async);
    EXPECT_FALSE(o.verify) << "set but empty is as good as not set";
    EXPECT_EQ(o.only, (std::vector<std::string>{"step", "solve*"}));
    EXPECT_EQ(o.dump, "/tmp/d");
}

TEST(Options, VariablesOfTestsAreReadHereOrElsewhere) {
    std::vector<std::string> problems;
    const Options o = parse({"STATOR_TEST_CUDA_MUTATE=a=>b", "STATOR_TEST_WINDOW=1,2,3"}, problems);
    EXPECT_TRUE(problems.empty()) << problems[0];
    EXPECT_EQ(o.test_cuda_mutate, "a=>b");
}

TEST(Options, OneClearLineForEachProblem) {
    EXPECT_EQ(only_problem("STATOR_THREDS=2"),
              "unknown environment variable STATOR_THREDS is ignored; did you mean STATOR_THREADS?");
    EXPECT_NE(only_problem("STATOR_SOMETHING_ELSE=1").find("doctor"), std::string::npos);
    EXPECT_EQ(only_problem("STATOR_THREADS=many"),
              "STATOR_THREADS: expected a whole number, 0 or more, found 'many'; the default '0' is used");
    EXPECT_NE(only_problem("STATOR_CACHE_SIZE=12X").find("64M"), std::string::npos);
    EXPECT_NE(only_problem("STATOR_CACHE_SIZE=9999999999G").find("64M"), std::string::npos);
    EXPECT_NE(only_problem("STATOR_LOG=kernel").find("STATOR_LOG=help"), std::string::npos);
    EXPECT_NE(only_problem("STATOR=2").find("0, 1 or all"), std::string::npos);
    EXPECT_NE(only_problem("STATOR_ONLY=[").find("function name patterns"), std::string::npos);
    EXPECT_NE(only_problem("STATOR_SKIP=f, (g|h)").find("function name patterns"), std::string::npos);
    std::vector<std::string> problems;
    const Options o = parse({"STATOR_THREADS=-1", "STATORIZE=1"}, problems);
    EXPECT_EQ(problems.size(), 1u) << "other programs' variables are none of ours";
    EXPECT_EQ(o.threads, 0);
}

TEST(Options, WordsForOnAndOff) {
    std::vector<std::string> problems;
    for (const char* off : {"STATOR=0", "STATOR=off", "STATOR=False", "STATOR=no"})
        EXPECT_EQ(get_option(parse({off}, problems), "mode"), "0") << off;
    for (const char* on : {"STATOR=1", "STATOR=on", "STATOR=TRUE", "STATOR=yes", "STATOR="})
        EXPECT_EQ(get_option(parse({on}, problems), "mode"), "1") << on;
    EXPECT_EQ(get_option(parse({"STATOR=ALL"}, problems), "mode"), "all");
    EXPECT_TRUE(problems.empty());
}

TEST(Options, SetByName) {
    Options o;
    std::string error;
    EXPECT_TRUE(set_option(o, "threads", "4", error));
    EXPECT_EQ(get_option(o, "threads"), "4");
    EXPECT_FALSE(set_option(o, "threads", "four", error));
    EXPECT_EQ(error, "option threads: expected a whole number, 0 or more, found 'four'");
    EXPECT_EQ(o.threads, 4);
    EXPECT_FALSE(set_option(o, "nonsense", "1", error));
    EXPECT_EQ(error, "unknown option 'nonsense'");
}

TEST(Options, Patterns) {
    EXPECT_TRUE(matches("step", "step"));
    EXPECT_TRUE(matches("*", ""));
    EXPECT_TRUE(matches("*.step*", "Model.step_2"));
    EXPECT_TRUE(matches("s?ep", "step"));
    EXPECT_TRUE(matches("a*b*c", "a-b-b-c"));
    EXPECT_FALSE(matches("s?ep", "sep"));
    EXPECT_FALSE(matches("step", "steps"));
    EXPECT_FALSE(matches("a*b*c", "a-b-b"));
}

TEST(Options, LogHelpNamesEveryArtifact) {
    for (const LogRow& row : log_rows()) EXPECT_NE(log_help_text().find(row.name), std::string::npos);
}

}  // namespace
}  // namespace stator::jit
