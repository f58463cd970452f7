"""`python -m benchmarks.feeding`."""

import sys

from benchmarks.feeding.command import main

main(sys.argv[1:])
