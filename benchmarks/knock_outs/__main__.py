"""`python -m benchmarks.knock_outs`."""

import sys

from benchmarks.knock_outs.command import main

main(sys.argv[1:])
