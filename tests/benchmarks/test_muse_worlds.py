"""Rows of MUSE's worlds are configurations that exist, and the page compares what has the same seed."""

import pytest

from benchmarks.comparison.rows import SPREADS, World, compare, markdown
from benchmarks.muse_worlds import METRICS, MSRVTT, SMALL_THINGS
from pipelines.tables.paper import Results
from vtr_core.config.override import override
from vtr_core.run.presets import preset
from vtr_core.systems.muse.config import MuseConfig


@pytest.mark.parametrize("world", [SMALL_THINGS, MSRVTT], ids=lambda world: world.name)
def test_every_row_is_a_configuration_and_every_claim_is_of_rows(world: World) -> None:
    configs = [override(preset(world.preset), own) for own in world.rows.values()]
    assert all(isinstance(config.model, MuseConfig) for config in configs)
    assert len({config.model.model_dump_json() for config in configs}) == len(world.rows)
    assert {row for claim in world.claims for row in claim} == set(world.rows)


def test_differences_are_paired_by_seed_and_judged() -> None:
    def figures(*values: float) -> dict[str, tuple[float, ...]]:
        return {f"msrvtt-800/{metric}": values for metric in METRICS}

    rows = (figures(10.0, 20.0, 30.0), figures(12.0, 22.1, 31.9), *2 * (figures(11.0, 19.0, 33.0),))
    results = Results(dict(zip(MSRVTT.rows, rows, strict=True)), {"msrvtt-800/t2v/r10": 5.1})
    block, scales, *_ = compare(MSRVTT, results)
    assert (block.difference.mean, block.verdict) == (pytest.approx(2.0), "holds")
    assert scales.verdict == "undecided"
    page = markdown(MSRVTT, results)
    assert SPREADS in page
    assert "| mean-pooling | 20.0 ± 10.0 |" in page
    assert "| frames-1 | mean-pooling | +2.0 ± 0.2 | holds |" in page
    assert "| *chance* | – | – | 5.1 | – | – | |" in page


def test_one_seed_has_no_spread() -> None:
    figures = {f"msrvtt-800/{metric}": (10.0,) for metric in METRICS}
    page = markdown(MSRVTT, Results(dict.fromkeys(MSRVTT.rows, figures), {}))
    assert "| mean-pooling | 10.0 | 10.0 | 10.0 | 10.0 | 10.0 | 1 |" in page
    assert "| frames-1 | mean-pooling | +0.0 | undecided |" in page
