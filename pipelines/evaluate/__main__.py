"""`python -m pipelines.evaluate` is `vtr evaluate`."""

from pipelines.cli import main

main("evaluate")
