"""`python -m pipelines.concepts` is `vtr concepts`."""

from pipelines.cli import main

main("concepts")
