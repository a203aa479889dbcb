"""Plants defects one at a time in the suite's kernels and lists those that no test of kernels finds.

    python -m tests.gpu.mutation [--per-program 25] [--programs softmax,sum_rows] [--prelude 300] [--jobs 2] [--seed 1]

A defect is a small change of one place in a source: a barrier that is missing, another bound, stride, index, thread, mask, pointer,
a statement left out. Places that differ in numbers only count as one, of which the first and the last are tried. What the prelude
defines is changed for all programs that use it, and is found when it shows in one of them. `test_kernels.py` with
STATOR_TEST_CUDA_MUTATE does the same for a single defect.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass

import numpy as np

_TERM = r"(?:\(u64\))?!?[\w.]+(?: (?:%|==|<|>|<=|>=|!=|\+) [\w.]+)*"
_MEET = r"__syncthreads\(\);|cluster_meet\(\);|grid_meet\(\w+\);|__syncwarp\(\);"
# (name, what is looked for in a line, what stands there instead)
OPERATORS = [
    ("barrier left out", _MEET, ""),
    ("bound one too far", r" < (?!<)", " <= "),
    ("bound one too near", r" < ([\w.]+)(?![\w(.])", r" < \1 - 1"),
    ("bound left out", r" <= ", " < "),
    ("bound left out", r" >= ", " > "),
    ("condition turned", r" == ", " != "),
    ("condition turned", r" != ", " == "),
    (
        "mask left out",
        rf"(?<=[(=] ){_TERM} && |(?<=\(){_TERM} && |(?<=; ){_TERM} && |(?<=&& ){_TERM} && ",
        "",
    ),
    ("mask left out", rf" && {_TERM}(?=[;)?])", ""),
    ("mask widened", r" && ", " || "),
    ("wrong sign", r"(?<![<>=(,]) \+ (?!0\b)", " - "),
    ("wrong sign", r"(?<![<>=(,?:]) - (?!0\b)", " + "),
    ("wrong stride", r" \* (?=[\w(])", " + "),
    ("wrong stride", r" / ", " * "),
    ("wrong stride", r" % ", " / "),
    ("wrong shift", r" >> ", " << "),
    ("wrong shift", r" & (?!&)", " | "),
    ("number one off", r"(?<![\w.<+])(\d+)(?=u?\b)(?![.>x]|\w*p[+-])", lambda m: str(int(m[1]) + 1)),
    ("wrong element", r"(?<=[< ])(\d+)(?=>)", lambda m: str(int(m[1]) ^ 1)),
    ("wrong thread", r"threadIdx\.x", "threadIdx.y"),
    ("wrong thread", r"threadIdx\.[xy]", "0"),
    ("wrong thread", r"blockIdx\.x", "0"),
    ("wrong thread", r"blockIdx\.x", "(blockIdx.x + 1)"),
    ("wrong thread", r"blockDim\.x(?! \* 0)", "blockDim.y"),
    ("wrong thread", r"blockDim\.y", "blockDim.x"),
    ("wrong thread", r"gridDim\.x", "1"),
    ("guard left out", r"(?<=\s)if \([^;{]*\) (?=[*\w])", ""),
    ("choice turned", r" \? ([^:?;]+) : ([^:?;,)]+)", r" ? \2 : \1"),
    (
        "statement left out",
        r"^(?!\s*(?:const|return|typedef|static|#))\s+[\w*&(][^{}]* (?:\S?=|\+\+|--)[^{}]*;$",
        "",
    ),
    ("statement left out", r"^\s+continue;$|(?<= )continue;|(?<= )return;", ";"),
    ("racing reduction", r"x = (combine\(.*\));", r"\1;"),
    ("wrong operation", r"__fadd_rn|__dadd_rn", lambda m: m[0].replace("add", "sub")),
    ("wrong operation", r"__fmul_rn|__dmul_rn", lambda m: m[0].replace("mul", "add")),
    ("wrong pointer", r"(?<== )b(\d+)\b", "OTHER"),
]


@dataclass
class Mutant:
    operator: str
    line: int  # from 1
    before: str
    after: str
    source: str
    key: tuple  # alike ones have the same


def _lines_of_a_device(lines):
    """Which lines only NVRTC sees."""
    device, depth, found = [], 0, set()
    for i, line in enumerate(lines):
        if line.startswith("#if"):
            depth += 1
            device.append("__CUDACC" in line)
        elif line.startswith(("#else", "#elif")) and device:
            device[-1] = False
        elif line.startswith("#endif") and device:
            device.pop()
        if any(device) or line.startswith("#"):
            found.add(i)
    return found


def _pointers(source):
    """Of each kernel's pointer parameters b0, b1, …: another one of the same type."""
    others = {}
    for header in re.findall(r"^\w+\(([^)]*)\) \{$", source, re.M):
        typed = re.findall(r"(?:const )?(\w+)\* __restrict__ (b\d+)", header)
        for kind, name in typed:
            same = [n for k, n in typed if k == kind and n != name]
            if same:
                others[name] = same[0]
    return others


