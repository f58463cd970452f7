from pipelines.systems.captioning.gmc_tables import PAPER
from pipelines.tables.layout import CAPTIONING, OwnSet, Results, markdown
from vtr_core.run.presets import PRESETS


def test_every_row_of_ours_is_a_preset() -> None:
    variants = {row.variant for table in PAPER.tables for row in table.rows if row.variant is not None}
    assert variants == {"", "baseline", "margin", "fusion"}
    for base in ("caption-msrvtt", "caption-msrvtt-tiny"):
        assert {f"{base}-{name}" if name else base for name in variants} <= PRESETS.keys()


def test_figures_stand_beside_the_paper_s_and_the_baseline_below() -> None:
    figures = {"": {"msvd/cider": (100.0, 102.0), "own/cider": (30.0,)}, "baseline": {"own/cider": (20.0,)}}
    results = Results(figures, {"own/cider": 15.0, "own/bleu4": 9.0}, {"msrvtt": "Not here."})
    page = markdown(PAPER.tables[1], results, [OwnSet("own", CAPTIONING), OwnSet("other", "retrieval")])
    assert "138.7 → **101.0** ± 12.7" in page
    assert "| **30.0** |" in page
    assert f"| *{PAPER.tables[0].baseline}* |" in page
    assert "| 9.0 | – | – | 15.0 |" in page
    assert "other" not in page
    assert "97.56 contradicts" in page
    assert "msrvtt: not run. Not here." in markdown(PAPER.tables[0], results)
