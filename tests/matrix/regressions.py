"""The smallest cases of what the matrix has found."""

from __future__ import annotations

from .case import PLAIN, Case, Round

SPECIAL = (*PLAIN, Round(33, True), Round(1), Round(0), Round(5))

REGRESSIONS: tuple[Case, ...] = ()
