"""Rows that exist after the same search, what is read of corners, and the page."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from benchmarks.small_shapes import rows as searching
from benchmarks.small_shapes.corners import GRID, NOTHING, Tokens, labels, read_out, region
from benchmarks.small_shapes.page import markdown
from benchmarks.small_shapes.rows import CLAIMS, METRICS, RATES, ROWS, Row, row_config, search
from vtr_core.data.worlds.corners import CORNERS, corner_film
from vtr_core.data.worlds.shapes import COLOURS
from vtr_core.systems.muse.config import MuseConfig
from vtr_core.tables.table import Results


def test_every_row_is_a_configuration_and_claims_are_of_rows() -> None:
    configs = [row_config(row, 1e-3, 10) for row in ROWS]
    assert all(isinstance(config.model, MuseConfig) for config in configs)
    assert len({config.model.model_dump_json() for config in configs}) == len(ROWS)
    assert {row for claim in CLAIMS for row in claim} == set(ROWS)


def test_the_learning_rate_is_chosen_on_validation_films(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second rate is the best on validation films and the worst on test films."""
    trained: list[tuple[str, int]] = []

    class Runs:
        def __init__(self, out: str, data: str, validation: str, sets: Any, seeds: int, experiment: str) -> None:
            self.seeds = seeds

        def run(self, variant: str, config: Any) -> None:
            assert config.optimizer.learning_rate == float(variant.partition("/")[2])
            trained.append((variant, self.seeds))

    def results(out: str, variants: list[str], sets: Any, seeds: int) -> Results:
        second = variants[0].endswith(f"/{RATES[1]:g}")
        figures = {f"{name}/{metric}": (0.0,) * seeds for name in ("val", "test") for metric in METRICS}
        figures |= {"val/t2v/r10": (60.0 if second else 50.0,) * seeds, "test/t2v/r10": (10.0,) * seeds}
        return Results({variants[0]: figures}, {f"test/{metric}": 1.0 for metric in METRICS})

    monkeypatch.setattr(searching, "Sweep", Runs)
    monkeypatch.setattr(searching, "read_results", results)
    found = search("scales 1, 3, Mamba", "data", "out", 10, 3)
    assert found.best == RATES[1]
    assert found.figures["t2v/r10"] == (10.0, 10.0, 10.0)
    assert [seeds for _, seeds in trained] == [1, 1, 3]


def test_a_corner_is_nine_places() -> None:
    places = np.arange(GRID**2, dtype=np.float64)
    values = np.concatenate([[0], places])[None, :, None]
    found = {corner: float(region(values, corner)[0, 0]) for corner in CORNERS}
    assert found == {"top left": 16, "top right": 20, "bottom left": 44, "bottom right": 48}


def test_labels_are_of_the_corner() -> None:
    films = [corner_film(0, index, 3) for index in range(20)]
    for corner in CORNERS:
        for told, one in zip(labels(films, corner, "colour"), films, strict=True):
            shown = [each.colour for each in one.small if each.corner == corner]
            assert told == (shown[0] if shown else NOTHING)


def test_what_only_the_places_hold_is_read_of_them_alone() -> None:
    """Tokens that are the colour of a corner's shape in one of its places, and the sum of all as the mean."""
    films = {f"film{index}": corner_film(0, index, 3) for index in range(300)}
    ends = {"top left": (0, 0), "top right": (0, 6), "bottom left": (6, 0), "bottom right": (6, 6)}
    values = np.zeros((300, 1 + GRID**2, len(COLOURS)))
    for number, one in enumerate(films.values()):
        for each in one.small:
            row, column = ends[each.corner]
            values[number, 1 + GRID * row + column, list(COLOURS).index(each.colour)] = 1
    values[:, 0] = values[:, 1:].sum(axis=1)
    parts = {"train": slice(0, 200), "val": slice(200, 250), "test": slice(250, 300)}
    names = tuple(films)
    found = read_out({name: Tokens(values[part], names[part]) for name, part in parts.items()}, films)
    assert found["colour"]["tokens of the corner"] == 100
    assert found["colour"]["mean of the frame"] < 60


def _row(*recalls: float) -> Row:
    figures = dict.fromkeys(METRICS, recalls)
    return Row({f"{rate:g}": 50.0 for rate in RATES}, RATES[0], figures, dict.fromkeys(METRICS, 1.5))


def test_the_page_compares_finished_rows_by_seed() -> None:
    given: Mapping[str, Any] = {
        "films": {"train": 70, "val": 10, "test": 20},
        "frames": 2,
        "epochs": 30,
        "machine": "a machine",
        "versions": {"torch": "2"},
        "command": "python",
    }
    corners = {"colour": {"commonest": 26.0, "mean of the frame": 40.4, "tokens of the corner": 96.0}}
    page = markdown({"mean": _row(40.0, 50.0, 60.0), "scales 1, 3, Mamba": _row(50.0, 60.1, 69.9)}, corners, given)
    assert "| mean | 50.0 ± 10.0 |" in page
    assert "| scales 1, 3, Mamba | mean | +10.0 ± 0.2 | holds |" in page
    assert "| *chance* | 1.5 | 1.5 |" in page
    assert "| colour | 26 | 40 | 96 |" in page
    assert "| scale 1, attention | not run |" in page
