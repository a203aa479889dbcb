"""One driver in one mode, one call a turn; see `__main__`."""

from __future__ import annotations

import importlib
import sys
import warnings

from ..harm.clocks import now, since
from ..harm.digest import digest
from ..harm.processes import Results, decorator


def worker_main(argv: list[str]) -> int:
    results = Results(argv)
    warnings.simplefilter("ignore")
    jit = decorator(results.mode)
    driver = importlib.import_module(f"{results.task['half']}.{results.task['name']}")
    if results.task.get("about"):
        driver.prepare()
        results.add(package=driver.PACKAGE)
        return 0
    drive = jit(driver.drive)
    while True:
        results.wait()
        arguments = driver.prepare()
        begun = now()
        returned = drive(*arguments)
        results.add(call=since(begun)._asdict(), results=digest(returned))


if __name__ == "__main__":
    sys.exit(worker_main(sys.argv))
