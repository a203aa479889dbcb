"""Lines of a program's files, as far as they can be read."""

import linecache


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
