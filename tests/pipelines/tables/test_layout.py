"""A table shows the paper's figure beside ours, marks what was not run, and leaves nothing out."""

import pytest

from pipelines.systems.capsules.capsule_tables import PAPER
from pipelines.systems.muse import muse_tables
from pipelines.tables.layout import OwnSet, Results, markdown
from pipelines.tables.row_settings import first_alike, variant_configs
from pipelines.tables.runs import variants_of
from vtr_core.run.presets import preset


def cells(page: str, title: str) -> list[str]:
    """The cells of the row that `title` opens."""
    (line,) = [line for line in page.splitlines() if line.startswith(f"| {title} |")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def table(number: int):  # type: ignore[no-untyped-def]
    return PAPER.tables[number - 1]


def test_without_results_every_row_stands_with_the_papers_figures() -> None:
    for one in PAPER.tables:
        page = markdown(one, Results(missing={"youcook2": "Its features are not at hand."}))
        for row in one.rows:
            shown = cells(page, row.title)[1:]
            assert tuple(None if cell == "–" else float(cell) for cell in shown) == row.paper
    page = markdown(table(1), Results(missing={"youcook2": "Its features are not at hand."}))
    assert "- youcook2: not run. Its features are not at hand." in page
    assert "NoiseEstimation" in page.splitlines()[-1]  # named among the systems that are not ours


def test_our_figures_stand_behind_the_papers() -> None:
    results = Results(
        {"": {"youcook2/t2va/r1": (18.0, 20.0), "youcook2/t2v/r1": (5.0,)}, "video": {"youcook2/t2v/r1": (9.0, 9.0)}}
    )
    page = markdown(table(1), results)
    assert cells(page, "Ours, video and audio")[1] == "19.3 → **19.0** ± 12.7"
    assert cells(page, "Ours, video")[1] == "9.0 → **5.0**"
    assert cells(page, "Ours, trained on video")[1] == "– → **9.0** ± 0.0"
    assert cells(page, "AVLNet")[1] == "19.9"


def test_a_set_without_audio_says_so_where_a_row_hears_it() -> None:
    """Text → video is another task than text → video+audio."""
    seen = {"msrvtt/t2v/r1": (9.0,), "mine/t2v/r1": (9.0,)}
    results = Results({"": seen, "video": seen})
    page = markdown(table(1), results, [OwnSet("mine", "retrieval")])
    assert cells(page, "Ours, video and audio")[5] == "9.3 → no audio"
    assert cells(page, "Ours, video and audio")[9] == "no audio"
    assert cells(page, "Ours, video")[5] == "9.7 → **9.0**"


def test_a_set_of_our_own_has_columns_of_its_own() -> None:
    results = Results({"routing-em": {"mine/t2va/r10": (40.0,)}}, chance={"mine/t2v/r10": 5.0})
    page = markdown(table(3), results, [OwnSet("mine", "retrieval"), OwnSet("steps", "localization")])
    assert "mine R@10" in page
    assert "steps" not in page
    assert cells(page, "EM routing")[-3:] == ["–", "**40.0**", "–"]
    assert cells(page, "*chance*")[-3:] == ["–", "5.0", "–"]


def test_costs_are_shown_relative_to_the_row_that_is_one() -> None:
    results = Results({"routing-dynamic": {"benchmark/memory": (2.5,), "benchmark/time": (3.0,)}})
    shown = cells(markdown(table(3), results), "Dynamic routing")
    assert shown[-2:] == ["20.5 (2.25×) → 2.50×", "1.534 (2.12×) → 3.00×"]


def test_ours_of_the_paper_is_the_same_in_all_tables() -> None:
    ours = {
        one.number: next(r.paper for r in one.rows if r.title in ("Ours", "Shared")) for one in (table(5), table(6))
    }
    assert ours[5] == ours[6] == table(1).rows[-1].paper


def test_rows_say_what_they_were_compared_by() -> None:
    said = {"": "judged by neg_euclidean", "video": "judged by neg_euclidean", "mil-nce": "judged by dot"}
    page = markdown(table(1), Results(similarities=said))
    assert "- Ours, video, Ours, trained on video, Ours, video and audio: judged by neg_euclidean." in page
    assert "- MIL-NCE*: judged by dot." in page


VARIANTS = variants_of(muse_tables.PAPER.tables)
ABLATIONS = (4, 5, 6, 7, 8, 11)


@pytest.mark.parametrize("base", ["muse-msrvtt", "muse-msrvtt-tiny", "muse-tokens-tiny"])
def test_every_row_is_a_preset(base: str) -> None:
    for variant in VARIANTS:
        name = f"{base}-{variant}" if variant else base
        assert preset(name).preset == name


def test_ours_of_muse_is_the_same_in_all_tables() -> None:
    assert [table.number for table in muse_tables.PAPER.tables] == list(range(1, 12))
    for table in (table for table in muse_tables.PAPER.tables if table.number in ABLATIONS):
        ours = [row.paper[:4] for row in table.rows if row.variant in ("", "scale", "scales-4", "layers-4")]
        assert ours == [(44.8, 71.6, 82.1, 15.6)]


def test_rows_of_one_configuration_are_trained_once() -> None:
    published = first_alike(variant_configs("muse-msrvtt", ["", *VARIANTS], {}))
    assert {name for name, trained in published.items() if trained == ""} == {"", "scale", "scales-4", "layers-4"}
    assert all(published[name] in (name, "") for name in published)
    small = first_alike(variant_configs("muse-tokens-tiny", ["", *VARIANTS], {"seed": 3}))
    assert {name for name, trained in small.items() if trained == ""} >= {"", "scale"}
    assert small["layers-4"] == "layers-4"
