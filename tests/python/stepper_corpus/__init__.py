"""Plain functions for test_stepper.py: between them every instruction a plain function can have, and every way it fails.

Each writes what it does to LOG, so that order of effects is compared as well as results and exceptions.
"""

from . import calls, control, exceptions, matching, names, shapes, values
from .base import CASES, LOG

__all__ = ["CASES", "LOG", "calls", "control", "exceptions", "matching", "names", "shapes", "values"]
