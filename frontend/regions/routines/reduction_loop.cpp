// Reductions along axes of C-contiguous arrays, by the ufunc's loop, called as NumPy's reduction calls it.
//
// NumPy drops axes of extent 1, merges neighbouring axes that are both reduced or both kept, and walks what
// is left in the order of C (kernels/schedule/reduction_order.h): the loop runs along the last of these, with
// an accumulator that stands still where that is reduced. Without an identity the first elements are copied
// and then left out.
#include <algorithm>
#include <cstring>

#include "frontend/hosts/numpy/lower.h"
#include "frontend/hosts/numpy/runtime.h"
#include "frontend/hosts/numpy/sum_order.h"
#include "frontend/regions/routines/library.h"
#include "kernels/tier0/flags.h"

namespace stator::frontend::regions {

namespace {

struct Reduce {
    kernels::HostLoop loop;
    std::vector<int> axes;  // reduced ones, ascending
    int rank = 0;
    DType dtype = DType::F64;
    bool from_first = false;  // no identity
    int64_t longest_run = 0;  // that NumPy gives the loop in one piece
};

// Neighbouring axes of one kind.
struct Group {
    int64_t extent, in_stride, out_stride;  // out_stride 0: reduced
    bool reduced;
    int64_t index = 0;
};

struct Walk {
    std::vector<Group> groups;  // outer ones first
    int64_t kept = 1, reduced = 1;

    Walk(const Reduce& r, const ArrayWords& in) {
        int64_t in_stride = graph::info(r.dtype).size, out_stride = in_stride;
        for (int axis = r.rank; axis-- > 0;) {
            const int64_t n = in.extents[axis];
            const bool is_reduced = std::binary_search(r.axes.begin(), r.axes.end(), axis);
            (is_reduced ? reduced : kept) *= n;
            if (n != 1 && !groups.empty() && groups.front().reduced == is_reduced) {
                groups.front().extent *= n;
            } else if (n != 1) {
                groups.insert(groups.begin(), {n, in_stride, is_reduced ? 0 : out_stride, is_reduced});
            }
            in_stride *= n;
            if (!is_reduced) out_stride *= n;
        }
        if (groups.empty()) groups.push_back({1, 0, 0, true});
    }
    // Advances the outer groups; false at the end.
    bool next(char** in, char** out) {
        for (size_t g = groups.size() - 1; g-- > 0;) {
            Group& x = groups[g];
            const bool wraps = ++x.index == x.extent;
            const int64_t by = wraps ? 1 - x.extent : 1;
            *in += by * x.in_stride;
            *out += by * x.out_stride;
            if (!wraps) return true;
            x.index = 0;
        }
        return false;
    }
    bool first_visit() const {
        return std::all_of(groups.begin(), groups.end() - 1,
                           [](const Group& g) { return !g.reduced || g.index == 0; });
    }
};

uint32_t run_reduce(void* data, int64_t* words) {
    const auto& r = *static_cast<const Reduce*>(data);
    const int64_t* w = words;
    const ArrayWords out = take_array(&w, r.rank - static_cast<int>(r.axes.size())),
                     in = take_array(&w, r.rank);
    Walk walk(r, in);
    if (walk.kept == 0) return 0;
    if (r.from_first && walk.reduced == 0) return kernels::kFaultHost;
    const auto bytes = static_cast<size_t>(graph::info(r.dtype).size);
    if (!r.from_first) std::memset(out.address, 0, static_cast<size_t>(walk.kept) * bytes);
    if (walk.reduced == 0) return 0;
    const Group inner = walk.groups.back();
    if (inner.reduced && inner.extent > r.longest_run) return kernels::kFaultHost;
    const kernels::tier0::KeepFlags keep;
    char *from = in.address, *to = out.address;
    do {
        int64_t n = inner.extent;
        char* at = from;
        if (r.from_first && walk.first_visit()) {
            const int64_t copied = inner.reduced ? 1 : n;
            std::memcpy(to, from, static_cast<size_t>(copied) * bytes);
            at += copied * inner.in_stride;
            n -= copied;
        }
        if (n > 0) {
            char* args[] = {to, at, to};
            const int64_t strides[] = {inner.out_stride, inner.in_stride, inner.out_stride};
            r.loop.fn(args, &n, strides, r.loop.data);
        }
    } while (walk.next(&from, &to));
    return kernels::tier0::read_faults();
}

}  // namespace

LibraryRoutine reduction_routine(const std::string& ufunc, DType t, int rank, std::vector<int> axes) {
    auto r = std::make_shared<Reduce>();
    r->loop = numpy::find_loop({ufunc, {t, t, t}});
    if (!r->loop.fn) return {};
    r->axes = std::move(axes);
    r->rank = rank;
    r->dtype = t;
    r->from_first = ufunc != "add";
    const bool ordered = ufunc == "add" && graph::is_float(t);
    r->longest_run = ordered ? numpy::longest_pairwise_run() : INT64_MAX;
    return {run_reduce, r};
}

}  // namespace stator::frontend::regions
