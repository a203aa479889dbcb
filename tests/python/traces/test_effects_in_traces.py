"""Lists that were there before the call are appended to, and random numbers drawn, without leaving a trace."""

from __future__ import annotations

import random
import traceback

import numpy as np
import pytest
import stator

X = np.arange(1.0, 6.0)


class Keeper:
    def __init__(self):
        self.log, self.rng, self.count = [], np.random.default_rng(5), 0


def told(value):
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    if isinstance(value, np.random.RandomState):
        state = value.get_state()
        return state[1].tobytes(), state[2:]
    if isinstance(value, Keeper):
        return [(k, told(v)) for k, v in vars(value).items()]
    return repr(value)


def run(function, make):
    """What each of twelve calls gives, with what its arguments are afterwards."""
    np.random.seed(3)
    random.seed(4)
    arguments, out = make(), []
    for k in range(12):
        try:
            result = function(X * (1 + k % 3), *arguments)
        except Exception as error:
            frames = [(f.f_code.co_name, line) for f, line in traceback.walk_tb(error.__traceback__)]
            result = type(error).__name__, str(error), frames[1:]
        out.append(
            (told(result), [told(a) for a in arguments], np.random.get_state()[2], random.getstate()[1][-1])
        )
    return out


def append(x, kept):
    a = x * 2
    kept.append(a)
    b = a + 1
    kept.append(b)
    return b.sum()


def read_what_was_appended(x, kept):
    a = x * 2
    kept.append(a)
    return (kept[-1] + 1).sum(), len(kept)


def another_name(x, kept, same):
    a = x * 2
    kept.append(a)
    return (same[-1] + 1).sum()


def change_afterwards(x, kept):
    a = x * 2
    kept.append(a)
    a += 1
    kept.append(a[1:3])
    a *= 2
    return a


def raises(x, kept):
    a = x * 2
    kept.append(a)
    b = a.reshape(2, 7)
    kept.append(b)
    return b


def of_all_kinds(x, kept):
    a = x * 2
    row = [a, 1]
    kept.extend([a, row, (a, 2.5, "s", None)])
    row.append(a + 1)
    kept.append({"k": a})
    return a.sum()


def walk_and_append(x, kept):
    doubled = [v * 2 for v in kept]
    kept.append(x + len(doubled))
    total = sum([v.sum() for v in kept])
    del kept[3:]
    return doubled, total


def warns(x, kept):
    a = x * 2
    kept.append(a)
    b = a / (x - 1)
    kept.append(b)
    c = b * 2
    kept.append(c)
    return c


def given_to_numpy(x, kept):
    a = x * 2
    kept.append(a)
    b = np.array(kept)
    kept.append(b.sum(axis=0))
    c = np.vstack(kept)
    del kept[4:]
    return c


def truth(x, kept):
    a = x * 2
    kept.append(a.sum()) if kept else kept.append(1)
    kept.append(3)
    found = 3 in kept
    kept.remove(3)
    return found, a


def identities(x, kept):
    a = x * 2
    kept.append(a)
    kept.append(a)
    v = a[1:]
    kept.append(v)
    kept.append(x)
    return kept[-1] is x, kept[-3] is kept[-4], kept[-2].base is kept[-3]


def lengths(x, kept, same, names):
    n = len(kept)
    kept.append(x * n)
    kept.extend((1, 2))
    names[f"k{n % 4}"] = n
    return len(kept), len(same), len(names) + x, len("text") + x[0], n * x, same[: len(same)] is same


def length_of_what_is_walked(x, kept):
    total = x * len(kept)
    for i in range(len(kept)):
        total = total + kept[i]
    kept.append(total.mean())
    return total, len(kept)


def with_attributes(x, keeper):
    a = x * 2
    keeper.count += 1
    keeper.log.append(a)
    keeper.last = a
    keeper.log.append(keeper.count)
    b = a * keeper.count
    keeper.log.append(b[keeper.count % 5])
    return float(b.sum()), keeper.last is keeper.log[-3]


