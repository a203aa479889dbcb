#!/usr/bin/env bash
# wheels.sh [VERSION…]: wheels for every supported Python that there is (or for those that are named) and an sdist, in dist. They
# are tagged manylinux_2_28 and carry all that they need: LLVM, oneTBB, the C++ library and the licences of these.
#
# Libraries are linked against an older glibc, of which packaging/glibc_stubs.py makes stubs. What knows no Python is
# built once. Pythons that this machine lacks come from Debian sid and are built for in its root (tools/sid.sh), where one
# can be made: as root.
. "$(dirname "$0")/common.sh"
glibc=2.28
work=$ROOT/build/wheels
started=$SECONDS
mkdir -p "$work" .venvs
rm -rf "$work/raw" "$work/licences"

make_venv .venvs/wheels .venv/bin/python tools/requirements-wheels.txt
PATH=$ROOT/.venvs/wheels/bin:$PATH
tbb=$(find .venvs/wheels/lib -name libtbb.so.12 | head -1)
[ -n "$tbb" ] || die "the package tbb of tools/requirements-wheels.txt has no libtbb.so.12"
strip -o "$work/libtbb.so.12" "$tbb"

# licence NAME PACKAGE…: what Debian says of the first of these packages that is installed.
licence() {
    local name=$1 package
    shift
    mkdir -p "$work/licences"
    for package in "$@"; do
        [ -f "/usr/share/doc/$package/copyright" ] || continue
        cp -L "/usr/share/doc/$package/copyright" "$work/licences/$name.txt"
        return
    done
    die "none of the packages $* is installed, whose licence wheels have to contain"
}
licence LLVM llvm-{22,21,20,19}-dev
licence oneTBB libtbb12 libtbb-dev
licence fmt libfmt-dev
licence zlib zlib1g-dev zlib1g
licence Zstandard libzstd-dev libzstd1
licence libstdc++ libstdc++-{16,15,14,13,12}-dev gcc-12-base
cp .venv/lib/python*/site-packages/pybind11*.dist-info/licenses/LICENSE "$work/licences/pybind11.txt"

say "a core for glibc $glibc"
.venv/bin/python packaging/glibc_stubs.py "$work/stubs" --glibc $glibc
.venv/bin/cmake -S . -B "$work/core" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSTATOR_TESTS=OFF -DSTATOR_PCH=ON \
    "-DSTATOR_PYTHONS=$ROOT/.venv/bin/python" "-DSTATOR_GLIBC_STUBS=$work/stubs" "-DSTATOR_TBB_RUNTIME=$work/libtbb.so.12" >"$work/core.log"
.venv/bin/cmake --build "$work/core" --target stator_core -j "$(nproc)"
core=$work/core/python/stator/libstator_core.so
strip "$work"/core/python/stator/libstator_{core,codegen}.so  # build ids stay

# wheel STUBS PYTHON…: a wheel of the extension for the interpreter that the command runs.
wheel() {
    local stubs=$1
    shift
    local setting settings=()
    for setting in "STATOR_PREBUILT_CORE=$core" STATOR_PCH=ON STATOR_UNITY=ON "STATOR_GLIBC_STUBS=$stubs" "STATOR_LICENCES=$work/licences"; do
        settings+=(--config-settings "cmake.define.$setting")  # the pip of Debian 12 does not know its short form -C
    done
    "$@" -m pip wheel --quiet --no-deps --no-input -w "$work/raw" . "${settings[@]}"
}
wanted() { [ $# = 1 ] || [[ " ${*:2} " == *" $1 "* ]]; }

default_version=$(python_version .venv/bin/python)
while read -r version exe; do
    wanted "$version" "$@" || continue
    say "Python $version"
    wheel "$work/stubs" "$exe"
done < <(echo "$default_version .venv/bin/python"; other_pythons "$default_version")
[ $# -gt 0 ] || [ "$(id -u)" != 0 ] || STATOR_SID_EXPIRED=1 tools/sid.sh setup || say "no root for the Pythons of Debian sid"
for version in $(tools/sid.sh ready); do
    wanted "$version" "$@" || continue
    say "Python $version, of Debian sid"
    tools/sid.sh run "$version" python packaging/glibc_stubs.py "$work/stubs-sid" --glibc $glibc
    wheel "$work/stubs-sid" tools/sid.sh run "$version" python
done

say "auditwheel, twine"
for raw in "$work"/raw/*.whl; do
    auditwheel repair --plat "manylinux_${glibc/./_}_x86_64" --only-plat -w dist "$raw" 2>&1 | tail -1
done
python -m build --sdist --outdir dist . >"$work/sdist.log" 2>&1 || { tail "$work/sdist.log"; die "the sdist cannot be built"; }
twine check dist/*
ls -l dist
for version in "${SUPPORTED_PYTHONS[@]}"; do
    compgen -G "dist/*-cp${version/./}-*.whl" >/dev/null || echo "no wheel for Python $version: neither here nor in a root of Debian sid"
done
say "$((SECONDS - started)) s"
