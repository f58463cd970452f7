"""`python -m benchmarks.serving`."""

import sys

from benchmarks.serving.command import main

main(sys.argv[1:])
