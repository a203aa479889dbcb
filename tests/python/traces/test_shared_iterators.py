"""Comprehensions over zip and enumerate: iterators that two columns share, and lists that change meanwhile."""

import numpy as np
import stator


def both(f, *args):
    compiled = stator.compile(f)
    for _ in range(6):
        assert repr(compiled(*args)) == repr(f(*args))
        stator.wait()


A = np.ones(2)
NUMBERS, OTHERS = (1.5, 2.5, 3.5, 4.5), {"a": 1.0, "b": 2.0, "c": 3.0}


def test_one_iterator_in_both_columns():
    def enumerated(a):
        e = enumerate(NUMBERS)
        return [a * x * y for (i, x), (j, y) in zip(e, e, strict=True)]

    def zipped(a):
        z = zip(NUMBERS, NUMBERS, strict=True)
        return [a * x[0] * y[1] for x, y in zip(z, z, strict=True)]

    def of_a_dict(a):
        e = enumerate(OTHERS.values())
        return {str(i): a * x * y[1] for (i, x), y in zip(e, e, strict=False)}

    def of_a_list(a, values):
        e = enumerate(values)
        return tuple(a * x * y for (_, x), (_, y) in zip(e, e, strict=True))

    def nested(a):
        e = enumerate(NUMBERS)
        return [a * x + y[1] for (i, (_, x)), y in zip(enumerate(e), e, strict=True)]

    def the_same_values(a):
        return [a * x * y for x, y in zip(NUMBERS, NUMBERS, strict=True)]

    def the_same_range(a):
        r = range(4)
        return [a * x * y for x, y in zip(r, r, strict=True)]

    for f in (enumerated, zipped, of_a_dict, nested, the_same_values, the_same_range):
        both(f, A)
    both(of_a_list, A, list(NUMBERS))


def replaced(values):
    values[2] = 50.0
    return True


def test_a_list_changes_while_it_is_gone_through():
    def reversed_once(a):
        values = [1.0, 2.0, 3.0, 4.0]
        return [a * x for i, x in enumerate(values) if values.reverse() is None]

    def stored(a):
        values = [1.0, 2.0, 3.0, 4.0]
        return [a * x for i, x in enumerate(values) if replaced(values)]

    def in_zip(a):
        values, others = [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]
        return {str(x): a * y for x, y in zip(values, others, strict=True) if others.reverse() is None}

    def another_list(a):
        values, found = [1.0, 2.0, 3.0], []
        return [a * x for i, x in enumerate(values) if found.append(x) is None], found

    for f in (reversed_once, stored, in_zip, another_list):
        both(f, A)
