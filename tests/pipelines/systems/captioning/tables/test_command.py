"""`vtr tables gmc`."""

from pathlib import Path

import pytest

from pipelines.systems.captioning.gmc_tables import PAPER, GmcTablesFlags, tables
from pipelines.tables import runs as table_runs
from pipelines.tables.command import main
from pipelines.tables.layout import CAPTIONING, OwnSet, Results, markdown
from tests.builders.captioned import captioned_videos
from vtr_core.errors import ConfigError
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import PRESETS

CAPTIONS = {"a": ["a man runs", "a man is running"], "b": ["a dog sleeps", "the dog is sleeping"]}


def test_without_data_the_paper_s_figures_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["gmc", "--out", str(tmp_path)])
    shown = capsys.readouterr().out
    assert "No training data was given" in shown
    assert "137.1" in shown
    assert (tmp_path / "tables.json").exists()


def test_every_row_is_trained_with_every_seed_and_the_neighbour_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = captioned_videos(tmp_path / "d", CAPTIONS)
    trained: list[tuple[str, int]] = []

    def train(self: table_runs.Sweep, config: TrainConfig, folder: str) -> str:
        trained.append((config.preset, config.seed))
        return folder

    def measured(checkpoint: str, one: table_runs.TestSet, experiment: str) -> dict[str, object]:
        return {"uri": one.uri, "figures": {"own/cider": 40.0 + len(trained)}, "chance": {}}

    monkeypatch.setattr(table_runs.Sweep, "train", train)
    monkeypatch.setattr(table_runs, "_evaluated", measured)
    small = {"only": (2,), "preset": "caption-msrvtt-tiny", "seeds": 2}
    flags = GmcTablesFlags(data=data.uri, test=(f"own={data.uri}",), out=str(tmp_path / "o"), **small)
    page = tables(flags, {"loss.granularity_margin.warmup_steps": 3})
    assert len(trained) == 8
    assert {name for name, _ in trained} == {
        f"caption-msrvtt-tiny{variant}" for variant in ("", "-baseline", "-margin", "-fusion")
    }
    assert "own CIDEr" in page
    # Its own caption is said of every video, as the nearest training video is the first of two that look alike.
    assert "nearest training video's caption" in page
    tables(flags, {})
    assert len(trained) == 8


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    data = captioned_videos(tmp_path / "d", CAPTIONS)
    with pytest.raises(ConfigError, match="needs something to evaluate on"):
        tables(GmcTablesFlags(data=data.uri, out=str(tmp_path / "o")), {})
    with pytest.raises(ConfigError, match="write name=URI"):
        tables(GmcTablesFlags(data=data.uri, test=("x",)), {})
    with pytest.raises(ConfigError, match="the paper has tables 1, 2"):
        tables(GmcTablesFlags(only=(3,)), {})


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
