"""The process in which `given_back` measures."""

import sys

from .given_back import worker_main

if __name__ == "__main__":
    sys.exit(worker_main(sys.argv))
