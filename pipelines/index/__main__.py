"""`python -m pipelines.index` is `vtr index`."""

from pipelines.cli import main

main("index")
