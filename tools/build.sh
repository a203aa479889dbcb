#!/usr/bin/env bash
# build.sh [PRESET]: builds the package for the default Python into build/PRESET/python.
. "$(dirname "$0")/common.sh"
preset=${1:-release}
mkdir -p build
configure "$preset"
cmake --build "build/$preset" --target stator_package -j "$(nproc)"
link_package .venv
