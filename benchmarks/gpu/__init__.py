"""``make bench-gpu``: the CUDA kernels that stator makes, on the GPU of this machine, beside CuPy, torch and JAX.

The folder needs NumPy and an installed stator with NVRTC (``pip install stator[cuda]``), nothing else of the checkout and no
network; copied anywhere, ``python FOLDER`` runs it. CuPy, torch, JAX and matplotlib are used where they are installed.

What a device-to-device copy reaches is measured first; every kernel's figure is the bytes that must move (each input read
once, each result written once), divided by its time, as a share of that. All callables of a row run in one process, one
after the other, on the same data. Before a kernel is measured, its results at a smaller size are compared with NumPy's.

programs    what is measured
kernels     launching what f.cuda() makes, with memory of its own
peers       the same functions by CuPy, torch and JAX
overhead    host time of launches; time of compilations
report      tables, JSON, plot
"""
