"""NumPy's and SciPy's own tests, each called several times, eagerly and compiled: what passes must go on to pass.

    python -m tests.upstream                             all of numpy's that take a moment
    python -m tests.upstream scipy.signal scipy.linalg   other packages that carry their tests
    python -m tests.upstream numpy/_core/tests/test_indexing.py
    python -m tests.upstream --all                       under STATOR=all, every function in its first call
    python -m tests.upstream.programs                    public programs' own tests under STATOR=all

Minutes, not part of `make test`: pytest runs one file of tests in a process of its own, so that one that dies does not
take the others along.
"""
