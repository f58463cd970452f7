"""`python -m pipelines.extract` is `vtr extract`."""

from pipelines.cli import main

main("extract")
