"""Programs of other people: packages from PyPI that are Python around NumPy, each driven as its users do."""
