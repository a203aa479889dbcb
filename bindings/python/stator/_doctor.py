"""`python -m stator doctor`: one line for each thing stator depends on, and what to do where one is missing."""

import os
import platform
import tempfile


def _writable(folder):
    """None, or why files cannot be made there."""
    try:
        existing = os.path.abspath(folder)
        while not os.path.isdir(existing) and os.path.dirname(existing) != existing:
            # Nobody makes a home folder, or what it lies in, in passing (jit/object_cache.cpp).
            if (os.path.expanduser("~") + os.sep).startswith(existing + os.sep):
                return f"there is no folder {existing!r}"
            existing = os.path.dirname(existing)
        with tempfile.TemporaryFile(dir=existing):
            return None
    except OSError as error:
        return error.strerror


def _nvrtc(found, wanted):
    """(ok, text) about NVRTC; None for ok: missing, and nobody asked for it."""
    if found["nvrtc_error"]:
        why = " ".join(found["nvrtc_error"].split())
        return False if wanted else None, f"none: {why}"
    archs = found["archs"]
    known = f"sm_{archs[0]} to sm_{archs[-1]}" if archs else "no architectures"
    major, minor = found["nvrtc_version"]
    return True, f"{major}.{minor}, {known}, {found['nvrtc']}"


def _driver(found, wanted):
    """(ok, text) about the driver and its GPUs; None for ok: missing, and nobody asked for it."""
    if found["driver_error"]:
        why = " ".join(found["driver_error"].split())
        return False if wanted else None, f"none: {why}"
    major, minor = found["driver_version"]
    devices = [f"{name} (sm_{a}{b}, {memory / 2**30:.0f} GiB)" for name, (a, b), memory in found["devices"]]
    text = f"CUDA {major}.{minor}: {'; '.join(devices)}"
    if found["nvrtc_version"][0] > major:
        return (
            False,
            f"{text}, older than NVRTC: update the driver, or pip install nvidia-cuda-nvrtc-cu{major}",
        )
    return True, text


def _cuda_checks(options):
    """What device="cuda" needs. Missing is fine, unless the options name a library that is not there."""
    import sys

    from stator import _stator

    _stator.set_nvrtc_folders([p for p in sys.path if p])
    found = _stator.cuda_survey()
    ok, text = _nvrtc(found, bool(options["nvrtc"]))
    yield ok, "nvrtc", text
    ok, text = _driver(found, bool(options["cuda_driver"]))
    yield ok, "gpu", text


def _checks():
    """(ok, name, text) of each check; ok is None for what is missing and need not be there."""
    import stator
    from stator import _cache

    yield stator.unavailable is None, "stator", f"{stator.__version__} {stator.unavailable or ''}".strip()
    yield (
        True,
        "python",
        f"{platform.python_version()} ({platform.python_implementation()}, {platform.machine()})",
    )
    try:
        import numpy

        yield int(numpy.__version__.split(".")[0]) >= 2, "numpy", numpy.__version__
    except ImportError:
        yield False, "numpy", "cannot be imported: pip install 'numpy>=2'"
    if stator._stator is None:
        return
    core = stator._stator.core_info()
    if core["loaded"] and core["llvm"]:
        yield True, "compiler", f"LLVM {core['llvm']}, {core['cpu']}, {core['threads']} threads"
    else:
        why = core["error"] or "libstator_codegen.so cannot be opened: reinstall stator"
        yield False, "compiler", f"{why} (functions run in tier 0 meanwhile)"
    options = {row[0]: row[5] for row in stator._stator.option_table()}
    if options["cache_size"] == "0":
        yield True, "cache", "off (STATOR_CACHE_SIZE=0)"
    else:
        folder = str(_cache.folder())
        problem = _writable(folder)
        yield (
            problem is None,
            "cache",
            folder if problem is None else f"{folder}: {problem}; set STATOR_CACHE_DIR",
        )
    if options["dump"]:
        problem = _writable(options["dump"])
        yield problem is None, "dump", options["dump"] if problem is None else f"{options['dump']}: {problem}"
    if core["loaded"]:
        yield from _cuda_checks(options)
    if stator._stator.foreign_hook_present():
        yield False, "frame hook", "another one is installed: functions are recorded only while it is not"
    else:
        yield True, "frame hook", "free"
    for problem in stator._stator.option_problems():
        yield False, "options", problem
    changed = [f"{row[1]}={row[5]}" for row in stator._stator.option_table() if row[5] != _default(row)]
    yield True, "options", ", ".join(changed) or "all at their defaults"


def _default(row):
    """The default as the table prints values: 64M is 67108864."""
    text, kind = row[3], row[2]
    if kind == "Size" and text[-1:].upper() in "KMG" and text[-1:]:
        return str(int(text[:-1]) << {"K": 10, "M": 20, "G": 30}[text[-1].upper()])
    return text


def _tries():
    """Compile and run one function: (ok, text)."""
    import numpy as np

    import stator

    def probe(x):
        return x * 2.0 + 1.0

    f = stator.compile(probe)
    x = np.arange(1000.0)
    for _ in range(4):
        got = f(x)
        stator.wait()
    same = got.tobytes() == probe(x).tobytes()
    counters = stator.stats(f)
    if not same:
        return False, "a compiled function returned other bits than NumPy: please report this"
    return counters[
        "replays"
    ] > 0, f"recorded {counters['recordings']}, replayed {counters['replays']} of 4 calls"


def main():
    """Print the report; 0 when everything is in place."""
    import stator

    healthy = True
    checks = list(_checks())
    if stator._enabled:
        worked, text = _tries()
        checks.append((worked, "trial", text))
    for ok, name, text in checks:
        healthy &= ok is not False
        print(f"{'-- ' if ok is None else 'ok ' if ok else 'BAD'} {name:11} {text}")
    if stator._stator is not None and not stator._enabled:
        print("    stator is switched off (STATOR=0)")
    return 0 if healthy else 1
