"""Dicts that a trace makes and changes, and items of dicts that were there at entry."""

import numpy as np
import pytest
import stator
from around.compare import flat

X = np.linspace(0.5, 2.0, 9)


def state():
    return {"u": X.copy(), "v": X * 2.0, "t": 1.0}


def check(function, *makers, calls=4, all_captured=True):
    compiled = stator.compile(function)
    for _ in range(calls):
        a, b = [m() for m in makers], [m() for m in makers]
        assert outcome(compiled, a) == outcome(function, b)
        assert flat(a) == flat(b)
    if all_captured:
        text = str(stator.explain(compiled)(*[m() for m in makers]))
        assert "stays in Python\n    nothing" in text, text
    return compiled


def outcome(function, arguments):
    try:
        return flat(function(*arguments))
    except Exception as error:  # noqa: BLE001
        return repr(error)


def stored(s):
    s["u"] = s["u"] + s["v"]
    s["w"] = s["u"] * 2.0
    s["t"] += 0.5
    return s["w"] + s["t"]


def deleted_first(s):
    s["new"] = s["u"] * 2.0
    s["u"] = s["new"] * 2.0
    return s["u"]


def asked(s):
    total = s.get("u") + s.get("missing", 1.0)
    if "v" in s and "z" not in s:
        total = total + s["v"]
    return total, s.get("z")


def walked(s):
    arrays = {k: v * 2.0 for k, v in s.items()}
    return arrays, [v + 1.0 for v in s.values()], [k for k in s], [k for k in s.keys()]


def copied(s):
    d = dict(s)
    d["u"] = d["u"] * 2.0
    e = {**s, "v": d["u"]}
    e.update(d, t=3.0)
    return d, e


@pytest.mark.parametrize("function", [stored, deleted_first, asked, walked, copied])
def test_entry(function):
    check(function, state)


def made(x):
    d = {"a": x, "b": x * 2.0}
    d["c"] = d["a"] + d["b"]
    d["a"] = d["c"] * 2.0
    b = d.pop("b")
    e = d.setdefault("e", b)
    f = d.setdefault("a", b)
    g = d.copy()
    g["only"] = x
    return d, b is e, f, d.get("q", 2.0), len(d), list(d.values()), "b" in d, g, d.pop("none", None)


def test_made():
    check(made, X.copy, all_captured=False)


def cleared(x):
    d = dict(a=x * 2.0)
    d.clear()
    d.update({"z": x + 1.0}, y=2.0)
    return d, [v * 2.0 for v in d.values()]


def test_cleared():
    check(cleared, X.copy)


def test_one_dict_with_two_names():
    def f(a, b):
        a["u"] = a["u"] * 2.0
        b["u"] = b["u"] + 1.0
        return a["u"] + b["u"]

    compiled = stator.compile(f)
    for shared in (False, False, False, True, True, True, False):
        results = []
        for g in (compiled, f):
            a = state()
            b = a if shared else state()
            results.append((flat(g(a, b)), flat(a), flat(b)))
        assert results[0] == results[1]


def test_looked_at_after_a_store():
    def f(s):
        s["n"] = s["u"] * 2.0
        n = len(s)
        has = "n" in s
        return n, has, s.get("n"), [k for k in s], dict(s), bool(s)

    check(f, state, all_captured=False)
    check(f, dict, all_captured=False)


def test_keywords_after_a_store():
    def g(**kw):
        return kw["u"] + kw["t"]

    def f(s):
        s["u"] = s["u"] * 2.0
        return g(**s)

    check(f, state, all_captured=False)


def test_exit_behind_a_store():
    def f(s, limit):
        s["u"] = s["u"] * 2.0
        if s["u"].sum() > limit:
            s["over"] = s["u"].max()
        s["v"] = s["u"] + 1.0
        return s["v"]

    compiled = stator.compile(f)
    for limit in (1e9, 1e9, 1e9, 1.0, 1.0, 1.0, 1e9):
        a, b = state(), state()
        assert flat(compiled(a, limit)) == flat(f(b, limit))
        assert flat(a) == flat(b)


def test_dicts_that_are_namespaces():
    class Thing:
        pass

    def f(d, thing):
        d["u"] = thing.u * 2.0
        return thing.u + 1.0

    compiled = stator.compile(f)
    for _ in range(4):
        results = []
        for g in (compiled, f):
            thing = Thing()
            thing.u = X.copy()
            results.append((flat(g(thing.__dict__, thing)), flat(thing)))
        assert results[0] == results[1]


def test_what_goes_away_is_seen():
    seen = []

    class Noisy:
        def __del__(self):
            seen.append(len(seen))

    def f(s):
        s["u"] = s["v"] * 2.0
        seen.append("stored")
        return s["u"]

    compiled = stator.compile(f)
    for _ in range(4):
        seen.clear()
        s = state()
        s["u"] = Noisy()
        compiled(s)
        assert seen == [0, "stored"]


def test_other_keys():
    def f(d, x):
        d[1] = x * 2.0
        d[("a", 2)] = x + 1.0
        e = {1: x, "s": x * 2.0}
        return d[1] + e[1], e

    check(f, dict, X.copy, all_captured=False)


