#!/usr/bin/env bash
# Pythons that this machine's own release lacks: those of Debian sid in a root folder of their own, with this checkout
# mounted inside at the same path. Needs root and debootstrap (installed when missing).
#
#   sid.sh setup              make the root (.cache/roots/sid) and an environment for each Python of it (.venvs/root314 …)
#   sid.sh ready              the versions for which that was done, one a line
#   sid.sh build VERSION      build the extension for it against the release core, into build/py314 …
#   sid.sh test VERSION ARGS  pytest with it
#   sid.sh run VERSION CMD…   any command in the root, in the checkout's root, with the environment first in PATH
#
# STATOR_SID_ROOT: another root. STATOR_SID_EXPIRED=1: take packages of a mirror that stands still, too: its list of
# packages says until when it holds, and apt refuses it after that.
. "$(dirname "$0")/common.sh"
PATH=$PATH:/usr/sbin:/sbin  # debootstrap and chroot
root=${STATOR_SID_ROOT:-$ROOT/.cache/roots/sid}
core=${STATOR_PREBUILT_CORE:-$ROOT/build/release/python/stator/libstator_core.so}

# inside COMMAND…: in the root, in a mount namespace of its own: nothing stays mounted when the command ends.
inside() {
    [ "$(id -u)" = 0 ] || die "sid.sh needs root for chroot"
    # A core of another checkout has to be seen inside, too.
    # shellcheck disable=SC2016
    unshare --mount --propagation private bash -c '
        root=$1 here=$2 path=$3 core=$4; shift 4
        mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" && mount -t tmpfs tmpfs "$root/tmp" || exit
        for folder in "$here" "$core"; do
            [ -d "$folder" ] || continue
            mkdir -p "$root$folder" && mount --bind "$folder" "$root$folder" || exit
        done
        exec chroot "$root" env -u STATOR_SID_ROOT -u STATOR_PREBUILT_CORE HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "PATH=$path" \
            bash -c "cd \"\$0\" && \"\$@\"" "$here" "$@"' \
        inside "$root" "$ROOT" "${venv:+$ROOT/$venv/bin:}/usr/sbin:/usr/bin:/sbin:/bin" "$(dirname "$core")" "$@"
}

has_python() { [ -x "$root/usr/bin/python$1" ] && [ -f "$root/usr/include/python$1/Python.h" ]; }

# lacking: supported Pythons that are not on this machine with headers.
lacking() {
    local found version
    found=" $(other_pythons none | cut -d' ' -f1 | tr '\n' ' ')"
    for version in "${SUPPORTED_PYTHONS[@]}"; do
        [[ "$found" == *" $version "* ]] || echo "$version"
    done
}

make_root() {
    [ -f "$root/.stator-ready" ] && return
    command -v debootstrap >/dev/null || as_root apt-get install -y -qq --no-install-recommends debootstrap >/dev/null
    local mirror file
    mirror=$(grep -hoE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -1 || true)
    say "a root with Debian sid"
    rm -rf "$root" && mkdir -p "$root"
    # shellcheck disable=SC2086
    debootstrap --variant=minbase --include=ca-certificates,g++,libfmt-dev sid "$root" ${mirror:-} >build/sid-root.log 2>&1 ||
        { tail build/sid-root.log; die "debootstrap failed"; }
    # Name service, pip's settings, certificates and how packages are fetched are this machine's.
    for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
        [ ! -f $file ] || cp -L $file "$root$file"
    done
    touch "$root/.stator-ready"
}

# add_python VERSION: its packages, if sid has them.
add_python() {
    has_python "$1" && return
    say "Python $1 of Debian sid"
    { inside apt-get update -qq ${STATOR_SID_EXPIRED:+-o Acquire::Check-Valid-Until=false} && inside apt-get install -y -qq --no-install-recommends "python$1-dev" "python$1-venv"; } \
        >build/sid-python.log 2>&1 || { tail -3 build/sid-python.log; return 1; }
}

# environment VERSION
environment() {
    local key
    key=$(sha256sum tools/requirements-test.txt | cut -d' ' -f1)
    [ "$(cat "$venv/.stator-requirements" 2>/dev/null)" = "$key" ] && return
    rm -rf "$venv"
    inside "python$1" -m venv "$venv"
    inside "$venv/bin/python" -m pip install --quiet --no-input -r tools/requirements-test.txt cmake==4.4.4 ninja==1.13.2 \
        2>"$build-pip.log" || { cat "$build-pip.log"; die "pip could not fill $venv"; }
    echo "$key" >"$venv/.stator-requirements"
}

setup() {
    local version
    make_root
    for version in $(lacking); do
        names "$version"
        if add_python "$version"; then
            environment "$version"
        else
            echo "stator: Debian sid has no Python $version"
        fi
    done
}

build() {
    environment "$1"
    inside "$venv/bin/cmake" -S . -B "$build" -G Ninja -DSTATOR_TESTS=OFF -DSTATOR_UNITY=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DSTATOR_PREBUILT_CORE="$core" -DSTATOR_PYTHONS="$ROOT/$venv/bin/python" >"$build.configure.log" 2>&1 ||
        { cat "$build.configure.log"; die "cmake could not configure $build"; }
    inside "$venv/bin/cmake" --build "$build" --target stator_package -j "${JOBS:-$(nproc)}"
}

# names VERSION: sets what belongs to it.
names() {
    venv=.venvs/root${1/./}
    build=build/py${1/./}
}

command=${1:-}
version=${2:-}
shift $(($# < 2 ? $# : 2))
mkdir -p build .venvs
venv="" build=""
case $command in
build | test | run)
    [[ " ${SUPPORTED_PYTHONS[*]} " == *" $version "* ]] || die "which Python? One of ${SUPPORTED_PYTHONS[*]}"
    names "$version"
    has_python "$version" || die "$root has no Python $version; tools/sid.sh setup brings what Debian sid has"
    ;;
esac
case $command in
ready)
    [ "$(id -u)" = 0 ] || exit 0
    for version in $(lacking); do
        names "$version"
        [ ! -x $venv/bin/pytest ] || ! has_python "$version" || echo "$version"
    done
    ;;
setup) setup ;;
build) build "$version" ;;
test)
    inside env PYTHONPATH="$ROOT/$build/python" PYTHONDONTWRITEBYTECODE=1 FUZZ_COUNT="${FUZZ_COUNT:-45}" \
        PARAMETERS="${PARAMETERS-}" ${PYTHON_JIT:+PYTHON_JIT="$PYTHON_JIT"} "$venv/bin/python" -m pytest "$@"
    ;;
run) inside env PYTHONPATH="$ROOT/$build/python" "$@" ;;
*) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
