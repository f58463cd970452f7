"""`python -m benchmarks.howto_ingest`."""

import sys

from benchmarks.howto_ingest.command import main

main(sys.argv[1:])
