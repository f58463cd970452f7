"""`python -m pipelines.caption` is `vtr caption`."""

from pipelines.cli import main

main("caption")
