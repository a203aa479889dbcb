"""`python -m stator`: run a program under stator, or look at the installation."""

import os
import sys

USAGE = """\
usage: python -m stator run [--stats] SCRIPT [ARGUMENTS...]      run a script with STATOR=all
       python -m stator run [--stats] -m MODULE [ARGUMENTS...]   run a module so
       python -m stator doctor                                   say whether everything is in place
       python -m stator demo [ARGUMENTS...]                      the terrain example
       python -m stator options                                  every environment variable
       python -m stator --version
"""


def run(arguments):
    """Run a script or module as Python would, with every function that handles arrays a candidate."""
    show_stats = arguments[:1] == ["--stats"]
    arguments = arguments[show_stats:]
    if not arguments or (arguments[0] == "-m" and len(arguments) < 2):
        return fail("run needs a script, or -m and a module")
    os.environ.setdefault("STATOR", "all")  # for this process, and those it starts

    import runpy

    import stator

    if stator._stator is not None:
        stator._stator.set_option("mode", os.environ["STATOR"])
        stator._enabled = os.environ["STATOR"] != "0"
        stator._start_all()
    try:
        if arguments[0] == "-m":
            sys.argv = arguments[1:]
            sys.path.insert(0, os.getcwd())
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            if not os.path.exists(arguments[0]):
                return fail(f"cannot open {arguments[0]!r}: no such file")
            sys.argv = arguments
            sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
            runpy.run_path(arguments[0], run_name="__main__")
    finally:
        if show_stats:
            for name, value in stator.stats().items():
                print(f"{name:18} {value:.6g}", file=sys.stderr)
    return 0


def doctor(arguments):
    """Print what stator found; the exit status is 1 when it cannot compile."""
    if arguments:
        return fail(f"doctor takes no arguments, found {' '.join(arguments)!r}")
    from stator import _doctor

    return _doctor.main()


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
    "demo": demo,
    "options": show_options,
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
    return command(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
