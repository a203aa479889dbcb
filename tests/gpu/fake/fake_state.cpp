// See fake_state.h.
#include "fake_state.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace fake {
namespace {

long long number_of(const char* variable, long long otherwise) {
    const char* text = std::getenv(variable);
    return text && *text ? std::atoll(text) : otherwise;
}

}  // namespace

State& state() {
    static State* s = [] {
        auto* fresh = new State;
        fresh->configure();
        return fresh;
    }();
    return *s;
}

std::vector<Context*>& context_stack() {
    thread_local std::vector<Context*> stack;
    return stack;
}

// FAKE_CUDA_CAPABILITY=9.0, _DEVICES=1, _VERSION=13000, _MEMORY=bytes, _POOLS=0|1, _UNIFIED=0|1,
// _INJECT=FUNCTION:NTH:CODE[,...], _SCHEDULE=forward|reverse|SEED.
void State::configure() {
    major = 9;
    minor = 0;
    order = shim::Order::Forward;
    seed = 0;
    if (const char* text = std::getenv("FAKE_CUDA_CAPABILITY")) std::sscanf(text, "%d.%d", &major, &minor);
    device_count = static_cast<int>(number_of("FAKE_CUDA_DEVICES", 1));
    version = static_cast<int>(number_of("FAKE_CUDA_VERSION", 13000));
    memory_bytes = static_cast<size_t>(number_of("FAKE_CUDA_MEMORY", 64ll << 30));
    unified = shim::host_memory_is_open = number_of("FAKE_CUDA_UNIFIED", 0) != 0;
    pools = number_of("FAKE_CUDA_POOLS", 1) != 0;
    if (const char* text = std::getenv("FAKE_CUDA_INJECT")) {
        std::stringstream all(text);
        for (std::string item; std::getline(all, item, ',');) {
            const size_t a = item.find(':'), b = item.rfind(':');
            if (a != item.npos && b > a)
                injections.push_back(
                    {item.substr(0, a), std::atoi(item.c_str() + a + 1), std::atoi(item.c_str() + b + 1)});
        }
    }
    if (const char* text = std::getenv("FAKE_CUDA_SCHEDULE")) {
        const std::string name = text;
        order = name == "forward"   ? shim::Order::Forward
                : name == "reverse" ? shim::Order::Reverse
                                    : shim::Order::Random;
        seed = static_cast<uint64_t>(std::atoll(text));
    }
}

Device* State::current() {
    const auto& stack = context_stack();
    return stack.empty() ? nullptr : stack.back()->device;
}

Stream* State::stream(void* handle, Device& device, const char* function) {
    Stream* s = nullptr;
    if (handle == nullptr || handle == reinterpret_cast<void*>(1))
        s = &device.default_stream;
    else if (handle == reinterpret_cast<void*>(2))
        s = &device.per_thread_stream;
    else if (const auto it = streams.find(handle); it != streams.end())
        s = it->second.get();
    const std::string where = std::string(function) + ": ";
    if (!s) return violate(where + "the stream is not one of the driver's"), nullptr;
    if (!s->live) return violate(where + "the stream was destroyed"), nullptr;
    if (s->device != &device)
        return violate(where + "the stream belongs to device " + std::to_string(s->device->ordinal) +
                       ", the current context to device " + std::to_string(device.ordinal)),
               nullptr;
    return s;
}

Allocation* State::allocation(uint64_t address) {
    auto it = memory.upper_bound(address);
    if (it == memory.begin()) return nullptr;
    --it;
    return address < it->first + std::max<size_t>(it->second.size, 1) ? &it->second : nullptr;
}

void State::use(Allocation& a, Stream& s, const char* function) {
    // The legacy default stream is taken for an ordinary one: what relies on its implicit order with blocking
    // streams breaks with non-blocking ones.
    if (a.last && a.last != &s && a.last->live && a.last->synchronized < a.last_use)
        violate(std::string(function) + ": uses memory of " + std::to_string(a.size) +
                " bytes that another stream used last, and nothing waited for that stream");
    a.last = &s;
    a.last_use = ++clock;
}

Entry::Entry(const char* name, bool needs_init, bool needs_context) : lock_(state().mutex) {
    State& s = state();
    const int nth = ++s.calls[name];
    for (const auto& injection : s.injections)
        if (injection.function == name && injection.nth == nth) {
            early = injection.code;
            if (early >= 700 && early < 720 && s.current()) s.current()->sticky = early;
            return;
        }
    if (needs_init && !s.initialized) {
        s.violate(std::string(name) + ": called before cuInit");
        early = kNotInitialized;
        return;
    }
    device = s.current();
    if (needs_context && !device) {
        s.violate(std::string(name) + ": no context is current");
        early = kInvalidContext;
    } else if (needs_context && device->context.retained == 0) {
        s.violate(std::string(name) + ": the current context was released");
        early = kInvalidContext;
    } else if (needs_context && device->sticky) {
        early = device->sticky;
    }
}

Entry::~Entry() = default;

}  // namespace fake