def _body_begins(lines):
    """The first line behind the prelude: the comment in front of the first kernel."""
    first = next(i for i, line in enumerate(lines) if "__global__" in line)
    return first - 1


def mutants_of(source, prelude):
    """All defects of the prelude of a source, or of what stands behind it, alike ones left out."""
    lines = source.split("\n")
    begins = _body_begins(lines)
    skipped = _lines_of_a_device(lines)
    others = _pointers(source)
    groups: dict = {}
    for i in range(0, begins) if prelude else range(begins, len(lines)):
        line = lines[i]
        if i in skipped or not line.strip() or line.lstrip().startswith(("//", "typedef", 'extern "C"')):
            continue
        if re.match(r"^\w+\(.*\) \{$", line):  # the kernel's parameters
            continue
        for name, pattern, replacement in OPERATORS:
            for nth, m in enumerate(re.finditer(pattern, line)):
                if replacement == "OTHER":
                    instead = others.get(m[0], m[0])
                else:
                    instead = replacement(m) if callable(replacement) else m.expand(replacement)
                changed = line[: m.start()] + instead + line[m.end() :]
                if changed == line:
                    continue
                text = "\n".join([*lines[:i], changed, *lines[i + 1 :]])
                key = (
                    name,
                    nth,
                    replacement if isinstance(replacement, str) else "",
                    re.sub(r"\d+", "#", line),
                )
                groups.setdefault(key, []).append(
                    Mutant(name, i + 1, line.strip(), changed.strip(), text, key)
                )
    found = []
    for alike in groups.values():
        found += alike[:1] if prelude or len(alike) == 1 else [alike[0], alike[-1]]
    return found


class _Trial:
    """The calls of a program with its own sizes, whose kernels are replaced."""

    def __init__(self, program):
        from tests.gpu import runner

        self.runner = runner
        self.cases = [
            runner.Case(program, program.arguments(np.random.default_rng(7), size)) for size in program.sizes
        ]
        # Large ones show most, and small ones what is special about them.
        self.cases.reverse()
        self.sources = list(
            dict.fromkeys(k.source for case in self.cases for kernels in case.lists for k in kernels)
        )

    def finds(self, original, changed):
        """What is wrong with the results of a changed source, "" when nothing is."""
        for case in self.cases:
            case.wide = {}
        for i, case in enumerate(self.cases):
            try:
                case.check(sources={original: changed}, seconds=5)
            except Exception as e:
                self.cases.insert(0, self.cases.pop(i))
                return f"{type(e).__name__}: {e}".split("\n")[0][:200] or "?"
        narrow = self.runner.narrow(self.cases)
        return f"no access of 16 bytes in {narrow}" if narrow else ""


def _work(name, chosen, results):
    """In a process of its own, which a defect may end: (index, what was found) of each mutant."""
    trial = _Trial(_program(name))
    for index, original, mutant in chosen:
        results.put((name, index, None))
        results.put((name, index, trial.finds(original, mutant.source)))


def _run(name, chosen):
    """(mutant, what was found) of each of the mutants of a program."""
    context = multiprocessing.get_context("spawn")
    left, done = list(chosen), []
    while left:
        results = context.Queue()
        process = context.Process(target=_work, args=(name, left, results))
        process.start()
        current = None
        while len(done) < len(chosen):
            try:
                _, index, said = results.get(timeout=1)
            except Exception:
                if process.is_alive():
                    continue
                said, index = f"the process ended with {process.exitcode}", current
                if index is None:
                    raise RuntimeError(f"{name}: nothing was tried") from None
            if said is None:
                current = index
                continue
            item = next(entry for entry in left if entry[0] == index)
            left.remove(item)
            done.append((item[2], said))
            if not process.is_alive() and said.startswith("the process ended"):
                break
        process.join()
    return done


def _program(name):
    from tests.gpu.suite import PROGRAMS

    return next(p for p in PROGRAMS if p.name == name)


