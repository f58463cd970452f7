"""`python -m pipelines.verify` is `vtr verify`."""

from pipelines.cli import main

main("verify")
