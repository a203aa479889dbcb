#!/usr/bin/env bash
# torch.sh [PYTHON]: installs torch into the environment of PYTHON (default .venv/bin/python). Its last line says why when
# there is none in the end.
#
# A CPU build is what is needed. PyPI has none for Linux on x86-64: its build for CUDA brings gigabytes of libraries along.
# So a CPU build comes first, from wherever pip is configured to look and then from PyTorch's own index, and whatever is
# called torch only then, where there is room. Each step has an end.
#
# TORCH_ANY=0 leaves the last step out.
. "$(dirname "$0")/common.sh"

python=${1:-.venv/bin/python}
version=2.13.0
room_gb=12

# installs SECONDS ARGUMENTS…: and what was installed has to work.
installs() {
    local seconds=$1
    shift
    echo "pip install $*"
    timeout "$seconds" "$python" -m pip --no-input --retries 1 --timeout 30 install -q --only-binary :all: "$@" &&
        "$python" -c 'import torch'
}

installs 600 "torch==$version+cpu" && exit
installs 600 "torch==$version+cpu" --extra-index-url https://download.pytorch.org/whl/cpu && exit
[ "${TORCH_ANY:-1}" = 1 ] || die "pip finds no CPU build of torch $version"
free_gb=$(($(df -Pk . | awk 'NR == 2 { print $4 }') / 1024 / 1024))
[ $free_gb -ge $room_gb ] ||
    die "pip finds no CPU build of torch $version; another may need $room_gb GB, and $free_gb GB are free"
installs 1200 --no-cache-dir "torch==$version" || die "torch $version could not be installed"
# It brings an NVRTC of its own along, an older one. What tests say of kernels' code was read off ours.
nvrtc=$(grep -oE '^nvidia-cuda-nvrtc==[^; ]+' tools/requirements-test.txt)
"$python" -m pip --no-input install -q --no-deps "$nvrtc" || echo "$nvrtc could not be put back"
