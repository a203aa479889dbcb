"""CPython's frames, executed instruction by instruction."""
