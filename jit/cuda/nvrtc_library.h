// The functions of libnvrtc that stator calls, declared by hand because NVIDIA's header is not at hand where
// stator is built. Their ABI has been the same since CUDA 11.1.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "jit/cuda/nvrtc.h"

namespace stator::jit {

using NvrtcProgram = void*;

constexpr int kNvrtcInvalidOption = 5;  // NVRTC_ERROR_INVALID_OPTION
constexpr int kNvrtcCompilation = 6;    // NVRTC_ERROR_COMPILATION

struct NvrtcTable {
#define NVRTC_FUNCTIONS(F)                                                                    \
    F(GetErrorString, const char*, (int))                                                     \
    F(Version, int, (int*, int*))                                                             \
    F(GetNumSupportedArchs, int, (int*))                                                      \
    F(GetSupportedArchs, int, (int*))                                                         \
    F(CreateProgram, int,                                                                     \
      (NvrtcProgram*, const char*, const char*, int, const char* const*, const char* const*)) \
    F(DestroyProgram, int, (NvrtcProgram*))                                                   \
    F(CompileProgram, int, (NvrtcProgram, int, const char* const*))                           \
    F(GetPTXSize, int, (NvrtcProgram, size_t*))                                               \
    F(GetPTX, int, (NvrtcProgram, char*))                                                     \
    F(GetCUBINSize, int, (NvrtcProgram, size_t*))                                             \
    F(GetCUBIN, int, (NvrtcProgram, char*))                                                   \
    F(GetProgramLogSize, int, (NvrtcProgram, size_t*))                                        \
    F(GetProgramLog, int, (NvrtcProgram, char*))
#define F(name, result, parameters) result(*name) parameters = nullptr;
    NVRTC_FUNCTIONS(F)
#undef F
};

struct NvrtcLibrary {
    NvrtcInfo info;
    NvrtcTable call;
};

// Where libnvrtc may be, best first. `complete` is false for names only the loader can resolve.
struct NvrtcCandidate {
    std::string name;
    bool is_path = false;
};
std::vector<NvrtcCandidate> nvrtc_candidates();

// Opens the first candidate that works. Not locked: the caller holds the lock of nvrtc.cpp.
bool open_nvrtc(NvrtcLibrary* out, std::string* error);

// Text that changes when the file does (name, size, time), found without opening it; "" when it does not
// exist. Part of the cache's keys: a hit must not wait for the library to be read from disk.
std::string nvrtc_identity();

}  // namespace stator::jit
