// The prelude: the few definitions that emitted CUDA sources begin with, each only where it is needed. NVRTC
// is called without headers, so all types are our own.
#include "kernels/cuda/prelude.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cuda/ops.h"

namespace stator::kernels::cuda {

namespace {

constexpr Piece kTypes[] = {
    {"types", "", R"(typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
)"},
};

// In the order in which they are printed.
const std::vector<Piece>& pieces() {
    static const std::vector<Piece> all = [] {
        std::vector<Piece> v(std::begin(kTypes), std::end(kTypes));
        for (const auto& group : {grid_pieces(), number_pieces(), combining_pieces(), word_pieces(),
                                  lane_pieces(), fold_pieces(), block_pieces()})
            v.insert(v.end(), group.begin(), group.end());
        return v;
    }();
    return all;
}

const Piece* find(std::string_view name) {
    for (const Piece& p : pieces())
        if (p.name == name) return &p;
    return nullptr;
}

using Names = std::set<std::string, std::less<>>;

void add(std::string_view name, Names& all) {
    if (!all.emplace(name).second) return;
    const Piece* p = find(name);
    std::string_view needs = p ? p->needs : "";
    while (!needs.empty()) {
        size_t end = std::min(needs.find(' '), needs.size());
        add(needs.substr(0, end), all);
        needs.remove_prefix(std::min(end + 1, needs.size()));
    }
}

}  // namespace

std::string prelude(const Uses& uses) {
    Names all;
    add("types", all);
    for (const std::string& name : uses.pieces) add(name, all);
    std::string out;
    for (const Piece& p : pieces())
        if (all.count(p.name)) out += p.text;
    for (const auto& [name, text] : uses.functions) out += text;
    return out;
}

}  // namespace stator::kernels::cuda
