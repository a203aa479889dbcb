"""One driver for each package; see the package above."""
