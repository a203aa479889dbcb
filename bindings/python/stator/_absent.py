"""Stands in for the extension where it cannot be loaded, so that programs run on as plain Python."""


class CompiledFunction:
    """No function is one here."""


class GraphBreakError(RuntimeError):
    pass


class RecompileError(RuntimeError):
    pass


def stats():
    names = (
        "calls replays served eager_calls recordings traces bridges exits opaque_steps redone retired compiles cache_hits "
        "kernels_launched regions guard_failures"
    )
    return dict.fromkeys(names.split(), 0) | {"compile_s": 0.0}
