"""`python -m pipelines.tagger` is `vtr tagger`."""

from pipelines.cli import main

main("tagger")
