"""`python -m pipelines.runs` is `vtr runs`."""

from pipelines.cli import main

main("runs")
