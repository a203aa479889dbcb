// The driver layer against libfakecuda.so, which checks what a driver would not, and the fake itself: defects
// planted in the use of a driver must be found.
#include "jit/cuda/driver.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "jit/core.h"
#include "jit/cuda/nvrtc.h"

#ifndef STATOR_FAKE_CUDA
#define STATOR_FAKE_CUDA ""
#define STATOR_FAKE_NVRTC ""
#endif

namespace stator::jit {
namespace {

constexpr char kSource[] = R"(
extern "C" __global__ void __launch_bounds__(256) scale(const float* a, float* out, long long n, float factor) {
    long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n) out[i] = __fmul_rn(a[i], factor);
}
extern "C" __global__ void big(float* out) {
    extern __shared__ float s[];
    s[threadIdx.x * 512] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[(31 - threadIdx.x) * 512];
}
extern "C" __global__ void ranks(int* out) {
    out[blockIdx.x * 32 + threadIdx.x] = __clusterRelativeBlockRank() + 10 * __clusterSizeInBlocks();
}
)";
const std::vector<int> kScaleParameters = {8, 8, 8, 4};

class CudaDriverTest : public testing::Test {
  protected:
    void SetUp() override {
        if (!*STATOR_FAKE_CUDA) GTEST_SKIP() << "the fakes are not built under sanitizers";
        before_ = options();
        fake_ = dlopen(STATOR_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
        ASSERT_NE(fake_, nullptr) << dlerror();
        machine({});
    }
    void TearDown() override {
        if (!fake_) return;
        reset_cuda_driver();
        function<void()>("fake_cuda_reset")();
        configure(before_);
        for (const char* name : {"CAPABILITY", "DEVICES", "VERSION", "MEMORY", "POOLS"})
            unsetenv((std::string("FAKE_CUDA_") + name).c_str());
        reset_nvrtc();
        dlclose(fake_);
    }
    template <class F>
    static std::function<F> function(const char* name) {
        return reinterpret_cast<F*>(dlsym(fake_, name));
    }
    // Starts over on a machine with these properties: {{"DEVICES", "2"}}.
    static void machine(const std::vector<std::pair<const char*, const char*>>& properties) {
        reset_cuda_driver();
        for (const auto& [name, value] : properties)
            setenv((std::string("FAKE_CUDA_") + name).c_str(), value, 1);
        function<void()>("fake_cuda_reset")();
        Options o = options();
        o.cuda_driver = STATOR_FAKE_CUDA;
        o.nvrtc = STATOR_FAKE_NVRTC;
        o.cache_size = 0;
        configure(o);
        set_log_sink([](const char*) {});
    }
    static CudaDevice& device(int ordinal = 0) {
        CudaStatus s;
        CudaDevice* d = cuda_device(ordinal, &s);
        EXPECT_NE(d, nullptr) << s.text;
        return *d;
    }
    static const CudaBinary& binary(const std::string& arch = "sm_90") {
        static CudaBinary b;
        std::string error;
        EXPECT_TRUE(compile_cuda(kSource, "test", arch, {}, &b, &error)) << error;
        return b;
    }
    static std::shared_ptr<CudaModule> load(CudaDevice& d) {
        CudaStatus s;
        auto m = CudaModule::load(d, binary().cubin, binary().ptx, &s);
        EXPECT_NE(m, nullptr) << s.text;
        return m;
    }
    static std::string violations() { return function<const char*()>("fake_cuda_violations")(); }
    static std::string leaks() { return function<const char*()>("fake_cuda_leaks")(); }
    static void inject(const char* name, int nth, int code) {
        function<void(const char*, int, int)>("fake_cuda_inject")(name, nth, code);
    }
    static int calls(const char* name) { return function<int(const char*)>("fake_cuda_calls")(name); }
    // Where a test plants a defect it calls the driver itself.
    template <class... A>
    static int raw(const char* name, A... arguments) {
        return reinterpret_cast<int (*)(A...)>(dlsym(fake_, name))(arguments...);
    }

    inline static void* fake_ = nullptr;
    Options before_;
};

struct Scale {  // out = a * factor on n floats
    CudaDevice& d;
    CudaStream stream = nullptr;
    DevicePointer a = 0, out = 0;
    int64_t n = 1000;
    float factor = 3;
    void* parameters[4] = {&a, &out, &n, &factor};

