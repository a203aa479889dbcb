"""Which of NumPy's functions programs use most, and what stator makes of each of them.

    python -m tests.api.rank /tmp/corpus   counts uses in the packages of corpus.txt, writes ranking.txt
    python -m tests.api                    tries the first 250 of ranking.txt, prints what differs or got worse
    python -m tests.api --write            writes docs/coverage.md as well

calls.py has small typical calls of each function, probe.py makes them eagerly and compiled and compares.
tests/python/arrays/test_api_coverage.py fails where a function differs, or is served worse than docs/coverage.md says.
"""
