"""The page of knock-outs: what a mechanism costs, seed by seed, and rows that were not measured are named."""

from typing import Any

from benchmarks.knock_outs.mechanisms import MECHANISMS
from benchmarks.knock_outs.page import markdown

ROW: dict[str, Any] = {
    "system": "muse",
    "preset": "muse-tokens-tiny",
    "data": "small-things",
    "what": "a scale",
    "figure": "R@1",
    "settings": ["training.epochs=4"],
    "with": [30.0, 34.0],
    "switched_off": [10.0, 10.0],
    "trained_without": None,
    "machine": "a machine",
}


def test_costs_are_those_of_the_same_seed() -> None:
    page = markdown({"muse-scale-4": ROW})
    assert "| 32.0 ± 2.8 | 10.0 ± 0.0 (+22.0 ± 25.4) | – | 2 |" in page
    assert "all runs with `training.epochs=4`" in page
    assert "Rows: mean ± standard deviation over seeds; differences in brackets, what it costs: ± half" in page
    assert page.count("not run") == len(MECHANISMS) - 1


def test_one_seed_has_no_interval() -> None:
    row = {**ROW, "with": [30.0], "switched_off": [10.0], "trained_without": [31.0]}
    assert "| 30.0 | 10.0 (+20.0) | 31.0 (-1.0) | 1 |" in markdown({"muse-scale-4": row})
