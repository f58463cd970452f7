"""`python -m pipelines.demo` is `vtr demo`."""

from pipelines.cli import main

main("demo")
