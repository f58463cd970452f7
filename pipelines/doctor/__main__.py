"""`python -m pipelines.doctor` is `vtr doctor`."""

from pipelines.cli import main

main("doctor")
