"""`python -m pipelines.tables` is `vtr tables`."""

from pipelines.cli import main

main("tables")