def _sources(program):
    """The sources of a program, that of its largest size first: extents 0 and 1 have others."""
    from tests.gpu import runner

    found = {}
    for size in sorted(program.sizes, key=np.prod, reverse=True):
        arguments = program.arguments(np.random.default_rng(7), size)
        for k in runner.kernels_of(program.function, arguments, fastmath=program.fastmath):
            found[re.sub(r"(\w+)_\d+_k", r"\1_k", k.source)] = k.source
    return list(found.values())


def _body_task(task):
    """(name, number of all, what was found of those chosen) of what stands behind a program's preludes."""
    name, count, seed = task
    seen, chosen = set(), []
    for source in _sources(_program(name)):
        mutants = mutants_of(source, prelude=False)
        chosen += [(source, m) for m in mutants if m.key not in seen]
        seen |= {m.key for m in mutants}
    total = len(chosen)
    random.Random(f"{seed} {name}").shuffle(chosen)
    return name, total, _run(name, [(i, s, m) for i, (s, m) in enumerate(chosen[:count])])


def _prelude_task(task):
    """Changes of the prelude, (before, after), in one program."""
    name, changes = task
    chosen = []
    for source in _sources(_program(name)):
        for m in mutants_of(source, prelude=True):
            if (m.before, m.after) in changes:
                chosen.append((len(chosen), source, m))
    return name, _run(name, chosen)


def _prelude_changes(names):
    """Of each change of the prelude the programs that have it."""
    users: dict = {}
    for name in names:
        for source in _sources(_program(name)):
            for m in mutants_of(source, prelude=True):
                users.setdefault((m.before, m.after), {})[name] = m
    return users


def _prelude_rounds(pool, users):
    """(programs, mutant, what was found) of each change, which is tried on its programs until one finds it."""
    left = {change: list(found) for change, found in users.items()}
    while left:
        tasks: dict = {}
        for change, waiting in left.items():
            tasks.setdefault(waiting.pop(0), set()).add(change)
        for name, done in pool.map(_prelude_task, tasks.items()):
            for mutant, said in done:
                change = mutant.before, mutant.after
                if change in left and (said or not left[change]):
                    del left[change]
                    yield list(users[change]), mutant, said and f"{name}: {said}"


def main(arguments=None):
    from tests.gpu.suite import PROGRAMS

    parser = argparse.ArgumentParser(prog="python -m tests.gpu.mutation", description=__doc__.split("\n")[0])
    parser.add_argument("--per-program", type=int, default=25)
    parser.add_argument("--prelude", type=int, default=0, help="changes of the prelude")
    parser.add_argument("--programs", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", default="", help="a file for what survives, JSON lines")
    options = parser.parse_args(arguments)
    names = options.programs.split(",") if options.programs else [p.name for p in PROGRAMS]
    survivors, counts = [], Counter()

    def report(where, mutant, said):
        counts["planted"] += 1
        if "CompileError" in said:
            counts["not compiled"] += 1
        elif said:
            counts["found"] += 1
        else:
            counts["survived"] += 1
            row = {"where": where, "operator": mutant.operator, "line": mutant.line}
            row |= {"before": mutant.before, "after": mutant.after}
            survivors.append(row)
            print(
                f"SURVIVED {where}:{mutant.line} {mutant.operator}\n    {mutant.before}\n    {mutant.after}",
                flush=True,
            )

    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        if options.per_program:
            tasks = [(name, options.per_program, options.seed) for name in names]
            for name, total, done in pool.map(_body_task, tasks):
                for mutant, said in done:
                    report(name, mutant, said)
                print(f"{name}: {len(done)} of {total} planted, {dict(counts)} so far", flush=True)
        if options.prelude:
            users = _prelude_changes(names)
            chosen = random.Random(options.seed).sample(sorted(users), min(options.prelude, len(users)))
            print(f"{len(chosen)} of {len(users)} changes of the prelude", flush=True)
            for programs, m, said in _prelude_rounds(pool, {c: users[c] for c in chosen}):
                report(f"prelude of {','.join(programs)}", m, said)
    print(f"{dict(counts)}")
    if options.out:
        with open(options.out, "w") as file:
            file.writelines(json.dumps(row) + "\n" for row in survivors)
    return 0


if __name__ == "__main__":
    cache = tempfile.mkdtemp(prefix="stator-mutation-")
    os.environ.setdefault("SHIM_CACHE_DIR", cache)
    os.environ.setdefault("STATOR_CACHE_DIR", cache)
    try:
        sys.exit(main())
    finally:
        shutil.rmtree(cache, ignore_errors=True)
