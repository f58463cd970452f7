"""`python -m benchmarks.smoke`."""

import sys

from benchmarks.smoke.command import main

main(sys.argv[1:])
