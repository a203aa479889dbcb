// Barriers, shuffles, votes, atomics, cached loads and stores.
#pragma once

namespace shim {

template <class T>
SHIM_PLAIN uint64_t to_bits(T value) {
    static_assert(sizeof(T) <= 8, "shuffles move at most 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}
template <class T>
SHIM_PLAIN T from_bits(uint64_t bits) {
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
template <class T>
SHIM_PLAIN T shuffle(WarpOp op, int line, unsigned mask, T value, int argument, int width = 32) {
    return from_bits<T>(runtime.warp(op, line, mask, to_bits(value), argument, width));
}
SHIM_PLAIN unsigned vote(WarpOp op, int line, unsigned mask, uint64_t value) {
    return (unsigned)runtime.warp(op, line, mask, value, 0, 32);
}
// Sign and width for the warp's min and max ride in `argument`.
SHIM_PLAIN unsigned reduce(WarpOp op, int line, unsigned mask, unsigned value) {
    return (unsigned)runtime.warp(op, line, mask, value, 0, 32);
}
SHIM_PLAIN int reduce(WarpOp op, int line, unsigned mask, int value) {
    return (int)runtime.warp(op, line, mask, (uint64_t)(int64_t)value, 1, 32);
}
SHIM_PLAIN void sync_warp(int line, unsigned mask = 0xffffffffu) {
    runtime.warp(WarpOp::Sync, line, mask, 0, 0, 32);
}

}  // namespace shim

#define __syncthreads() ((void)shim::runtime.barrier(shim::Vote::Barrier, 0, __LINE__))
#define __syncthreads_count(p) (shim::runtime.barrier(shim::Vote::Count, (p) != 0, __LINE__))
#define __syncthreads_and(p) (shim::runtime.barrier(shim::Vote::And, (p) != 0, __LINE__))
#define __syncthreads_or(p) (shim::runtime.barrier(shim::Vote::Or, (p) != 0, __LINE__))
#define __syncwarp(...) shim::sync_warp(__LINE__ __VA_OPT__(, ) __VA_ARGS__)
#define __shfl_sync(mask, value, ...) shim::shuffle(shim::WarpOp::Index, __LINE__, mask, value, __VA_ARGS__)
#define __shfl_up_sync(mask, value, ...) shim::shuffle(shim::WarpOp::Up, __LINE__, mask, value, __VA_ARGS__)
#define __shfl_down_sync(mask, value, ...) \
    shim::shuffle(shim::WarpOp::Down, __LINE__, mask, value, __VA_ARGS__)
#define __shfl_xor_sync(mask, value, ...) shim::shuffle(shim::WarpOp::Xor, __LINE__, mask, value, __VA_ARGS__)
#define __any_sync(mask, p) ((int)shim::vote(shim::WarpOp::Any, __LINE__, mask, (p) != 0))
#define __all_sync(mask, p) ((int)shim::vote(shim::WarpOp::All, __LINE__, mask, (p) != 0))
#define __ballot_sync(mask, p) shim::vote(shim::WarpOp::Ballot, __LINE__, mask, (p) != 0)
#define __match_any_sync(mask, v) shim::vote(shim::WarpOp::MatchAny, __LINE__, mask, shim::to_bits(v))
#define __reduce_add_sync(mask, v) shim::reduce(shim::WarpOp::Add, __LINE__, mask, v)
#define __reduce_min_sync(mask, v) shim::reduce(shim::WarpOp::Min, __LINE__, mask, v)
#define __reduce_max_sync(mask, v) shim::reduce(shim::WarpOp::Max, __LINE__, mask, v)
#define __reduce_and_sync(mask, v) shim::reduce(shim::WarpOp::And, __LINE__, mask, v)
#define __reduce_or_sync(mask, v) shim::reduce(shim::WarpOp::Or, __LINE__, mask, v)
#define __reduce_xor_sync(mask, v) shim::reduce(shim::WarpOp::BitXor, __LINE__, mask, v)
#define __activemask() (shim::runtime.active_mask())

SHIM_PLAIN void __threadfence() { shim::runtime.fence(); }
SHIM_PLAIN void __threadfence_block() {}
SHIM_PLAIN void __threadfence_system() { shim::runtime.fence(); }
SHIM_PLAIN void __nanosleep(unsigned) {}

#define __cluster_barrier_arrive() (shim::runtime.cluster_arrive())
#define __cluster_barrier_arrive_relaxed() (shim::runtime.cluster_arrive())
#define __cluster_barrier_wait() (shim::runtime.cluster_wait(__LINE__))
SHIM_PLAIN unsigned __clusterRelativeBlockRank() { return shim::runtime.cluster(true); }
SHIM_PLAIN unsigned __clusterSizeInBlocks() { return shim::runtime.cluster(false); }
SHIM_PLAIN void* __cluster_map_shared_rank(const void* p, unsigned rank) {
    return shim::runtime.map_shared(p, rank);
}

#define __shim_nanoseconds() shim::runtime.nanoseconds()

// Atomic because no fiber switches inside; the runtime is told, so that it can check the address.
namespace shim {
template <class T, class F>
__attribute__((no_sanitize("thread"), noinline)) T atomic(T* p, F next) {
    runtime.access(p, sizeof(T), Access::Atomic);
    T old;
    memcpy(&old, p, sizeof old);
    T fresh = next(old);
    memcpy(p, &fresh, sizeof fresh);
    return old;
}
}  // namespace shim

#define SHIM_ATOMIC(name, T, expression)                                \
    SHIM_PLAIN T name(T* p, T v) {                                      \
        return shim::atomic(p, [=](T old) -> T { return expression; }); \
    }
#define SHIM_ATOMIC_INTS(name, expression)  \
    SHIM_ATOMIC(name, int, expression)      \
    SHIM_ATOMIC(name, unsigned, expression) \
    SHIM_ATOMIC(name, unsigned long long, expression)
SHIM_ATOMIC_INTS(atomicAdd, old + v)
SHIM_ATOMIC(atomicAdd, float, old + v)
SHIM_ATOMIC(atomicAdd, double, old + v)
SHIM_ATOMIC(atomicSub, int, old - v)
SHIM_ATOMIC(atomicSub, unsigned, old - v)
SHIM_ATOMIC_INTS(atomicExch, (void(old), v))
SHIM_ATOMIC(atomicExch, float, (void(old), v))
SHIM_ATOMIC_INTS(atomicMin, v < old ? v : old)
SHIM_ATOMIC(atomicMin, long long, v < old ? v : old)
SHIM_ATOMIC_INTS(atomicMax, v > old ? v : old)
SHIM_ATOMIC(atomicMax, long long, v > old ? v : old)
SHIM_ATOMIC_INTS(atomicAnd, old& v)
SHIM_ATOMIC_INTS(atomicOr, old | v)
SHIM_ATOMIC_INTS(atomicXor, old ^ v)
SHIM_ATOMIC(atomicInc, unsigned, old >= v ? 0 : old + 1)
SHIM_ATOMIC(atomicDec, unsigned, old == 0 || old > v ? v : old - 1)
#undef SHIM_ATOMIC_INTS
#undef SHIM_ATOMIC
#define SHIM_CAS(T)                                                                   \
    SHIM_PLAIN T atomicCAS(T* p, T compare, T v) {                                    \
        return shim::atomic(p, [=](T old) -> T { return old == compare ? v : old; }); \
    }
SHIM_CAS(int)
SHIM_CAS(unsigned)
SHIM_CAS(unsigned long long)
SHIM_CAS(unsigned short)
#undef SHIM_CAS

#define SHIM_LOAD(name)                                        \
    template <class T>                                         \
    __attribute__((always_inline)) inline T name(const T* p) { \
        return *p;                                             \
    }
SHIM_LOAD(__ldg)
SHIM_LOAD(__ldcs)
SHIM_LOAD(__ldcg)
SHIM_LOAD(__ldca)
SHIM_LOAD(__ldlu)
SHIM_LOAD(__ldcv)
#undef SHIM_LOAD
namespace shim {
template <class T>
struct Same {
    using type = T;
};
}  // namespace shim
#define SHIM_STORE(name)                                                                    \
    template <class T>                                                                      \
    __attribute__((always_inline)) inline void name(T* p, typename shim::Same<T>::type v) { \
        *p = v;                                                                             \
    }
SHIM_STORE(__stcs)
SHIM_STORE(__stcg)
SHIM_STORE(__stwb)
SHIM_STORE(__stwt)
#undef SHIM_STORE
