#!/usr/bin/env bash
# Measures NumPy, stator and its peers side by side, in an environment that holds the peers (.venvs/bench).
#
# BENCH_ARGS  arguments for the suite      TORCH=0  leaves torch out, whose packages are large
. "$(dirname "$0")/common.sh"
make_venv .venvs/bench .venv/bin/python tools/requirements-bench.txt
if [ "${TORCH:-1}" = 1 ] && ! .venvs/bench/bin/python -c 'import torch' 2>/dev/null; then
    say "torch, for torch.compile (TORCH=0 leaves it out)"
    tools/torch.sh .venvs/bench/bin/python >build/bench-torch.log 2>&1 ||
        echo "torch could not be installed; the tables go without it (build/bench-torch.log)"
fi
# shellcheck disable=SC2086
PYTHONPATH=build/release/python .venvs/bench/bin/python -m benchmarks.suite ${BENCH_ARGS:-}
if [ -n "${NPBENCH_DIR:-}${PYHPC_DIR:-}" ]; then
    # shellcheck disable=SC2086
    PYTHONPATH=build/release/python .venvs/bench/bin/python -m benchmarks.npbench ${NPBENCH_ARGS:-}
fi
