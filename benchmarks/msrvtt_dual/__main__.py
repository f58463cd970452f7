"""`python -m benchmarks.msrvtt_dual`."""

import sys

from benchmarks.msrvtt_dual.command import main

main(sys.argv[1:])
