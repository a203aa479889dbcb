"""NumPy's surface: its functions, dtypes, layouts and stores, inside traces and loops."""
