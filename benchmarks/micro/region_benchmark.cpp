// Scalar loops as regions against the same loops in C.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "graph/region/region.h"
#include "jit/load.h"
#include "jit/machine.h"
#include "jit/orc/orc.h"
#include "kernels/region_abi.h"
#include "region_loops.h"

namespace stator::jit {
namespace {

double cpu_seconds() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Into the folder REGION_BENCHMARK_DUMP: the region after its passes, LLVM IR and assembly.
void dump(const graph::Region& r, const std::string& name) {
    const char* folder = std::getenv("REGION_BENCHMARK_DUMP");
    if (!folder) return;
    std::string ir, assembly;
    (void)emit_text(r, emit_options("b", false), &ir, &assembly);
    graph::Region optimized = r;
    graph::optimize(optimized);
    const std::string path = std::string(folder) + "/" + name;
    std::ofstream(path + ".region") << graph::print(optimized);
    std::ofstream(path + ".ll") << ir;
    std::ofstream(path + ".s") << assembly;
}

// A region beside this file, compiled.
struct Compiled {
    explicit Compiled(const char* name) {
        std::ifstream file(std::string(STATOR_SOURCE_DIR "/benchmarks/micro/") + name + ".region");
        std::stringstream text;
        text << file.rdbuf();
        graph::Region r;
        std::string error = graph::parse(text.str(), &r);
        graph::find_loops(r);
        if (error.empty()) error = graph::verify(r);
        if (error.empty()) {
            open_codegen();
            (void)emit_object(r, emit_options("b", false));  // what only the first compilation has to do
            const double start = cpu_seconds();
            const Object object = emit_object(r, emit_options("b", false));
            milliseconds = (cpu_seconds() - start) * 1e3;
            error = object.error;
            if (error.empty()) code = load_region(object.bytes, "b", name);
            error += code.error;
        }
        if (error.empty()) dump(r, name);
        if (!error.empty()) std::fprintf(stderr, "%s: %s\n", name, error.c_str()), std::abort();
    }
    int run(char* array, std::vector<int64_t> dims, std::vector<int64_t> numbers) {
        std::vector<int64_t> slots;
        for (const int64_t n : numbers) slots.insert(slots.end(), {n, 0});
        char out[512];
        const int32_t breaker = 0;
        const kernels::RegionArgs args{&array, dims.data(), reinterpret_cast<const char*>(slots.data()),
                                       out,    nullptr,     &breaker,
                                       1,      nullptr,     nullptr};
        return code.region(&args);
    }
    Loaded code;
    double milliseconds = 0;
};

void seidel(benchmark::State& state, bool region) {
    const int64_t n = 400;
    std::vector<double> a(n * n);
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i % 17) + 1;
    static Compiled code("seidel");
    for (auto _ : state) {
        if (region)
            code.run(reinterpret_cast<char*>(a.data()), {n, n, 8 * n, 8}, {1, n});
        else
            c_seidel(a.data(), 1, n);
    }
    state.counters["ns_per_point"] =
        benchmark::Counter(static_cast<double>(n * n),
                           benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
    if (region) state.counters["compile_ms"] = code.milliseconds;
}
BENCHMARK_CAPTURE(seidel, region, true);
BENCHMARK_CAPTURE(seidel, c, false);

void nussinov(benchmark::State& state, bool region) {
    const int64_t n = 200;
    std::vector<int32_t> start(n * n), table;
    for (size_t i = 0; i < start.size(); ++i) start[i] = static_cast<int32_t>(i * 7919 % 5);
    static Compiled code("nussinov");
    for (auto _ : state) {
        table = start;
        if (region)
            code.run(reinterpret_cast<char*>(table.data()), {n, n, 4 * n, 4}, {n});
        else
            c_nussinov(table.data(), n);
    }
    state.counters["ns_per_point"] =
        benchmark::Counter(static_cast<double>(n * n * n) / 6,
                           benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
    if (region) state.counters["compile_ms"] = code.milliseconds;
}
BENCHMARK_CAPTURE(nussinov, region, true);
BENCHMARK_CAPTURE(nussinov, c, false);

void crc16(benchmark::State& state, bool region) {
    std::vector<uint8_t> data(100000);
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i * 31 + i / 7);
    const auto n = static_cast<int64_t>(data.size());
    static Compiled code("crc16");
    for (auto _ : state) {
        if (region)
            code.run(reinterpret_cast<char*>(data.data()), {n, 1}, {0x8408});
        else
            benchmark::DoNotOptimize(c_crc16(data.data(), n, 0x8408));
    }
    state.counters["ns_per_point"] = benchmark::Counter(
        static_cast<double>(n), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
    if (region) state.counters["compile_ms"] = code.milliseconds;
}
BENCHMARK_CAPTURE(crc16, region, true);
BENCHMARK_CAPTURE(crc16, c, false);

// Compilation of every *.region here, and of those in the folder REGION_BENCHMARK_MORE .
void compile(benchmark::State& state, const std::filesystem::path& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    graph::Region r;
    std::string error = graph::parse(text.str(), &r);
    if (r.loops.empty()) graph::find_loops(r);
    if (error.empty()) error = graph::verify(r);
    if (!error.empty()) return state.SkipWithError(error.c_str());
    dump(r, "compile_" + path.stem().string());
    Object object;
    for (auto _ : state) object = emit_object(r, emit_options("b", false));
    if (!object.error.empty()) state.SkipWithError(object.error.c_str());
    state.counters["bytes"] = static_cast<double>(object.bytes.size());
}

const int registered = [] {
    std::vector<std::filesystem::path> folders{STATOR_SOURCE_DIR "/benchmarks/micro"};
    if (const char* more = std::getenv("REGION_BENCHMARK_MORE")) folders.emplace_back(more);
    for (const auto& folder : folders)
        for (const auto& entry : std::filesystem::directory_iterator(folder))
            if (entry.path().extension() == ".region")
                benchmark::RegisterBenchmark(("compile/" + entry.path().stem().string()).c_str(),
                                             [path = entry.path()](benchmark::State& s) { compile(s, path); })
                    ->Unit(benchmark::kMillisecond);
    return 0;
}();

}  // namespace
}  // namespace stator::jit
