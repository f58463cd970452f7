"""`python -m benchmarks.small_shapes`."""

import sys

from benchmarks.small_shapes.command import main

main(sys.argv[1:])
