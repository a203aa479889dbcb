"""NumPy's and SciPy's own tests, each called several times, eagerly and compiled: what passes must go on to pass.

    python -m tests.upstream                             all of numpy's that take a moment
    python -m tests.upstream scipy.signal scipy.linalg   other packages that carry their tests
    python -m tests.upstream numpy/_core/tests/test_indexing.py

Minutes, not part of `make test`: pytest runs one file of tests in a process of its own, so that one that dies does not
take the others along.
"""
