// What libfakecuda.so knows: devices, contexts, modules, streams, memory, and every rule that was broken.
//
// The fake is stricter than a driver. It executes at once, and knows for each allocation which stream used it
// last: work of another stream on it without a synchronization between is a violation, because on a GPU it is
// a race.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "../shim/shim_memory.h"
#include "../shim/shim_runtime.h"

namespace fake {

enum Result {
    kSuccess = 0,
    kInvalidValue = 1,
    kOutOfMemory = 2,
    kNotInitialized = 3,
    kInvalidDevice = 101,
    kInvalidImage = 200,
    kInvalidContext = 201,
    kNoBinaryForGpu = 209,
    kUnsupportedPtx = 222,
    kInvalidHandle = 400,
    kNotFound = 500,
    kNotReady = 600,
    kIllegalAddress = 700,
    kLaunchFailed = 719,
    kTooManyBlocks = 720,
};

constexpr int kMultiprocessors = 4;
constexpr int kBlocksAtOnce = 2;  // that a multiprocessor runs

struct Device;
// Handles are never reused, so that late uses are recognized.
struct Context {
    Device* device;
    int retained = 0;
};
struct Stream {
    Device* device;
    bool live = true;
    uint64_t synchronized = 0;  // the clock at its last synchronization
    uint64_t freed = 0;         // and when memory was last given back in it
};
struct Event {
    Device* device;
    Stream* stream = nullptr;  // it was recorded in; null: never
    uint64_t recorded = 0;     // the clock then
    int64_t nanoseconds = 0;
    bool waited = false, live = true;
};
struct Module {
    Device* device;
    shim::Loaded* loaded;
    std::string file;
    bool live = true;
};
struct Function {
    Module* module;
    const shim::Kernel* kernel;
    int max_dynamic_shared = 48 << 10;
};
struct Allocation {
    Device* device;
    size_t size;
    bool async;
    bool live = true;
    Stream* last = nullptr;  // null: nobody yet
    uint64_t last_use = 0;
};
struct Device {
    int ordinal;
    Context context;
    Stream default_stream, per_thread_stream;
    int sticky = 0;
    int pool = 0;  // its address is the handle
    size_t used = 0;
};

struct State {
    std::recursive_mutex mutex;
    bool initialized = false;
    std::vector<std::unique_ptr<Device>> devices;
    std::map<void*, std::unique_ptr<Module>> modules;
    std::map<void*, std::unique_ptr<Function>> functions;
    std::map<void*, std::unique_ptr<Stream>> streams;
    std::map<void*, std::unique_ptr<Event>> events;
    std::map<uint64_t, Allocation> memory;  // by address, freed ones as well
    std::map<std::string, int> calls;
    struct Injection {
        std::string function;
        int nth, code;
    };
    std::vector<Injection> injections;
    std::vector<std::string> violations;
    uint64_t clock = 1;
    shim::Order order = shim::Order::Forward;
    uint64_t seed = 0;
    int major = 9, minor = 0, version = 13000, device_count = 1;
    size_t memory_bytes = size_t(64) << 30;
    bool pools = true;
    bool unified = false;  // kernels and copies may use memory of the host, which is not looked at
    bool idle = false;     // launches do nothing: what they cost is the caller's

    void configure();  // from the environment
    void violate(const std::string& text) { violations.push_back(text); }
    Device* current();  // of this thread's current context; null without one
    Stream* stream(void* handle, Device& device,
                   const char* function);      // null: not usable, violation recorded
    Allocation* allocation(uint64_t address);  // that contains it
    // Records that `stream` uses the allocation now.
    void use(Allocation& a, Stream& stream, const char* function);
};
State& state();
std::vector<Context*>& context_stack();  // of this thread

// The frame of every function of the driver's.
class Entry {
  public:
    explicit Entry(const char* name, bool needs_init = true, bool needs_context = false);
    ~Entry();
    int early = 0;             // return this if not 0
    Device* device = nullptr;  // of the current context

  private:
    std::lock_guard<std::recursive_mutex> lock_;
};

}  // namespace fake
