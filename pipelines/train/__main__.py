"""`python -m pipelines.train` is `vtr train`."""

from pipelines.cli import main

main("train")
