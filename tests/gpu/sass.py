"""What a cubin's machine code consists of: memory accesses by width, and floating-point operations.

NVIDIA documents neither the encoding nor a library that decodes it; the few fields used here were found by compiling
kernels of known content, and test_sass.py compiles such kernels again.
"""

from __future__ import annotations

import struct
from collections import Counter

# Instructions are 16 bytes. The low nine bits of the first word are the operation, whatever its operands are.
ACCESSES = {0x181: "LDG", 0x186: "STG", 0x183: "LDL", 0x187: "STL", 0x184: "LDS", 0x188: "STS"}
ARITHMETIC = {0x2B: "DFMA", 0x29: "DADD", 0x28: "DMUL", 0x23: "FFMA", 0x21: "FADD", 0x20: "FMUL"}
# Bits 9 to 11 of the second word of an access: U8, S8, U16, S16, 32, 64, 128 bits.
BITS = (8, 8, 16, 16, 32, 64, 128, 256)


def kernels(cubin: bytes) -> dict[str, bytes]:
    """The machine code of each kernel of a cubin, which is an ELF file."""
    (section_offset,) = struct.unpack_from("<Q", cubin, 40)
    count, names_at = struct.unpack_from("<HH", cubin, 60)
    sections = [struct.unpack_from("<IIQQQQ", cubin, section_offset + 64 * i) for i in range(count)]
    names = sections[names_at][4]
    code = {}
    for name, _, _, _, offset, size in sections:
        text = cubin[names + name : cubin.index(b"\0", names + name)].decode()
        if text.startswith(".text."):
            code[text.removeprefix(".text.")] = cubin[offset : offset + size]
    return code


def count(code: bytes) -> Counter[str]:
    """How often each operation occurs: ``{"LDG.128": 2, "STG.128": 1, "FMUL": 8}``.

    LDL and STL are accesses to a thread's local memory: arrays, or registers that were spilled.
    """
    found: Counter[str] = Counter()
    for at in range(0, len(code) - 15, 16):
        low, high = struct.unpack_from("<QQ", code, at)
        operation = low & 0x1FF
        if operation in ACCESSES:
            found[f"{ACCESSES[operation]}.{BITS[high >> 9 & 7]}"] += 1
        elif operation in ARITHMETIC:
            found[ARITHMETIC[operation]] += 1
    return found
