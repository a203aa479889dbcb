#!/usr/bin/env bash
# Makes a fresh Debian 12/13 or Ubuntu 24.04 machine ready to build: system packages and .venv. A second run finds its
# own record and does nothing.
#
# PYTHON chooses the interpreter of .venv (default: python3, installed when there is none).
. "$(dirname "$0")/common.sh"

record=.venv/.stator-setup
key="$(cat tools/setup.sh tools/common.sh tools/requirements-dev.txt tools/requirements-test.txt | sha256sum | cut -d' ' -f1) ${PYTHON:-}"
if [ "$(cat $record 2>/dev/null)" = "$key" ] && [ -x .venv/bin/python ] && command -v g++ >/dev/null &&
    .venv/bin/python -c ''; then
    exit 0
fi
started=$SECONDS

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
available() { [[ "$(apt-cache policy "$1" 2>/dev/null)" == *"Candidate: "[0-9]* ]]; }

# wanted_packages: what apt would have to install, one a line.
wanted_packages() {
    local name llvm=""
    for name in g++ libc6-dev libfmt-dev libgtest-dev libtbb-dev libzstd-dev zlib1g-dev libxml2-dev ccache; do
        installed $name || echo $name
    done
    for name in 22 21 20 19; do
        installed llvm-$name-dev && llvm=$name && break
    done
    if [ -z "$llvm" ]; then
        for name in 22 21 20 19; do
            available llvm-$name-dev && llvm=$name && break
        done
        [ -n "$llvm" ] && echo llvm-$llvm-dev || echo no-llvm
    fi
    # The fast linker of the same release, where there is one.
    if [ -n "$llvm" ] && ! installed lld-$llvm && available lld-$llvm; then
        echo lld-$llvm
    fi
    if [ -z "${PYTHON:-}" ] && { ! command -v python3 >/dev/null || [ "$(command -v python3)" = /usr/bin/python3 ]; }; then
        for name in python3 python3-dev python3-venv; do
            installed $name || echo $name
        done
    fi
}

if command -v apt-get >/dev/null; then
    if [ -n "$(wanted_packages)" ]; then
        say "system packages: reading the package lists"
        as_root apt-get update -qq || true
        mapfile -t packages < <(wanted_packages)
        if [[ " ${packages[*]} " == *" no-llvm "* ]]; then
            die "none of llvm-22-dev, llvm-21-dev, llvm-20-dev, llvm-19-dev can be installed here; enable this release's updates or security packages"
        fi
        say "system packages: installing ${packages[*]}"
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
            -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 "${packages[@]}" >build-setup.log 2>&1 ||
            { tail -30 build-setup.log; die "apt-get could not install them (whole log: build-setup.log)"; }
        rm -f build-setup.log
    fi
else
    echo "stator: no apt-get here; a C++20 compiler, LLVM 19-22, fmt, oneTBB and GoogleTest must be installed by hand"
fi

python=${PYTHON:-python3}
if [ -z "${PYTHON:-}" ] && [ -z "$(python_version "$python")" ]; then
    # An unsuitable python3 need not be the only one.
    read -r _ python < <(other_pythons none || true) || python=python3
fi
command -v "$python" >/dev/null || die "no Python: '$python' is not found; set PYTHON"
[ -n "$(python_version "$python")" ] ||
    die "$python is $("$python" --version 2>&1) without headers, free-threaded, or outside 3.11 to 3.15; set PYTHON to one with Python.h (Debian: python3-dev)"

make_venv .venv "$python" tools/requirements-dev.txt
mkdir -p build
echo "$key" >$record
say "set up in $((SECONDS - started)) s: $(.venv/bin/python --version), $(.venv/bin/cmake --version | head -1)"
