"""`python -m benchmarks.capsule_ablation`."""

import sys

from benchmarks.capsule_ablation.command import main

main(sys.argv[1:])
