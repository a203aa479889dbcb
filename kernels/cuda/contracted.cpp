#include "kernels/cuda/contracted.h"

#include <algorithm>
#include <iterator>

namespace stator::kernels::cuda {

namespace {

// Double precision functions of libdevice in which nvcc contracts a product and a sum, by its default
// --fmad=true and only at its full optimization. Kernels that call one are compiled as host libraries compile
// theirs, or the last bit would differ from theirs. Found by counting the instructions of each function's
// sm_80 and sm_90 code under all four combinations of options (CUDA 13.0); every other function of libdevice
// has the same operations in each of them. The kernels' own arithmetic is never contracted: it consists of
// __fmul_rn and the like.
constexpr std::string_view kContracted[] = {
    "acosh", "asinh", "atanh", "erfcinv", "erfcxf",     "j0",     "j1", "lgamma", "log",
    "log10", "log1p", "log2",  "pow",     "normcdfinv", "tgamma", "y0", "y1",
};

bool is_identifier(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

bool calls_contracted(std::string_view source) {
    for (size_t i = 0; i < source.size();) {
        if (!is_identifier(source[i])) {
            ++i;
            continue;
        }
        const size_t begin = i;
        while (i < source.size() && is_identifier(source[i])) ++i;
        if (i < source.size() && source[i] == '(' &&
            std::find(std::begin(kContracted), std::end(kContracted), source.substr(begin, i - begin)) !=
                std::end(kContracted))
            return true;
    }
    return false;
}

}  // namespace stator::kernels::cuda
