"""`python -m pipelines.completion` is `vtr completion`."""

from pipelines.cli import main

main("completion")
