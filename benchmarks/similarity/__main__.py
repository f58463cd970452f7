"""`python -m benchmarks.similarity`."""

import sys

from benchmarks.similarity.command import main

main(sys.argv[1:])
