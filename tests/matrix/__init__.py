"""Tests that follow from the op table: every row of graph/ops.def, and every ufunc of NumPy, against NumPy itself.

    python -m tests.matrix                       all cases of all ops; prints counts, and every case that differs
    python -m tests.matrix --ops add reduce      of these ops
    python -m tests.matrix --opaque              also what was left to Python, most frequent forms first
    python -m tests.matrix --show add            the cases of an op as programs
    python -m tests.matrix --every 20            one case of twenty; all take the better part of an hour
    python -m tests.matrix --tier0               the same without the compiler
    python -m tests.matrix --write               writes docs/ops.md: what becomes of each op

| file | holds |
| --- | --- |
| table.py | the rows of ops.def, and which NumPy function each is |
| data.py | arrays of every dtype, layout and kind of values, by short expressions |
| case.py | a case: a program of one call, and how it is run and compared |
| ufuncs.py, reductions.py, shapes.py, conversions.py, library.py | the cases of each class of ops |
| cases.py | which of them belong to a row; a row without any is an error |
| served.py | what became of an op for each kind of dtype and each form of a call: docs/ops.md |
| regressions.py | the smallest cases of what was found |

tests/python/arrays/test_op_matrix.py runs some cases of each op, other ones for each, all regressions, and compares with docs/ops.md.
"""
