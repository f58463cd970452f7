"""`python -m pipelines.submit` is `vtr submit`."""

from pipelines.cli import main

main("submit")
