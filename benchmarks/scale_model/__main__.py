"""`python -m benchmarks.scale_model`."""

import sys

from benchmarks.scale_model.command import main

main(sys.argv[1:])
