#!/usr/bin/env bash
# Measures the CUDA kernels on this machine's GPU, with the peers that the Python at hand has. Installs nothing: peers for GPUs are
# large, and fit the driver or do not. Exit status 2: no GPU to use.
#
# BENCH_ARGS    arguments for the benchmark, e.g. "--quick --groups softmax"
# BENCH_PYTHON  a Python of the same version that has CuPy, torch or JAX; .venv's by default
. "$(dirname "$0")/common.sh"
# shellcheck disable=SC2086
PYTHONPATH="build/release/python:$ROOT" exec "${BENCH_PYTHON:-.venv/bin/python}" -m benchmarks.gpu ${BENCH_ARGS:-}
