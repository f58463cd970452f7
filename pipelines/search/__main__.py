"""`python -m pipelines.search` is `vtr search`."""

from pipelines.cli import main

main("search")
