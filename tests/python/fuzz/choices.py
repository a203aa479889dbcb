"""Where random decisions come from.

Generators ask a `Choices` object for whole numbers and nothing else, so one generator serves a seeded
`random.Random` (fast, reproducible by number) and hypothesis (which shrinks towards the low end of each range: put
the simplest alternative first).
"""

from __future__ import annotations

import bisect
import itertools
import random
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """Random decisions derived from one primitive.

    Parameters
    ----------
    integer : callable
        ``integer(low, high)`` returns a whole number, both ends included.
    """

    def __init__(self, integer: Callable[[int, int], int]) -> None:
        self.integer = integer

    @classmethod
    def seeded(cls, *seed: int) -> Choices:
        """Decisions that depend on `seed` only."""
        generator = random.Random(":".join(map(str, seed)))
        return cls(lambda low, high: low + int(generator.random() * (high - low + 1)))

    def chance(self, probability: float) -> bool:
        """True with the given probability; False is the simpler outcome."""
        return self.integer(0, 999) >= 1000 - round(1000 * probability)

    def pick(self, items: Sequence[T]) -> T:
        """One of `items`, all equally likely."""
        return items[self.integer(0, len(items) - 1)]

    def weighted(self, table: Weighted[T]) -> T:
        """One item of a weighted table."""
        return table.items[bisect.bisect_right(table.bounds, self.integer(0, table.bounds[-1] - 1))]


class Weighted(Sequence[T]):
    """Items with whole-number weights, prepared for `Choices.weighted`."""

    def __init__(self, *rows: tuple[int, T]) -> None:
        self.bounds = list(itertools.accumulate(weight for weight, _ in rows))
        self.items = [item for _, item in rows]

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]
