"""NPBench and pyhpc-benchmarks, from checkouts of theirs: their NumPy programs under stator, beside what others need.

``make bench`` runs it where NPBENCH_DIR or PYHPC_DIR names a checkout of spcl/npbench or dionhaefner/pyhpc-benchmarks;
nothing of them is kept here. The parts:

checkouts   what a checkout holds: programs, presets, arguments, the variants of each program
variants    how a peer's variant is loaded and called
worker      one variant of one program in a process of its own, which prints a line of JSON
report      tables, goals, the plot
"""
