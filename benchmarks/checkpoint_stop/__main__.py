"""`python -m benchmarks.checkpoint_stop`."""

import sys

from benchmarks.checkpoint_stop.command import main

main(sys.argv[1:])
