"""`python -m pipelines.data` is `vtr data`."""

from pipelines.cli import main

main("data")
