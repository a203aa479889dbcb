"""Log lines as records of Python's logging (``STATOR_LOG_TO=logging``): loggers ``stator`` and ``stator.NAME``.

Lines that ``STATOR_LOG`` asks for are of level INFO and belong to ``stator.NAME``, NAME being one of that list; what went
wrong inside stator belongs to ``stator`` and is an ERROR, everything else a WARNING of it.
"""

import logging
import threading

from stator import _stator


def hand_over():
    """Give what was kept to the loggers; called by the extension on the main thread."""
    names = {thread.native_id: (thread.ident, thread.name) for thread in threading.enumerate()}
    failed = None
    for seconds, native_id, line in _stator.take_log_records():
        name, level, text = _parts(line)
        logger = logging.getLogger(name)
        if not logger.isEnabledFor(level):
            continue
        record = logger.makeRecord(name, level, "stator", 0, text, (), None, "")
        record.msecs = (seconds - int(seconds)) * 1000
        record.relativeCreated += (seconds - record.created) * 1000
        record.created = seconds
        # Of the thread that the line is from: one of the program's, or the one that compiles.
        record.thread, record.threadName = names.get(native_id, (native_id, "stator"))
        try:
            logger.handle(record)
        except Exception as error:  # a handler's: the records after it are not lost for it
            failed = failed or error
    if failed is not None:
        raise failed


def _parts(line):
    """(logger, level, text) of a line as standard error would show it."""
    line = line.removeprefix("stator: ")
    if line.startswith("[") and "] " in line:
        name, text = line[1:].split("] ", 1)
        return f"stator.{name}", logging.INFO, text
    return "stator", logging.ERROR if line.startswith("internal error") else logging.WARNING, line
