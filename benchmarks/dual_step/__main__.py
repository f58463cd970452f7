"""`python -m benchmarks.dual_step`."""

import sys

from benchmarks.dual_step.command import main

main(sys.argv[1:])
