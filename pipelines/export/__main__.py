"""`python -m pipelines.export` is `vtr export`."""

from pipelines.cli import main

main("export")
