#include "jit/cuda/nvrtc.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "jit/compiler.h"
#include "jit/core.h"

namespace stator::jit {
namespace {

namespace fs = std::filesystem;

// A row sum with 16-byte loads and a pointwise kernel.
constexpr char kSource[] = R"(
__device__ __forceinline__ float warp_sum(float v) {
    for (int step = 16; step; step >>= 1) v = __fadd_rn(v, __shfl_xor_sync(0xffffffffu, v, step));
    return v;
}
extern "C" __global__ void __launch_bounds__(256) row_sum(const float* __restrict__ a, float* __restrict__ out,
                                                          long long columns) {
    __shared__ float partial[8];
    float sum = 0;
    for (long long i = threadIdx.x * 4; i < columns; i += 1024) {
        float4 v = *(const float4*)(a + blockIdx.x * columns + i);
        sum = __fadd_rn(sum, __fadd_rn(__fadd_rn(v.x, v.y), __fadd_rn(v.z, v.w)));
    }
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; ++w) sum = __fadd_rn(sum, partial[w]);
        out[blockIdx.x] = sum;
    }
}
extern "C" __global__ void scale(const double* a, double* out, long long n) {
    long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n) out[i] = __dmul_rn(a[i], exp(2.0));
}
)";

class NvrtcTest : public testing::Test {
  protected:
    void SetUp() override {
        before_ = options();
        std::string name = (fs::temp_directory_path() / "stator_nvrtc_XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        dir_ = name;
        with([&](Options& o) { o.cache_dir = dir_; });
        set_nvrtc_folders({STATOR_TEST_SITE_PACKAGES});
        reset_nvrtc();
    }
    void TearDown() override {
        configure(before_);
        reset_nvrtc();
        fs::remove_all(dir_);
    }
    template <class F>
    static void with(F change) {
        Options o = options();
        change(o);
        configure(o);
    }
    static bool compile(const std::string& source, const std::string& arch = "sm_90",
                        const std::vector<std::string>& extra = {}) {
        error.clear();
        return compile_cuda(source, "kernels", arch, extra, &binary, &error);
    }
    inline static CudaBinary binary;
    inline static std::string error;
    fs::path dir_;
    Options before_;
};

#define NEEDS_NVRTC()                                        \
    if (std::string why; !nvrtc_info(&why)) {                \
        GTEST_SKIP() << "no NVRTC on this machine: " << why; \
    }

bool has(const std::vector<std::string>& list, const std::string& item) {
    return std::ranges::find(list, item) != list.end();
}

TEST_F(NvrtcTest, CompilesEveryKernelOfASource) {
    NEEDS_NVRTC();
    for (const char* arch : {"sm_80", "sm_90", "sm_100"}) {
        ASSERT_TRUE(compile(kSource, arch)) << error;
        EXPECT_EQ(binary.cubin.substr(0, 4),
                  "\x7f"
                  "ELF");
        EXPECT_NE(binary.ptx.find(".visible .entry row_sum"), std::string::npos);
        const bool wide = binary.ptx.find("ld.global.nc.v4.f32") != std::string::npos ||
                          binary.ptx.find("ld.global.v2.b64") != std::string::npos;
        EXPECT_TRUE(wide) << binary.ptx;
        ASSERT_EQ(binary.kernels.size(), 2u) << binary.log;
        for (const CudaKernelStats& k : binary.kernels) {
            EXPECT_GT(k.registers, 4) << k.name;
            EXPECT_EQ(k.spill_bytes, 0) << k.name;
            if (k.name == "row_sum") {
                EXPECT_GE(k.shared_bytes, 32);
            }
        }
        EXPECT_FALSE(binary.from_cache);
        EXPECT_TRUE(has(binary.options, std::string("--gpu-architecture=") + arch));
    }
}

TEST_F(NvrtcTest, CachesInMemoryAndOnDisk) {
    NEEDS_NVRTC();
    ASSERT_TRUE(compile(kSource)) << error;
    const CudaBinary first = binary;
    ASSERT_TRUE(compile(kSource));
    EXPECT_TRUE(binary.from_cache);
    reset_nvrtc();
    ASSERT_TRUE(compile(kSource));
    EXPECT_TRUE(binary.from_cache);
    EXPECT_LT(binary.seconds, 0.1);  // opening NVRTC is not waited for
    EXPECT_EQ(binary.cubin, first.cubin);
    EXPECT_EQ(binary.ptx, first.ptx);
    EXPECT_EQ(binary.log, first.log);
    EXPECT_EQ(binary.options, first.options);
    ASSERT_EQ(binary.kernels.size(), 2u);
    EXPECT_EQ(binary.kernels[0].registers, first.kernels[0].registers);
    ASSERT_TRUE(compile(kSource, "sm_80"));
    EXPECT_FALSE(binary.from_cache);
    ASSERT_TRUE(compile(kSource, "sm_90", {"--maxrregcount=32"}));
    EXPECT_FALSE(binary.from_cache);
}

TEST_F(NvrtcTest, ExtraOptionsReplaceDefaults) {
    const auto plain = cuda_options("", "sm_90", {});
    EXPECT_TRUE(has(plain, "--fmad=false"));
    const auto other = cuda_options("", "sm_90", {"-fmad=true", "-Ofc=max"});
    EXPECT_FALSE(has(other, "--fmad=false"));
    EXPECT_FALSE(has(other, "--Ofast-compile=min"));
    EXPECT_TRUE(has(other, "-fmad=true"));
}

// log() of double has one contracted product in host libraries; logf has none.
TEST_F(NvrtcTest, FunctionsWithContractionsAreCompiledAsHostsDo) {
    EXPECT_FALSE(has(cuda_options("y = log(x);", "sm_90", {}), "--fmad=false"));
    EXPECT_FALSE(has(cuda_options("y = pow(x, 2.5);", "sm_90", {}), "--fmad=false"));
    EXPECT_TRUE(has(cuda_options("y = logf(x) + catalog(x) + exp(x); // log", "sm_90", {}), "--fmad=false"));
}

TEST_F(NvrtcTest, SpillsAreReported) {
    NEEDS_NVRTC();
    std::string body, sum = "0.f";
    for (int i = 0; i < 64; ++i) {
        const std::string n = std::to_string(i);
        body += "float v" + n + " = a[threadIdx.x * " + n + "];\n";
        sum = "__fadd_rn(" + sum + ", __fmul_rn(v" + n + ", v" + std::to_string(63 - i) + "))";
    }
    const std::string source = "extern \"C\" __global__ void k(const volatile float* a, float* o) {\n" +
                               body + "__syncthreads();\no[threadIdx.x] = " + sum + ";\n}";
    ASSERT_TRUE(compile(source, "sm_90", {"--maxrregcount=24"})) << error;
    ASSERT_EQ(binary.kernels.size(), 1u);
    EXPECT_GT(binary.kernels[0].spill_bytes, 0) << binary.log;
    EXPECT_LE(binary.kernels[0].registers, 24);
}

TEST_F(NvrtcTest, ErrorsNameTheLine) {
    NEEDS_NVRTC();
    binary.ptx = "untouched";
    ASSERT_FALSE(compile("extern \"C\" __global__ void k(float* o) {\n    o[0] = missing + 1;\n}\n"));
    EXPECT_NE(error.find("kernels.cu(2): error"), std::string::npos) << error;
    EXPECT_NE(error.find("o[0] = missing + 1"), std::string::npos) << error;
    EXPECT_NE(error.find("sm_90"), std::string::npos) << error;
    EXPECT_EQ(binary.ptx, "untouched");
    ASSERT_FALSE(compile(kSource, "sm_90", {"--no-such-option"}));
    EXPECT_NE(error.find("--no-such-option"), std::string::npos) << error;
    ASSERT_TRUE(compile(kSource)) << error;
    EXPECT_TRUE(has(binary.options, "--minimal"));
}

TEST_F(NvrtcTest, UnknownArchitectures) {
    NEEDS_NVRTC();
    for (const char* arch : {"sm_17", "gfx90a", "sm_", "sm_90x", "", "sm_99999999999"}) {
        ASSERT_FALSE(compile(kSource, arch)) << arch;
        EXPECT_NE(error.find("sm_90"), std::string::npos) << error;
    }
    ASSERT_TRUE(compile(kSource, "compute_90")) << error;
    EXPECT_TRUE(binary.cubin.empty());
    EXPECT_FALSE(binary.ptx.empty());
}

TEST_F(NvrtcTest, ArchitectureOfADevice) {
    NEEDS_NVRTC();
    std::string arch;
    ASSERT_TRUE(cuda_arch_for(9, 0, &arch, &error));
    EXPECT_EQ(arch, "sm_90");
    ASSERT_TRUE(cuda_arch_for(99, 0, &arch, &error));
    EXPECT_EQ(arch.substr(0, 8), "compute_");
    EXPECT_FALSE(cuda_arch_for(3, 5, &arch, &error));
}

TEST_F(NvrtcTest, AbsenceSaysWhatToDo) {
    with([](Options& o) { o.nvrtc = "/nonexistent/libnvrtc.so"; });
    ASSERT_FALSE(compile(kSource));
    EXPECT_NE(error.find("/nonexistent/libnvrtc.so"), std::string::npos) << error;
    EXPECT_NE(error.find("STATOR_NVRTC"), std::string::npos) << error;
    with([](Options& o) { o.nvrtc = "libm.so.6"; });
    ASSERT_FALSE(compile(kSource));
    EXPECT_NE(error.find("nvrtcGetErrorString"), std::string::npos) << error;
    if (std::system("ldconfig -p 2>/dev/null | grep -q libnvrtc.so") != 0) {
        with([](Options& o) { o.nvrtc = ""; });
        set_nvrtc_folders({});
        reset_nvrtc();
        if (!compile("__global__ void never_compiled_before() {}")) {
            EXPECT_NE(error.find("pip install \"stator[cuda]\""), std::string::npos) << error;
        }
    }
}

#ifdef STATOR_FAKE_NVRTC
TEST_F(NvrtcTest, AnOldOneIsAskedWithoutNewOptions) {
    with([](Options& o) {
        o.nvrtc = STATOR_FAKE_NVRTC;
        o.cache_size = 0;
    });
    setenv("FAKE_NVRTC_VERSION", "11.8", 1);
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(compile(std::string(kSource) + "//" + std::to_string(i))) << error;
        EXPECT_FALSE(has(binary.options, "--minimal"));
        EXPECT_FALSE(has(binary.options, "--Ofast-compile=min"));
        EXPECT_TRUE(has(binary.options, "--fmad=false"));
    }
    ASSERT_FALSE(compile(kSource, "sm_90", {"--no-such-option"}));
    EXPECT_NE(error.find("--no-such-option"), std::string::npos) << error;
    unsetenv("FAKE_NVRTC_VERSION");
    reset_nvrtc();
    ASSERT_TRUE(compile(kSource)) << error;
    EXPECT_TRUE(has(binary.options, "--minimal"));
}
#endif

