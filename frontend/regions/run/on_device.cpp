#include "frontend/regions/run/on_device.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "frontend/device_arrays.h"
#include "frontend/policy.h"
#include "frontend/services.h"

namespace stator::frontend::regions {

using graph::RegionOp;
using kernels::DevicePointer;
using kernels::kRegionSlot;
using kernels::RegionControl;

namespace {

constexpr kernels::DeviceStream kStream = nullptr;
constexpr int kWarp = 32;

const kernels::DeviceApi& api() { return *compiler()->cuda; }

// STATOR_TEST_REGION_LAUNCH=blocks,threads,nanoseconds: tests with small arrays and short times.
struct LaunchForTests {
    int blocks = 0, threads = 0;
    long long budget = 0;
};
LaunchForTests launch_for_tests() {
    LaunchForTests l;
    if (const char* text = std::getenv("STATOR_TEST_REGION_LAUNCH"))
        std::sscanf(text, "%d,%d,%lld", &l.blocks, &l.threads, &l.budget);
    return l;
}

}  // namespace

bool is_for_device(const graph::Region& r) {
    for (const graph::Block& b : r.blocks)
        for (const graph::Inst& i : b.insts)
            if (graph::has_body(i.op) || i.op == RegionOp::Store || i.op == RegionOp::Load ||
                i.op == RegionOp::Dot || i.op == RegionOp::Reduce || i.op == RegionOp::Library)
                return true;
    return false;
}

DeviceRegion::DeviceRegion(std::shared_ptr<const graph::Region> region, const std::string& name)
    : region_(std::move(region)),
      code_(kernels::emit_cuda_region(*region_, kernels::region_kernel_name(name))) {
    for (size_t k = 0; k < region_->inputs.size(); ++k)
        if (region_->types[static_cast<size_t>(region_->inputs[k].value)].is_array())
            inputs_.push_back(static_cast<int>(k));
    arrays_.resize(inputs_.size());
    cells_.resize(static_cast<size_t>(code_.cells));
    cell_bytes_.resize(cells_.size());
    host_state_.resize(static_cast<size_t>(code_.returned_bytes()));
}

DeviceRegion::~DeviceRegion() { release(); }

const graph::RegionInput& DeviceRegion::input(size_t array) const {
    return region_->inputs[static_cast<size_t>(inputs_[array])];
}
const graph::RegionType& DeviceRegion::type_of(size_t array) const {
    return region_->types[static_cast<size_t>(input(array).value)];
}

bool DeviceRegion::load(std::string* why) {
    *why = code_.error;
    if (!why->empty()) return false;
    if (!(device_ = api().open(0, why))) return false;
    kernels::CudaSource source;
    source.text = code_.text;
    kernels::CudaKernel kernel;
    kernel.name = code_.name;
    kernel.params.assign(arrays_.size() + cells_.size() + 1, {kernels::CudaParamKind::Buffer});
    source.kernels.push_back(std::move(kernel));
    loaded_ = api().load(device_, source, code_.name, why);
    return loaded_ != nullptr;
}

// ---- memory ----

bool DeviceRegion::allocate(int64_t bytes, DevicePointer* out) {
    *out = 0;
    return bytes <= 0 || api().allocate(device_, bytes, kStream, out, &error_);
}

void DeviceRegion::release() {
    const auto drop = [&](DevicePointer& memory) {
        if (memory) api().release(device_, memory, kStream);
        memory = 0;
    };
    for (Array& a : arrays_) drop(a.memory);
    for (size_t k = 0; k < cells_.size(); ++k) {
        cell_bytes_[k] = std::max(cell_bytes_[k], cells_[k].bytes);
        drop(cells_[k].memory);
        cells_[k].bytes = 0;
    }
    drop(state_);
}

bool DeviceRegion::copy_in(const kernels::RegionArgs& args) {
    const int64_t* dims = args.dims;
    int64_t most = 1;
    for (size_t k = 0; k < arrays_.size(); ++k) {
        Array& a = arrays_[k];
        const graph::RegionType& t = type_of(k);
        a.shape = dims, a.strides = dims + t.rank;
        dims += 2 * t.rank;
        const ElementLayout layout{t.rank, graph::info(t.dtype).size, a.shape, a.strides};
        const Stretch s = stretch_of(args.arrays[k], layout);
        a.host = s.begin, a.bytes = s.bytes, a.first = s.first;
        most = std::max(most, layout.bytes_of_elements() / layout.itemsize);
        // An array without elements has an address, too.
        if (!allocate(std::max<int64_t>(a.bytes, layout.itemsize), &a.memory)) return false;
        if (a.bytes > 0 && !api().copy_in(device_, a.memory, a.host, a.bytes, kStream, &error_)) return false;
    }
    // Barriers cost more the more blocks there are: no more than have something to do.
    const LaunchForTests tests = launch_for_tests();
    threads_ = tests.threads ? tests.threads
                             : static_cast<int>(std::min<int64_t>(kernels::kRegionThreads,
                                                                  (most + kWarp - 1) / kWarp * kWarp));
    const int fit = api().blocks_at_once(*loaded_, 0, threads_, &error_);
    if (fit == 0) return false;
    const int64_t wanted = tests.blocks ? tests.blocks : (most + threads_ - 1) / threads_;
    blocks_ = static_cast<int>(std::min<int64_t>(fit, wanted));
    return true;
}

// The state as the first launch finds it.
bool DeviceRegion::begin(const kernels::RegionArgs& args) {
    if (!allocate(code_.bytes, &state_)) return false;
    std::vector<char> state(static_cast<size_t>(code_.bytes), 0);
    int64_t dims = 0, scalars = 0;
    for (const graph::RegionInput& in : region_->inputs) {
        const graph::RegionType& t = region_->types[static_cast<size_t>(in.value)];
        (t.is_array() ? dims : scalars) += t.is_array() ? 2 * t.rank : 1;
    }
    std::memcpy(state.data() + code_.dims, args.dims, static_cast<size_t>(dims) * 8);
    std::memcpy(state.data() + code_.scalars, args.scalars, static_cast<size_t>(scalars) * kRegionSlot);
    if (!api().copy_in(device_, state_, state.data(), code_.bytes, kStream, &error_)) return false;
    for (size_t k = 0; k < cells_.size(); ++k)
        if (cell_bytes_[k] > 0 && !grow(k, cell_bytes_[k])) return false;
    std::fill(host_state_.begin(), host_state_.end(), 0);
    return true;
}

bool DeviceRegion::grow(size_t cell, int64_t bytes) {
    Cell& c = cells_[cell];
    if (c.memory) api().release(device_, c.memory, kStream);
    c.memory = 0, c.bytes = 0;
    if (!allocate(bytes, &c.memory)) return false;
    c.bytes = bytes;
    return true;
}

kernels::RegionCell DeviceRegion::told(size_t cell) const {
    kernels::RegionCell c;
    std::memcpy(&c, host_state_.data() + code_.cell_table + static_cast<int64_t>(cell * sizeof c), sizeof c);
    return c;
}

bool DeviceRegion::grow_cells(const RegionControl& c) {
    if (c.cell >= 0) return grow(static_cast<size_t>(c.cell), c.bytes);
    for (size_t k = 0; k < cells_.size(); ++k)
        if (told(k).bytes > cells_[k].bytes && !grow(k, told(k).bytes)) return false;
    return true;
}

// ---- launches ----

RegionControl DeviceRegion::control() const {
    RegionControl c;
    std::memcpy(&c, host_state_.data(), sizeof c);
    return c;
}

bool DeviceRegion::launch() {
    RegionControl next = control();
    next.meet = 0, next.bad[0] = next.bad[1] = 0, next.status = RegionControl::Running;
    const LaunchForTests tests = launch_for_tests();
    next.budget = tests.budget ? tests.budget : policy().device_launch_time;
    std::memcpy(host_state_.data(), &next, sizeof next);
    for (size_t k = 0; k < cells_.size(); ++k) {
        const kernels::RegionCell now{cells_[k].memory, cells_[k].bytes};
        std::memcpy(host_state_.data() + code_.cell_table + static_cast<int64_t>(k * sizeof now), &now,
                    sizeof now);
    }
    if (!api().copy_in(device_, state_, host_state_.data(), code_.returned_bytes(), kStream, &error_))
        return false;
    std::vector<DevicePointer> values;
    for (const Array& a : arrays_) values.push_back(a.memory + static_cast<DevicePointer>(a.first));
    for (const Cell& c : cells_) values.push_back(c.memory);
    values.push_back(state_);
    std::vector<void*> params;
    for (DevicePointer& v : values) params.push_back(&v);
    kernels::Launch l;
    l.grid[0] = static_cast<uint32_t>(blocks_);
    l.block[0] = static_cast<uint32_t>(threads_);
    l.together = true;
    return api().launch(*loaded_, 0, l, params.data(), kStream, &error_) &&
           api().copy_out(device_, host_state_.data(), state_, code_.returned_bytes(), kStream, &error_);
}

// Until the region is left, or the interpreter wants attention at a pause.
bool DeviceRegion::launches(const kernels::RegionArgs& args) {
    for (;;) {
        if (!launch()) return false;
        const RegionControl c = control();
        switch (c.status) {
            case RegionControl::Left: return true;
            case RegionControl::Paused:
                if (*args.breaker & args.breaker_mask) return true;
                break;
            case RegionControl::Grow:
                if (!grow_cells(c)) return false;
                break;
            default: error_ = "the kernel of a loop ended without having left it"; return false;
        }
    }
}

DeviceRegion::Ran DeviceRegion::run(const kernels::RegionArgs& args, int32_t* exit) {
    error_.clear();
    const bool done = copy_in(args) && begin(args) && launches(args);
    Ran ran = Ran::Failed;
    if (done) {
        *exit = control().exit;
        ran = values_to_host(*exit, args.out) && arrays_to_host() ? Ran::Left : Ran::Damaged;
    }
    release();
    return ran;
}

// ---- leaving ----

bool DeviceRegion::values_to_host(int32_t exit, char* out) {
    const char* from = host_state_.data() + code_.out;
    for (const graph::ValueId v : region_->exits[static_cast<size_t>(exit)].values) {
        const graph::RegionType& t = region_->types[static_cast<size_t>(v)];
        const int64_t bytes = (t.is_array() ? 1 + 2 * t.rank : 1) * kRegionSlot;
        std::memcpy(out, from, static_cast<size_t>(bytes));
        if (t.is_array() && !address_to_host(out, t)) return false;
        out += bytes, from += bytes;
    }
    return true;
}

// The slots of an array: its address on the device becomes one on the host. Variables without a value have
// any address, which nobody looks at.
bool DeviceRegion::address_to_host(char* slot, const graph::RegionType& t) {
    DevicePointer at = 0;
    std::memcpy(&at, slot, sizeof at);
    const auto put = [&](const char* address) { std::memcpy(slot, &address, sizeof address); };
    // A part without elements may begin where the array ends.
    for (const DevicePointer end : {0, 1})
        for (const Array& a : arrays_)
            if (a.memory && at - a.memory < static_cast<DevicePointer>(a.bytes) + end)
                return put(a.host + (at - a.memory)), true;
    for (Cell& c : cells_) {
        if (!c.memory || at - c.memory >= static_cast<DevicePointer>(c.bytes)) continue;
        int64_t bytes = graph::info(t.dtype).size;
        const auto offset = static_cast<int64_t>(at - c.memory);
        for (int d = 0; d < t.rank; ++d) {
            int64_t extent = 0;
            std::memcpy(&extent, slot + (1 + d) * kRegionSlot, sizeof extent);
            if (extent <= 0 || __builtin_mul_overflow(bytes, extent, &bytes)) bytes = 0;
        }
        bytes = std::min(bytes, c.bytes - offset);
        c.host.resize(static_cast<size_t>(c.bytes));
        put(c.host.data() + offset);
        return bytes == 0 || api().copy_out(device_, c.host.data() + offset, at, bytes, kStream, &error_);
    }
    return true;
}

bool DeviceRegion::arrays_to_host() {
    for (size_t k = 0; k < arrays_.size(); ++k) {
        const Array& a = arrays_[k];
        if (!input(k).written || a.bytes == 0) continue;
        const graph::RegionType& t = type_of(k);
        const ElementLayout layout{t.rank, graph::info(t.dtype).size, a.shape, a.strides};
        if (layout.bytes_of_elements() == a.bytes) {
            if (!api().copy_out(device_, a.host, a.memory, a.bytes, kStream, &error_)) return false;
            continue;
        }
        // What lies between its elements is not the array's.
        std::vector<char> stretch(static_cast<size_t>(a.bytes));
        if (!api().copy_out(device_, stretch.data(), a.memory, a.bytes, kStream, &error_)) return false;
        copy_elements({a.host, a.bytes, a.first}, stretch.data(), layout);
    }
    return true;
}

}  // namespace stator::frontend::regions
