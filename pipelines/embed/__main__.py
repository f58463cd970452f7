"""`python -m pipelines.embed` is `vtr embed`."""

from pipelines.cli import main

main("embed")
