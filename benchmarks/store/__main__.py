"""`python -m benchmarks.store`."""

import sys

from benchmarks.store.command import main

main(sys.argv[1:])
