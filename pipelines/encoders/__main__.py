"""`python -m pipelines.encoders` is `vtr encoders`."""

from pipelines.cli import main

main("encoders")
