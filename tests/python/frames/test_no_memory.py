"""Programs that run out of memory, or are interrupted, at an awkward moment."""

import sys

import pytest
import stator


def test_no_memory_while_an_exception_is_on_its_way():
    testcapi = pytest.importorskip("_testcapi", exc_type=ImportError)

    def f(s):
        testcapi.set_nomemory(0)
        try:
            s.replace("a", "b")
        except MemoryError:
            testcapi.remove_mem_hooks()
            return "MemoryError"

    try:
        assert stator.compile(f)("a" * 70000) == "MemoryError"
    finally:
        testcapi.remove_mem_hooks()


@pytest.mark.skipif(sys.version_info < (3, 15), reason="gh-148874")
def test_an_interrupt_in_enter():
    internal = pytest.importorskip("_testinternalcapi", exc_type=ImportError)

    def f(manager):
        with manager:
            pass

    manager = internal.SelfInterruptingContextManager()
    with pytest.raises(KeyboardInterrupt):
        stator.compile(f)(manager)
    assert not manager.within()


@pytest.mark.skipif(sys.version_info < (3, 13), reason="builtins are a dict")
def test_builtins_that_are_a_mapping():
    import builtins
    import types

    space = {"__builtins__": types.MappingProxyType(builtins.__dict__)}
    exec("def f():\n import json\n return json.__name__", space)
    assert stator.compile(space["f"])() == "json"


def test_what_collects_is_none():
    def f(x, list):
        return list(v for v in x)

    def g(x, tuple):
        return tuple(v for v in x)

    for h in (f, g):
        compiled = stator.compile(h)
        for _ in range(4):
            with pytest.raises(TypeError, match="'NoneType' object is not callable"):
                compiled([1, 2], None)
