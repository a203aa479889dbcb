// Running a region on a GPU (device="cuda"): arrays are copied in where it is entered, those that it writes
// are copied out where it is left, and a host in between only looks for signals and makes scratch memory
// larger.
//
// Nothing on the host changes before the kernel has left the region, so that after a failure Python goes on
// as if it had not been entered.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/region/region.h"
#include "kernels/api/device.h"
#include "kernels/cuda/regions/region.h"
#include "kernels/region_abi.h"

namespace stator::frontend::regions {

// Whether a GPU has anything to do in it.
bool is_for_device(const graph::Region& r);

class DeviceRegion {
  public:
    DeviceRegion(std::shared_ptr<const graph::Region> region, const std::string& name);
    ~DeviceRegion();
    DeviceRegion(const DeviceRegion&) = delete;

    const kernels::CudaRegion& code() const { return code_; }
    bool load(std::string* why);  // compiles it for the first GPU

    enum class Ran : uint8_t {
        Left,
        Failed,   // the host is as it was
        Damaged,  // arrays may hold part of what they should
    };
    // As RegionFn. Arrays among the exit's values are parts of arrays given or lie in memory of this
    // object's, until the next call.
    Ran run(const kernels::RegionArgs& args, int32_t* exit);
    const std::string& error() const { return error_; }

  private:
    struct Array {
        char* host = nullptr;  // where its stretch of memory begins
        int64_t bytes = 0, first = 0;
        const int64_t *shape = nullptr, *strides = nullptr;
        kernels::DevicePointer memory = 0;
    };
    struct Cell {
        kernels::DevicePointer memory = 0;
        int64_t bytes = 0;
        std::vector<char> host;  // what an exit's value shows of it
    };

    bool copy_in(const kernels::RegionArgs& args);
    bool begin(const kernels::RegionArgs& args);
    bool launches(const kernels::RegionArgs& args);
    bool launch();
    bool grow(size_t cell, int64_t bytes);
    bool grow_cells(const kernels::RegionControl& c);
    kernels::RegionCell told(size_t cell) const;  // by the last launch
    bool values_to_host(int32_t exit, char* out);
    bool address_to_host(char* slot, const graph::RegionType& t);
    bool arrays_to_host();
    void release();
    bool allocate(int64_t bytes, kernels::DevicePointer* out);
    kernels::RegionControl control() const;
    const graph::RegionInput& input(size_t array) const;
    const graph::RegionType& type_of(size_t array) const;

    std::shared_ptr<const graph::Region> region_;
    kernels::CudaRegion code_;
    std::vector<int> inputs_;  // arrays: into Region::inputs
    kernels::DeviceState* device_ = nullptr;
    std::shared_ptr<kernels::DeviceCode> loaded_;
    std::vector<Array> arrays_;
    std::vector<Cell> cells_;
    std::vector<int64_t> cell_bytes_;  // that the last run ended with
    kernels::DevicePointer state_ = 0;
    std::vector<char> host_state_;  // what comes back of it
    int blocks_ = 1, threads_ = 1;
    std::string error_;
};

}  // namespace stator::frontend::regions
