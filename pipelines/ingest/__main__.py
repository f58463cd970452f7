"""`python -m pipelines.ingest` is `vtr ingest`."""

from pipelines.cli import main

main("ingest")