LISTS = [
    (append, lambda: ([],), 0),
    (read_what_was_appended, lambda: ([],), None),
    (another_name, lambda: 2 * ([X],), None),
    (another_name, lambda: ([X], [X]), 0),
    (change_afterwards, lambda: ([],), 0),
    (raises, lambda: ([],), None),
    (of_all_kinds, lambda: ([],), 0),
    (walk_and_append, lambda: ([X, X],), None),
    (warns, lambda: ([],), None),
    (given_to_numpy, lambda: ([],), None),
    (truth, lambda: ([],), None),
    (identities, lambda: ([],), None),
    (lengths, lambda: ([X], [], {}), None),
    (lengths, lambda: (*2 * ([X],), {"k0": 1}), None),
    (length_of_what_is_walked, lambda: ([],), None),
    (with_attributes, lambda: (Keeper(),), None),
]


def generator():
    return (np.random.default_rng(5),)


def draws(x, rng):
    a = x * 2
    b = a + rng.standard_normal(5)
    return (b * rng.normal(0, 1, 5)).sum()


def sizes(x, rng):
    n = len(x)
    b = x + rng.normal(0.5, 0.1, size=x.shape)
    c = b * rng.uniform(-1, 1, n)
    at = rng.integers(0, n)
    return c[at] * rng.random(), rng.integers(0, 10, size=(n, 3)), rng.random(dtype=np.float32), rng.random(0), rng.random((1,))  # fmt: skip


def from_arrays(x, rng):
    b = rng.normal(x, 0.1)
    c = rng.uniform(x, x + 1)
    return b * c, rng.poisson(x)


def draw_then_warn(x, rng):
    b = rng.normal(0, 1, 5)
    d = b / (x - 1)
    e = d + rng.random(5)
    return e * 2


def draw_then_raise(x, rng):
    a = rng.random(5)
    lost = a * 3 + x
    return [1][len(lost)]


def bad_arguments(x, rng):
    a = x * rng.random()
    try:
        b = rng.normal(0, -1, 5)
    except ValueError as error:
        b = str(error)
    return a, b, rng.random()


def branches(x, rng):
    u = rng.random()
    v = x * u + 1
    return v / rng.random() if u > 0.5 else v * rng.random() + rng.normal()


def hidden(x):
    a = x * 2
    b = np.random.normal(0, 1, 5)
    c = np.random.rand(3, 2)
    return a * b, c + 1, np.random.randint(0, 5), random.random() + a[0], np.random.randn(2)


def unused(x, rng):
    rng.random(3)
    a = x * 2
    rng.random()
    return a


def two_names(x, rng, same):
    return rng.random(5) - same.random(5) + x


def older(x, state):
    return x * state.rand(), state.randn(5) + x, state.randint(0, 9) + x, state.random_sample(5) * x


def in_a_method(x, keeper):
    keeper.count += 1
    y = x + keeper.rng.normal(0, 0.1, x.shape)
    keeper.log.append(y)
    z = y * keeper.rng.random()
    keeper.log.append(z.sum())
    return z


def into_an_array(x, rng, out):
    a = rng.standard_normal(out=out)
    b = rng.random(None, np.float64, out)
    return a is out, b is out, x + out


def wide_numbers(x, state):
    n = len(x)
    return state.randint(0, n * 2**59) % 7 + x, state.geometric(1e-18) > 0, state.binomial(n, 0.5) * x


def bound(x, rng):
    draw = rng.normal
    return x + draw(0, 1, 5), rng.choice(5), rng.permutation(3)


