"""`python -m pipelines.import` is `vtr import`."""

from pipelines.cli import main

main("import")
