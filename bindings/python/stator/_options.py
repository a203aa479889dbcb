"""`stator.options`: the options in force, by name.

They start as the environment variables have them; ``python -m stator options`` lists both, with what they do. Setting one
takes effect for what is compiled afterwards::

    stator.options.threads = 2
    with stator.options(threads=1, log="traces"):   # as they were afterwards
        step(u, k)
"""

from stator import _stator


class Options:
    """Options as attributes, e.g. ``stator.options.threads = 2``; called, they are set for a ``with`` block.

    Raises
    ------
    AttributeError, TypeError
        For a name that is no option: as an attribute, in a call.
    ValueError
        For a value that the option does not take.
    """

    __slots__ = ()

    def __call__(self, **values):
        if _stator is None:
            return _Changed({})  # programs run on where stator cannot
        known = dir(self)
        for name in values:
            if name.rstrip("_") not in known:
                raise TypeError(_unknown(name))
        return _Changed(values)

    def __getattr__(self, name):
        for field, _, kind, _, _, value in _table():
            if field == name.rstrip("_"):  # async_ is async, which Python does not let one write
                return _typed(value, kind)
        raise AttributeError(_unknown(name))

    def __setattr__(self, name, value):
        name = name.rstrip("_")
        if name not in [row[0] for row in _table()]:
            raise AttributeError(_unknown(name))
        if isinstance(value, bool):
            value = int(value)
        elif isinstance(value, (list, tuple, set)):
            value = ",".join(value)
        _stator.set_option(name, str(value))

    def __dir__(self):
        return [row[0] for row in _table()]

    def __repr__(self):
        rows = "\n".join(
            f"  {field:11} = {value!r:12} # {variable}" for field, variable, _, _, _, value in _table()
        )
        return f"stator.options\n{rows}"


class _Changed:
    """Options as they are within a ``with`` block, whose end gives them back the values of its beginning."""

    __slots__ = ("_before", "_values")

    def __init__(self, values):
        self._values = values
        self._before = []

    def __enter__(self):
        now = {row[0]: row[5] for row in _table()}
        before = {name: now[name.rstrip("_")] for name in self._values}
        self._before.append(before)
        try:
            _set_all(self._values)
        except BaseException:
            self.__exit__()
            raise
        return options

    def __exit__(self, *exc):
        _set_all(self._before.pop())


def _set_all(values):
    for name, value in values.items():
        setattr(options, name, value)


def _table():
    return _stator.option_table() if _stator is not None else []


def _typed(text, kind):
    if kind == "Flag":
        return text == "1"
    if kind in ("Patterns", "Logs"):
        return [part for part in text.split(",") if part]
    return int(text) if kind in ("Count", "Size") else text


def _unknown(name):
    import difflib

    known = [row[0] for row in _table()]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
    return f"stator.options has no {name!r}: {hint}"


options = Options()