DRAWS = [
    (draws, generator, 0),
    (sizes, generator, 0),
    (from_arrays, generator, 0),
    (draw_then_warn, generator, None),
    (draw_then_raise, generator, None),
    (bad_arguments, generator, None),
    (branches, generator, 0),
    (hidden, lambda: (), 0),
    (unused, generator, 0),
    (two_names, lambda: 2 * (np.random.default_rng(5),), 0),
    (older, lambda: (np.random.RandomState(3),), 0),
    (in_a_method, lambda: (Keeper(),), 0),
    (bound, generator, None),
    (into_an_array, lambda: (np.random.default_rng(5), np.zeros(5)), None),
    (wide_numbers, lambda: (np.random.RandomState(3),), None),
]


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize(
    ("function", "make", "steps"), LISTS + DRAWS, ids=lambda v: getattr(v, "__name__", "")
)
def test_it_is_what_eager_leaves_behind(function, make, steps, monkeypatch):
    compiled = stator.compile(function)
    assert run(compiled, make) == run(function, make)
    if steps is not None:
        assert compiled.stats()["opaque_steps"] == steps


def test_a_list_is_not_read_before_it_has_what_was_appended():
    """One trace for lists that are two; the same list under both names enters another."""

    def f(x, a, b):
        a.append(x * 2)
        return b[-1] + 1

    compiled = stator.compile(f)
    for k in range(12):
        one, two, mine = [X], [X * 3], [X]
        given = (one, one) if k % 3 == 2 else (one, two)
        expected = f(X, mine, mine) if k % 3 == 2 else two[-1] + 1
        assert compiled(X, *given).tobytes() == expected.tobytes()


def test_one_trace_for_lists_of_all_lengths():
    def f(x, kept):
        y = x * len(kept)
        kept.append(y)
        return y + len(kept), len(kept)

    compiled = stator.compile(f)
    kept, mine = [], []
    for k in range(40):
        (y, n), (z, m) = compiled(X + k, kept), f(X + k, mine)
        assert y.tobytes() == z.tobytes()
        assert n == m == k + 1
    # None and one item are constants of a trace where they are factors.
    assert compiled.stats()["traces"] <= 3
    assert compiled.stats()["opaque_steps"] == 0


def test_the_length_of_a_dict_that_holds_attributes():
    class Holder:
        pass

    def f(x, holder, names):
        holder.more = x * 2
        n = len(names)
        holder.last = n
        return x + n, len(names)

    mine, theirs = Holder(), Holder()
    compiled = stator.compile(f)
    for k in range(8):
        setattr(mine, f"k{k}", 1), setattr(theirs, f"k{k}", 1)
        (a, n), (b, m) = compiled(X, mine, vars(mine)), f(X, theirs, vars(theirs))
        assert (a.tobytes(), n) == (b.tobytes(), m)
        other = {}
        assert compiled(X, mine, other)[1] == f(X, theirs, other)[1] == 0


def test_numbers_are_drawn_once_where_a_fault_sends_the_trace_back():
    def f(x, rng):
        u = rng.random()
        return u / x[0]

    compiled = stator.compile(f)
    mine, theirs = np.random.default_rng(1), np.random.default_rng(1)
    for k in range(12):
        x = np.full(3, float(k % 4))
        with np.errstate(divide="ignore" if k % 2 else "warn"):
            if k % 4 == 0:
                with pytest.warns(RuntimeWarning, match="divide"):
                    found = compiled(x, mine)
                with pytest.warns(RuntimeWarning, match="divide"):
                    expected = f(x, theirs)
            else:
                found, expected = compiled(x, mine), f(x, theirs)
        assert found.tobytes() == expected.tobytes()
        assert mine.bit_generator.state == theirs.bit_generator.state


def test_a_finalizer_that_del_runs_is_seen_by_what_follows():
    class Ending:
        def __init__(self, log):
            self.log = log

        def __del__(self):
            self.log.append("ended")

    def f(x, kept, log):
        one = Ending(log)
        kept.append(x * 2)
        del one
        kept.append(len(log))
        return x + len(log), len(kept)

    compiled = stator.compile(f)
    mine, theirs = ([], []), ([], [])
    for _ in range(6):
        (a, n), (b, m) = compiled(X, *mine), f(X, *theirs)
        assert (a.tobytes(), n) == (b.tobytes(), m)
    assert mine[1] == theirs[1] and repr(mine[0]) == repr(theirs[0])
