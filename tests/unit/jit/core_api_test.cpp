// The whole way through CompilerApi: graphs as text, compiled, cached, run, compared with tier 0.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "jit/core.h"
#include "jit/machine.h"
#include "jit/object_cache.h"
#include "jit/program_key.h"
#include "kernels/api/compiler.h"
#include "tests/unit/support/segment.h"

extern "C" const stator::kernels::CompilerApi* stator_core_api();

namespace stator::jit {
namespace {

namespace fs = std::filesystem;
using kernels::CodeSlot;
using kernels::kFive;
using kernels::numbers;
using kernels::Segment;
using kernels::sized;

const kernels::CompilerApi& api() { return *stator_core_api(); }
kernels::CompilerStats stats() {
    kernels::CompilerStats s{};
    api().stats(s);
    return s;
}

class CoreApi : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "stator_core_XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        dir_ = name;
        options_.cache_dir = dir_ / "cache";
        api().configure(options_, nullptr);
    }
    void TearDown() override {
        api().wait_idle();
        api().reset();
        fs::remove_all(dir_);
    }
    static std::shared_ptr<CodeSlot> compile(Segment& segment, const std::string& name = "step#1",
                                             bool wait = true) {
        auto slot = std::make_shared<CodeSlot>();
        kernels::CompileRequest r;
        r.name = name;
        r.program = std::make_shared<kernels::Program>(segment.program());
        r.slot = slot;
        r.wait = wait;
        api().compile(std::move(r));
        if (wait) {
            EXPECT_TRUE(slot->ready) << slot->error;
        }
        return slot;
    }
    fs::path dir_;
    Options options_;
};

TEST_F(CoreApi, CompiledCodeAgreesWithTier0) {
    Segment probe(sized(kFive, 100));
    const auto slot = compile(probe);
    ASSERT_EQ(slot->nests.size(), 1u);
    for (const int64_t n : {0, 1, 2, 7, 8, 9, 63, 1000, 1025}) {
        auto x = numbers(n, 1), y = numbers(n, 2), z = numbers(n, 3);
        Segment segment(sized(kFive, n));
        segment.input(0, x).input(1, y).input(2, z);
        for (const int pieces : {1, 3}) {
            EXPECT_EQ(segment(1), 0u);
            const auto want = segment.output<double>();
            EXPECT_EQ(segment(pieces, &slot->nests), 0u);
            EXPECT_EQ(segment.output<double>(), want) << n;
        }
        if (n > 5) {
            y[5] = 0;
            EXPECT_EQ(segment(1, &slot->nests), kernels::kFaultDivide);
        }
    }
}

TEST_F(CoreApi, CompilesBesideTheProgram) {
    Segment segment(sized(kFive, 100));
    const auto slot = compile(segment, "step#1", false);
    api().wait_idle();
    ASSERT_TRUE(slot->ready);
    EXPECT_FALSE(slot->failed);
    EXPECT_GT(slot->compile_seconds, 0);
}

TEST_F(CoreApi, EqualProgramsAreCompiledOnce) {
    Segment first(sized(kFive, 100)), second(sized(kFive, 777));
    const auto before = stats();
    auto a = compile(first, "one#1");
    const auto b = compile(second, "another#7");
    EXPECT_FALSE(a->from_cache);
    EXPECT_TRUE(b->from_cache) << "sizes and names do not matter";
    EXPECT_EQ(a->nests, b->nests) << "one copy in memory";
    EXPECT_EQ(stats().compiles - before.compiles, 1);
    EXPECT_EQ(stats().cache_hits - before.cache_hits, 1);
    EXPECT_EQ(stats().cache_stores - before.cache_stores, 1);
}

TEST_F(CoreApi, AnotherProcessFindsThemOnDisk) {
    Segment segment(sized(kFive, 100));
    auto slot = compile(segment);
    slot.reset();
    api().reset();  // nothing in memory any more, as in another process
    const auto again = compile(segment);
    EXPECT_TRUE(again->from_cache);
    EXPECT_EQ(again->compile_seconds, 0);
    auto x = numbers(50, 1), y = numbers(50, 2), z = numbers(50, 3);
    Segment run(sized(kFive, 50));
    run.input(0, x).input(1, y).input(2, z)();
    const auto want = run.output<double>();
    run(1, &again->nests);
    EXPECT_EQ(run.output<double>(), want);
}

