// Replaying a trace of arrays that live on a GPU: kernels get the arrays' own addresses and are launched on
// the host library's current stream, results come from its allocator, and nothing is waited for but values
// that Python decides by. (on_device.h has the other case: NumPy's arrays are copied there and back.)
//
// Order. A segment asks for all its memory before its first launch, so that a failure leaves nothing behind:
// until a kernel has written to what existed before the trace's last guard, the call can go on eagerly there.
// Memory is given back in the order of the stream; what drops a result early lets later kernels use its
// memory only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernels/api/device.h"

namespace stator::frontend {

struct ReplayState;
struct Trace;
struct Segment;

// How a segment's kernels are launched, looked up once: parameters are addresses of values that find_memory
// fills in.
struct KernelPlan {
    int kernel;  // of the trace's code
    std::vector<kernels::CudaParam> params;
    kernels::Launch launch;  // for the extents that the segment was last run with
};
struct SegmentLaunch {
    std::vector<KernelPlan> kernels;
    std::vector<int64_t> launched_for;  // values of Segment::syms
    bool writes = false;                // to memory that existed before it
};

class GpuRun {
  public:
    GpuRun(ReplayState& st, const kernels::DeviceApi& api, kernels::DeviceState* device,
           kernels::DeviceCode& code)
        : st_(st), api_(api), device_(device), code_(code) {}
    ~GpuRun();
    GpuRun(const GpuRun&) = delete;

    bool segment(int index);  // launches its kernels; does not wait for them
    // The bits of a value of rank 0 that Python decides by. Waits for it when a kernel has computed it.
    bool read_number(int32_t value);
    // Those that Python is about to see as numbers.
    bool numbers_to_host();
    const std::string& error() const { return error_; }
    // The GPU is not to be used again: a launch failed, and not for want of memory.
    bool lost() const { return lost_; }
    // Whether anything was written since the last snapshot that was there before it: no way back to that.
    bool wrote() const { return wrote_; }
    void passed_snapshot() { wrote_ = false; }
    void host_wrote() { wrote_ = true; }
    bool take_waited() { return std::exchange(waited_, false); }

  private:
    struct Memory;
    bool find_memory(const Segment& s, Memory& m);
    bool find_buffer(const Segment& s, size_t index, Memory& m);
    bool find_number(const Segment& s, const struct ScalarPlan& plan, Memory& m);
    bool place_of_number(int32_t value, graph::DType dtype, kernels::DevicePointer* out);
    bool plan(SegmentLaunch& s, const Memory& m);
    bool allocate(int64_t bytes, kernels::DevicePointer* out);
    bool find_stream();

    ReplayState& st_;
    const kernels::DeviceApi& api_;
    kernels::DeviceState* device_;
    kernels::DeviceCode& code_;
    kernels::DeviceStream stream_ = nullptr;
    bool has_stream_ = false, lost_ = false, waited_ = false, wrote_ = false;
    kernels::DevicePointer numbers_ = 0;  // 16 bytes for each value slot
    std::vector<int32_t> read_;           // numbers that were read
    std::vector<kernels::DevicePointer> held_;
    std::string error_;
};

// Opens the GPU of the trace's arrays, loads its kernels and resolves their parameters. False with the
// reason: there is no such trace.
bool load_on_gpu(Trace& t, bool later, std::string* why);
// Asks for the trace's kernels, `later`: by the compile thread (Trace::device_slot).
void load_device_code(Trace& t, bool later, std::string* why);

}  // namespace stator::frontend
