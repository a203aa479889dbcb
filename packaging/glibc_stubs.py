"""Stub libraries of an older glibc, made from the glibc of this machine.

A library that is linked on a new system asks for the newest version of each symbol (``pthread_create@GLIBC_2.34``) and
does not load where glibc is older, although nearly all of these symbols have been there, under an older version, for
decades. glibc still has the older versions beside the newer ones. `write` makes libraries that have, of each symbol, the
newest version that is not newer than what is asked for, and no code: linked against them, a library asks for what the
older glibc has, and whatever that does not have is an error of the linker. What such symbols are needed for is in
``compat.c``.

    python packaging/glibc_stubs.py FOLDER --glibc 2.28
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections import defaultdict
from pathlib import Path

# What there is to link against, and the library that has it at run time. Up to 2.33 the symbols of threads and of the
# dynamic loader had libraries of their own, which later ones keep, empty.
LIBRARIES = {"libc": "libc.so.6", "libm": "libm.so.6", "libpthread": "libpthread.so.0", "libdl": "libdl.so.2"}
_SYMBOL = re.compile(r"^(?P<name>[A-Za-z_][\w.]*)@@?GLIBC_(?P<version>[\d.]+)$")
Version = tuple[int, ...]


def version_of(text: str) -> Version:
    return tuple(map(int, text.split(".")))


def symbols(library: Path, newest: Version) -> dict[str, tuple[Version, str, int]]:
    """Of each symbol of the library the newest version up to `newest`, its type and its size in bytes."""
    table = subprocess.run(
        ["readelf", "--dyn-syms", "--wide", str(library)], check=True, capture_output=True, text=True
    )
    found: dict[str, tuple[Version, str, int]] = {}
    for line in table.stdout.splitlines():
        fields = line.split()
        if len(fields) < 8 or fields[6] == "UND":
            continue
        match = _SYMBOL.match(fields[7])
        if not match:
            continue
        name, version = match["name"], version_of(match["version"])
        if version <= newest and (name not in found or version > found[name][0]):
            found[name] = version, fields[3], int(fields[2], 0)
    return found


def stub(folder: Path, name: str, soname: str, entries: dict[str, tuple[Version, str, int]]) -> Path:
    """A shared library without code that has these symbols."""
    lines, versions = [".text"], defaultdict(list)
    for symbol, (version, kind, size) in sorted(entries.items()):
        is_data = kind in ("OBJECT", "TLS")
        section = {"OBJECT": ".data", "TLS": '.section .tdata,"awT",@progbits'}.get(kind, ".text")
        lines += [
            section,
            f".globl {symbol}",
            f".type {symbol}, @{'object' if is_data else 'function'}",
            f"{symbol}:",
        ]
        lines += [f".skip {max(size, 1)}", f".size {symbol}, {max(size, 1)}"] if is_data else [".byte 0"]
        versions[version].append(symbol)
    lines.append('.section .note.GNU-stack,"",@progbits')
    source, script, library = (folder / f"{name}{suffix}" for suffix in (".s", ".map", ".stub.so"))
    source.write_text("\n".join(lines) + "\n")
    script.write_text(
        "".join(
            f"GLIBC_{'.'.join(map(str, version))} {{ global: {'; '.join(names)}; }};\n"
            for version, names in sorted(versions.items())
        )
    )
    flags = ["-shared", "-nostdlib", f"-Wl,-soname,{soname}", f"-Wl,--version-script,{script}"]
    subprocess.run(["gcc", *flags, "-o", str(library), str(source)], check=True)
    return library


def path_of(file: str) -> Path:
    answer = subprocess.run(["gcc", f"-print-file-name={file}"], check=True, capture_output=True, text=True)
    return Path(answer.stdout.strip())


def write(folder: Path, glibc: str) -> None:
    """Make the stubs, and beside them what ``-lc``, ``-lm``, … find."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, soname in LIBRARIES.items():
        library = stub(folder, name, soname, symbols(path_of(soname), version_of(glibc)))
        # A few functions, `atexit` among them, are linked statically with each glibc.
        more = f" {path_of('libc_nonshared.a')} {path_of('ld-linux-x86-64.so.2')}" if name == "libc" else ""
        (folder / f"{name}.so").write_text(f"/* GNU ld script */\nGROUP ( {library.resolve()}{more} )\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--glibc", default="2.28")
    options = parser.parse_args()
    write(options.folder, options.glibc)


if __name__ == "__main__":
    main()
