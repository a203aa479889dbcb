#!/usr/bin/env bash
# test-matrix.sh [ROW…]: the tests with the oldest and the newest of the libraries that stator works on. `make test` has
# those in between. Each row is an environment (.venvs/matrix-ROW), in which run:
#
#   numpy-oldest   NumPy 2.0 on the default Python: tests/python, tests/api, the op matrix
#   numpy-newest   the newest NumPy and SciPy that pip finds, on the newest Python of this machine that has them: the same
#   torch-oldest   torch 2.10, tests/python/tensors
#   torch-newest   the newest torch that pip finds, the same
#
# A torch that brings CUDA along takes up to 6 GB. Nothing here is part of `make test`.
. "$(dirname "$0")/common.sh"

rows=("$@")
[ $# -gt 0 ] || rows=(numpy-oldest numpy-newest torch-oldest torch-newest)
for row in "${rows[@]}"; do
    case $row in
    numpy-oldest | numpy-newest | torch-oldest | torch-newest) ;;
    *) die "unknown row $row: numpy-oldest, numpy-newest, torch-oldest or torch-newest" ;;
    esac
done
folder=build/matrix
mkdir -p $folder .venvs
results=()
failed=0
# note STATUS ROW WHAT DETAIL
note() { results+=("$(printf '%-8s %-14s %-10s %s' "$1" "$2" "$3" "$4")"); }

# environment ROW PYTHON PACKAGE…: the test requirements, in which these take the place of what is pinned there.
environment() {
    local row=$1 python=$2 venv=.venvs/matrix-$1 wanted=$folder/$1.txt package
    shift 2
    cp tools/requirements-test.txt "$wanted"
    for package in "$@"; do
        sed -i -E "/^${package%%[=<>]*}([=<>;]|$)/d" "$wanted"
        echo "$package" >>"$wanted"
    done
    [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install --no-input --quiet --upgrade -r "$wanted" >"$folder/$row.pip.log" 2>&1 ||
        { tail -3 "$folder/$row.pip.log"; return 1; }
}

# step ROW WHAT COMMAND…: keeps the output and takes the closing line for the summary.
step() {
    local row=$1 what=$2 log=$folder/$1.$2.log started=$SECONDS status=passed closing
    shift 2
    say "$row: $what"
    PYTHONPATH=$ROOT/build/release/python PYTHONDONTWRITEBYTECODE=1 "$@" 2>&1 | tee "$log" || { status=FAILED && failed=1; }
    closing=$(grep -v '^$' "$log" | tail -1 | sed -E 's/^=+ | =+$//g')
    note $status "$row" "$what" "$closing ($((SECONDS - started)) s)"
}

versions() { "$1" -c 'import sys, importlib.metadata as m
print("Python %d.%d.%d" % sys.version_info[:3], *(f"{n} {m.version(n)}" for n in sys.argv[1:]), sep=", ")' "${@:2}"; }

processes=(-n auto --maxprocesses 8 --dist worksteal -p no:cacheprovider)

with_numpy() {
    local row=$1 python=.venvs/matrix-$1/bin/python
    note with "$row" "" "$(versions $python numpy scipy)"
    step "$row" tests $python -m pytest "${processes[@]}" tests/python --ignore=tests/python/tensors
    step "$row" matrix $python -m tests.matrix
    step "$row" api $python -m tests.api
}

with_torch() {
    local row=$1 python=.venvs/matrix-$1/bin/python
    note with "$row" "" "$(versions $python torch numpy)"
    step "$row" tests $python -m pytest "${processes[@]}" tests/python/tensors
}

# The newest Python but the default one, where there is one, with its version.
default_version=$(python_version .venv/bin/python)
newest=$( (echo "$default_version .venv/bin/python"; other_pythons "$default_version") | sort -V | tail -1)
tools/build.sh release
if [ "${newest% *}" != "$default_version" ]; then
    tag=py${newest% *}
    make_venv ".venvs/${tag/./}" "${newest#* }" tools/requirements-test.txt
    configure release
    cmake --build build/release -j "$(nproc)" --target "stator_ext_${tag/./}"
fi

for row in "${rows[@]}"; do
    say "$row: environment"
    case $row in
    numpy-oldest) environment "$row" .venv/bin/python numpy==2.0.2 'scipy==1.13.*' && with_numpy "$row" ;;
    numpy-newest) environment "$row" "${newest#* }" numpy scipy && with_numpy "$row" ;;
    torch-oldest) environment "$row" .venv/bin/python 'torch==2.10.*' && with_torch "$row" ;;
    torch-newest) environment "$row" .venv/bin/python torch && with_torch "$row" ;;
    esac || { note FAILED "$row" "" "its environment could not be filled ($folder/$row.pip.log)" && failed=1; }
done

say "summary"
printf '%s\n' "${results[@]}"
exit $failed
