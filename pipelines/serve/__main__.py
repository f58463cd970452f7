"""`python -m pipelines.serve` is `vtr serve`."""

from pipelines.cli import main

main("serve")
