"""`python -m pipelines.explain` is `vtr explain`."""

from pipelines.cli import main

main("explain")
