"""`python -m stator`: run a program under stator, or look at the installation."""

import os
import sys

USAGE = """\
usage: python -m stator run [OPTIONS] SCRIPT [ARGUMENTS...]      run a script; - reads it from the standard input
       python -m stator run [OPTIONS] -m MODULE [ARGUMENTS...]   run a module
           --report[=PAGE.html]  say where the time went, by function and line, as text and as a page
           --json=FILE           the same as numbers
           --compare             run it three times, plain and with stator, and say how much faster it is
           --all                 compile every function that handles arrays (the default, unless STATOR says otherwise)
           --decorated           compile decorated functions only
           --stats               print counters at the end
       python -m stator doctor                                   say whether everything is in place
       python -m stator cache info|clear|export FILE|import FILE compiled code on disk: say what there is, remove it, ship it
       python -m stator bug-report [SCRIPT [ARGUMENTS...]]       put what a bug report needs into one file
       python -m stator demo [ARGUMENTS...]                      the terrain example
       python -m stator options                                  every environment variable
       python -m stator policy                                   every threshold that STATOR_TUNE sets
       python -m stator --version
"""


def run(arguments):
    """Run a script or module as Python would, with every function that handles arrays a candidate."""
    from stator import _run

    try:
        return _run.main(_run.Options(arguments))
    except ValueError as error:
        return fail(str(error))


def doctor(arguments):
    """Print what stator found; the exit status is 1 when it cannot compile."""
    if arguments:
        return fail(f"doctor takes no arguments, found {' '.join(arguments)!r}")
    from stator import _doctor

    return _doctor.main()


def cache(arguments):
    """Look at the compiled code on disk, remove it, or move it to another machine."""
    from stator import _cache

    try:
        return _cache.main(arguments)
    except ValueError as error:
        return fail(str(error))


def bug_report(arguments):
    from stator import _bug_report

    return _bug_report.main(arguments)


def demo(arguments):
    try:
        from stator.demo import terrain
    except ImportError as error:
        return fail(
            f"the demo cannot be imported ({error}): pip install 'stator[test]', or 'make demo' in a checkout"
        )
    return terrain.main(arguments) or 0


def show_options(arguments):
    import stator

    if stator._stator is not None:
        print(stator._stator.help_text(), end="")
    return 0


def show_policy(arguments):
    """Print each threshold with its unit and what it decides; a * marks one that STATOR_TUNE has changed."""
    if arguments:
        return fail(f"policy takes no arguments, found {' '.join(arguments)!r}")
    import itertools
    import textwrap

    import stator

    rows = stator._stator.policy_table() if stator._stator is not None else []
    print(
        "STATOR_TUNE=name=value,name=value sets these; * marks what it has changed. Of a share 1/n, n is the value."
    )
    for group, thresholds in itertools.groupby(rows, key=lambda row: row[0]):
        print(f"\n{group}")
        for _, name, unit, value, default, reason in thresholds:
            tuned = value != default
            was = f" (default {default:_})" if tuned else ""
            amount = f"1/{value:_}" if unit == "1/n" else f"{value:_} {unit}".rstrip()
            print(f"{'*' if tuned else ' '} {name} = {amount}{was}")
            print(textwrap.fill(reason, 110, initial_indent="      ", subsequent_indent="      "))
    return 0


def version(arguments):
    import stator

    print(f"stator {stator.__version__}")
    return 0


def usage(arguments):
    print(USAGE, end="")
    return 0


def fail(message):
    print(f"stator: {message}\n{USAGE}", end="", file=sys.stderr)
    return 2


COMMANDS = {
    "run": run,
    "doctor": doctor,
    "cache": cache,
    "bug-report": bug_report,
    "demo": demo,
    "options": show_options,
    "policy": show_policy,
    "--version": version,
    "--help": usage,
    "-h": usage,
    "help": usage,
}


def main():
    if len(sys.argv) < 2:
        return fail("say what to do")
    command = COMMANDS.get(sys.argv[1])
    if command is None:
        return fail(f"unknown command {sys.argv[1]!r}")
    if command is not demo and sys.argv[2:3] in (["-h"], ["--help"]):
        return usage([])
    try:
        status = command(sys.argv[2:])
        sys.stdout.flush()
    except BrokenPipeError:  # as `python -m stator policy | head` ends it
        if command is run:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


if __name__ == "__main__":
    sys.exit(main())
