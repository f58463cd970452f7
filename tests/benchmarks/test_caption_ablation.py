"""Rows of the captioning ablation are configurations that exist, and the page has the baseline."""

import pytest

from benchmarks.caption_ablation import MSRVTT
from benchmarks.comparison.rows import markdown
from pipelines.tables.layout import Results
from vtr_core.config.override import override
from vtr_core.run.presets import preset
from vtr_core.systems.captioning.config import CaptioningLossConfig


def test_rows_have_the_losses_that_their_names_say() -> None:
    found = {}
    for row, changes in MSRVTT.rows.items():
        loss = override(preset(MSRVTT.preset), changes).loss
        assert isinstance(loss, CaptioningLossConfig)
        found[row] = (loss.fusion, loss.granularity_margin is not None)
    assert found == {"baseline": (False, False), "margin": (False, True), "fusion": (True, False), "full": (True, True)}
    assert {row for claim in MSRVTT.claims for row in claim} == set(MSRVTT.rows)


@pytest.mark.parametrize(("gain", "verdict"), [(3.0, "holds"), (-3.0, "contradicted"), (0.0, "undecided")])
def test_the_page_judges_by_cider(gain: float, verdict: str) -> None:
    def figures(cider: float) -> dict[str, tuple[float, ...]]:
        other = dict.fromkeys((f"msrvtt-800/{name}" for name in MSRVTT.metrics), (1.0, 1.0, 1.0))
        return other | {"msrvtt-800/cider": (cider, cider + 1.1, cider - 0.9)}

    results = Results({row: figures(20.0) for row in MSRVTT.rows} | {"full": figures(20.0 + gain)}, {})
    page = markdown(MSRVTT, results)
    assert f"| full | fusion | {gain:+.1f} ± 0.0 | {verdict} |" in page
    assert "| *nearest training video's caption* | – | – | – | – | |" in page
