"""Rows that exist, what is read of places alone, and what the page says of the films."""

import numpy as np
import pytest

from benchmarks.crowds import crowd
from benchmarks.small_shapes import GRID, SHARED, WORLD, Tokens, near, readable, selected
from vtr_core.config.override import override
from vtr_core.data.worlds.films import SHAPES
from vtr_core.errors import ConfigError
from vtr_core.run.presets import preset
from vtr_core.systems.muse.config import MuseConfig


def test_every_row_is_a_configuration_and_claims_are_of_rows() -> None:
    configs = [override(preset(WORLD.preset), {**SHARED, **changes}) for changes in WORLD.rows.values()]
    assert all(isinstance(config.model, MuseConfig) for config in configs)
    assert len({config.model.model_dump_json() for config in configs}) == len(WORLD.rows)
    assert {row for claim in WORLD.claims for row in claim} == set(WORLD.rows)


def test_rows_are_selected_by_name() -> None:
    assert selected(()).rows == WORLD.rows
    assert list(selected(("scales 1, 7, Mamba", "mean")).rows) == ["mean", "scales 1, 7, Mamba"]
    with pytest.raises(ConfigError, match="'median' is no row; rows are: mean; scale 1, Mamba"):
        selected(("mean", "median"))


def test_a_shape_is_seen_in_nine_places_and_in_fewer_at_an_edge() -> None:
    tokens = np.concatenate([[1000], np.arange(GRID**2)])[:, None].astype(float)
    assert near(tokens, (0.5, 0.5)) == 32
    assert near(tokens, (0.01, 0.01)) == 8
    assert near(tokens, (0.99, 0.5)) == 34


def test_what_only_places_hold_is_read_of_them_alone() -> None:
    """Tokens that are the form of a place's shape, and the sum of all, which is the same for all films, as the mean."""
    values = np.zeros((300, 1 + GRID**2, len(SHAPES)))
    for number in range(300):
        for each in crowd(0, number).small:
            across, down = (int(value * GRID) for value in each.at(0.5))
            values[number, 1 + GRID * down + across, SHAPES.index(each.shape)] = 1
    values[:, 0] = values[:, 1:].sum(axis=1)
    parts = {"train": range(200), "val": range(200, 250), "test": range(250, 300)}
    found = readable({name: Tokens(values[part], tuple(f"film{n:04d}" for n in part)) for name, part in parts.items()})
    assert found["tokens of its place"] > 95
    assert found["mean of the frame"] < 40
    assert found["commonest"] < 40
