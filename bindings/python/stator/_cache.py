"""`python -m stator cache`: the compiled code on disk, which a program's next process starts with (jit/object_cache.h).

An archive that `export` writes may be shipped with a program: on a machine with the same kind of processor, the same stator and
the same NumPy nothing is compiled anew. It holds native code: whoever imports one runs it.
"""

from __future__ import annotations

import os
import re
import struct
import tarfile
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

ENTRY = re.compile(r"objects-1/[0-9a-f]{32}")  # kFolder of jit/object_cache.cpp
MAGIC = b"statoro1"
HEADER = struct.Struct("=8sQQ16s")  # magic, sizes of key and object, checksum


def folder() -> Path:
    """Where entries lie, as the options and the environment have it."""
    import stator

    given = ""
    if stator._stator is not None:
        given = next(row[5] for row in stator._stator.option_table() if row[0] == "cache_dir")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME", "")
    return Path(base if os.path.isabs(base) else os.path.expanduser("~/.cache")) / "stator"


def entries(where: Path) -> Iterator[Path]:
    for path in sorted(where.glob("objects-*/*")):
        if ENTRY.fullmatch(f"{path.parent.name}/{path.name}") and path.is_file() and not path.is_symlink():
            yield path


def info(where: Path) -> str:
    found = list(entries(where))
    if not found:
        return f"{where}: nothing is kept"
    size = sum(p.stat().st_size for p in found)
    used = max(p.stat().st_mtime for p in found)
    return (
        f"{where}: {len(found)} pieces of compiled code, {size / 2**20:.1f} MiB, "
        f"last used {time.strftime('%Y-%m-%d %H:%M', time.localtime(used))}"
    )


def clear(where: Path) -> str:
    found = list(entries(where))
    for path in found:
        path.unlink(missing_ok=True)
    return f"{where}: {len(found)} pieces of compiled code removed"


def export(where: Path, archive: Path) -> str:
    """Write all entries to a compressed tar file."""
    found = list(entries(where))
    if not found:
        raise ValueError(f"nothing is kept in {where}: run the program first")
    with tarfile.open(archive, "w:gz") as tar:
        for path in found:
            tar.add(path, f"{path.parent.name}/{path.name}")
    return f"{archive}: {len(found)} pieces of compiled code, {archive.stat().st_size / 2**20:.1f} MiB"


def take(where: Path, archive: Path) -> str:
    """Add the entries of such a file. All of them are looked at before the first is written."""
    found = []
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for member in tar:
                data = tar.extractfile(member) if member.isfile() else None
                content = data.read() if data is not None else b""
                if not ENTRY.fullmatch(member.name) or not _is_whole(content):
                    raise ValueError(
                        f"{archive} holds {member.name!r}, which is no compiled code of stator's: "
                        "archives are made by 'python -m stator cache export'"
                    )
                found.append((member.name, content))
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise ValueError(f"there is no file {archive}") from None
        raise ValueError(f"{archive} is no archive of 'python -m stator cache export': {error}") from None
    for name, content in found:
        _write(where / name, content)
    return f"{where}: {len(found)} pieces of compiled code added"


def _is_whole(content: bytes) -> bool:
    """Its magic and the lengths of key and object; the checksum is looked at when it is loaded."""
    if not content.startswith(MAGIC) or len(content) < HEADER.size:
        return False
    _, key, code, _ = HEADER.unpack_from(content)
    return bool(len(content) == HEADER.size + key + code)


def _write(path: Path, content: bytes) -> None:
    """As the object cache does: closed to others, and whole for whoever reads meanwhile."""
    for missing in (path.parent.parent, path.parent):
        missing.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.parent.is_symlink() or path.parent.stat().st_uid != os.geteuid():
        raise ValueError(f"{path.parent} is not a folder of this user's")
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as f:
        f.write(content)
    temporary.rename(path)


USAGE = "say what to do: cache info, cache clear, cache export FILE or cache import FILE"


def main(arguments: list[str]) -> int:
    """The command; prints one line.

    Raises
    ------
    ValueError
        With what is wrong about the arguments or the file.
    """
    plain: dict[str, Callable[[Path], str]] = {"info": info, "clear": clear}
    with_file: dict[str, Callable[[Path, Path], str]] = {"export": export, "import": take}
    match arguments:
        case [command] if command in plain:
            print(plain[command](folder()))
        case [command, name] if command in with_file:
            try:
                print(with_file[command](folder(), Path(name)))
            except OSError as error:
                raise ValueError(f"{error.filename or name}: {error.strerror}") from None
        case _:
            raise ValueError(USAGE)
    return 0
