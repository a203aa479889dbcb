"""How often something is compiled when sizes and values vary, and what a failing guard costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import programs
from .report import Goal, Section, Table, us
from .timing import compare


def f(x: Any, y: Any, k: Any) -> Any:
    return x * k + y * 2 - x / (y + 1)


def _lengths() -> Iterator[tuple]:
    for n in range(2, 22):
        yield np.arange(1.0, n + 1), np.ones(n), 0.5


def _floats() -> Iterator[tuple]:
    x = np.arange(1.0, 11.0)
    for k in range(20):
        yield x, x, 0.37 * k


def _ints() -> Iterator[tuple]:
    x = np.arange(1.0, 11.0)
    for k in range(20):
        yield x, x, k


def _dtypes() -> Iterator[tuple]:
    for dtype in ("f8", "f4", "i8"):
        yield np.ones(10, dtype), np.ones(10, dtype), 2


def _ranks() -> Iterator[tuple]:
    for shape in ((8,), (4, 2), (2, 2, 2)):
        yield np.ones(shape), np.ones(shape), 0.5


def _layouts() -> Iterator[tuple]:
    base = np.ones((16, 16))
    for x in (base, base.T, base[::2, ::2], base[:, ::-1], np.asfortranarray(base)):
        yield x, x, 0.5


CASES: dict[str, tuple[Callable[[], Iterator[tuple]], int | None]] = {
    "20 lengths": (_lengths, 2), "20 floats": (_floats, 1), "20 ints": (_ints, 1), "3 dtypes": (_dtypes, None),
    "3 ranks": (_ranks, None), "5 layouts": (_layouts, None),
}  # fmt: skip


def _stator(cases: Iterator[tuple]) -> dict[str, float]:
    import stator

    g = stator.compile(lambda x, y, k: x * k + y * 2 - x / (y + 1))
    settled: dict[str, float] = {}
    for number, args in enumerate(cases):
        g(*args)
        if number == 2:
            settled = dict(g.stats())
    after = g.stats()
    late = sum(after[k] - settled.get(k, 0) for k in ("eager_calls", "redone", "opaque_steps"))
    return {"traces": after["traces"], "late": late}


def _numba(cases: Iterator[tuple]) -> int:
    import numba

    g = numba.njit(f)
    for args in cases:
        g(*args)
    return len(g.signatures)


def _jax(cases: Iterator[tuple]) -> int:
    import jax

    jax.config.update("jax_enable_x64", True)
    g = jax.jit(lambda x, y, k: f(x, y, k))
    for args in cases:
        g(*args)
    return g._cache_size()


def run(options: Any) -> Section:
    section = Section("generality")
    names = [
        n for n in ("stator", "numba", "jax") if n in options.peers and not (options.quick and n == "numba")
    ]
    table = Table("compiled versions", ["", *names])
    for what, (cases, most) in CASES.items():
        row: list[Any] = [what]
        for name in names:
            if name == "stator":
                found = _stator(cases())
                row.append(int(found["traces"]))
                if most:
                    section.goals.append(
                        Goal(f"{what}: traces", f"<= {most}", f"{found['traces']:g}", found["traces"] <= most)
                    )
                    section.goals.append(
                        Goal(
                            f"{what}: eager after the third call",
                            "0",
                            f"{found['late']:g}",
                            found["late"] == 0,
                        )
                    )
            else:
                row.append({"numba": _numba, "jax": _jax}[name](cases()))
        table.rows.append(row)
    section.tables.append(table)
    if "stator" in options.peers:
        _failing_guard(section, options)
    return section


def _failing_guard(section: Section, options: Any) -> None:
    """A call whose argument no trace admits (a subclass of ndarray) runs eagerly; what does finding that out cost?"""
    import stator

    class Other(np.ndarray):
        pass

    x, y, z = programs.FIVE.arguments(64)
    g = stator.compile(programs.FIVE.load())
    odd = x.view(Other)
    for args in ((x, y, z), (odd, y, z)):
        for _ in range(6):
            g(*args)
    stator.wait()
    plain = programs.FIVE.load()
    times = compare(
        {"eager": (plain, (odd, y, z)), "stator": (g, (odd, y, z))}, options.rounds, options.seconds
    )
    eager, fast = times["eager"].best, times["stator"].best
    section.tables.append(
        Table("a call that no trace admits, µs", ["eager", "through stator"], [[us(eager), us(fast)]])
    )
    section.goals.append(
        Goal(
            "failing guard",
            "<= 1.2 eager + 1 µs",
            f"{us(fast)} against {us(eager)}",
            fast <= 1.2 * eager + 1e-6,
        )
    )