TEST_F(CoreApi, ObjectsHoldNothingOfTheProcess) {
    Segment segment(sized(kFive, 100));
    compile(segment, "secret_function_name#1");
    for (const auto& e : fs::recursive_directory_iterator(dir_)) {
        if (!e.is_regular_file()) continue;
        std::ifstream in(e.path(), std::ios::binary);
        std::stringstream text;
        text << in.rdbuf();
        EXPECT_EQ(text.str().find("secret"), std::string::npos);
        EXPECT_EQ(text.str().find(dir_.string()), std::string::npos);
    }
}

TEST_F(CoreApi, AnEntryThatCannotBeLinkedIsReplaced) {
    Segment segment(sized(kFive, 100));
    const std::string key = environment_key(emit_options("stator", false)) + program_key(segment.program());
    ASSERT_TRUE(ObjectCache(options_.cache_dir, 1 << 20).store(key, "well stored, but not an object"));
    EXPECT_FALSE(compile(segment)->from_cache);
    api().reset();
    EXPECT_TRUE(compile(segment)->from_cache);
}

TEST_F(CoreApi, WorksWithoutACache) {
    options_.cache_size = 0;
    api().configure(options_, nullptr);
    Segment segment(sized(kFive, 100));
    compile(segment);
    api().reset();
    EXPECT_FALSE(compile(segment)->from_cache);
    EXPECT_FALSE(fs::exists(dir_ / "cache"));
}

TEST_F(CoreApi, AForkedChildCompiles) {
    Segment segment(sized(kFive, 100)), other(sized(kernels::kFive, 100));
    compile(segment, "step#1", false);
    const pid_t child = fork();
    if (child == 0) {
        const auto pending = compile(other, "step#2", false);
        api().wait_idle();
        _exit(pending->ready ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    api().wait_idle();
}

TEST_F(CoreApi, ExitDuringACompilationIsClean) {
    for (int i = 0; i < 5; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            options_.cache_size = 0;
            api().configure(options_, nullptr);
            for (int k = 0; k < 20; ++k) {
                Segment segment(sized(kFive, 100));
                segment.program().scalars[0].bits[1] = static_cast<uint64_t>(k + 1);  // another key
                compile(segment, "step#1", false);
            }
            usleep(3000 * static_cast<unsigned>(i));
            std::exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0) << "signal " << WTERMSIG(status);
    }
}

TEST_F(CoreApi, Artifacts) {
    Segment segment(sized(kFive, 100));
    kernels::CompileRequest r;
    r.name = "step#1";
    r.program = std::make_shared<kernels::Program>(segment.program());
    r.graph = std::make_shared<graph::Graph>(segment.graph());
    kernels::Artifacts a;
    api().artifacts(r, a);
    EXPECT_EQ(a.error, "");
    EXPECT_NE(a.loop_ir.find("multiply"), std::string::npos);
    EXPECT_NE(a.llvm_ir.find("step_1_nest0"), std::string::npos);
    EXPECT_NE(a.assembly.find("step_1_nest0"), std::string::npos);
}

TEST_F(CoreApi, NamesKernelsForPerfAndGdb) {
    options_.perf = options_.gdb = true;
    api().configure(options_, nullptr);
    Segment segment(sized(kFive, 100));
    const auto slot = compile(segment, "hill#3");
    const std::string map = "/tmp/perf-" + std::to_string(getpid()) + ".map";
    std::ifstream in(map);
    std::string line, all;
    while (std::getline(in, line)) all += line + "\n";
    EXPECT_NE(all.find(" hill#3_nest0\n"), std::string::npos) << all;
    std::stringstream address;
    address << std::hex << reinterpret_cast<uintptr_t>(slot->nests[0]) << " ";
    EXPECT_NE(all.find(address.str()), std::string::npos);
    fs::remove(map);
    EXPECT_FALSE(fs::exists(dir_ / "cache")) << "gdb's names are private to the trace";
}

TEST_F(CoreApi, PoolAndThreads) {
    void* p = api().allocate(1 << 20);
    ASSERT_NE(p, nullptr);
    api().release(p, 1 << 20);
    EXPECT_EQ(api().allocate(1 << 20), p);
    api().release(p, 1 << 20);
    EXPECT_GE(api().thread_count(), 1);
    options_.threads = 3;
    api().configure(options_, nullptr);
    EXPECT_EQ(api().thread_count(), 3);
    EXPECT_NE(std::string(api().cpu_description()), "");
    EXPECT_NE(std::string(api().llvm_version()), "");
}

}  // namespace
}  // namespace stator::jit
