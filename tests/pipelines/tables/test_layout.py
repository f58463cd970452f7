"""A table shows the paper's figure beside ours and leaves nothing out; its folder holds figures of one choice."""

from pathlib import Path

import pytest

from pipelines.systems.capsules.capsule_tables import PAPER
from pipelines.systems.muse import muse_tables
from pipelines.tables import runs as table_runs
from pipelines.tables.layout import OwnSet, Results, markdown
from pipelines.tables.row_settings import check_settings, first_alike, settings_file, settings_of, variant_configs
from pipelines.tables.runs import Sweep, figures_file, read_results, run_folder, variants_of
from pipelines.train.command import TrainFlags
from tests.builders.toy import toy_dataset
from vtr_core import storage
from vtr_core.config.override import override
from vtr_core.errors import RunConflict
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset
from vtr_core.storage import locate
from vtr_core.train.checkpoint.run_folder import RunFolder, RunRecord


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


BASE = "capsule-howto-tiny"
MINE = table_runs.TestSet("mine", "data/test", "retrieval")


def sweep(out: Path, trained: list[str], monkeypatch: pytest.MonkeyPatch) -> Sweep:
    """A sweep whose trainings only write down that they took place."""

    def train(config, flags):  # type: ignore[no-untyped-def]
        trained.append(flags.out)
        raise InterruptedError

    monkeypatch.setattr("pipelines.tables.runs.train", train)
    return Sweep(str(out), "data", None, [MINE], 1, "vtr-tables")


def test_other_settings_in_the_same_folder_are_refused_before_any_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[str] = []
    runs = sweep(tmp_path, trained, monkeypatch)
    with pytest.raises(InterruptedError):
        runs.run_all(variant_configs(BASE, ["not-shared"], {"model.num_capsules": 4}))
    assert len(trained) == 1
    with pytest.raises(InterruptedError):  # the same settings go on
        runs.run_all(variant_configs(BASE, ["not-shared"], {"model.num_capsules": 4}))
    with pytest.raises(RunConflict, match=r"model\.num_capsules = 8, was 4.*another --out"):
        runs.run_all(variant_configs(BASE, ["", "not-shared"], {"model.num_capsules": 8}))
    assert len(trained) == 2


def test_settings_of_an_earlier_version_are_the_same_with_the_defaults_of_later_ones(tmp_path: Path) -> None:
    config, place = preset(BASE), locate(settings_file(str(tmp_path / "run")))
    earlier = settings_of(config)
    del earlier["optimizer"]["temperature_factor"]
    storage.write_json(place, earlier)
    check_settings(str(tmp_path / "run"), config)
    with pytest.raises(RunConflict, match=r"optimizer\.temperature_factor = 0\.5, was 1\.0"):
        check_settings(str(tmp_path / "run"), override(config, {"optimizer.temperature_factor": 0.5}))
    storage.write_json(place, earlier | {"gone": 3})
    with pytest.raises(RunConflict, match=r"gone = None, was 3"):
        check_settings(str(tmp_path / "run"), config)


def test_all_trainings_begin_with_the_model_that_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str | None] = []

    def train(config: TrainConfig, flags: TrainFlags) -> None:
        begun.append(flags.init)
        raise InterruptedError

    monkeypatch.setattr("pipelines.tables.runs.train", train)
    for init in (None, "runs/language"):
        with pytest.raises(InterruptedError):
            Sweep(str(tmp_path / str(init)), "data", None, [], 1, "vtr-tables", init=init).train(
                preset(BASE), str(tmp_path / "run")
            )
    assert begun == [None, "runs/language"]


def test_runs_that_began_with_another_model_are_refused(tmp_path: Path) -> None:
    data = toy_dataset(tmp_path / "data", clips_of=[1, 2])[0]
    out, language = str(tmp_path / "out"), str(tmp_path / "language")
    record = RunRecord(data.uri, None, data.fingerprint, "", "vtr", init=f"{language}/checkpoints/step-00000003")
    folder = run_folder(out, "", 0)
    RunFolder.at(folder).claim(record, preset(BASE))
    storage.write_json(locate(figures_file(folder, MINE)), {"uri": "data/test", "figures": {}, "chance": {}})
    for other in (None, str(tmp_path / "lang")):
        with pytest.raises(RunConflict, match=f"began with {language}/.*, not with {other or 'random weights'}"):
            Sweep(out, data.uri, None, [MINE], 1, "vtr-tables", init=other).run_all(variant_configs(BASE, [""], {}))
    Sweep(out, data.uri, None, [MINE], 1, "vtr-tables", init=language).run_all(variant_configs(BASE, [""], {}))


def test_figures_of_another_test_set_of_the_same_name_are_refused(tmp_path: Path) -> None:
    place = figures_file(run_folder(str(tmp_path), "", 0), MINE)
    storage.write_json(locate(place), {"uri": "other/test", "figures": {}, "chance": {}})
    runs = Sweep(str(tmp_path), "data", None, [MINE], 1, "vtr-tables")
    with pytest.raises(RunConflict, match="has figures for mine of other/test; give that data set, or these another"):
        runs.run_all(variant_configs(BASE, [""], {}))


def test_runs_of_other_training_data_are_refused(tmp_path: Path) -> None:
    data, other = (toy_dataset(tmp_path / name, clips_of=clips)[0] for name, clips in (("a", [1, 2]), ("b", [2, 3])))
    folder = RunFolder.at(run_folder(str(tmp_path / "out"), "", 0))
    folder.claim(RunRecord(other.uri, None, other.fingerprint, "", "vtr"), preset(BASE))
    runs = Sweep(str(tmp_path / "out"), data.uri, None, [MINE], 1, "vtr-tables")
    with pytest.raises(RunConflict, match=f"was trained on {other.uri}"):
        runs.run_all(variant_configs(BASE, [""], {}))


def test_figures_at_the_same_place_are_of_the_same_seed(tmp_path: Path) -> None:
    """Seeds behind a missing one of the same test set are left out: they would be paired with another variant's."""
    mine, other = (table_runs.TestSet(name, f"data/{name}", "retrieval") for name in ("mine", "other"))
    done = {("a", mine): (0, 1, 2), ("b", mine): (0, 2), ("b", other): (0, 1, 2), ("c", mine): (1, 2)}
    for (variant, one), seeds in done.items():
        for seed in seeds:
            place = locate(figures_file(run_folder(str(tmp_path), variant, seed), one))
            storage.write_json(place, {"uri": one.uri, "figures": {f"{one.name}/r1": float(seed)}, "chance": {}})
    assert read_results(str(tmp_path), ["a", "b", "c"], [mine, other], 3).figures == {
        "a": {"mine/r1": (0.0, 1.0, 2.0)},
        "b": {"mine/r1": (0.0,), "other/r1": (0.0, 1.0, 2.0)},
        "c": {},
    }
