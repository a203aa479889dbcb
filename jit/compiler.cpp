// A program's way to machine code. Code that some slot still owns is shared (`table`), so the same
// computation in two traces is compiled once; what no slot owns is unloaded. Entries in the object cache are
// stored after the slot is ready, because nobody waits for them.
#include "jit/compiler.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <unordered_map>

#include "jit/codegen.h"
#include "jit/core.h"
#include "jit/fork.h"
#include "jit/load.h"
#include "jit/machine.h"
#include "jit/program_key.h"

namespace stator::jit {
namespace {

using kernels::CodeSlot;
using kernels::CompileRequest;
using kernels::RegionRequest;

// More programs than this waiting means that compiling them all would take seconds; tier 0 goes on serving.
constexpr size_t kQueueBound = 512;
// Names inside objects are the same for every program, or equal programs would not have equal objects.
constexpr char kPrefix[] = "stator";

struct Counters {
    std::atomic<int64_t> compiles{0}, cache_hits{0}, cache_stores{0}, failures{0}, microseconds{0};
};
Counters counters;

struct Table {
    std::mutex mutex;
    std::unordered_map<std::string, std::weak_ptr<Loaded>> loaded;  // by cache key
    size_t sweep_at = 64;                // expired entries are removed when the table has grown to this
    std::shared_ptr<ObjectCache> cache;  // made for these two options:
    std::string cache_dir;
    int64_t cache_size = 0;
};
Table& table() {
    static Table* t = new Table;
    return *t;
}

std::shared_ptr<Loaded> find_loaded(const std::string& key) {
    Table& t = table();
    std::lock_guard lock(t.mutex);
    const auto it = t.loaded.find(key);
    return it == t.loaded.end() ? nullptr : it->second.lock();
}

void remember(const std::string& key, const std::shared_ptr<Loaded>& code) {
    Table& t = table();
    std::lock_guard lock(t.mutex);
    if (t.loaded.size() >= t.sweep_at) {
        std::erase_if(t.loaded, [](const auto& entry) { return entry.second.expired(); });
        t.sweep_at = 2 * t.loaded.size() + 64;
    }
    t.loaded[key] = code;
}

// One thing to compile, a program or a region. The request outlives it.
struct Work {
    const std::string& name;
    kernels::CompileState& slot;
    bool fastmath;
    std::function<std::string()> key;  // what the code depends on besides the environment
    std::function<Object(const kernels::EmitOptions&, const FirstObject&)> emit;
    std::function<Loaded(std::string_view object, const std::string& prefix)> load;
    std::function<void(const Loaded&)> take;  // the entries, into the slot
    const RegionRequest* region = nullptr;
};

template <class Emit>
Object emit(Emit how) {
    Object object;
    const CodegenApi* api = codegen(&object.error);
    return api ? how(*api) : object;
}

Work work_of(const CompileRequest& r) {
    CodeSlot& slot = *r.slot;
    return {r.name,
            slot,
            r.fastmath,
            [&r] { return program_key(*r.program); },
            [&r](const kernels::EmitOptions& o, const FirstObject&) {
                return emit([&](const CodegenApi& c) { return c.emit_program(*r.program, o); });
            },
            [&r](std::string_view object, const std::string& prefix) {
                return load_object(object, prefix, static_cast<int>(r.program->code.size()), r.name);
            },
            [&slot](const Loaded& code) { slot.nests = code.entries; }};
}

Work work_of(const RegionRequest& r) {
    kernels::RegionSlot& slot = *r.slot;
    return {r.name,
            slot,
            r.fastmath,
            [&r] { return "region\n" + graph::code_key(*r.region); },
            [&r](const kernels::EmitOptions& o, const FirstObject& first) {
                return emit([&](const CodegenApi& c) { return c.emit_region(*r.region, o, first); });
            },
            [&r](std::string_view object, const std::string& prefix) {
                return load_region(object, prefix, r.name);
            },
            [&slot](const Loaded& code) { slot.fn = code.region; },
            &r};
}

void publish(const Work& w, const std::shared_ptr<Loaded>& code, bool from_cache, double seconds) {
    w.take(*code);
    w.slot.owner = code;
    w.slot.from_cache = from_cache;
    w.slot.compile_seconds = seconds;
    w.slot.ready.store(true, std::memory_order_release);
}

void fail(kernels::CompileState& slot, std::string error) {
    counters.failures.fetch_add(1, std::memory_order_relaxed);
    slot.error = std::move(error);
    slot.failed.store(true, std::memory_order_release);
}

// gdb wants to see the trace's own name; letters, digits and underscores are what assemblers agree on.
std::string symbol_prefix(const std::string& name) {
    std::string s;
    for (const char c : name) s += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return s.empty() || std::isdigit(static_cast<unsigned char>(s[0])) ? "k_" + s : s;
}

std::shared_ptr<Loaded> load(const Work& w, std::string_view object, const std::string& prefix,
                             std::string& error) {
    auto code = std::make_shared<Loaded>(w.load(object, prefix));
    error = code->error;
    return error.empty() ? code : nullptr;
}

void report(const Work& w, const char* how, double seconds, const Loaded& code, const Object* object) {
    if (!logs(options(), LogArtifact::Kernels)) return;
    char text[200], parts[80] = "", what[32] = "region";
    if (object)
        std::snprintf(parts, sizeof parts, " (LLVM IR %.2f, code generation %.2f)",
                      object->emit_seconds * 1e3, object->codegen_seconds * 1e3);
    if (!code.region) std::snprintf(what, sizeof what, "%zu loop nests", code.entries.size());
    std::snprintf(text, sizeof text, ": %s, %s, %lld bytes, %.2f ms%s", how, what,
                  static_cast<long long>(code.code_bytes), seconds * 1e3, parts);
    log_line(LogArtifact::Kernels, w.name + text);
}

double seconds_since(std::chrono::steady_clock::time_point t) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}

bool serve_from_cache(const Work& w, const std::string& key, const std::string& prefix) {
    const auto start = std::chrono::steady_clock::now();
    if (const auto code = find_loaded(key)) {
        counters.cache_hits.fetch_add(1, std::memory_order_relaxed);
        publish(w, code, true, 0);
        report(w, "shared with a loaded program", seconds_since(start), *code, nullptr);
        return true;
    }
    const std::optional<std::string> object = object_cache()->load(key);
    if (!object) return false;
    std::string error;
    const auto code = load(w, *object, prefix, error);
    if (!code) {
        log_line(LogArtifact::Cache, w.name + ": the entry cannot be linked (" + error + "), compiling");
        return false;
    }
    counters.cache_hits.fetch_add(1, std::memory_order_relaxed);
    remember(key, code);
    publish(w, code, true, 0);
    report(w, "from the object cache", seconds_since(start), *code, nullptr);
    return true;
}

// Names are private where gdb shall tell programs apart; such code is not shared.
struct Names {
    bool is_private = options().gdb;
    std::string prefix;
    explicit Names(const Work& w) : prefix(is_private ? symbol_prefix(w.name) : kPrefix) {}
};

std::string key_of(const Work& w, const Names& names) {
    return environment_key(emit_options(names.prefix, w.fastmath)) + w.key();
}

// From how many instructions of LLVM IR on a region gets code without optimization first, which takes a
// quarter as long as the optimized code that follows (code generation for the two loops of channel_flow of
// NPBench on a busy machine: 85 and 310 ms, 24 and 114). At NPBench's M preset first calls are 0.5 to 1.0
// times as long with this bound as with 1000 (jacobi_1d 48 to 97 ms on a busy machine, floyd_warshall 35 to
// 65), and no shorter with 100.
constexpr int64_t kLarge = 250;

// STATOR_TEST_FIRST_CODE=FROM[,only|,late]: regions of at least so many instructions get unoptimized code
// first, also where the caller waits; "only": and no other; "late": the better code comes when the first one
// runs.
struct FirstCode {
    int64_t from = INT64_MAX;
    bool only = false, late = false;
};
FirstCode first_code(bool waits) {
    if (const char* text = std::getenv("STATOR_TEST_FIRST_CODE"))
        return {std::atoll(text), std::strstr(text, ",only") != nullptr,
                std::strstr(text, ",late") != nullptr};
    return {waits ? INT64_MAX : kLarge};
}

// For a minute at most: a program may never enter the region. The word is there shortly before the code runs.
void wait_until_entered(const kernels::RegionSlot& slot) {
    using namespace std::chrono_literals;
    for (int i = 0; i < 60'000 && !slot.breaker; ++i) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(200ms);
}

// Serves until the better code is there. What it cannot do is left to that.
void publish_first(const Work& w, const Object& object, const std::string& prefix) {
    std::string error = object.error;
    const auto code = error.empty() ? load(w, object.bytes, prefix, error) : nullptr;
    if (!code) return log_line(LogArtifact::Kernels, w.name + ": no code in a hurry: " + error);
    kernels::RegionSlot& slot = *w.region->slot;
    slot.first_owner = code;
    slot.provisional.store(true);
    w.take(*code);
    slot.ready.store(true, std::memory_order_release);
    report(w, "compiled in a hurry", object.emit_seconds + object.codegen_seconds, *code, &object);
}

// A call that begins meanwhile sees that the code is not provisional any more, or the word set here.
void leave_provisional(kernels::RegionSlot& slot) {
    static constexpr int32_t kLeave = -1;
    if (!slot.provisional.exchange(false)) return;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    slot.breaker = &kLeave;
}

void compile_now(const Work& w) {
    if (w.slot.ready.load(std::memory_order_relaxed)) return;  // done before a fork
    const Names names(w);
    const bool private_names = names.is_private;
    const std::string& prefix = names.prefix;
    const kernels::EmitOptions emission = emit_options(prefix, w.fastmath);
    const std::string key = key_of(w, names);
    if (!private_names && serve_from_cache(w, key, prefix)) return;

    const auto start = std::chrono::steady_clock::now();
    const FirstCode wanted = first_code(w.region && w.region->wait);
    FirstObject first;
    if (w.region && wanted.from < INT64_MAX)
        first = {wanted.from, [&](const Object& o) { return publish_first(w, o, prefix), !wanted.only; }};
    const Object object = w.emit(emission, first);
    std::string error = object.error;
    // The code in a hurry stays: no other is wanted, or it would be too large.
    if (error.empty() && object.bytes.empty() && (wanted.only || w.slot.ready)) return;
    const auto code = error.empty() ? load(w, object.bytes, prefix, error) : nullptr;
    if (!code && w.slot.ready) return log_line(LogArtifact::Kernels, w.name + ": no better code: " + error);
    if (!code) return fail(w.slot, error);
    const double seconds = seconds_since(start);
    counters.compiles.fetch_add(1, std::memory_order_relaxed);
    counters.microseconds.fetch_add(static_cast<int64_t>(seconds * 1e6), std::memory_order_relaxed);
    if (!private_names) remember(key, code);
    if (wanted.late && w.region && w.region->slot->provisional.load()) wait_until_entered(*w.region->slot);
    publish(w, code, false, seconds);
    if (w.region) leave_provisional(*w.region->slot);
    report(w, "compiled", seconds, *code, &object);
    if (!private_names && object_cache()->store(key, object.bytes))
        counters.cache_stores.fetch_add(1, std::memory_order_relaxed);
}

// Exceptions (out of memory, above all) end here.
template <class Request, class Do>
bool safely(const Request& r, Do what) {
    try {
        return what(work_of(r));
    } catch (const std::exception& e) {
        if (!r.slot->ready.load(std::memory_order_relaxed)) fail(*r.slot, e.what());
        return true;
    }
}

template <class Request>
void compile_safely(const Request& r) {
    safely(r, [](const Work& w) { return compile_now(w), true; });
}

bool served_at_once(const Work& w) {
    const Names names(w);
    return !names.is_private && serve_from_cache(w, key_of(w, names), names.prefix);
}

// What is urgent is looked for in the cache right here, not behind what the thread has to compile.
template <class Request>
void compile_or_enqueue(Request request, bool urgent) {
    handle_fork();
    if (request.wait) return compile_safely(request);
    if (urgent && safely(request, served_at_once)) return;
    const auto slot = request.slot;
    if (!compile_queue().push([r = std::move(request)] { compile_safely(r); }, urgent))
        fail(*slot, "the compile queue is full");
}

}  // namespace

CompileQueue& compile_queue() {
    // Never destroyed: other threads may use it while the process exits. Under Python the bindings empty the
    // queue when the interpreter ends, before any static object goes (core_library.cpp).
    static CompileQueue* queue = [] {
        auto* q = new CompileQueue(kQueueBound);
        std::atexit([] { compile_queue().stop(); });
        return q;
    }();
    return *queue;
}

std::shared_ptr<ObjectCache> object_cache() {
    Table& t = table();
    std::lock_guard lock(t.mutex);
    const Options& o = options();
    if (!t.cache || t.cache_dir != o.cache_dir || t.cache_size != o.cache_size) {
        t.cache = std::make_shared<ObjectCache>(o.cache_dir, o.cache_size);
        t.cache_dir = o.cache_dir;
        t.cache_size = o.cache_size;
    }
    return t.cache;
}

void compile(CompileRequest request) { compile_or_enqueue(std::move(request), false); }
// A loop that is running waits for it, and of nested ones the outermost is asked for last.
void compile_region(RegionRequest request) { compile_or_enqueue(std::move(request), true); }

void wait_idle() { compile_queue().wait_idle(); }

void artifacts(const CompileRequest& r, kernels::Artifacts& out) {
    if (r.graph) out.loop_ir = kernels::print(*r.program, *r.graph);
    if (const CodegenApi* api = codegen(&out.error))
        out.error = api->program_text(*r.program, emit_options(symbol_prefix(r.name), r.fastmath),
                                      &out.llvm_ir, &out.assembly);
}

void region_artifacts(const RegionRequest& r, kernels::Artifacts& out) {
    graph::Region optimized = *r.region;
    graph::optimize(optimized);
    out.loop_ir = graph::print(optimized);
    if (const CodegenApi* api = codegen(&out.error))
        out.error = api->region_text(*r.region, emit_options(symbol_prefix(r.name), r.fastmath), &out.llvm_ir,
                                     &out.assembly);
}

void stats(kernels::CompilerStats& out) {
    const auto get = [](const std::atomic<int64_t>& a) { return a.load(std::memory_order_relaxed); };
    out = {get(counters.compiles), get(counters.cache_hits), get(counters.cache_stores),
           get(counters.failures), static_cast<double>(get(counters.microseconds)) / 1e6};
}

void reset() {
    compile_queue().drop();
    compile_queue().wait_idle();
    Table& t = table();
    std::lock_guard lock(t.mutex);
    t.loaded.clear();
}

void warm_up() {
    handle_fork();
    compile_queue().push([] {
        (void)environment_key(emit_options(kPrefix, false));
        // A program whose code is in the cache needs no code generator, and opening it takes milliseconds.
        if (!object_cache()->empty()) return;
        if (const CodegenApi* api = codegen()) api->warm_up([] { return compile_queue().has_pending(); });
    });
}

void compiler_before_fork() {
    table().mutex.lock();
    if (table().cache) table().cache->mutex().lock();
}

void compiler_after_fork() {
    if (table().cache) table().cache->mutex().unlock();
    table().mutex.unlock();
}

}  // namespace stator::jit
