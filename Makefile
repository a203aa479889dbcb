# A thin front: each target does the set-up it needs and then one thing. The work is in tools/*.sh and CMake.
#
#   make demo     the terrain pipeline, plain NumPy against stator
#   make test     C++ unit tests, then pytest on every supported Python found here
#   make test-gpu the tests of CUDA kernels, which need no GPU
#   make test-matrix  the tests with the oldest and the newest NumPy and torch, in environments of their own
#   make bench-gpu the CUDA kernels on this machine's GPU, beside CuPy, torch and JAX where they are installed
#   make wheels   wheels for every supported Python found here and an sdist, in dist
#   make setup build check format bench docs clean
#
# PYTHON=python3.12   interpreter of .venv         PYTEST_ARGS="-k roll"   passed to pytest
# PRESET=debug|asan   which build `build` makes
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup build demo test test-default test-gpu test-asan test-matrix check format tidy bench bench-gpu docs wheels clean distclean

PRESET ?= release
VENV_PYTHON := .venv/bin/python
export PYTHON

help:
	@sed -n '3,/^[^#]/s/^# \{0,1\}//p' Makefile

setup:
	@tools/setup.sh

build: setup
	@tools/build.sh $(PRESET)

demo: build
	@$(VENV_PYTHON) -m stator demo

test: setup
	@tools/test.sh

test-default: setup
	@tools/test.sh --default-only

test-gpu: setup
	@tools/test.sh --gpu

test-asan: setup
	@tools/test.sh --preset asan --default-only

test-matrix: setup
	@tools/test-matrix.sh

check: setup
	@tools/check.sh

format: setup
	@tools/check.sh --format

tidy: setup
	@tools/check.sh --tidy

bench: build
	@tools/bench.sh

bench-gpu: build
	@tools/bench-gpu.sh

docs: build
	@tools/docs.sh

wheels: setup
	@tools/wheels.sh

clean:
	rm -rf build dist

distclean: clean
	rm -rf .venv .venvs
