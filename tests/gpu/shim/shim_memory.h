// Device memory: every allocation ends (or begins) at a page that cannot be accessed, and is filled with
// garbage.
//
// All of it lies in one reserved range of addresses, so that a kernel's access to anything else can be told
// from one to device memory in one comparison.
#pragma once

#include <stddef.h>

#include <string>

namespace shim {

struct Block {
    char* begin = nullptr;
    size_t size = 0;
    char* pages = nullptr;  // what can be accessed
    size_t page_bytes = 0;
    int device = 0;
    bool read_only = false;  // kernels may not write to it
    bool live = false;
};

constexpr size_t kArena = size_t(1) << 40;  // addresses only; memory is used where it is touched
size_t arena_offset(const volatile void* address);

constexpr unsigned char kGarbage[] = {0xad, 0xde, 0xc0, 0xff,
                                      0xad, 0xde, 0xf8, 0x7f};  // NaN as float and double
void fill_with_garbage(char* begin, size_t bytes);

// `misalign` bytes off a multiple of `alignment`, as far right as that allows before the guard page; with
// `left`, right behind a guard page. Large allocations are not filled: their pages stay untouched. Null: out
// of addresses.
char* allocate(size_t size, size_t alignment, size_t misalign, bool left);
char* allocate(size_t size, size_t alignment, size_t misalign, bool left, int device);
// Opens or closes it, to the host and to kernels.
void set_access(const Block& block, bool open);
bool release(char* begin);  // false: not the begin of a live allocation; its addresses are never used again
// Whether kernels may use memory that was not allocated here.
extern bool host_memory_is_open;
Block* find_block(const volatile void* address);  // live or not; null outside of every allocation
bool in_device_memory(const volatile void* address);
// What an access that must not be means: "" when it is within a live block.
std::string describe(const volatile void* address, size_t size, bool write);
// Whether bytes around the allocation, up to its pages' ends, were written: "" or what was.
std::string check_margins(const Block& block);

}  // namespace shim
