#!/usr/bin/env bash
# Python 3.14 on a machine whose own release has none: Debian sid's packages in a root folder of their own, with this
# checkout mounted inside at the same path. Needs root and debootstrap (installed when missing).
#
#   py314.sh ready       exit 0 if setup was done
#   py314.sh setup       make the root (.cache/roots/py314) and .venvs/root314
#   py314.sh build       build the extension for it against the release core, into build/py314
#   py314.sh test ARGS   pytest in it
#   py314.sh run CMD…    any command in it, in the checkout's root
. "$(dirname "$0")/common.sh"
root=${STATOR_PY314_ROOT:-$ROOT/.cache/roots/py314}
venv=.venvs/root314

inside() {
    [ "$(id -u)" = 0 ] || die "py314.sh needs root for chroot"
    # A mount namespace of its own: nothing stays mounted when the command ends.
    unshare --mount --propagation private bash -c '
        root=$1 here=$2; shift 2
        mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" && mount -t tmpfs tmpfs "$root/tmp" &&
            mkdir -p "$root$here" && mount --bind "$here" "$root$here" || exit
        exec chroot "$root" env HOME=/root LC_ALL=C.UTF-8 "PATH=$here/'$venv'/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
            bash -c "cd \"\$0\" && \"\$@\"" "$here" "$@"' inside "$root" "$ROOT" "$@"
}

setup() {
    [ -f "$root/.stator-ready" ] && return
    command -v debootstrap >/dev/null || as_root apt-get install -y -qq --no-install-recommends debootstrap >/dev/null
    local mirror
    mirror=$(grep -hoE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -1 || true)
    say "a root with Debian sid's Python 3.14"
    rm -rf "$root" && mkdir -p "$root"
    # shellcheck disable=SC2086
    debootstrap --variant=minbase --include=ca-certificates,g++,libfmt-dev,python3.14-dev,python3.14-venv sid "$root" \
        ${mirror:-} >build/py314-root.log 2>&1 || { tail build/py314-root.log; die "debootstrap failed"; }
    local file
    # Name service, pip's settings and certificates are this machine's.
    for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
        [ ! -f $file ] || cp -L $file "$root$file"
    done
    touch "$root/.stator-ready"
}

environment() {
    setup
    local key
    key=$(sha256sum tools/requirements-test.txt | cut -d' ' -f1)
    [ "$(cat $venv/.stator-requirements 2>/dev/null)" = "$key" ] && return
    rm -rf $venv
    inside python3.14 -m venv $venv
    inside $venv/bin/python -m pip install --quiet --no-input -r tools/requirements-test.txt cmake==4.4.4 ninja==1.13.2 2>build/py314-pip.log ||
        { cat build/py314-pip.log; die "pip could not fill $venv"; }
    echo "$key" >$venv/.stator-requirements
}

build() {
    environment
    inside $venv/bin/cmake -S . -B build/py314 -G Ninja -DSTATOR_TESTS=OFF -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DSTATOR_PREBUILT_CORE="$ROOT/build/release/python/stator/libstator_core.so" \
        -DSTATOR_PYTHONS="$ROOT/$venv/bin/python" >build/py314.configure.log 2>&1 ||
        { cat build/py314.configure.log; die "cmake could not configure build/py314"; }
    inside $venv/bin/cmake --build build/py314 --target stator_package -j "$(nproc)"
}

command=${1:-}
[ $# = 0 ] || shift
mkdir -p build
case $command in
ready) [ -f "$root/.stator-ready" ] && [ -x $venv/bin/pytest ] && [ "$(id -u)" = 0 ] ;;
setup) environment ;;
build) build ;;
test) inside env PYTHONPATH="$ROOT/build/py314/python" PYTHONDONTWRITEBYTECODE=1 FUZZ_COUNT=30 PARAMETERS="${PARAMETERS-third}" $venv/bin/python -m pytest "$@" ;;
run) inside env PYTHONPATH="$ROOT/build/py314/python" "$@" ;;
*) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
