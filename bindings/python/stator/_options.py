"""`stator.options`: the options in force, by name.

They start as the environment variables have them; ``python -m stator doctor`` lists both. Setting one takes effect for
what is compiled afterwards.
"""

from stator import _stator


class Options:
    """Options as attributes, e.g. ``stator.options.threads = 2``."""

    __slots__ = ()

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
