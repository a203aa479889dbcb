"""The shim itself: right results for right kernels, and each kind of defect found in every schedule."""

import numpy as np
import pytest

from tests.gpu import machine, shim

pytestmark = machine.without_gpu

BLOCK_SUM = """
extern "C" __global__ void __launch_bounds__(256) block_sum(const float* a, float* out, long long n) {
    __shared__ float partial[8];
    float sum = 0;
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) sum += a[i];
    for (int step = 16; step; step >>= 1) sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, step));
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 8) {
        float all = partial[threadIdx.x];
        for (int step = 4; step; step >>= 1) all += __shfl_xor_sync(0xffu, all, step);
        if (threadIdx.x == 0) out[blockIdx.x] = all;
    }
}
"""
SCALE = """
extern "C" __global__ void scale(const float* a, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] * 2.0f;
}
"""
VECTORS = """
extern "C" __global__ void copy4(const float* a, float* out, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i + 3 < n) *(float4*)(out + i) = *(const float4*)(a + i);
}
"""


def in_all_schedules(source, *call, **options):
    module = shim.compile(source)
    for order, seed in shim.SCHEDULES:
        module.run(*call, order=order, seed=seed, **options)


def finds(source, pattern, *call, schedules=shim.SCHEDULES, **options):
    """Every schedule reports a fault that matches."""
    module = shim.compile(source)
    for order, seed in schedules:
        with pytest.raises(shim.KernelFault, match=pattern):
            module.run(*call, order=order, seed=seed, **options)


def replaced(source, old, new):
    assert old in source
    return source.replace(old, new)


@pytest.fixture
def values():
    return shim.guarded(np.random.default_rng(0).integers(-100, 100, 5000).astype(np.float32))


def test_block_sum(values):
    module = shim.compile(BLOCK_SUM)
    for order, seed in shim.SCHEDULES:
        out = shim.array(4)
        module.run("block_sum", 4, 256, [values, out, 5000], order=order, seed=seed, read_only=[values])
        assert out.sum() == values.sum()


def test_missing_barrier(values):
    source = replaced(BLOCK_SUM, "__syncthreads();", "")
    finds(source, "nobody wrote|no barrier is between", "block_sum", 4, 256, [values, shim.array(4), 5000])


def test_barrier_of_a_warp_is_not_enough(values):
    source = replaced(BLOCK_SUM, "__syncthreads();", "__syncwarp();")
    finds(source, "nobody wrote|no barrier is between", "block_sum", 4, 256, [values, shim.array(4), 5000])


def test_missing_barrier_between_two_uses():
    source = """
    extern "C" __global__ void k(float* out) {
        __shared__ float s[64];
        for (int round = 0; round < 3; ++round) {
            s[threadIdx.x] = round;
            __syncthreads();
            out[threadIdx.x] = s[63 - threadIdx.x];
            BARRIER
        }
    }
    """
    in_all_schedules(source.replace("BARRIER", "__syncthreads();"), "k", 1, 64, [shim.array(64)])
    finds(source.replace("BARRIER", ""), "no barrier is between", "k", 1, 64, [shim.array(64)])


def test_racing_shared_write():
    source = """
    extern "C" __global__ void k(int* out) {
        __shared__ int winner;
        winner = threadIdx.x;
        __syncthreads();
        out[0] = winner;
    }
    """
    finds(source, "while thread .* writes it", "k", 1, 64, [shim.array(1, np.int32)])


def test_atomics_do_not_race():
    source = """
    extern "C" __global__ void k(unsigned* histogram, const unsigned char* a, int n) {
        __shared__ unsigned counts[16];
        if (threadIdx.x < 16) counts[threadIdx.x] = 0;
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&counts[a[i]], 1u);
        BARRIER
        if (threadIdx.x < 16) atomicAdd(&histogram[threadIdx.x], counts[threadIdx.x]);
    }
    """
    a = shim.guarded(np.arange(1000, dtype=np.uint8) % 16)
    counts = shim.guarded(np.zeros(16, np.uint32))
    in_all_schedules(source.replace("BARRIER", "__syncthreads();"), "k", 1, 128, [counts, a, 1000])
    np.testing.assert_array_equal(counts, 4 * np.bincount(a))
    finds(source.replace("BARRIER", ""), "an atomic operation writes it", "k", 1, 128, [counts, a, 1000])


