"""A `stator` without its code generator: tier 0 serves for good."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def without_core(folder: str) -> str:
    """A folder below `folder` from which `stator` is imported without its core library."""
    spec = importlib.util.find_spec("stator")
    if spec is None or spec.origin is None:
        raise RuntimeError("stator cannot be imported")
    package = Path(folder, "tier0", "stator")
    package.mkdir(parents=True, exist_ok=True)
    for entry in Path(spec.origin).parent.iterdir():
        if not entry.name.startswith("libstator_core") and not (package / entry.name).is_symlink():
            (package / entry.name).symlink_to(entry)
    return str(package.parent)
