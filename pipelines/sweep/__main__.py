"""`python -m pipelines.sweep` is `vtr sweep`."""

from pipelines.cli import main

main("sweep")
