// Replaying a trace of NumPy arrays on a GPU (device="cuda"): arrays are copied in when a kernel first needs
// them, stay there from segment to segment, and are copied out where Python sees them, once.
//
// Nothing on the host changes before to_host(): a failure before it means that the whole trace can run
// eagerly from its entry.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "frontend/pyref.h"
#include "kernels/api/device.h"

namespace stator::frontend {

struct ReplayState;
struct Trace;

class DeviceRun {
  public:
    DeviceRun(ReplayState& st, const kernels::DeviceApi& api, kernels::DeviceState* device,
              kernels::DeviceCode& code);
    ~DeviceRun();
    DeviceRun(const DeviceRun&) = delete;

    bool segment(int index);  // launches its kernels; does not wait for them
    // Copies out what kernels made or changed and Python may see. Waits for them.
    bool to_host();
    const std::string& error() const { return error_; }
    // Whether anything was copied out, and so waited for, since this was last asked.
    bool take_waited() { return std::exchange(waited_, false); }

  private:
    // A stretch of memory on the device, and the host's array that it is a copy of, if there is one.
    struct Copy {
        kernels::DevicePointer memory = 0;
        int64_t bytes = 0;
        int64_t first = 0;         // offset of the array's first element
        PyObject* host = nullptr;  // kept alive by the replay
        bool changed = false;      // the device's contents are newer
    };
    Copy* copy_of_array(PyObject* array);
    Copy* copy_of_value(int32_t value, int64_t bytes);
    Copy* copy_of_number(int32_t value);
    bool address(int segment, int buffer, kernels::DevicePointer* out);
    bool read_scalars(const kernels::Program& p);
    bool fill_param(int segment, const kernels::CudaParam& p, const kernels::Launch& launch, char* value);
    bool allocate(int64_t bytes, kernels::DevicePointer* out);
    bool copy_out(void* to, kernels::DevicePointer from, int64_t bytes);
    bool array_to_host(Copy& c);
    bool results_to_host(int segment);
    bool result_to_host(int segment, int buffer);

    ReplayState& st_;
    const kernels::DeviceApi& api_;
    kernels::DeviceState* device_;
    kernels::DeviceCode& code_;
    std::map<PyObject*, Copy> arrays_;  // of the host
    std::map<int32_t, Copy> values_;    // made by kernels, by the root of their versions
    std::map<int32_t, Copy> numbers_;   // values of rank 0 made by kernels: each has a place of its own
    std::map<int, Copy> scratch_;       // of the segment that runs, by buffer
    kernels::DevicePointer partials_ = 0;
    std::vector<char> scalars_;  // of the segment that runs, as they were when it began: 16 bytes each
    std::vector<int> unseen_;    // segments whose results are on the device alone
    std::string error_;
    bool waited_ = false;
};

// Opens the first GPU and loads the trace's kernels. False with the reason: the trace cannot run there.
bool load_on_device(Trace& t, bool later, std::string* why);
// Whether device="cuda" can be had at all: null, or why not.
bool device_available(std::string* why);

}  // namespace stator::frontend
