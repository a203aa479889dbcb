"""Random NumPy programs, run with and without stator and compared bit for bit.

``python -m tests.python.fuzz --help`` runs many; ``harness/test_fuzz.py`` runs some of them under pytest. The parts:

choices     where random decisions come from: a seeded generator, or hypothesis
arguments   how arguments are described and built: dtype, shape, layout, values, aliasing
statements  the table of statements a straight-line program is made of
programs    a program as data; the straight-line generator
branching   the generator of programs with branches, loops, prints and exceptions
structured  the generator of programs with loops over scalars, elements and parts of arrays; its statements
structured_scope  its names and expressions
leaving     the generator of loops that fault in the middle
orders      the generator of operators on arrays in C and Fortran order
objects     the generator of objects that are alive where a loop begins
rebinding   the generator of loops whose branches bind many names anew
numbers     the generator of loops over numbers of all types
attributes  the generator of programs that store to attributes
effects     the generator of programs that append, store and draw
idioms, selecting, scripts  statements and whole texts that generators share
first_calls what programs cost when they are called for the first time
enlarged    adds statements on large arrays
closures    rewrites programs so that their variables are cells
features    what a program exercises, for the histogram
compare     what "the same as eager" means, and how one call is observed
check       runs one program eagerly and under stator, and reports the first difference
reduce      shrinks a failing program and writes it down as a regression test
campaign    many programs in worker processes, and what their statistics say
"""
