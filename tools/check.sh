#!/usr/bin/env bash
# Formatting, lint, types, include directions; then everything built with warnings as errors, and the tests.
# check.sh --format rewrites the files instead; check.sh --tidy runs clang-tidy where it is installed.
. "$(dirname "$0")/common.sh"
export PATH="$ROOT/.venv/bin:$PATH"

mapfile -t cxx < <(git ls-files --cached --others --exclude-standard '*.cpp' '*.h' '*.c' | while read -r f; do
    [ -f "$f" ] && echo "$f"
done)

if [ "${1:-}" = --format ]; then
    [ ${#cxx[@]} = 0 ] || clang-format -i "${cxx[@]}"
    ruff check --quiet --fix-only .
    ruff format .
    exit
fi

if [ "${1:-}" = --tidy ]; then
    tidy=$(command -v clang-tidy clang-tidy-{22,21,20,19} | head -1 || true)
    [ -n "$tidy" ] || die "clang-tidy is not installed (Debian: clang-tidy-22)"
    configure check
    git ls-files 'graph/*.cpp' 'guards/*.cpp' 'frontend/*.cpp' 'kernels/*.cpp' 'jit/*.cpp' 'bindings/*.cpp' |
        xargs -r -P "$(nproc)" -n 1 "$tidy" --quiet -p build/check
    exit
fi

failed=""
# step NAME COMMAND…
step() {
    local name=$1
    shift
    say "$name"
    "$@" || failed="$failed, $name"
}
[ ${#cxx[@]} = 0 ] || step "clang-format" clang-format --dry-run -Werror "${cxx[@]}"
step "ruff format" ruff format --check .
step "ruff check" ruff check .
step "mypy" mypy
step "include directions" python tests/lint/include_direction.py
step "tests, warnings as errors" tools/test.sh --preset check --default-only
[ -z "$failed" ] || die "failed: ${failed#, }. 'make format' repairs formatting."
say "all checks passed"
