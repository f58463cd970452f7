"""`python -m benchmarks.reading`."""

import sys

from benchmarks.reading.command import main

main(sys.argv[1:])
