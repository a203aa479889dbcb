"""``python -m stator.demo``, the same as ``python -m stator demo``."""

import sys

from .terrain import main

sys.exit(main(sys.argv[1:]))
