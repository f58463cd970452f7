"""`python -m pipelines.analyze` is `vtr analyze`."""

from pipelines.cli import main

main("analyze")
