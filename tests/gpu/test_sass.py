"""sass.py against kernels of known content, and what the choice of NVRTC's options rests on."""

import ctypes
import functools
import os
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.gpu import sass

ROOT = Path(__file__).resolve().parents[2]


@functools.cache
def nvrtc():
    candidates = [os.environ.get("STATOR_NVRTC")]
    try:
        import nvidia.cu13

        candidates += [str(Path(p) / "lib" / "libnvrtc.so.13") for p in nvidia.cu13.__path__]
    except ImportError:
        pass
    for candidate in [*candidates, "libnvrtc.so.13", "libnvrtc.so.12"]:
        if candidate and "fake" not in candidate:
            try:
                return ctypes.CDLL(candidate)
            except OSError:
                continue
    pytest.skip("there is no NVRTC: pip install nvidia-cuda-nvrtc")


def compiled(source, arch, *options):
    """The instruction counts of a source's one kernel and what it calls."""
    lib, program, size = nvrtc(), ctypes.c_void_p(), ctypes.c_size_t()
    words = [f"-arch={arch}".encode(), b"--minimal", b"--no-cache", *[o.encode() for o in options]]
    lib.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"k.cu", 0, None, None)
    try:
        assert lib.nvrtcCompileProgram(program, len(words), (ctypes.c_char_p * len(words))(*words)) == 0
        lib.nvrtcGetCUBINSize(program, ctypes.byref(size))
        cubin = ctypes.create_string_buffer(size.value)
        lib.nvrtcGetCUBIN(program, cubin)
    finally:
        lib.nvrtcDestroyProgram(ctypes.byref(program))
    return sum(map(sass.count, sass.kernels(cubin.raw).values()), Counter())


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize(
    ("dtype", "bits"),
    [("char", 8), ("short", 16), ("float", 32), ("float2", 64), ("float4", 128), ("double2", 128)],
)
def test_accesses(arch, dtype, bits):
    source = f'extern "C" __global__ void k(const {dtype}* a, {dtype}* o) {{ o[threadIdx.x] = a[threadIdx.x + 1]; }}'
    assert compiled(source, arch) == {f"LDG.{bits}": 1, f"STG.{bits}": 1}


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_shared_local_and_arithmetic(arch):
    source = """
    extern "C" __global__ void k(const volatile float* a, float* o, int j) {
        __shared__ float4 s[32];
        s[threadIdx.x] = make_float4(a[0], a[1], a[2], a[3]);
        __syncthreads();
        float v = __fadd_rn(__fmul_rn(s[threadIdx.x ^ 1].y, a[4]), a[5]);
        float many[40];
        #pragma unroll 1
        for (int i = 0; i < 40; ++i) many[(i + j) % 40] = __fmaf_rn(v, a[i], v);
        o[j] = many[j];
    }
    """
    found = compiled(source, arch)
    assert found["STS.128"] == 1
    assert found["LDS.32"] == 1
    assert found["FMUL"] == 1
    assert found["FADD"] == 1
    assert found["FFMA"] == 1
    assert found["LDL.32"] >= 1
    assert found["STL.32"] >= 1


def call_of(function):
    dtype = "float" if function.endswith("f") and function != "erf" else "double"
    arguments = "a[i], b[i]" if function.removesuffix("f") in ("pow", "atan2", "hypot", "fmod") else "a[i]"
    return (
        f'extern "C" __global__ void k(const {dtype}* a, const {dtype}* b, {dtype}* o) '
        f"{{ int i = threadIdx.x; o[i] = {function}({arguments}); }}"
    )


def fma(found):
    return found["DFMA"], found["FFMA"]


def contracted_functions():
    text = (ROOT / "kernels" / "cuda" / "contracted.cpp").read_text()
    return re.findall(r'"(\w+)"', re.search(r"kContracted\[\] = \{(.*?)\}", text, re.DOTALL)[1])


@pytest.mark.parametrize("function", contracted_functions())
def test_functions_whose_last_bit_depends_on_the_options(function):
    source = call_of(function)
    hosts = compiled(source, "sm_90")
    assert fma(compiled(source, "sm_90", "--fmad=false", "-Ofc=min")) != fma(hosts)


@pytest.mark.parametrize(
    "function",
    "exp exp2 expm1 sin cos tan asin acos atan sinh cosh tanh cbrt erf erfc hypot atan2 expf exp2f expm1f logf "
    "log2f log10f log1pf sinf cosf tanf asinf acosf atanf sinhf coshf tanhf asinhf acoshf atanhf cbrtf erff erfcf "
    "lgammaf tgammaf hypotf atan2f rsqrt".split(),
)
@pytest.mark.parametrize("flushes", ["--ftz=false", "--ftz=true"])  # as NumPy and torch, and as CuPy
def test_functions_whose_bits_do_not(function, flushes):
    source = call_of(function)
    ours = compiled(source, "sm_90", flushes, "--fmad=false", "-Ofc=min")
    assert fma(ours) == fma(compiled(source, "sm_90", flushes))