TEST_F(NvrtcTest, WorksInAForkedChild) {
    NEEDS_NVRTC();
    ASSERT_TRUE(compile(kSource)) << error;
    const pid_t child = fork();
    if (child == 0) _exit(compile(std::string(kSource) + "// child\n") && !binary.from_cache ? 0 : 1);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST_F(NvrtcTest, PlantsDefects) {
    EXPECT_EQ(mutate_for_tests("a __syncthreads(); b"), "a __syncthreads(); b");
    with([](Options& o) { o.test_cuda_mutate = "__syncthreads\\(\\);=>"; });
    EXPECT_EQ(mutate_for_tests("a __syncthreads(); b __syncthreads();"), "a  b ");
    with([](Options& o) { o.test_cuda_mutate = "i < (n\\d)=>i <= $1"; });
    EXPECT_EQ(mutate_for_tests("if (i < n0)"), "if (i <= n0)");
    for (const char* bad : {"no arrow", "(=>x"}) {
        static std::string line;
        set_log_sink([](const char* text) { line = text; });
        with([&](Options& o) { o.test_cuda_mutate = bad; });
        EXPECT_EQ(mutate_for_tests("int x;").substr(0, 7), "#error ");
        EXPECT_NE(line.find("REGEX=>REPLACEMENT"), std::string::npos);
        set_log_sink(nullptr);
    }
}

TEST(PtxasLog, OlderAndNewerForms) {
    const auto kernels = parse_ptxas_log(
        "ptxas info    : 0 bytes gmem\n"
        "ptxas info    : Compiling entry function 'a' for 'sm_80'\n"
        "ptxas info    : Function properties for a\n"
        "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
        "ptxas info    : Used 40 registers, 1024 bytes smem, 380 bytes cmem[0]\n"
        "ptxas info    : Compiling entry function 'b' for 'sm_90'\n"
        "ptxas info    : Function properties for b\n"
        "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 22 registers, used 1 barriers, 128 bytes smem\n");
    ASSERT_EQ(kernels.size(), 2u);
    EXPECT_EQ(kernels[0].name, "a");
    EXPECT_EQ(kernels[0].registers, 40);
    EXPECT_EQ(kernels[0].spill_bytes, 20);
    EXPECT_EQ(kernels[0].stack_bytes, 16);
    EXPECT_EQ(kernels[0].shared_bytes, 1024);
    EXPECT_EQ(kernels[1].registers, 22);
    EXPECT_EQ(kernels[1].barriers, 1);
    EXPECT_EQ(kernels[1].shared_bytes, 128);
}

}  // namespace
}  // namespace stator::jit
