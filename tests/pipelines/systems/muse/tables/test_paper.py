"""MUSE's tables: every row is a preset, and a row that repeats another has its figures."""

import pytest

from pipelines.systems.muse.muse_tables import PAPER
from pipelines.tables.row_settings import first_alike, variant_configs
from pipelines.tables.runs import variants_of
from vtr_core.run.presets import preset

VARIANTS = variants_of(PAPER.tables)
ABLATIONS = (4, 5, 6, 7, 8, 11)


@pytest.mark.parametrize("base", ["muse-msrvtt", "muse-msrvtt-tiny", "muse-tokens-tiny"])
def test_every_row_is_a_preset(base: str) -> None:
    for variant in VARIANTS:
        name = f"{base}-{variant}" if variant else base
        assert preset(name).preset == name


def test_ours_of_the_paper_is_the_same_in_all_tables() -> None:
    assert [table.number for table in PAPER.tables] == list(range(1, 12))
    for table in (table for table in PAPER.tables if table.number in ABLATIONS):
        ours = [row.paper[:4] for row in table.rows if row.variant in ("", "scale", "scales-4", "layers-4")]
        assert ours == [(44.8, 71.6, 82.1, 15.6)]


def test_rows_of_one_configuration_are_trained_once() -> None:
    published = first_alike(variant_configs("muse-msrvtt", ["", *VARIANTS], {}))
    assert {name for name, trained in published.items() if trained == ""} == {"", "scale", "scales-4", "layers-4"}
    assert all(published[name] in (name, "") for name in published)
    small = first_alike(variant_configs("muse-tokens-tiny", ["", *VARIANTS], {"seed": 3}))
    assert {name for name, trained in small.items() if trained == ""} >= {"", "scale"}
    assert small["layers-4"] == "layers-4"
