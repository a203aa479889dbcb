#!/usr/bin/env bash
# try-wheel.sh PYTHON [FOLDER]: installs the wheel for this Python from FOLDER (dist) into a new environment, and runs the
# demo, the README's first example and a part of the tests against what was installed, without network where that can be
# had. Needs neither compiler nor LLVM: the machine may be as old as the wheel's tag says.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:?which Python?}
folder=$(realpath "${2:-dist}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" -m venv "$work/venv"
in=$work/venv/bin/python
grep -vE "^(nvidia|pybind11)" tools/requirements-test.txt >"$work/requirements.txt"
echo matplotlib >>"$work/requirements.txt"  # the demo's elevation model
"$in" -m pip install --quiet --no-input --disable-pip-version-check -r "$work/requirements.txt"
"$in" -m pip install --quiet --no-input --disable-pip-version-check --no-index --find-links "$folder" stator

# Nothing of the checkout but the tests, so that what is imported is what was installed.
mkdir "$work/tree"
cp -r tests benchmarks docs README.md pyproject.toml "$work/tree"
cd "$work/tree"
alone=()
! unshare --net true 2>/dev/null || alone=(unshare --net)
run() { env -i HOME="$work" LC_ALL=C.UTF-8 PATH="$work/venv/bin:/usr/bin:/bin" PYTHONDONTWRITEBYTECODE=1 "${alone[@]}" "$@"; }

echo "== $("$in" --version), $(getconf GNU_LIBC_VERSION), $(run "$in" -c 'import stator; print(stator.__file__)')"
run "$in" -m stator doctor
run "$in" -m stator demo
# The first example of the README has to print what the README says.
awk '/^```python/ { on = 1; next } /^```/ { if (on) exit } on' README.md >first.py
expected=$(awk '/^prints$/ { getline; getline; sub(/^ */, ""); print; exit }' README.md)
found=$(run "$in" first.py)
[ "$found" = "$expected" ] || { printf 'the first example prints\n  %s\nand not\n  %s\n' "$found" "$expected" >&2; exit 1; }
run "$in" -m pytest -q -p no:cacheprovider tests/python/functions/test_decorator.py tests/python/arrays/test_numpy_ops.py tests/python/traces/test_exits.py \
    tests/python/processes/test_environment.py tests/python/traces/test_made_objects.py tests/python/regions/test_sums.py tests/python/regions/test_calls.py
