"""Lines of a program's files, as far as they can be read, and what files are called where people read of them."""

import linecache
import os
import re
import sys


def lines_of(file: str) -> list[str]:
    """All lines of a file; none where it cannot be read, or where no file can have that name."""
    try:
        return linecache.getlines(file)
    except UnicodeError:
        return []


def line_of(file: str, number: int) -> str:
    """One line, counted from 1; empty where there is none."""
    lines = lines_of(file)
    return lines[number - 1] if 0 < number <= len(lines) else ""


def cell_of(file: str) -> str:
    """A notebook's cell as IPython names it, where the file is one: ``Cell In[3]``; else the empty text."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    named = shell.compile.format_code_name(file) if shell else None
    return " ".join(named) if named else ""


def named(place: str, folder: str = "") -> str:
    """A place ``file:line``, or one that begins so, with the cell's name where the file is one of a notebook's.

    `folder` is the file's where the place has none.
    """
    found = re.match(r"(.*?):(\d.*)", place, re.DOTALL)
    cell = cell_of(os.path.join(folder, found[1])) if found else ""
    return f"{cell}:{found[2]}" if found and cell else place


def from_here(file: str) -> str:
    """A file as it is called from the working folder, or as it is imported if it belongs to an installed package."""
    if file[:1] == "<":
        return file
    for folder in sys.path:
        if os.path.basename(folder) in ("site-packages", "dist-packages") and file.startswith(
            folder + os.sep
        ):
            return os.path.relpath(file, folder)
    near = os.path.relpath(file)
    return file if near.startswith("..") else near
