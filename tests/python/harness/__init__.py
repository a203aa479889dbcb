"""The tests' and benchmarks' own tools, and a part of what they run."""