def test_uninitialised_shared_memory(values):
    source = replaced(BLOCK_SUM, "threadIdx.x % 32 == 0", "threadIdx.x % 32 == 0 && threadIdx.x > 0")
    finds(source, "nobody wrote", "block_sum", 1, 256, [values, shim.array(1), 5000])


def test_uninitialised_dynamic_shared_memory_is_garbage():
    source = """
    extern "C" __global__ void k(float* out) {
        extern __shared__ __align__(16) float s[];
        if (threadIdx.x != 5) s[threadIdx.x] = 1;
        __syncthreads();
        out[threadIdx.x] = s[threadIdx.x];
    }
    """
    finds(source, "nobody wrote", "k", 1, 32, [shim.array(32)], shared_bytes=128)
    finds(
        source,
        r"shared memory out of bounds: offset \d+ of 64",
        "k",
        1,
        32,
        [shim.array(32)],
        shared_bytes=64,
    )


@pytest.mark.parametrize("where", [{}, {"left": True}, {"alignment": 4}])
@pytest.mark.parametrize(
    ("old", "new", "pattern"),
    [
        ("i < n", "i <= n", "reads 4 bytes out of bounds: at offset 2000 of an array of 2000"),
        ("a[i]", "a[i + (i == n - 1)]", "reads 4 bytes out of bounds: at offset 2000"),
        ("out[i]", "out[i + 1]", "writes 4 bytes out of bounds: at offset 2000"),
        ("a[i]", "a[i - 1]", "reads 4 bytes out of bounds: 4 bytes before the begin"),
        ("out[i]", "out[i - 1]", "writes 4 bytes out of bounds: 4 bytes before the begin"),
        ("out[i]", "((float*)a)[i]", "writes 4 bytes at offset .* of an input"),
        ("out[i]", "*(float*)(8 + (i & 0))", "writes 4 bytes at 0x8, which is not device memory"),
    ],
)
def test_out_of_bounds(old, new, pattern, where):
    a = shim.guarded(np.ones(500, np.float32), **where)
    out = shim.array(500, **where)
    call = ["scale", 4, 128, [a, out, 500]]
    in_all_schedules(SCALE, *call, read_only=[a])
    assert (out == 2).all()
    finds(replaced(SCALE, old, new), pattern, *call, read_only=[a])


def test_index_of_a_shared_array(values):
    source = replaced(BLOCK_SUM, "partial[threadIdx.x / 32]", "partial[threadIdx.x / 32 + 1]")
    finds(source, "array index out of bounds in line 7", "block_sum", 1, 256, [values, shim.array(1), 5000])


def test_freed_memory():
    out = shim.array(8)
    pointer = out.ctypes.data
    del out
    finds(SCALE, "that was freed", "scale", 1, 8, [shim.array(8), np.uint64(pointer), 8])


def test_misaligned_vector_access():
    a, out = shim.guarded(np.ones(64, np.float32)), shim.array(64)
    in_all_schedules(VECTORS, "copy4", 1, 16, [a, out, 64])
    a = shim.guarded(np.ones(64, np.float32), misalign=4)
    finds(VECTORS, "misaligned access in line 4", "copy4", 1, 16, [a, out, 64])


DIVERGENT = """
extern "C" __global__ void k(int* out, int n) {
    BODY
    out[threadIdx.x] = 1;
}
"""


@pytest.mark.parametrize(
    "body",
    [
        "if (threadIdx.x >= n) return; __syncthreads();",
        "if (threadIdx.x < n) __syncthreads();",
        "if (threadIdx.x < n) __syncthreads(); else\n __syncthreads();",
        "if (threadIdx.x < n) __syncwarp(); else\n __syncthreads();",
        "if (threadIdx.x < n) out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, n, 1);",
        "if (threadIdx.x != 3) __syncwarp(0xffffffffu);",
    ],
)
def test_divergent_barrier(body):
    source = replaced(DIVERGENT, "BODY", body)
    finds(source, r"divergent barrier", "k", 1, 64, [shim.array(64, np.int32), 40])


