// See blocks.h. One region of address space is cut into slabs; all blocks of a slab are of one class, and
// free ones are linked through their first word. Class 4*k + q holds 1 KB * (4 + q) / 4 * 2^k bytes.
#include "frontend/hosts/numpy/blocks.h"

#include <sys/mman.h>

#include <bit>
#include <cstring>

namespace stator::frontend::numpy {

namespace {

constexpr int64_t kRegion = 64 << 20, kSlab = 256 << 10;
constexpr int kClasses = 25, kSlabs = kRegion / kSlab;

struct Region {
    char* base = nullptr;
    int64_t used = 0;  // bytes of slabs that have a class
    uint8_t class_of[kSlabs] = {};
    char* free[kClasses] = {};  // heads of the lists
};
Region region;

int class_for(int64_t bytes) {
    const auto units = static_cast<uint64_t>((bytes + 255) / 256);  // quarter steps of 1 KB, 5 or more
    const int shift = std::bit_width(units - 1) - 3;
    const uint64_t rounded = ((units - 1) >> shift) + 1;  // 5 .. 8
    return 4 * shift + static_cast<int>(rounded) - 4;
}

int64_t class_bytes(int c) { return (int64_t{256} * (4 + c % 4)) << (c / 4); }

// Gives a new slab to the class.
bool grow(int c) {
    if (!region.base) {
        void* p = mmap(nullptr, kRegion, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                       -1, 0);
        if (p == MAP_FAILED) return false;
        region.base = static_cast<char*>(p);
    }
    if (region.used == kRegion) return false;
    char* slab = region.base + region.used;
    region.class_of[region.used / kSlab] = static_cast<uint8_t>(c);
    region.used += kSlab;
    const int64_t size = class_bytes(c);
    for (int64_t at = (kSlab / size - 1) * size; at >= 0; at -= size) {
        std::memcpy(slab + at, &region.free[c], sizeof(char*));
        region.free[c] = slab + at;
    }
    return true;
}

}  // namespace

void* take_block(int64_t bytes) {
    const int c = class_for(bytes);
    if (!region.free[c] && !grow(c)) return nullptr;
    char* p = region.free[c];
    std::memcpy(&region.free[c], p, sizeof(char*));
    return p;
}

int64_t block_bytes(const void* p) {
    const auto at = reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(region.base);
    return at < static_cast<uintptr_t>(region.used) ? class_bytes(region.class_of[at / kSlab]) : 0;
}

void give_block(void* p) {
    const int c = region.class_of[(static_cast<char*>(p) - region.base) / kSlab];
    std::memcpy(p, &region.free[c], sizeof(char*));
    region.free[c] = static_cast<char*>(p);
}

}  // namespace stator::frontend::numpy
