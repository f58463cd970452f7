"""`python -m benchmarks.routing`."""

import sys

from benchmarks.routing.command import main

main(sys.argv[1:])
