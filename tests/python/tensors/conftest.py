"""Modules of this folder import each other by name; nothing here is collected where torch is missing."""

from __future__ import annotations

import importlib.util

collect_ignore = [] if importlib.util.find_spec("torch") else ["arguments.py", "sameness.py"]
