"""The demonstration behind ``make demo``: a terrain pipeline, plain NumPy against stator."""