    explicit Scale(CudaDevice& device, CudaStream s = nullptr) : d(device), stream(s) {
        std::vector<float> host(1000, 2.0f);
        EXPECT_TRUE(d.allocate(4000, stream, &a).ok());
        EXPECT_TRUE(d.allocate(4000, stream, &out).ok());
        EXPECT_TRUE(d.copy_in(a, host.data(), 4000, stream).ok());
    }
    ~Scale() {
        d.release(a, stream);
        d.release(out, stream);
    }
    CudaStatus run(const CudaModule& m) {
        CudaFunction f;
        const CudaStatus s = m.function("scale", 0, kScaleParameters, &f);
        if (!s.ok()) return s;
        CudaLaunch l;
        l.grid[0] = 4;
        l.block[0] = 256;
        l.stream = stream;
        return m.launch(f, l, parameters);
    }
    float last() {
        std::vector<float> host(1000, 0.0f);
        EXPECT_TRUE(d.copy_out(host.data(), out, 4000, stream).ok());
        return host.back();
    }
};

TEST_F(CudaDriverTest, RunsAKernel) {
    CudaDevice& d = device();
    EXPECT_EQ(d.info().name, "Fake GPU 0");
    EXPECT_EQ(d.info().major, 9);
    EXPECT_EQ(d.info().shared_per_block_optin, 227 << 10);
    {
        const auto m = load(d);
        EXPECT_FALSE(m->from_ptx());
        Scale work(d);
        EXPECT_TRUE(work.run(*m).ok());
        EXPECT_EQ(work.last(), 6.0f);
        // What nobody asked for: no waiting, no context left behind.
        EXPECT_EQ(calls("cuStreamSynchronize"), 0);
        void* current = nullptr;
        EXPECT_EQ(raw("cuCtxGetCurrent", &current), 0);
        EXPECT_EQ(current, nullptr);
    }
    EXPECT_EQ(violations(), "");
    reset_cuda_driver();
    EXPECT_EQ(leaks(), "");
}

TEST_F(CudaDriverTest, UsesTheCurrentContextAndRestoresAnother) {
    machine({{"DEVICES", "2"}});
    CudaDevice &a = device(0), &b = device(1);
    EXPECT_EQ(raw("cuCtxPushCurrent_v2", a.context()), 0);
    const int pushed = calls("cuCtxPushCurrent");
    const auto on_a = load(a);
    Scale work_a(a);
    EXPECT_TRUE(work_a.run(*on_a).ok());
    EXPECT_EQ(calls("cuCtxPushCurrent"), pushed);
    const auto on_b = load(b);
    Scale work_b(b);
    EXPECT_TRUE(work_b.run(*on_b).ok());
    EXPECT_EQ(work_b.last(), 6.0f);
    void* current = nullptr;
    EXPECT_EQ(raw("cuCtxGetCurrent", &current), 0);
    EXPECT_EQ(current, a.context());
    std::thread([&] { EXPECT_EQ(work_a.last(), 6.0f); }).join();
    EXPECT_EQ(violations(), "");
}

TEST_F(CudaDriverTest, ModulesAreUnloadedInTheirContext) {
    machine({{"DEVICES", "2"}});
    auto on_a = load(device(0)), on_b = load(device(1));
    on_a.reset();
    std::thread([&] { on_b.reset(); }).join();
    EXPECT_EQ(calls("cuModuleUnload"), 2);
    EXPECT_EQ(violations(), "");
}

TEST_F(CudaDriverTest, FallsBackToPtx) {
    CudaDevice& d = device();
    CudaStatus s;
    inject("cuModuleLoadDataEx", 1, 209);
    auto m = CudaModule::load(d, binary().cubin, binary().ptx, &s);
    ASSERT_NE(m, nullptr) << s.text;
    EXPECT_TRUE(m->from_ptx());
    Scale work(d);
    EXPECT_TRUE(work.run(*m).ok());
    EXPECT_EQ(work.last(), 6.0f);
    m = CudaModule::load(d, "", binary("compute_80").ptx, &s);
    EXPECT_NE(m, nullptr) << s.text;
    m = CudaModule::load(d, "garbage", "// garbage", &s);
    EXPECT_EQ(m, nullptr);
    EXPECT_NE(s.text.find("CUDA_ERROR_INVALID_IMAGE while compiling PTX: not a PTX"), std::string::npos)
        << s.text;
    inject("cuModuleLoadDataEx", 1, 2);  // out of memory: the PTX is not tried
    const int loads = calls("cuModuleLoadDataEx");
    EXPECT_EQ(CudaModule::load(d, binary("sm_90").cubin, binary().ptx, &s), nullptr);
    EXPECT_EQ(calls("cuModuleLoadDataEx"), loads + 1);
    EXPECT_EQ(violations(), "");
}

TEST_F(CudaDriverTest, SharedMemoryBeyondTheDefault) {
    CudaDevice& d = device();
    const auto m = load(d);
    CudaFunction f;
    ASSERT_TRUE(m->function("big", 65536, {8}, &f).ok());
    DevicePointer out = 0;
    ASSERT_TRUE(d.allocate(128, nullptr, &out).ok());
    void* parameters[] = {&out};
    CudaLaunch l;
    l.block[0] = 32;
    l.shared_bytes = 65536;
    EXPECT_TRUE(m->launch(f, l, parameters).ok());
    float host[32];
    EXPECT_TRUE(d.copy_out(host, out, 128, nullptr).ok());
    EXPECT_EQ(host[0], 31.0f);
    l.shared_bytes = 65537;
    EXPECT_EQ(m->launch(f, l, parameters).code, CudaStatus::kBadLaunch);
    EXPECT_EQ(m->function("big", 300 << 10, {8}, &f).code, CudaStatus::kBadLaunch);
    EXPECT_EQ(violations(), "");
    d.release(out, nullptr);
}

TEST_F(CudaDriverTest, Clusters) {
    CudaDevice& d = device();
    EXPECT_TRUE(d.info().clusters);
    const auto m = load(d);
    CudaFunction f;
    ASSERT_TRUE(m->function("ranks", 0, {8}, &f).ok());
    DevicePointer out = 0;
    ASSERT_TRUE(d.allocate(1024, nullptr, &out).ok());
    void* parameters[] = {&out};
    CudaLaunch l;
    l.grid[0] = 8;
    l.block[0] = 32;
    l.cluster = 4;
    EXPECT_TRUE(m->launch(f, l, parameters).ok());
    int host[256];
    EXPECT_TRUE(d.copy_out(host, out, 1024, nullptr).ok());
    EXPECT_EQ(host[0], 40);
    EXPECT_EQ(host[255], 43);
    EXPECT_EQ(violations(), "");
    d.release(out, nullptr);
}

TEST_F(CudaDriverTest, LaunchesThatCannotBe) {
    CudaDevice& d = device();
    const auto m = load(d);
    CudaFunction f;
    CudaStatus s = m->function("scale", 0, {8, 8, 4, 4}, &f);
    EXPECT_EQ(s.code, CudaStatus::kBadLaunch);
    EXPECT_NE(s.text.find("parameters of 8, 8, 8, 4 bytes"), std::string::npos) << s.text;
    EXPECT_EQ(m->function("missing", 0, {}, &f).code, 500);
    ASSERT_TRUE(m->function("scale", 0, kScaleParameters, &f).ok());
    EXPECT_EQ(f.max_threads, 256);
    CudaLaunch l;
    l.block[0] = 512;
    EXPECT_EQ(m->launch(f, l, nullptr).code, CudaStatus::kBadLaunch);
    l.block[0] = 256;
    l.grid[0] = int64_t(1) << 31;
    EXPECT_EQ(m->launch(f, l, nullptr).code, CudaStatus::kBadLaunch);
    l.grid[0] = 0;
    EXPECT_TRUE(m->launch(f, l, nullptr).ok());
    EXPECT_EQ(calls("cuLaunchKernel"), 0);
    EXPECT_EQ(violations(), "");
}

TEST_F(CudaDriverTest, NoDriverNoDeviceOldDriver) {
    CudaStatus s;
    Options o = options();
    o.cuda_driver = "/nonexistent/libcuda.so";
    configure(o);
    EXPECT_EQ(cuda_device(0, &s), nullptr);
    EXPECT_EQ(s.code, CudaStatus::kNoDriver);
    EXPECT_NE(s.text.find("no CUDA driver"), std::string::npos) << s.text;
    o.cuda_driver = "libm.so.6";
    configure(o);
    EXPECT_EQ(cuda_device(0, &s), nullptr);
    EXPECT_EQ(s.code, CudaStatus::kOldDriver);
    machine({{"VERSION", "11040"}});
    EXPECT_EQ(cuda_device(0, &s), nullptr);
    EXPECT_EQ(s.code, CudaStatus::kOldDriver);
    EXPECT_NE(s.text.find("supports CUDA 11.4, and 12.0 is needed"), std::string::npos) << s.text;
    machine({{"VERSION", "12020"}});
    EXPECT_TRUE(cuda_driver_takes(12, 9).ok());
    s = cuda_driver_takes(13, 0);
    EXPECT_EQ(s.code, CudaStatus::kOldDriver);
    EXPECT_NE(s.text.find("nvidia-cuda-nvrtc-cu12"), std::string::npos) << s.text;
    machine({{"DEVICES", "0"}});
    EXPECT_EQ(cuda_device(0, &s), nullptr);
    EXPECT_EQ(s.code, CudaStatus::kNoDevice);
    machine({{"DEVICES", "1"}});
    EXPECT_EQ(cuda_device(1, &s), nullptr);
    EXPECT_EQ(s.code, CudaStatus::kNoDevice);
}

// Whatever function fails, at whichever call: a status, nothing held, and the next attempt works.
TEST_F(CudaDriverTest, EventsMeasureTimeOfTheirStream) {
    CudaStatus s;
    CudaDevice* d = cuda_device(0, &s);
    ASSERT_NE(d, nullptr) << s.text;
    CudaEvent first = nullptr, last = nullptr;
    double seconds = -1;
    ASSERT_TRUE(d->create_event(&first).ok());
    ASSERT_TRUE(d->create_event(&last).ok());
    EXPECT_TRUE(d->record_event(first, nullptr).ok());
    EXPECT_TRUE(d->record_event(last, nullptr).ok());
    EXPECT_EQ(d->seconds_between(first, last, &seconds).code, 600);  // nobody waited yet
    EXPECT_TRUE(d->wait_for_event(last).ok());
    EXPECT_TRUE(d->seconds_between(first, last, &seconds).ok());
    EXPECT_GE(seconds, 0);
    EXPECT_TRUE(d->destroy_event(first).ok());
    EXPECT_TRUE(d->destroy_event(last).ok());
    EXPECT_EQ(violations(), "");
    EXPECT_FALSE(d->record_event(first, nullptr).ok());
    EXPECT_NE(violations(), "");
}

TEST_F(CudaDriverTest, DevicesAreListedWithoutOpeningThem) {
    machine({{"DEVICES", "2"}, {"CAPABILITY", "8.0"}});
    CudaStatus s;
    const auto all = cuda_devices(&s);
    ASSERT_EQ(all.size(), 2u) << s.text;
    EXPECT_EQ(all[1].name, "Fake GPU 1");
    EXPECT_EQ(all[1].major, 8);
    EXPECT_EQ(leaks(), "");
}

TEST_F(CudaDriverTest, EveryFailureIsAStatus) {
    const char* names[] = {
        "cuInit",           "cuDeviceGetCount",    "cuDeviceGet",         "cuDevicePrimaryCtxRetain",
        "cuCtxPushCurrent", "cuModuleLoadDataEx",  "cuModuleGetFunction", "cuFuncSetAttribute",
        "cuLaunchKernel",   "cuMemAllocAsync",     "cuMemcpyHtoDAsync",   "cuMemcpyDtoHAsync",
        "cuStreamCreate",   "cuStreamSynchronize", "cuMemsetD8Async",     "cuMemcpyDtoDAsync"};
    const auto attempt = []() -> CudaStatus {
        CudaStatus s;
        CudaDevice* d = cuda_device(0, &s);
        if (!d) return s;
        const auto m = CudaModule::load(*d, binary().cubin, "", &s);
        if (!m) return s;
        CudaFunction f;
        CudaStream stream = nullptr;
        DevicePointer p = 0;
        float host[32] = {};
        void* parameters[] = {&p};
        CudaLaunch l;
        l.block[0] = 32;
        l.shared_bytes = 65536;
        CudaStatus first;
        const auto note = [&](const CudaStatus& status) {
            if (first.ok()) first = status;
            return status.ok();
        };
        if (note(m->function("big", 65536, {8}, &f)) && note(d->create_stream(&stream))) {
            l.stream = stream;
            if (note(d->allocate(128, stream, &p))) {
                note(d->copy_in(p, host, 128, stream));
                note(d->fill(p, 0, 128, stream));
                note(d->copy(p, p, 128, stream));
                note(m->launch(f, l, parameters));
                note(d->copy_out(host, p, 128, stream));
                note(d->synchronize(stream));
                d->release(p, stream);
            }
            d->destroy_stream(stream);
        }
        return first;
    };
    for (const char* name : names)
        for (const int code : {1, 2, 999}) {
            machine({});
            inject(name, 1, code);
            const CudaStatus s = attempt();
            EXPECT_TRUE(s.code == code || (s.ok() && code == 2 && name == std::string("cuMemAllocAsync")))
                << name << " " << code << ": " << s.text;
            EXPECT_EQ(s.ok(), s.text.empty()) << name;
            EXPECT_FALSE(s.lost);
            if (name == std::string("cuInit") || name == std::string("cuDeviceGetCount")) reset_cuda_driver();
            const CudaStatus again = attempt();
            EXPECT_TRUE(again.ok()) << name << ": " << again.text;
            EXPECT_EQ(violations(), "") << name;
            reset_cuda_driver();
            EXPECT_EQ(leaks(), "") << name;
        }
}

TEST_F(CudaDriverTest, OutOfMemoryIsAStatus) {
    for (const char* pools : {"1", "0"}) {
        machine({{"MEMORY", "100000"}, {"POOLS", pools}});
        CudaDevice& d = device();
        DevicePointer p = 0, q = 0;
        EXPECT_TRUE(d.allocate(60000, nullptr, &p).ok());
        const CudaStatus s = d.allocate(60000, nullptr, &q);
        EXPECT_EQ(s.code, CudaStatus::kOutOfMemory);
        EXPECT_EQ(q, 0u);
        EXPECT_NE(s.text.find("CUDA_ERROR_OUT_OF_MEMORY while allocating 60000 bytes"), std::string::npos)
            << s.text;
        EXPECT_TRUE(d.release(p, nullptr).ok());
        EXPECT_TRUE(d.allocate(60000, nullptr, &q).ok());
        EXPECT_TRUE(d.release(q, nullptr).ok());
        EXPECT_TRUE(d.allocate(0, nullptr, &q).ok());
        EXPECT_EQ(violations(), "");
        EXPECT_EQ(calls(*pools == '1' ? "cuMemAlloc" : "cuMemAllocAsync"), 0);
    }
}

TEST_F(CudaDriverTest, ALostDeviceAnswersAtOnce) {
    machine({{"DEVICES", "2"}});
    CudaDevice& d = device();
    auto m = load(d);
    Scale work(d);
    work.n = 2000;  // reads and writes behind the arrays
    EXPECT_TRUE(work.run(*m).ok());
    CudaStatus s = d.synchronize(nullptr);
    EXPECT_EQ(s.code, 700);
    EXPECT_TRUE(s.lost);
    EXPECT_NE(violations().find("out of bounds: at offset 4000 of an array of 4000 bytes"), std::string::npos)
        << violations();
    const int before = calls("cuCtxGetCurrent");
    s = work.run(*m);
    EXPECT_EQ(s.code, 700);
    EXPECT_TRUE(s.lost);
    EXPECT_NE(s.text.find("cannot be used any more"), std::string::npos) << s.text;
    DevicePointer p = 0;
    EXPECT_TRUE(d.allocate(16, nullptr, &p).lost);
    CudaStatus again;
    EXPECT_EQ(cuda_device(0, &again), nullptr);
    EXPECT_TRUE(again.lost);
    m.reset();
    EXPECT_EQ(calls("cuCtxGetCurrent"), before);  // the driver is not asked
    EXPECT_TRUE(device(1).status().ok());
}

TEST_F(CudaDriverTest, AForkedChildIsTold) {
    CudaDevice& d = device();
    auto m = load(d);
    const int before = calls("cuModuleUnload");
    const pid_t child = fork();
    if (child == 0) {
        CudaStatus s;
        const bool told = cuda_device(0, &s) == nullptr && s.code == CudaStatus::kForked &&
                          s.text.find("spawn") != std::string::npos;
        DevicePointer p = 0;
        const bool refused = d.allocate(16, nullptr, &p).code == CudaStatus::kForked;
        m.reset();
        _exit(told && refused && calls("cuModuleUnload") == before ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(d.status().ok());
}

TEST_F(CudaDriverTest, ThreadsCompileLoadAndLaunchAtOnce) {
    machine({{"DEVICES", "2"}});
    std::atomic<int> wrong{0};
    const auto work = [&](int thread) {
        CudaStatus s;
        CudaDevice* d = cuda_device(thread % 2, &s);
        if (!d) return void(++wrong);
        for (int i = 0; i < 4; ++i) {
            // Some sources are common to the threads, some are one thread's own.
            const std::string source = std::string(kSource) + "//" + std::to_string(i % 2 ? thread : i);
            CudaBinary b;
            std::string error;
            if (!compile_cuda(source, "threads", "sm_90", {}, &b, &error)) return void(++wrong);
            const auto m = CudaModule::load(*d, b.cubin, b.ptx, &s);
            CudaStream stream = nullptr;
            if (!m || !d->create_stream(&stream).ok()) return void(++wrong);
            {
                Scale scale(*d, stream);
                if (!scale.run(*m).ok() || scale.last() != 6.0f) ++wrong;
            }
            if (!d->destroy_stream(stream).ok()) ++wrong;
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i) threads.emplace_back(work, i);
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(violations(), "");
    reset_cuda_driver();
    EXPECT_EQ(leaks(), "");
}

// ---- defects, planted in the use of a driver: the fake must find each of them ----

TEST_F(CudaDriverTest, FindsALeakedModule) {
    auto* leaked = new std::shared_ptr<CudaModule>(load(device()));
    EXPECT_NE(leaks().find("a module of device 0 is still loaded"), std::string::npos);
    reset_cuda_driver();
    EXPECT_NE(violations().find("a module is still loaded"), std::string::npos);
    (void)leaked;
}

TEST_F(CudaDriverTest, FindsTheWrongStream) {
    CudaDevice& d = device();
    const auto m = load(d);
    CudaStream stream = nullptr, other = nullptr;
    ASSERT_TRUE(d.create_stream(&stream).ok() && d.create_stream(&other).ok());
    {
        Scale work(d, stream);
        EXPECT_TRUE(work.run(*m).ok());
        EXPECT_EQ(violations(), "");
        work.stream = other;
        EXPECT_TRUE(work.run(*m).ok());
        EXPECT_NE(violations().find("another stream used last"), std::string::npos) << violations();
    }
    d.destroy_stream(stream);
    d.destroy_stream(other);
}

TEST_F(CudaDriverTest, WaitingMakesAnotherStreamRight) {
    CudaDevice& d = device();
    const auto m = load(d);
    CudaStream stream = nullptr, other = nullptr;
    ASSERT_TRUE(d.create_stream(&stream).ok() && d.create_stream(&other).ok());
    {
        Scale work(d, stream);
        EXPECT_TRUE(work.run(*m).ok());
        EXPECT_TRUE(d.synchronize(stream).ok());
        work.stream = other;
        EXPECT_TRUE(work.run(*m).ok());
    }
    EXPECT_EQ(violations(), "");
}

TEST_F(CudaDriverTest, FindsStreamsThatAreNotUsable) {
    machine({{"DEVICES", "2"}});
    CudaDevice& d = device(0);
    const auto m = load(d);
    Scale work(d);
    CudaStream of_other = nullptr, gone = nullptr;
    ASSERT_TRUE(device(1).create_stream(&of_other).ok());
    ASSERT_TRUE(d.create_stream(&gone).ok() && d.destroy_stream(gone).ok());
    work.stream = of_other;
    EXPECT_EQ(work.run(*m).code, 400);
    EXPECT_NE(violations().find("the stream belongs to device 1"), std::string::npos) << violations();
    work.stream = gone;
    EXPECT_EQ(work.run(*m).code, 400);
    EXPECT_NE(violations().find("the stream was destroyed"), std::string::npos);
    int nothing = 0;
    work.stream = &nothing;
    EXPECT_EQ(work.run(*m).code, 400);
    EXPECT_NE(violations().find("not one of the driver's"), std::string::npos);
    work.stream = nullptr;
}

TEST_F(CudaDriverTest, FindsUseAfterUnload) {
    CudaDevice& d = device();
    auto m = load(d);
    const auto other = load(d);
    CudaFunction f;
    ASSERT_TRUE(m->function("scale", 0, kScaleParameters, &f).ok());
    m.reset();
    Scale work(d);
    CudaLaunch l;
    EXPECT_EQ(other->launch(f, l, work.parameters).code, 400);
    EXPECT_NE(violations().find("the function's module was unloaded"), std::string::npos) << violations();
}

TEST_F(CudaDriverTest, FindsAModuleOnTheWrongDevice) {
    machine({{"DEVICES", "2"}});
    const auto on_a = load(device(0)), on_b = load(device(1));
    CudaFunction f;
    ASSERT_TRUE(on_b->function("scale", 0, kScaleParameters, &f).ok());
    Scale work(device(0));
    CudaLaunch l;
    EXPECT_EQ(on_a->launch(f, l, work.parameters).code, 400);
    EXPECT_NE(violations().find("another device than the current context"), std::string::npos)
        << violations();
    Scale elsewhere(device(1));
    EXPECT_TRUE(elsewhere.run(*on_a).ok());  // a launch; the fault comes later
    EXPECT_NE(violations().find("points to memory of another device"), std::string::npos) << violations();
}

TEST_F(CudaDriverTest, FindsStalePointersAndDoubleFrees) {
    CudaDevice& d = device();
    const auto m = load(d);
    Scale work(d);
    const DevicePointer a = work.a;
    EXPECT_TRUE(d.release(a, nullptr).ok());
    EXPECT_EQ(d.release(a, nullptr).code, 1);
    EXPECT_NE(violations().find("freed before"), std::string::npos);
    float host = 0;
    EXPECT_EQ(d.copy_out(&host, a, 4, nullptr).code, 1);
    EXPECT_EQ(d.copy_out(&host, work.out + 3998, 4, nullptr).code, 1);
    EXPECT_NE(violations().find("beyond the allocation's end"), std::string::npos);
    EXPECT_TRUE(work.run(*m).ok());
    EXPECT_NE(violations().find("parameter 0 of 'scale' points to memory that was freed"), std::string::npos)
        << violations();
    EXPECT_TRUE(d.synchronize(nullptr).lost);
    work.a = 0;
}

TEST_F(CudaDriverTest, FindsWrongParameters) {
    CudaDevice& d = device();
    const auto m = load(d);
    Scale work(d);
    CudaFunction f;
    ASSERT_TRUE(m->function("scale", 0, kScaleParameters, &f).ok());
    std::swap(work.parameters[0], work.parameters[2]);  // a number where a pointer belongs
    CudaLaunch l;
    EXPECT_TRUE(m->launch(f, l, work.parameters).ok());
    EXPECT_NE(violations().find("parameter 0 of 'scale' is a pointer, but not to device memory"),
              std::string::npos)
        << violations();
}

TEST_F(CudaDriverTest, FindsTooFewParameters) {
    CudaDevice& d = device();
    const auto m = load(d);
    Scale work(d);
    CudaFunction f;
    ASSERT_TRUE(m->function("scale", 0, kScaleParameters, &f).ok());
    work.parameters[3] = reinterpret_cast<void*>(8);
    EXPECT_TRUE(m->launch(f, CudaLaunch{}, work.parameters).ok());
    EXPECT_NE(violations().find("parameter 3 of 'scale' cannot be read"), std::string::npos) << violations();
}

TEST_F(CudaDriverTest, FindsCallsWithoutInitOrContext) {
    DevicePointer p = 0;
    EXPECT_NE(raw("cuMemAlloc_v2", &p, size_t(16)), 0);
    EXPECT_NE(violations().find("cuMemAlloc: called before cuInit"), std::string::npos) << violations();
    device();
    EXPECT_EQ(raw("cuMemAlloc_v2", &p, size_t(16)), 201);
    EXPECT_NE(violations().find("cuMemAlloc: no context is current"), std::string::npos) << violations();
}

TEST_F(CudaDriverTest, DeviceMemoryIsClosedToTheHost) {
    CudaDevice& d = device();
    Scale work(d);
    EXPECT_EXIT(
        {
            volatile float value = *reinterpret_cast<float*>(work.a);
            (void)value;
            _exit(0);
        },
        testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace stator::jit
