"""The messages for what stator cannot take: what was found, and what to do instead. Imported only then."""

import difflib


def _kind(obj):
    """As kind_for_messages of the extension says it."""
    name = type(obj).__name__
    start = name[:3].lower()
    vowels = [letter in "aeiou" for letter in start]
    long_u = start[:1] == "u" and (start == "ufu" or vowels[1:] == [False, True])  # a unit, a user
    return f"{'an' if (vowels[:1] == [True] and not long_u) or name == 'ndarray' else 'a'} {name}"


def not_callable(obj, what="stator.compile"):
    text = f"{what} needs a function, found {_kind(obj)}"
    if isinstance(obj, property):
        return f"{text}: decorate the getter below @property instead"
    if isinstance(obj, (str, int, float, bool, dict)) and what == "stator.compile":
        return f"{text}: options are given by name, as in @{what}(fullgraph=True)"
    return f"{text}: write @{what} above a 'def'"


def no_code(obj):
    """Why a callable has no Python code to compile."""
    import functools
    import types

    if isinstance(obj, functools._lru_cache_wrapper):
        return (
            f"stator.compile cannot look into the cache around {obj.__name__}: "
            "write @stator.compile below @functools.cache"
        )
    if isinstance(obj, types.BuiltinFunctionType) or type(obj).__module__ in ("builtins", "numpy"):
        name = getattr(obj, "__name__", repr(obj))
        return f"stator.compile needs Python code, and {name} has none: compile the function that calls it"
    return (
        f"stator.compile needs Python code, and {_kind(obj)} has none: "
        "give its class a __call__ written in Python, or compile the function that calls it"
    )


# Options of other compilers: what stator does instead.
ELSEWHERE = {
    "nopython": "nothing is forbidden in a compiled function; fullgraph=True raises where something stays in Python",
    "forceobj": "what cannot be compiled stays Python by itself",
    "parallel": "large arrays are shared among STATOR_THREADS threads by themselves; loops run in one thread",
    "nogil": "compiled code on large arrays releases the GIL by itself",
    "cache": "compiled code is kept on disk by itself (STATOR_CACHE_DIR; 'python -m stator cache info')",
    "error_model": "errors and warnings are those of Python and NumPy",
    "boundscheck": "indices are always checked, as Python does",
    "inline": "functions that a compiled function calls are followed by themselves",
    "locals": "types are taken from the calls",
    "static_argnums": "values that decide what is computed are found and guarded by themselves",
    "static_argnames": "values that decide what is computed are found and guarded by themselves",
    "donate_argnums": "memory of temporaries is used again by itself; arguments are left as they are",
    "mode": "there is one mode; 'python -m stator options' lists what can be set",
    "backend": "there is one backend for the CPU; device='cuda' takes the GPU",
}


def option(name, value, known):
    """The exception for an unknown option or a value it does not take."""
    if name in ELSEWHERE:
        return TypeError(f"stator.compile has no option {name!r}, leave it out: {ELSEWHERE[name]}")
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"the options are {', '.join(known)}"
        return TypeError(f"stator.compile has no option {name!r}: {hint}")
    if name in ("fullgraph", "fastmath"):
        return TypeError(f"stator.compile: {name} is True or False, found {value!r}")
    if name == "dynamic":
        return ValueError(
            f"stator.compile: extents are always symbolic, so dynamic is True or None, found {value!r}"
        )
    return ValueError(f"stator.compile: device is 'cpu' or 'cuda', found {value!r}")
