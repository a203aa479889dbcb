#!/usr/bin/env bash
# test.sh [--preset NAME] [--default-only | --gpu]: builds, runs the C++ unit tests, then pytest on the default Python and on
# every other supported Python of this machine; says at the end what ran and what was skipped. An empty suite fails.
# --gpu runs the tests of CUDA kernels alone; they need NVRTC, but no GPU.
#
# PARAMETERS=  the other Pythons run tests with all of their parameters, and not with a share each
# PYTEST_ARGS  more arguments for pytest, e.g. "-k roll -x", or "-n 0 --pdb" (one process)      TORCH=0  leaves torch out
. "$(dirname "$0")/common.sh"

preset=release
others=yes
only_gpu=no
while [ $# -gt 0 ]; do
    case $1 in
    --preset) preset=$2 && shift ;;
    --default-only) others=no ;;
    --gpu) others=no && only_gpu=yes ;;
    *) die "unknown argument $1" ;;
    esac
    shift
done
mkdir -p build .venvs

results=()
failed=0
# note STATUS WHAT DETAIL
note() { results+=("$(printf '%-8s %-28s %s' "$1" "$2" "$3")"); }

# phase NAME COMMAND…: runs it, keeps its output on the screen and its closing line for the summary.
phase() {
    local name=$1 log started=$SECONDS status=0
    shift
    log=build/$preset.$(echo "$name" | tr ' /' '__').log
    say "$name"
    "$@" 2>&1 | tee "$log" || status=$?
    local closing
    closing=$(grep -E '=+ .*(passed|failed|error|no tests ran).* =+$|tests ran\.|tests passed|tests failed|No tests were found' "$log" |
        tail -1 | sed -E 's/^=+ | =+$//g' || true)
    if [ $status = 0 ]; then
        note passed "$name" "${closing:-ok} ($((SECONDS - started)) s)"
    else
        note FAILED "$name" "${closing:-exit status $status} ($((SECONDS - started)) s)"
        failed=1
    fi
    return $status
}

# tests/python first: its conftest.py prints what is being tested.
mapfile -t suites < <(printf '%s\n' tests/python; git ls-files --cached --others --exclude-standard 'tests/*/test_*.py' |
    cut -d/ -f1-2 | sort -u | grep -vx tests/python)

# Kernels are the same whatever Python asks for them: the default one does.
mapfile -t other_suites < <(printf '%s\n' "${suites[@]}" | grep -vx tests/gpu)
[ $only_gpu = no ] || suites=(tests/gpu)

# One process for each core; tests differ in length a thousandfold, so idle ones take over from others.
processes=(-n auto --maxprocesses 8 --dist worksteal)

build() { cmake --build "build/$preset" -j "$(nproc)" --target "$@"; }
unit_tests() { ctest --test-dir "build/$preset" --output-on-failure --no-tests=error; }

# run_pytest PYTHON PATHS…: against the package of this build.
run_pytest() {
    local python=$1
    shift
    local env=(PYTHONPATH="$ROOT/build/$preset/python" PYTHONDONTWRITEBYTECODE=1)
    if [ "$preset" = asan ]; then
        env+=(LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libstdc++.so)"
            ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1)
    fi
    # shellcheck disable=SC2086
    env "${env[@]}" "$python" -m pytest "${processes[@]}" "$@" ${PYTEST_ARGS:-}
}

# Environments of the other Pythons first, so that one configure run knows all of them.
default_version=$(python_version .venv/bin/python)
other_list=()
sid_list=()
if [ $others = yes ]; then
    while read -r version exe; do
        tag=py${version/./}
        if make_venv ".venvs/$tag" "$exe" tools/requirements-test.txt; then
            other_list+=("$version")
        else
            note FAILED "Python $version" "its environment .venvs/$tag could not be made"
            failed=1
        fi
    done < <(other_pythons "$default_version")
    for version in $(tools/sid.sh ready); do
        [[ " $default_version ${other_list[*]} " == *" $version "* ]] || sid_list+=("$version")
    done
fi

# share_of VERSION COMMAND…: what arrays and random programs find is seldom a matter of the Python that asks for it, so
# that the other Pythons share it.
share_of() {
    local all=("${other_list[@]}" "${sid_list[@]}") version=$1 k=0
    shift
    while [ "${all[k]}" != "$version" ]; do k=$((k + 1)); done
    FUZZ_COUNT=45 PARAMETERS=${PARAMETERS-$((k + 1))/${#all[@]}} "$@"
}

# torch for the tests of tensors, for the default Python. Without it they are skipped, which pytest says.
if [ "${TORCH:-1}" = 1 ] && [ "$preset" != asan ] && ! .venv/bin/python -c 'import torch' 2>/dev/null; then
    say "torch for the tests of tensors (TORCH=0 leaves it out)"
    tools/torch.sh >build/test-torch.log 2>&1 ||
        note skipped "torch" "$(tail -1 build/test-torch.log) (build/test-torch.log)"
fi

configure "$preset"
if phase "build" build all; then
    if [ $only_gpu = yes ]; then
        phase "C++ tests of the GPU" "build/$preset/test_jit" --gtest_filter='CudaDriverTest.*:NvrtcTest.*:PtxasLog.*' || true
    else
        phase "C++ unit tests" unit_tests || true
    fi
    phase "pytest, Python $default_version" run_pytest .venv/bin/python "${suites[@]}" || true
    for version in "${other_list[@]}"; do
        tag=py${version/./}
        phase "build, Python $version" build "stator_ext_$tag" &&
            phase "pytest, Python $version" \
                share_of "$version" run_pytest ".venvs/$tag/bin/python" "${other_suites[@]}" || true
    done
    for version in "${sid_list[@]}"; do
        # shellcheck disable=SC2086
        phase "build, Python $version (sid)" tools/sid.sh build "$version" &&
            phase "pytest, Python $version (sid)" share_of "$version" \
                tools/sid.sh test "$version" "${processes[@]}" "${other_suites[@]}" ${PYTEST_ARGS:-} || true
    done
fi
if [ $others = yes ]; then
    for version in "${SUPPORTED_PYTHONS[@]}"; do
        [[ " $default_version ${other_list[*]} ${sid_list[*]} " == *" $version "* ]] ||
            note skipped "Python $version" "not on this machine, or without headers; tools/sid.sh setup brings what Debian sid has"
    done
else
    note skipped "other Pythons" "only the default one was asked for"
fi

say "summary"
printf '%s\n' "${results[@]}"
exit $failed
