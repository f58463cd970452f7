"""`python -m benchmarks.clip_fine_tuning`."""

import sys

from benchmarks.clip_fine_tuning.command import main

main(sys.argv[1:])