def test_wrong_masks(values):
    out = shim.array(4)
    source = replaced(BLOCK_SUM, "0xffffffffu", "0x7fffffffu")
    finds(source, "mask 0x7fffffff leaves out the calling lane", "block_sum", 4, 256, [values, out, 5000])
    source = replaced(BLOCK_SUM, "0xffu", "0xffffffffu")
    finds(source, "divergent barrier", "block_sum", 4, 256, [values, out, 5000])


def test_shuffle_from_a_lane_that_takes_no_part():
    source = """
    extern "C" __global__ void k(float* out) {
        float v = threadIdx.x;
        if (threadIdx.x < 8) out[threadIdx.x] = __shfl_sync(0xffu, v, 9);
    }
    """
    out = shim.array(32)
    in_all_schedules(source, "k", 1, 32, [out])
    assert np.isnan(out[:8]).all()


def test_warp_operations():
    source = """
    extern "C" __global__ void k(long long* out) {
        int t = threadIdx.x;
        long long* o = out + t * 12;
        o[0] = __shfl_sync(~0u, t, 3);
        o[1] = __shfl_up_sync(~0u, t, 2);
        o[2] = __shfl_down_sync(~0u, t, 2, 8);
        o[3] = (long long)__shfl_xor_sync(~0u, (double)t, 5);
        o[4] = __ballot_sync(~0u, t & 1);
        o[5] = __any_sync(~0u, t == 5) * 10 + __all_sync(~0u, t != 5);
        o[6] = __reduce_max_sync(~0u, -t);
        o[7] = __match_any_sync(~0u, t / 8);
        o[8] = __syncthreads_count(t < 7);
        o[9] = __syncthreads_or(t == 7) * 10 + __syncthreads_and(t < 31);
        o[10] = __popc(__activemask());
        o[11] = __shfl_down_sync(~0u, 1ll << 40 | t, 16) >> 40;
    }
    """
    module = shim.compile(source)
    t = np.arange(32)
    for order, seed in shim.SCHEDULES:
        out = shim.array((32, 12), np.int64)
        module.run("k", 1, 32, [out], order=order, seed=seed)
        assert (out[:, 0] == 3).all()
        np.testing.assert_array_equal(out[:, 1], np.where(t < 2, t, t - 2))
        np.testing.assert_array_equal(out[:, 2], np.where(t % 8 > 5, t, t + 2))
        np.testing.assert_array_equal(out[:, 3], t ^ 5)
        assert (out[:, 4] == 0xAAAAAAAA).all()
        assert (out[:, 5] == 10).all()
        assert (out[:, 6] == 0).all()
        np.testing.assert_array_equal(out[:, 7], 0xFF << (t // 8 * 8))
        assert (out[:, 8] == 7).all()
        assert (out[:, 9] == 10).all()
        assert (out[:, 11] == 1).all()


def test_conversions_saturate():
    source = """
    extern "C" __global__ void k(const float* a, long long* out) {
        float v = a[threadIdx.x];
        long long* o = out + threadIdx.x * 4;
        o[0] = __float2int_rz(v);
        o[1] = __float2uint_rn(v);
        o[2] = __float2ll_rd(v);
        o[3] = (long long)(v == v ? min(max(v, -1.0f), 1) : __int_as_float(0x7f800000) > 0);
    }
    """
    a = shim.guarded(np.array([1.5, -2.5, 3e9, -1e20, np.nan, 2.5], np.float32))
    out = shim.array((6, 4), np.int64)
    in_all_schedules(source, "k", 1, 6, [a, out])
    low, high = -(2**31), 2**31 - 1
    assert out[:, 0].tolist() == [1, -2, high, low, 0, 2]
    assert out[:, 1].tolist() == [2, 0, 3000000000, 0, 0, 2]
    assert out[:, 2].tolist() == [1, -3, 3000000000, -(2**63), 0, 2]
    assert out[:, 3].tolist() == [1, -1, 1, -1, 1, 1]


def test_contraction_is_off():
    source = 'extern "C" __global__ void k(const float* a, float* o) { o[0] = a[0] * a[0] + a[1]; }'
    x = np.float32(1 + 2**-12)
    a, out = shim.guarded(np.array([x, -x * x])), shim.array(1)
    in_all_schedules(source, "k", 1, 1, [a, out])
    assert out[0] == 0


def test_addresses_beyond_two_gigabytes():
    source = """
    extern "C" __global__ void k(signed char* a, INDEX n) {
        INDEX i = n - 1 - (INDEX)threadIdx.x;
        a[i] = 7;
    }
    """
    n = 2**31 + 1000
    a = shim.array(n, np.int8)
    shim.compile(source.replace("INDEX", "long long")).run("k", 1, 32, [a, np.int64(n)])
    assert (a[-32:] == 7).all()
    assert a[-33] == 0
    finds(
        source.replace("INDEX", "int"),
        "before the begin|not device memory|freed",
        "k",
        1,
        32,
        [a, np.int32(n - 2**32)],
    )


def test_kernels_that_do_not_end():
    source = 'extern "C" __global__ void k(volatile int* a) { while (a[0]) {} }'
    a = shim.guarded(np.ones(1, np.int32))
    finds(source, "does not end", "k", 1, 1, [a], schedules=shim.SCHEDULES[:1], seconds=0.2)


@pytest.mark.parametrize(
    ("statement", "pattern"),
    [
        ("o[0] = 1 / (o[0] - o[0]);", "divides an integer by zero"),
        ("__trap();", "__trap in line 1"),
        ("assert(threadIdx.x < 3);", "assertion failed in line 1: threadIdx.x < 3"),
        (
            "volatile char big[1 << 17]; for (int i = (1 << 17) - 1; i >= 0; --i) big[i] = 0;",
            "stack overflows|not device memory",
        ),
    ],
)
def test_processor_faults(statement, pattern):
    source = f'extern "C" __global__ void k(int* o) {{ {statement} }}'
    finds(source, pattern, "k", 1, 4, [shim.guarded(np.ones(4, np.int32))])


def test_launches_that_are_refused(values):
    for grid, block, pattern in [(4, 512, "__launch_bounds__"), (4, 2048, "1024"), (0, 256, "grid")]:
        finds(BLOCK_SUM, pattern, "block_sum", grid, block, [values, shim.array(4), 5000])
    with pytest.raises(TypeError, match="8 bytes"):
        shim.compile(BLOCK_SUM).run("block_sum", 1, 256, [values, shim.array(4), np.int32(1)])


def test_several_kernels_and_constants():
    source = """
    __constant__ float table[3] = {1, 2, 3};
    template <int n> __device__ __forceinline__ float pick(int i) { return table[i % n]; }
    __device__ __noinline__ double half(double x) { return __ddiv_rn(x, 2); }
    extern "C" __global__ void __launch_bounds__(32, 4) one(float* o) { o[threadIdx.x] = pick<3>(threadIdx.x); }
    extern "C" __launch_bounds__(32) __global__ void two(double* __restrict__ o, uint3 by_value) {
        if (threadIdx.x == 0) o[blockIdx.y] = half(expf(0.f) + by_value.y + dim3(4).x);
    }
    """
    module = shim.compile(source)
    assert module.kernels == {"one": [8], "two": [8, 12]}
    out = shim.array(6)
    module.run("one", 1, 6, [out])
    assert out.tolist() == [1, 2, 3, 1, 2, 3]
    out = shim.array(3, np.float64)
    module.run("two", (1, 3), 32, [out, np.array([1, 2, 3], np.uint32).tobytes()])
    assert out.tolist() == [3.5] * 3


def test_compile_errors():
    with pytest.raises(shim.CompileError, match="not declared in this scope"):
        shim.compile('extern "C" __global__ void k() { missing = 1; }')


LAST_BLOCK = """
extern "C" __global__ void sum(const float* a, float* partial, float* out, unsigned* counter, int n) {
    __shared__ unsigned ticket;
    float s = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += a[i];
    for (int step = 16; step; step >>= 1) s += __shfl_xor_sync(~0u, s, step);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = s;
        __threadfence();
        ticket = atomicAdd(counter, 1u);
    }
    __syncthreads();
    if (ticket == gridDim.x - 1) {
        s = threadIdx.x < gridDim.x ? partial[threadIdx.x] : 0;
        for (int step = 16; step; step >>= 1) s += __shfl_xor_sync(~0u, s, step);
        if (threadIdx.x == 0) out[0] = s;
    }
}
"""


def test_last_block(values):
    module = shim.compile(LAST_BLOCK)

    def call():
        return ["sum", 8, 32, [values, shim.array(8), out, shim.guarded(np.zeros(1, np.uint32)), 5000]]

    for order, seed in shim.SCHEDULES:
        out = shim.array(1)
        module.run(*call(), order=order, seed=seed)
        assert out[0] == values.sum()
    for old, new, pattern in [
        ("__threadfence();", "", "without a __threadfence"),
        ("atomicAdd(counter, 1u)", "counter[0]++", "block . of the same launch writes: nothing orders them"),
    ]:
        for schedule in shim.SCHEDULES:  # each with a counter of its own
            finds(replaced(LAST_BLOCK, old, new), pattern, *call(), schedules=[schedule])


def test_blocks_do_not_wait_for_each_other():
    source = """
    extern "C" __global__ void k(float* a, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i + 1 < n) a[i] = a[i + 1];
    }
    """
    a = shim.guarded(np.arange(256, dtype=np.float32))
    module = shim.compile(source)
    with pytest.raises(shim.KernelFault, match="writes: "):
        for order, seed in shim.SCHEDULES:
            module.run("k", 4, 64, [a, 256], order=order, seed=seed)


@pytest.mark.parametrize(
    ("old", "new"), [("* blockDim.x", "* (blockDim.x - 1)"), ("threadIdx.x;", "threadIdx.x / 2;")]
)
def test_elements_that_are_written_twice(old, new):
    call = ["scale", 4, 128, [shim.guarded(np.ones(400, np.float32)), shim.array(400), 400]]
    finds(replaced(SCALE, old, new), "writes 4 bytes that .* writes: ", *call)


def test_small_elements():
    source = """
    extern "C" __global__ void less(const float* a, bool* out, int n) {
        int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
        if (i + 3 < n) *(uchar4*)(out + i) = make_uchar4(a[i] < 0, a[i + 1] < 0, a[i + 2] < 0, a[i + 3] < 0);
        else for (; i < n; ++i) out[i] = a[i] < 0;
    }
    """
    a, out = shim.guarded(np.arange(-101, 102, dtype=np.float32)), shim.array(203, np.bool_, alignment=4)
    call = ["less", 2, 32, [a, out, 203]]
    in_all_schedules(source, *call)
    np.testing.assert_array_equal(out, a < 0)
    finds(
        replaced(source, "+ threadIdx.x) * 4", "+ threadIdx.x) * 3"),
        "misaligned|writes: nothing|writes: no",
        *call,
    )
    finds(replaced(source, "for (; i", "for (i -= 2; i"), "writes [14] bytes that", *call)


def test_device_memory_behind_a_barrier():
    source = """
    extern "C" __global__ void k(float* a, float* out) {
        a[threadIdx.x] = threadIdx.x;
        BARRIER
        out[threadIdx.x] = a[63 - threadIdx.x];
    }
    """
    call = ["k", 1, 64, [shim.array(64), shim.array(64)]]
    in_all_schedules(source.replace("BARRIER", "__syncthreads();"), *call)
    finds(
        source.replace("BARRIER", ""),
        "of the same block writes|out of bounds",
        *call,
        schedules=shim.SCHEDULES[1:2],
    )
    finds(
        source.replace("BARRIER", "__syncwarp();"),
        "of the same block writes",
        *call,
        schedules=shim.SCHEDULES[1:2],
    )


def test_forms_of_shared_memory():
    source = """
    struct Pair { float value; int index; };
    extern __shared__ unsigned char bytes[];
    __device__ unsigned calls;
    template <int n> __device__ __forceinline__ float transpose(float v, float (&tile)[n][n + 1]) {
        tile[threadIdx.y][threadIdx.x] = v;
        __syncthreads();
        return tile[threadIdx.x][threadIdx.y];
    }
    extern "C" __global__ void k(float* out) {
        __shared__ float tile[8][9];
        __shared__ float4 wide[16];
        __shared__ Pair pairs[2];
        alignas(16) extern __shared__ double more[];
        int t = threadIdx.y * 8 + threadIdx.x;
        float v = transpose<8>(t, tile);
        if (t < 16) wide[t] = make_float4(v, 1, 2, 3);
        if (t == 0) pairs[1] = Pair{2, 3};
        reinterpret_cast<float4*>(bytes)[t] = make_float4(v, v, v, v);
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < 4; ++i) v += ((float*)bytes)[t * 4 + i];
        out[blockIdx.x * 64 + t] = v + wide[t % 16].y + pairs[1].index;
        if (t == 0) atomicAdd(&calls, 1u);
        (void)more;
    }
    """.replace(
        "alignas(16) extern __shared__ double more[];", "extern __shared__ alignas(16) double more[];"
    )
    out = shim.array((2, 8, 8))
    in_all_schedules(source, "k", 2, (8, 8), [out], shared_bytes=1024)
    expected = 5 * np.arange(64).reshape(8, 8).T + 4
    np.testing.assert_array_equal(out, [expected, expected])


CLUSTER_SUM = """
extern "C" __global__ void sum(const float* a, float* out, int columns) {
    __shared__ float partial[2];
    extern __shared__ float all[];
    unsigned rank = __clusterRelativeBlockRank(), blocks = __clusterSizeInBlocks();
    int row = blockIdx.x / blocks;
    float s = 0;
    for (int i = rank * blockDim.x + threadIdx.x; i < columns; i += blocks * blockDim.x) s += a[row * columns + i];
    for (int step = 16; step; step >>= 1) s += __shfl_xor_sync(~0u, s, step);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x < blocks) *(float*)__cluster_map_shared_rank(&all[rank], threadIdx.x) = partial[0] + partial[1];
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
    s = 0;
    for (unsigned i = 0; i < blocks; ++i) s += all[i];
    if (threadIdx.x == 0 && rank == 0) out[row] = s;
    if (threadIdx.x == 0) s += *(float*)__cluster_map_shared_rank(&partial[1], (rank + 1) % blocks);
    if (s == 0.25f) out[row] = s;
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
}
"""


def test_clusters():
    a, out = (
        shim.guarded(np.random.default_rng(0).integers(-9, 9, (3, 1000)).astype(np.float32)),
        shim.array(3),
    )
    module = shim.compile(CLUSTER_SUM)
    for cluster in 1, 4, 8:
        for order, seed in shim.SCHEDULES:
            out[...] = np.nan
            where = {"shared_bytes": 32, "cluster": cluster, "order": order, "seed": seed}
            module.run("sum", 3 * cluster, 64, [a, out, 1000], read_only=[a], **where)
            np.testing.assert_array_equal(out, a.sum(1))
    call, where = ["sum", 12, 64, [a, out, 1000]], {"shared_bytes": 32, "cluster": 4}
    first, last = (
        "__cluster_barrier_arrive();\n    __cluster_barrier_wait();\n    s = 0;",
        "__cluster_barrier_arrive();\n    __cluster_barrier_wait();\n}",
    )
    finds(
        replaced(CLUSTER_SUM, first, "s = 0;"),
        "nobody wrote|no barrier is between|which has ended",
        *call,
        **where,
    )
    finds(
        replaced(CLUSTER_SUM, first, "__syncthreads(); s = 0;"),
        "nobody wrote|no barrier|has ended",
        *call,
        **where,
    )
    # A block that ends takes its shared memory with it.
    module = shim.compile(replaced(CLUSTER_SUM, last, "}"))
    with pytest.raises(shim.KernelFault, match="shared memory of the cluster's block ., which has ended"):
        for order, seed in shim.SCHEDULES:
            module.run(*call, order=order, seed=seed, **where)
    finds(
        replaced(CLUSTER_SUM, last, "__cluster_barrier_wait();\n}"), "without having arrived", *call, **where
    )
    finds(
        replaced(CLUSTER_SUM, "(rank + 1) % blocks", "rank + 1"),
        "a block that its cluster does not have|divergent",
        *call,
        **where,
    )
    finds(
        replaced(CLUSTER_SUM, last, "if (rank) { __cluster_barrier_arrive(); __cluster_barrier_wait(); }\n}"),
        "divergent|which has ended",
        *call,
        **where,
    )
    finds(CLUSTER_SUM, "a multiple of it", "sum", 13, 64, [a, out, 1000], **where)
