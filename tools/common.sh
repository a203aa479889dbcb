# Sourced by the other scripts here. Paths are relative to the checkout's root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ROOT=$PWD

export PIP_DISABLE_PIP_VERSION_CHECK=1
SUPPORTED_PYTHONS=(3.11 3.12 3.13 3.14 3.15)
say() { printf '\n== %s\n' "$*"; }
die() {
    printf 'stator: %s\n' "$*" >&2
    exit 1
}

# as_root COMMAND…: as it is when we are root, else through sudo.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "system packages are missing and this is neither root nor has sudo. Run as root: $*"
    fi
}

# python_version EXE: prints MAJOR.MINOR if EXE is a Python stator supports, with headers and the GIL; else nothing.
python_version() {
    "$1" - 2>/dev/null <<PY || true
import os, sys, sysconfig
header = os.path.join(sysconfig.get_path("include"), "Python.h")
supported = sys.implementation.name == "cpython" and "%d.%d" % sys.version_info[:2] in "${SUPPORTED_PYTHONS[*]}".split()
if supported and os.path.exists(header) and not sysconfig.get_config_var("Py_GIL_DISABLED"):
    print("%d.%d" % sys.version_info[:2])
PY
}

# other_pythons DEFAULT_VERSION: one line "VERSION EXE" for each further supported Python found on this machine.
other_pythons() {
    local version exe
    for version in "${SUPPORTED_PYTHONS[@]}"; do
        [ "$version" = "$1" ] && continue
        for exe in "python$version" "$HOME"/.pyenv/versions/"$version".*/bin/"python$version"; do
            exe=$(command -v "$exe" || true)
            if [ -n "$exe" ] && [ "$(python_version "$exe")" = "$version" ]; then
                printf '%s %s\n' "$version" "$exe"
                break
            fi
        done
    done
}

# make_venv DIR PYTHON REQUIREMENTS: a virtual environment that holds exactly what the file pins; a no-op when it does.
make_venv() {
    local dir=$1 python=$2 requirements=$3 key
    key=$(cat tools/requirements-*.txt | sha256sum | cut -d' ' -f1)
    if [ -x "$dir/bin/python" ] && [ "$(cat "$dir/.stator-requirements" 2>/dev/null)" = "$requirements $key" ] &&
        "$dir/bin/python" -c ''; then
        return
    fi
    say "$dir: $("$python" --version), packages of $requirements"
    [ -x "$dir/bin/python" ] && "$dir/bin/python" -c '' 2>/dev/null || rm -rf "$dir"
    [ -d "$dir" ] || "$python" -m venv "$dir"
    local log
    log=$(mktemp)
    "$dir/bin/python" -m pip install --no-input -r "$requirements" >"$log" 2>&1 ||
        { tail -20 "$log"; rm -f "$log"; echo "stator: pip could not fill $dir" >&2; return 1; }
    rm -f "$log"
    link_package "$dir"
    echo "$requirements $key" >"$dir/.stator-requirements"
}

# link_package VENV: `import stator` in VENV finds the release build of this checkout.
link_package() {
    local site
    site=$("$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    echo "$ROOT/build/release/python" >"$site/stator-checkout.pth"
}

# configure PRESET [CMAKE ARGUMENTS…]: for every Python that has an environment here.
configure() {
    local preset=$1 pythons=$ROOT/.venv/bin/python exe
    shift
    for exe in "$ROOT"/.venvs/py3*/bin/python; do
        [ -x "$exe" ] && pythons="$pythons;$exe"
    done
    export PATH="$ROOT/.venv/bin:$PATH"
    # shellcheck disable=SC2086
    cmake --preset "$preset" -DSTATOR_PYTHONS="$pythons" "$@" ${STATOR_CMAKE_ARGS:-} >"build/$preset.configure.log" 2>&1 ||
        { cat "build/$preset.configure.log"; die "cmake could not configure build/$preset"; }
    grep -E '^-- stator:|[Ww]arning' -A3 "build/$preset.configure.log" | grep -E 'stator' || true
}
