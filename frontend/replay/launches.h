// Which kernels a call launches, and with what: collected while its traces are replayed on the CPU, for
// f.cuda(). Only traces of functions with FunctionOptions::cuda have kernels.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "frontend/pyref.h"
#include "kernels/cuda/source.h"

namespace stator::frontend {

struct ReplayState;

struct LaunchParam {
    enum Kind : uint8_t {
        In,       // array argument `index`
        Out,      // fresh result `index`
        Scratch,  // memory of `bytes` that kernels share by `index`
        Const,    // `object`, an array that is no argument
        Scalar,   // `object`, a NumPy scalar
        Extent,   // `index` itself, 64 bits
    } kind;
    int64_t index = 0, bytes = 0;
    PyRef object;
};

struct KernelLaunch {
    std::string name;
    std::shared_ptr<const std::string> source;
    std::string trace;
    kernels::Launch launch;
    kernels::GpuKernel schedule;
    std::vector<LaunchParam> params;
};

class LaunchObserver {
  public:
    // The arrays among the arguments, in order; results are told apart from them by identity.
    explicit LaunchObserver(std::vector<PyRef> arguments, kernels::GpuLimits limits)
        : arguments_(std::move(arguments)), limits_(limits) {}
    std::vector<KernelLaunch> launches;
    std::string error;  // why kernels are missing

    void began(const ReplayState& st);
    void before(const ReplayState& st, int index);
    void segment(const ReplayState& st, int index);  // after it ran
    void returned(const ReplayState& st);
    void finish(PyObject* result);  // names the memory of results

  private:
    LaunchParam buffer(const ReplayState& st, const kernels::Program& p, int index);
    LaunchParam scalar(const ReplayState& st, const kernels::Program& p, int index);
    LaunchParam memory_of(const ReplayState& st, int32_t value, int64_t bytes);
    LaunchParam number(const ReplayState& st, int32_t value, int64_t bytes);
    LaunchParam array(PyObject* object);
    int64_t slot_of(int32_t root);
    void results(const ReplayState& st, int32_t recipe);
    void results(PyObject* object);

    std::vector<PyRef> arguments_;
    kernels::GpuLimits limits_;
    std::map<int32_t, int64_t> slots_;      // of this replay: root of a value -> scratch slot
    std::map<int32_t, int64_t> numbers_;    // of this replay: value of rank 0 -> scratch slot
    std::map<PyObject*, int64_t> objects_;  // arrays that replays made -> scratch slot
    std::vector<char> scalars_;       // of the segment that runs, as they were when it began: 16 bytes each
    std::vector<PyRef> kept_;         // keeps their addresses from being used again
    std::map<int64_t, int64_t> out_;  // scratch slot -> number of the result
    std::map<int32_t, int64_t> seen_results_;
    std::set<PyObject*> seen_objects_;
    bool ended_in_trace_ = false;  // the last replay returned the call's result
    std::shared_ptr<const std::string> source_;
    int64_t next_slot_ = 0, next_out_ = 0;
};

// nullptr: nobody asks. Of this thread.
extern thread_local constinit LaunchObserver* active_observer [[gnu::tls_model("initial-exec")]];

}  // namespace stator::frontend
