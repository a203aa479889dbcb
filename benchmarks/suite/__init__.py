"""``make bench``: stator beside NumPy, C, Numba, JAX, numexpr and torch.compile, in one run.

Each section is a module with a ``run(options) -> Section``. All callables of one comparison live in one process and
are timed in interleaved rounds, so that what else the machine does meets all of them. Read ratios, not times.

overhead      microseconds per call by array size, number and kind of arguments
throughput    large arrays, against C compiled with -O3 -ffp-contract=off
cold          from first call to compiled code in fresh processes, with empty and with filled caches; import time
generality    how many times something was compiled for 20 lengths, floats, ints, ...; what a failing guard costs
harm          functions that nobody can help must not get slower
"""