def test_missing_key():
    def f(d):
        y = d["u"] * 2.0
        return y, d["missing"]

    check(f, state, all_captured=False)


def test_dict_that_holds_itself():
    def f(x):
        d = {"x": x * 2.0}
        d["self"] = d
        return d["self"] is d, d["x"]

    check(f, X.copy, all_captured=False)


def test_changed_while_it_is_walked():
    def f(x):
        d = {"a": x, "b": x * 2.0}
        return [d.update({k + "x": v}) for k, v in d.items()]

    check(f, X.copy, all_captured=False)


def sums(x):
    parts = [x, x * 2.0, x - 1.0]
    return sum(parts), sum([p.sum() for p in parts]), sum((1, 2, x.sum()), 3), sum([]), sum([x], x)


def truths(x):
    parts = [x.max() > 1.0, x.min() > 1.0]
    return any(parts), all(parts), any([]), all([x.sum(), 1]), any([0, x.max()])


def sums_of_values(x):
    d = {"a": x, "b": x * 2.0}
    return sum(d.values()), sum(d.values(), x), any({"t": x.max() > 1.0}.values()), d.values() is d


@pytest.mark.parametrize("function", [sums, truths, sums_of_values])
def test_consumers(function):
    compiled = stator.compile(function)
    for x in (X, X, X, X * 0.0, X + 5.0, X, X * np.nan, X):
        assert flat(compiled(x)) == flat(function(x))


def test_sum_of_special_values():
    def f(x, y):
        return sum([x, y]), sum([x.sum(), y.sum()]), sum([float(x[0]), float(y[0])])

    compiled = stator.compile(f)
    for a in (0.0, -0.0, np.inf, -np.inf, np.nan, 1e308):
        for b in (0.0, -0.0, np.inf, 1e308):
            x, y = np.full(3, a), np.full(3, b)
            with np.errstate(all="ignore"):
                assert flat(compiled(x, y)) == flat(f(x, y))


def test_sum_of_integers_and_shapes_that_do_not_fit():
    def f(x, y):
        return sum([x, y])

    compiled = stator.compile(f)
    i = np.arange(3)
    for x, y in ((X, X), (i, i), (X, X[:1]), (X, 1), (X, X[:4]), (X, X), (3, 4), (2**62, 2**62)):
        for _ in range(2):
            results = []
            for g in (compiled, f):
                try:
                    results.append(flat(g(x, y)))
                except ValueError as error:
                    results.append(str(error))
            assert results[0] == results[1]


def test_dicts_of_attributes_with_any_layout():
    class Thing:
        pass

    def stored(d, thing):
        d["u"] = thing.u * 2.0
        return thing.u + 1.0

    def looked_up(d, thing):
        thing.u = thing.u * 2.0
        thing.new = thing.u
        return d["u"] + 1.0, "new" in d, d.get("new")

    for function in (stored, looked_up):
        compiled = stator.compile(function)
        for apart in (True, True, True, False, False, True):
            results = []
            for g in (compiled, function):
                thing = Thing()
                thing.__dict__ = {"u": X.copy(), 3: None}
                d = {"u": X * 5.0} if apart else vars(thing)
                results.append((flat(g(d, thing)), flat(vars(thing)), flat(d)))
            assert results[0] == results[1]


def test_left_in_the_middle_of_a_walk():
    def f(d, limit):
        return [v * 2.0 if v.sum() < limit else d.update(extra=v) for v in d.values()]

    def g(x, limit):
        d = {"a": x, "b": x * 4.0, "c": x}
        return [(i, k, v * 2.0) if v.sum() < limit else d.pop("c") for i, (k, v) in enumerate(d.items())]

    arrays = lambda: {"a": X.copy(), "b": X * 4.0, "c": X * 2.0}  # noqa: E731
    for function, maker in ((f, arrays), (g, X.copy)):
        compiled = stator.compile(function)
        for limit in (1e9, 1e9, 1e9, 30.0, 30.0, 1.0, 1e9):
            a, b = maker(), maker()
            assert outcome(compiled, [a, limit]) == outcome(function, [b, limit])
            assert flat(a) == flat(b)


def test_one_view_walked_twice():
    def f(x):
        values = {"a": x, "b": x * 2.0}.values()
        return [v + 1.0 for v in values], [v - 1.0 for v in values], values

    compiled = stator.compile(f)
    for _ in range(4):
        a, b = compiled(X), f(X)
        assert flat(a[:2]) == flat(b[:2])
        assert flat(list(a[2])) == flat(list(b[2]))


def test_sum_of_lists_at_entry():
    def f(parts):
        return sum(parts), any([np.max(p) > 1.0 for p in parts]), len(parts)

    compiled = stator.compile(f)
    for parts in ([X, X], [X, X], [X, X], [X], [X, 2.0, X], [], [X, X], [X, X[:1]], [X, X[:3]]):
        results = []
        for g in (compiled, f):
            try:
                results.append(flat(g(parts)))
            except ValueError as error:
                results.append(str(error))
        assert results[0] == results[1]
