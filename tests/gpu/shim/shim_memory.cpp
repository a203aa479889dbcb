// See shim_memory.h.
#include "shim_memory.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <deque>
#include <vector>

namespace shim {
namespace {

constexpr size_t kUnit = size_t(1) << 16;  // allocations begin at multiples of it
constexpr size_t kPage = 4096;
constexpr size_t kFilled = size_t(1) << 28;
constexpr unsigned char kMargin = 0xe7;

struct Arena {
    char* base = nullptr;
    size_t used = 0;
    uint32_t* block_of = nullptr;  // by unit: number of the block + 1
    std::deque<Block> blocks;      // never moved

    Arena() {
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        void* p = mmap(nullptr, kArena, PROT_NONE, flags, -1, 0);
        void* index = mmap(nullptr, kArena / kUnit * sizeof(uint32_t), PROT_READ | PROT_WRITE, flags, -1, 0);
        if (p == MAP_FAILED || index == MAP_FAILED) return;
        base = static_cast<char*>(p);
        block_of = static_cast<uint32_t*>(index);
    }
};
Arena& arena() {
    static Arena* a = new Arena;
    return *a;
}

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

}  // namespace

void fill_with_garbage(char* begin, size_t bytes) {
    if (bytes == 0) return;
    // The pattern follows the address, so that aligned numbers see it whole.
    for (size_t i = 0; i < std::min<size_t>(bytes, 8); ++i)
        begin[i] = static_cast<char>(kGarbage[(reinterpret_cast<uintptr_t>(begin) + i) % 8]);
    for (size_t done = 8; done < bytes; done *= 2) memcpy(begin + done, begin, std::min(done, bytes - done));
}

char* allocate(size_t size, size_t alignment, size_t misalign, bool left) {
    Arena& a = arena();
    const size_t pages = round_up(size + alignment + misalign, kPage);
    const size_t units = round_up(pages + 2 * kPage, kUnit) / kUnit;
    if (!a.base || size > kArena || a.used + units * kUnit > kArena) return nullptr;
    char* region = a.base + a.used;
    // The pages end where the region's last page begins, which stays closed; so does everything before them.
    char* end = region + units * kUnit - kPage;
    Block block;
    block.pages = end - pages;
    block.page_bytes = pages;
    if (mprotect(block.pages, pages, PROT_READ | PROT_WRITE) != 0) return nullptr;
    const auto address = reinterpret_cast<uintptr_t>(left ? block.pages : end - size - misalign);
    block.begin = reinterpret_cast<char*>(left ? round_up(address, alignment) + misalign
                                               : address / alignment * alignment + misalign);
    block.size = size;
    block.live = true;
    if (size <= kFilled) {
        memset(block.pages, kMargin, pages);
        fill_with_garbage(block.begin, size);
    }
    a.used += units * kUnit;
    a.blocks.push_back(block);
    const size_t first = static_cast<size_t>(region - a.base) / kUnit;
    std::fill_n(a.block_of + first, units, static_cast<uint32_t>(a.blocks.size()));
    return block.begin;
}

char* allocate(size_t size, size_t alignment, size_t misalign, bool left, int device) {
    char* begin = allocate(size, alignment, misalign, left);
    if (begin) arena().blocks.back().device = device;
    return begin;
}

void set_access(const Block& block, bool open) {
    if (block.live) mprotect(block.pages, block.page_bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

size_t arena_offset(const volatile void* address) {
    return reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(arena().base);
}

bool in_device_memory(const volatile void* address) {
    const Arena& a = arena();
    return reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(a.base) < a.used;
}

Block* find_block(const volatile void* address) {
    Arena& a = arena();
    if (!in_device_memory(address)) return nullptr;
    const size_t unit = (reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(a.base)) / kUnit;
    return a.block_of[unit] ? &a.blocks[a.block_of[unit] - 1] : nullptr;
}

bool release(char* begin) {
    Block* block = find_block(begin);
    if (!block || !block->live || block->begin != begin) return false;
    block->live = false;
    // Gives the memory back and closes the addresses, which are not used again: late accesses are found.
    mmap(block->pages, block->page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
         -1, 0);
    return true;
}

bool host_memory_is_open = false;

std::string describe(const volatile void* address, size_t size, bool write) {
    const Block* block = find_block(address);
    char text[200];
    const auto at = reinterpret_cast<uintptr_t>(address);
    const char* verb = write ? "writes" : "reads";
    if (!block && host_memory_is_open) return {};
    if (!block) {
        snprintf(text, sizeof text, "%s %zu bytes at %p, which is not device memory", verb, size,
                 const_cast<void*>(address));
        return text;
    }
    const auto begin = reinterpret_cast<uintptr_t>(block->begin);
    if (!block->live)
        snprintf(text, sizeof text, "%s %zu bytes of an allocation of %zu bytes that was freed", verb, size,
                 block->size);
    else if (at < begin)
        snprintf(text, sizeof text,
                 "%s %zu bytes out of bounds: %zu bytes before the begin of an array of %zu bytes", verb,
                 size, static_cast<size_t>(begin - at), block->size);
    else if (at + size > begin + block->size)
        snprintf(text, sizeof text, "%s %zu bytes out of bounds: at offset %zu of an array of %zu bytes",
                 verb, size, static_cast<size_t>(at - begin), block->size);
    else if (write && block->read_only)
        snprintf(text, sizeof text, "writes %zu bytes at offset %zu of an input of %zu bytes", size,
                 static_cast<size_t>(at - begin), block->size);
    else
        return "";
    return text;
}

std::string check_margins(const Block& block) {
    if (!block.live || block.size > kFilled) return "";
    const auto damaged = [](const char* p, const char* end) {
        for (; p < end; ++p)
            if (static_cast<unsigned char>(*p) != kMargin) return true;
        return false;
    };
    if (damaged(block.pages, block.begin))
        return "bytes before an array of " + std::to_string(block.size) + " bytes were written";
    if (damaged(block.begin + block.size, block.pages + block.page_bytes))
        return "bytes behind an array of " + std::to_string(block.size) + " bytes were written";
    return "";
}

}  // namespace shim
